// SPDX-License-Identifier: BSD-3-Clause
// service.h: one [service NAME] with app = http: its parameters and all that init made.
//
//   root                  the directory to serve (site_load.h); no default, but there may be `host`
//   lines header_bytes_max      longest head of a request: 256..16384, default 8192; over: 414 or
//   431 header_timeout_ms     from a head's first byte to its last, default 10000; over: 408
//   header_bytes_held     bytes that clients may have queued at once per worker, counted in units
//                         of 2048 per connection: of heads without their end (over: 503) and behind
//                         an answer in work (over: closed after it); default 8 MiB. hold.h tells
//                         what part a source has
//   keepalive_timeout_ms  without a request, default 60000
//   write_timeout_ms      in which a client takes write_bytes_min bytes of what is queued, or all:
//                         default 60000, at most an hour; who does not is reset after one to two
//   write_bytes_min       default 4096
//   body_bytes_max        longest content of a request, default 65536; over: 413
//   body_timeout_ms       from a head's end to its content's, default 30000; over: 408
//   holds_max             requests with content, or for several ranges, in work at once per worker,
//                         default 256; over: 503
//   echo_path             where POST is answered with its content; default none
//   headers_path          where GET is answered with its field lines; default none
//   access_log            file with a line for each answer (access_log.h); default none
//   access_log_format     common or combined, default combined
//   files_max, bytes_max  most files and most bytes below all roots, default 65536 and 2^30
//   mime_types            file of media types (mime.h); default: a built-in table
//   host                  lines of names and their root (names.h); default none
//   header, expires, redirect, error_page  lines (rules.h); default none
//   proxy_protocol        on: each connection begins with a PROXY header (preface.h); default off
//   proxy_from            who may send one, prefixes; default: everybody
//   proxy_connections_max named clients at once per worker, default 65536; over: reset
//   listing               on: directories without an index.html are listed; default off
#pragma once
#include "app/http/clients.h"
#include "app/http/hold.h"
#include "app/http/http_counters.h"
#include "app/http/sites.h"

enum { HTTP_WRITE_MS_MAX = 3600000 };

struct http_params {
    uint64_t header_bytes_max, header_timeout_ms, header_bytes_held;
    uint64_t body_bytes_max, body_timeout_ms;
    uint64_t keepalive_timeout_ms;
    uint64_t write_timeout_ms, write_bytes_min;
    uint64_t holds_max;
    uint64_t files_max, bytes_max;
    uint64_t proxy_connections_max;
};

enum { HTTP_PREFIXES_MAX = 16 };

struct http_peers {
    uint8_t addr[16];
    unsigned bits;  // of 128
};

struct http_service {
    struct http_params params;
    uint64_t answered_ms;  // the shorter of keepalive_timeout_ms and write_timeout_ms
    struct http_sites sites;
    struct http_pools pools;
    bool proxied;  // proxy_protocol
    unsigned n_from;
    struct http_peers from[HTTP_PREFIXES_MAX];
    struct http_clients clients;
    struct http_log *log;  // NULL: none. Workers look at no more than that
    char
        boundary[HTTP_BOUNDARY_BYTES + 1];  // between ranges: no file can have been made to hold it
    bool log_combined;
    int counters[HTTP_COUNTERS_N];
};

// http_init, http_fini: the application's callbacks. Control thread.
int http_init(struct c10m_service *s, char *err, size_t err_bytes);
void http_fini(struct c10m_service *s);
unsigned http_log(struct c10m_service *s, const void *record, size_t len);
