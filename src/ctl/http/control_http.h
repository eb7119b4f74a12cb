// SPDX-License-Identifier: BSD-3-Clause
// control_http.h: the tree over HTTP: libmicrohttpd on the control loop, without a separate thread.
//
//     client --> listener --> limits --> libmicrohttpd's epoll fd --> web_serve (web_serve.h)
//                                           ^--> eventfd: work that continues at once: the next
//                                                piece of a stream, requests already received
//
// The server never waits for a client: sockets are non-blocking, and an answer is sent as the
// client accepts it. A client that neither completes a request nor accepts a byte for
// HTTP_TIMEOUT_S is disconnected. A stream without data is tried again after HTTP_IDLE_MS. Reached
// limits are counted in control/http.
#pragma once
#include <sys/socket.h>

#include "base/err.h"
#include "ctl/event_loop.h"
#include "ctl/http/web_serve.h"

enum {
    HTTP_CONNECTIONS_MAX = 16,
    HTTP_ADDRESS_CONNECTIONS_MAX = 8,  // connections of one client address
    HTTP_CONNECTIONS_ROOT = 4,         // of all connections, reserved for root on this host
    // for each connection: request header and pieces of the answer
    HTTP_MEMORY_BYTES = 32 * 1024,
    // bytes read of a body that is too large, before the connection is closed
    HTTP_DISCARD_BYTES = 1024 * 1024,
    HTTP_TIMEOUT_S = 30,
    // time to take a profile: so much, and a second for so many bytes
    HTTP_PROFILE_S = 60,
    HTTP_PROFILE_BYTES_A_SECOND = 128 * 1024,
    HTTP_IDLE_MS = 10,
    HTTP_WORK_US = 50,  // us; a stream is idle if a call takes less time
    HTTP_ACCEPTS_A_WAKE = 8,
};

// ctl_http_params: the parameters. The strings and pages must outlive the server.
struct ctl_http_params {
    struct conf_endpoint at;  // port 0: no listener, only ctl_http_adopt()
    const char *name, *token;
    const struct web_static *statics;
    unsigned n_statics;
    int (*metrics)(const struct ctl_shown *s, struct text *out);
    int (*history)(const struct ctl_shown *s, struct text *out);
    const struct ctl_shown *metrics_arg;  // argument of both
    struct prof *prof;                    // NULL: no profiles
};

struct ctl_http;

// ctl_http_start: listens, serves t from loop, and creates the entry control/http. Returns NULL
// with the reason in *e and nothing left behind. loop and t must outlive it.
struct ctl_http *ctl_http_start(struct ctl_loop *loop, struct tree *t,
                                const struct ctl_http_params *p, struct err *e);

// ctl_http_stop: closes all connections and the listener, and removes the entry. NULL is allowed.
void ctl_http_stop(struct ctl_http *h);

// ctl_http_adopt: serves the connected socket fd and takes ownership of it. Returns 0, or -1 after
// closing fd.
int ctl_http_adopt(struct ctl_http *h, int fd, const struct sockaddr *from, socklen_t n);
