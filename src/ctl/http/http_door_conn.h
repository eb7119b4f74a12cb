// SPDX-License-Identifier: BSD-3-Clause
// http_door_conn.h: what the parts of the HTTP door share: its connections, and the requests on
// them.
#pragma once
#include <microhttpd.h>
#include <sys/queue.h>

#include "base/addr.h"
#include "ctl/http/http_door.h"

// http_conn: one connection; fd -1: the slot is free.
struct http_conn {
    struct ctl_http *http;
    int fd;
    struct ip_addr from;
    uint64_t due_ms;  // the end of its request has to be here by then; UINT64_MAX: it is
};

enum http_wait { HTTP_NOT, HTTP_SOON, HTTP_LATER };

// http_request: from its header to the last byte of its answer.
struct http_request {
    TAILQ_ENTRY(http_request) link;
    struct ctl_http *http;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    struct text body;
    uint64_t body_bytes;  // what came, also where it was too much to keep
    struct web_answer answer;
    enum http_wait waits;  // for its stream; suspended
    bool gone;             // the client, while it waited
    const char *piece;     // what the stream has handed and is not sent yet
    size_t piece_bytes;
    uint64_t off;  // behind the piece
};

TAILQ_HEAD(http_requests, http_request);

struct http_limits {
    uint64_t accepted, refused_connections, refused_address, accept_failed;
    uint64_t timeouts, malformed, broken_off;
};

struct ctl_http {
    struct ctl_loop *loop;
    struct tree *tree;
    struct web web;
    struct MHD_Daemon *daemon;
    struct tree_node *entry;
    char where[64];
    int listen_fd, mhd_fd, wake_fd, second_fd, later_fd;  // -1: none
    bool listening;                                       // the loop has listen_fd
    unsigned streams_left;                                // pieces that this run may still make
    struct http_requests soon, later;
    struct http_conn conns[HTTP_CONNECTIONS_MAX];
    struct http_limits limits;
};

uint64_t http_now_ms(void);

// http_handle: libmicrohttpd's callbacks: a request's header and body, its end.
enum MHD_Result http_handle(void *cls, struct MHD_Connection *mhd, const char *path,
                            const char *method, const char *version, const char *data, size_t *n,
                            void **request);
void http_completed(void *cls, struct MHD_Connection *mhd, void **request,
                    enum MHD_RequestTerminationCode how);

// http_soon: the run comes again at once. http_wait: a stream's request is asked again, soon or
// later.
void http_soon(struct ctl_http *h);
void http_wait(struct http_request *r, enum http_wait when);
