// SPDX-License-Identifier: BSD-3-Clause
// control_http_conn.h: the connections and requests of the control interface over HTTP, shared by
// its files.
#pragma once
#include <microhttpd.h>
#include <sys/queue.h>

#include "base/addr.h"
#include "ctl/http/control_http.h"

enum { HTTP_QUERY_BYTES_MAX = 8192, HTTP_CLIENT_BYTES = 64 };

// http_conn: one connection; fd -1: the slot is free.
struct http_conn {
    struct ctl_http *http;
    int fd;
    struct ip_addr from;
    uint64_t due_ms;  // deadline for the end of the request; UINT64_MAX: it is complete
};

enum http_wait { HTTP_NOT, HTTP_SOON, HTTP_LATER };

// http_request: a request, from its header to the last byte of its answer.
struct http_request {
    TAILQ_ENTRY(http_request) link;
    struct ctl_http *http;
    struct http_conn *conn;
    struct MHD_Connection *mhd;
    struct text body, query;
    char client[HTTP_CLIENT_BYTES];
    uint64_t body_bytes;  // bytes received, also those over the limit
    struct web_answer answer;
    enum http_wait waits;  // why it waits for its stream or its run; the connection is suspended
    bool pprof;            // of one of the routes of web_pprof.h
    bool gone;             // the client has disconnected in the meantime
    const char *piece;     // the piece of the stream that is not sent yet
    size_t piece_bytes;
    uint64_t off;  // offset after the piece
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
    bool listening;                                       // listen_fd is in the loop
    unsigned streams_left;                                // pieces of streams left for this run
    struct http_requests soon, later;
    struct http_conn conns[HTTP_CONNECTIONS_MAX];
    struct http_limits limits;
};

uint64_t http_now_ms(void);

// http_handle: the callback of libmicrohttpd for header, body and end of a request.
enum MHD_Result http_handle(void *cls, struct MHD_Connection *mhd, const char *path,
                            const char *method, const char *version, const char *data, size_t *n,
                            void **request);
void http_completed(void *cls, struct MHD_Connection *mhd, void **request,
                    enum MHD_RequestTerminationCode how);

// http_peer: sets client to who the peer is, for limits: `uid:N` of this host, or the address.
// Returns whether it is root on this host.
bool http_peer(const struct http_request *r, char client[HTTP_CLIENT_BYTES]);

// http_soon: schedules the next run at once. http_wait: suspends the request of a stream until the
// next run, or until HTTP_IDLE_MS have passed; that of a profile (web_pprof_waits()) until it is
// over.
void http_soon(struct ctl_http *h);
void http_wait(struct http_request *r, enum http_wait when);
