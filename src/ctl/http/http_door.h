// SPDX-License-Identifier: BSD-3-Clause
// http_door.h: the HTTP door: libmicrohttpd on the control loop, without a thread of its own.
//
//     client --> listener --> limits --> libmicrohttpd's epoll fd --> web_serve (web_serve.h)
//                                           ^--> eventfd: what goes on at once: the next piece of
//                                                a stream, one a wake; requests already received
//
// Nothing here waits for a client: sockets do not block, an answer goes out as the client takes it,
// and whoever neither sends a whole request nor takes a byte for HTTP_TIMEOUT_S is cut off. A
// stream that has nothing to hand is asked again after HTTP_IDLE_MS. Every limit is counted, in
// control/http.
#pragma once
#include <sys/socket.h>

#include "base/err.h"
#include "ctl/event_loop.h"
#include "ctl/http/web_serve.h"

enum {
    HTTP_CONNECTIONS_MAX = 16,
    HTTP_ADDRESS_CONNECTIONS_MAX = 8,  // of one client address
    HTTP_CONNECTIONS_ROOT = 4,         // of all, only root's on this host, whatever its address has
    HTTP_MEMORY_BYTES = 32 * 1024,     // a connection: request header and pieces of the answer
    HTTP_DISCARD_BYTES = 1024 * 1024,  // of a body that is too large, before the end of all
    HTTP_TIMEOUT_S = 30,
    HTTP_IDLE_MS = 10,
    HTTP_WORK_US = 50,  // a stream whose call took less had nothing to do
    HTTP_ACCEPTS_A_WAKE = 8,
};

// ctl_http_params: strings and pages are the caller's and outlive the door.
struct ctl_http_params {
    struct conf_endpoint at;  // port 0: none; connections come by ctl_http_adopt
    const char *name, *token;
    const struct web_static *statics;
    unsigned n_statics;
    int (*metrics)(const struct ctl_shown *s, struct text *out);
    int (*history)(const struct ctl_shown *s, struct text *out);
    const struct ctl_shown *metrics_arg;  // of both
};

struct ctl_http;

// ctl_http_start: listens and serves t from loop; makes the entry control/http. NULL with *e, and
// nothing left behind. loop and t outlive it.
struct ctl_http *ctl_http_start(struct ctl_loop *loop, struct tree *t,
                                const struct ctl_http_params *p, struct err *e);

// ctl_http_stop: cuts all connections, closes the listener, removes the entry. NULL: nothing.
void ctl_http_stop(struct ctl_http *h);

// ctl_http_adopt: takes the connected socket fd, which it closes, also when it refuses it (-1).
int ctl_http_adopt(struct ctl_http *h, int fd, const struct sockaddr *from, socklen_t n);
