// SPDX-License-Identifier: BSD-3-Clause
// web_serve.h: what the HTTP door answers, apart from how HTTP travels (http_door.h):
//
//     request --> web_serve --> /proc/PATH: the tree (web_proc.c) | /metrics (metrics.h)
//                             | /history: the last hour as JSON (server/history.h)
//                               | pages that are part of the program (web_static.h)
//     answer  <-- status, headers, and a body: text of its own, or an open file of the tree
//
// Whoever brings the token has the rights of root, everybody else those of "other"; a server with a
// token tells nobody else anything: of the answers only the pages of the program need none. Reading
// with rights of others is what any user of the host could do at the mount; so is writing, and a
// page of another origin cannot send it: it needs the header `X-C10M: 1`, which a browser sends
// only after asking, and is not answered then.
#pragma once
#include "base/text.h"
#include "conf/conf.h"
#include "tree/door.h"

enum {
    WEB_PATH_BYTES_MAX = 4096,             // of a request's path, decoded or not
    WEB_UID_NOBODY = 65534,                // Linux's overflow user
    WEB_TEXT_BYTES_MAX = 8 * 1024 * 1024,  // of an answer that no file of the tree holds
};

enum web_method { WEB_GET, WEB_HEAD, WEB_PUT, WEB_POST, WEB_OTHER };

// web_request: the strings are NULL where the client did not send them, and live during the call.
struct web_request {
    enum web_method method;
    const char *path;           // as sent, percent escapes included; no query
    const char *host;           // header Host
    const char *authorization;  // header Authorization
    const char *accept;         // header Accept
    const char *confirmed;      // header X-C10M
    bool old;                   // HTTP/1.0, which needs no Host
    bool repeated;              // one of Host, Authorization, X-C10M came twice
    const char *body;
    size_t body_bytes;
};

// web_answer: handle (may be NULL) is the answer's: its owner closes it when all is sent. Without
// it, or with a directory's, the body is `text`.
struct web_answer {
    unsigned status;
    const char *type;
    const char *allow;  // header Allow, NULL: none
    bool challenge;     // header WWW-Authenticate
    const void *bytes;  // of a static page; else NULL
    size_t n_bytes;
    struct text text;
    struct tree_handle *handle;
    bool from_handle;  // the body is what the handle reads
    bool stream;       // of unknown length
};

// web_counts: what was answered, and the limits that were hit.
struct web_counts {
    uint64_t requests, writes;
    uint64_t refused_token, refused_host, refused_unconfirmed, refused_mode;
    uint64_t bad_paths, bad_requests, not_found, too_large, failed;
};

struct web_static;
struct ctl_shown;

// web: the routes and what they look at. `token` is empty where none is needed.
struct web {
    struct tree_door door;
    const char *name;  // of this server: good as a Host
    char token[CONF_TOKEN_BYTES_MAX + 1];
    const struct web_static *statics;
    unsigned n_statics;
    // metrics: renders the text of /metrics; NULL: there is none.
    int (*metrics)(const struct ctl_shown *s, struct text *out);
    // history: renders the JSON of /history; NULL: there is none.
    int (*history)(const struct ctl_shown *s, struct text *out);
    const struct ctl_shown *metrics_arg;  // of both
    struct web_counts counts;
};

// web_early: what can be said before the body is there (body_bytes is what was announced): false
// with *a when the request is refused; true: web_serve it. Once a request.
bool web_early(struct web *w, const struct web_request *r, struct web_answer *a);

// web_serve: the answer to r, for which web_early said true, its body included. What *a holds is
// given back by web_answer_free.
void web_serve(struct web *w, const struct web_request *r, struct web_answer *a);
void web_answer_free(struct web_answer *a);

// web_error: makes *a the status with a line of text. web_errno: the same for what the tree said
// (-errno) about the path.
void web_error(struct web_answer *a, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void web_errno(struct web *w, struct web_answer *a, int code, bool writing, const char *path);

// web_proc: the route /proc. `path` is what stands behind it, as sent; root: the rights.
void web_proc(struct web *w, const struct web_request *r, const char *path, bool root,
              struct web_answer *a);
