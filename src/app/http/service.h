// SPDX-License-Identifier: BSD-3-Clause
// service.h: one [service NAME] with app = http: its parameters, and the data that init makes.
//
//   root                  the directory to serve (site_load.h); required unless `host` is set
//   header_bytes_max      longest head of a request: 256..16384, default 8192; longer: 414 or 431
//   header_timeout_ms     from a head's first byte to its last, default 10000; later: 408
//   header_bytes_held     unread bytes of all clients of a worker, counted for each connection in
//                         units of 2048: of incomplete heads (more: 503) and after a request being
//                         answered (more: closed after the response); default 8 MiB. hold.h has
//                         the share of a source
//   keepalive_timeout_ms  time without a request, default 60000
//   write_timeout_ms      time in which a client must acknowledge write_bytes_min queued bytes, or
//                         all: default 60000, at most an hour. Otherwise the connection is reset
//                         after one to two times this time
//   write_bytes_min       default 4096
//   body_bytes_max        longest content of a request, default 65536; longer: 413
//   body_timeout_ms       from a head's end to the end of the content, default 30000; later: 408
//   max_wait_ms           time in the device's queue after which a request is refused by 503, 1 to
//                         60000, or off; auto, the default: HTTP_WAIT_AUTO_MS of an overloaded
//                         worker (c10m_overloaded_us())
//   holds_max             requests with content, or for several ranges, being answered at once on
//                         each worker, default 256; more: 503
//   echo_path             path where POST is answered with its content; default none
//   headers_path          path where GET is answered with its field lines; default none
//   access_log            file with a line for each response (access_log.h); default none
//   access_log_format     common or combined, default combined
//   files_max, bytes_max  most files and most bytes below all roots, default 65536 and 2^30
//   mime_types            file of media types (mime.h); default: a built-in table
//   host                  lines of names and their root (names.h); default none
//   header, expires, redirect, error_page  lines (rules.h); default none
//   proxy_protocol        on: each connection begins with a PROXY header (preface.h); default off
//   proxy_from            prefixes of peers that may send PROXY headers; default: all
//   proxy_connections_max connections with a client of a PROXY header on each worker, default
//                         65536; more: reset
//   listing               on: directories without an index.html are listed; default off
#pragma once
#include "app/http/clients.h"
#include "app/http/hold.h"
#include "app/http/http_counters.h"
#include "app/http/sites.h"

enum { HTTP_WRITE_MS_MAX = 3600000, HTTP_WAIT_AUTO = 0, HTTP_WAIT_AUTO_MS = 100 };
#define HTTP_WAIT_OFF UINT64_MAX

struct http_params {
    uint64_t header_bytes_max, header_timeout_ms, header_bytes_held;
    uint64_t body_bytes_max, body_timeout_ms;
    uint64_t keepalive_timeout_ms;
    uint64_t max_wait_ms;  // or HTTP_WAIT_AUTO, HTTP_WAIT_OFF
    uint64_t write_timeout_ms, write_bytes_min;
    uint64_t holds_max;
    uint64_t files_max, bytes_max;
    uint64_t proxy_connections_max;
};

enum { HTTP_PREFIXES_MAX = 16 };

struct http_peers {
    uint8_t addr[16];
    unsigned bits;  // prefix length, 0 to 128
};

struct http_service {
    struct http_params params;
    uint64_t answered_ms;  // the smaller of keepalive_timeout_ms and write_timeout_ms
    struct http_sites sites;
    bool left_sought;     // left_place is known
    unsigned left_place;  // of the images of a process before; HTTP_PLACES: there are none
    struct http_pools pools;
    bool proxied;  // proxy_protocol
    unsigned n_from;
    struct http_peers from[HTTP_PREFIXES_MAX];
    struct http_clients clients;
    struct http_log *log;  // NULL: no log. Workers only compare it with NULL
    char
        boundary[HTTP_BOUNDARY_BYTES + 1];  // between ranges: no file can have been made to hold it
    bool log_combined;
    int counters[HTTP_COUNTERS_N];
};

// http_param: the value of a key; NULL: it is not set, or empty. http_param_on: whether it is `on`.
const char *http_param(const struct c10m_service *s, const char *key);
bool http_param_on(const struct c10m_service *s, const char *key);

// http_init, http_fini: the application's callbacks. Control thread.
int http_init(struct c10m_service *s, char *err, size_t err_bytes);
void http_fini(struct c10m_service *s);
unsigned http_log(struct c10m_service *s, const void *record, size_t len);

// http_left_place: left_place, found by the first call. Control thread.
unsigned http_left_place(struct c10m_service *s, struct http_service *service);

// http_reload_first: loads the first site and serves it. The others are the callbacks of
// c10m_reload (c10m/reload.h).
int http_reload_first(struct c10m_service *s, struct http_service *service, char *err,
                      size_t err_bytes);
int http_reload_read(struct c10m_service *s, void **made, char *text, size_t text_bytes);
void http_reload_show(struct c10m_service *s, void *made, char *text, size_t text_bytes);
void *http_reload_unused(struct c10m_service *s);
void http_reload_release(struct c10m_service *s, void *site);
