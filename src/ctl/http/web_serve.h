// SPDX-License-Identifier: BSD-3-Clause
// web_serve.h: the requests to the control interface over HTTP and their answers, independent of
// the transport (control_http.h):
//
//     request --> web_serve --> /proc/PATH: the tree (web_proc.c) | /metrics (metrics.h)
//                             | /history: the last hour as JSON (server/history.h)
//                             | /debug/pprof/: profiles (web_pprof.h)
//                             | pages of the program (web_static.h)
//     answer  <-- status, headers, and a body: a text, or an open file of the tree
//
// A client with the token has the rights of root, others those of "other". If a token is
// configured, all requests except those for the pages of the program need it. Without a token,
// reading and writing with the rights of "other" is what every user of the host may do on the
// mount. A write needs the header `X-C10M: 1`, so that a web page of another origin cannot send it:
// a browser sends such a header only after a CORS preflight request, which this server does not
// answer.
#pragma once
#include "base/text.h"
#include "conf/conf.h"
#include "tree/access.h"

enum {
    WEB_PATH_BYTES_MAX = 4096,             // path of a request, decoded or not
    WEB_UID_NOBODY = 65534,                // Linux's overflow user
    WEB_TEXT_BYTES_MAX = 8 * 1024 * 1024,  // answer that is not a file of the tree
};

// web_plain: the media type of texts.
extern const char web_plain[];

enum web_method { WEB_GET, WEB_HEAD, WEB_PUT, WEB_POST, WEB_OTHER };

// web_request: a request. Strings are NULL if the client did not send them, and valid during the
// call.
struct web_request {
    enum web_method method;
    const char *path;           // as sent, with percent escapes, without query
    const char *query;          // of the URL, as sent; "": none
    const char *client;         // who it is, for limits: an address, or a user of this host
    bool root;                  // the client is root on this host
    const char *site;           // header Sec-Fetch-Site, which browsers send
    const char *host;           // header Host
    const char *authorization;  // header Authorization
    const char *accept;         // header Accept
    const char *confirmed;      // header X-C10M
    bool old;                   // HTTP/1.0, which needs no Host
    bool repeated;              // Host, Authorization or X-C10M occurs twice
    const char *body;
    size_t body_bytes;
};

// web_answer: an answer. It owns handle and run, which may be NULL; the body is `text` if there is
// no handle or it is a directory. With a run it is complete once web_pprof_ready() says so.
struct web_answer {
    unsigned status;
    const char *type;
    const char *allow;     // header Allow, NULL: none
    bool challenge;        // header WWW-Authenticate
    unsigned retry_s;      // header Retry-After, 0: none
    const char *location;  // header Location, NULL: none
    const char *attached;  // file name in the header Content-Disposition; NULL: none
    struct prof_run *run;
    const void *bytes;  // static page, or NULL
    size_t n_bytes;
    struct text text;
    struct tree_handle *handle;
    bool from_handle;  // the body is read from the handle
    bool stream;       // the length is unknown
    bool empty;        // a HEAD whose length is unknown
};

// web_counts: counters of answers and of reached limits.
struct web_counts {
    uint64_t requests, writes;
    uint64_t refused_token, refused_host, refused_unconfirmed, refused_mode;
    uint64_t bad_paths, bad_requests, not_found, too_large, failed;
};

struct web_static;
struct ctl_shown;
struct prof;

// web: the data of the routes. An empty `token` means that none is required.
struct web {
    struct tree_session session;
    const char *name;  // name of this server, accepted as Host
    char token[CONF_TOKEN_BYTES_MAX + 1];
    const struct web_static *statics;
    unsigned n_statics;
    // metrics: renders the text of /metrics; NULL: there is none.
    int (*metrics)(const struct ctl_shown *s, struct text *out);
    // history: renders the JSON of /history; NULL: there is none.
    int (*history)(const struct ctl_shown *s, struct text *out);
    const struct ctl_shown *metrics_arg;  // of both
    struct prof *prof;                    // NULL: no profiles
    struct web_counts counts;
};

// web_early: the checks before the body arrives; r->body_bytes is the announced length. Returns
// false with *a if the request is refused, otherwise true: call web_serve(). Once per request.
bool web_early(struct web *w, const struct web_request *r, struct web_answer *a);

// web_serve: sets *a to the answer to the complete request r, for which web_early() has returned
// true. Free *a with web_answer_free().
void web_serve(struct web *w, const struct web_request *r, struct web_answer *a);
void web_answer_free(struct web_answer *a);

// web_error: sets *a to a status with a line of text. web_errno: sets *a to the answer for an error
// of the tree (-errno) about the path.
void web_error(struct web_answer *a, unsigned status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// web_fail: web_error, counted.
void web_fail(struct web *w, struct web_answer *a, unsigned status, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void web_errno(struct web *w, struct web_answer *a, int code, bool writing, const char *path);

// web_proc: the route /proc. path: the part after it, as sent. root: whether the client has the
// rights of root.
void web_proc(struct web *w, const struct web_request *r, const char *path, bool root,
              struct web_answer *a);
