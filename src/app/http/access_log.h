// SPDX-License-Identifier: BSD-3-Clause
// access_log.h: the access log in the Common or the Combined format of Apache.
//
//   worker: http_log_record --c10m_log--> ring --> control thread: http_log_put -> buffer -> file
//           (texts as they came, cut)     (full: dropped, counted)   (escaped)
//
// A line is written for each answer when it begins to be sent, with its status and the length of
// its body, also of one that the peer does not take to its end. The time is UTC. Bytes that could
// end a line or a text are written as \xHH, quote and backslash behind a backslash.
#pragma once
#include <assert.h>

#include "app/http/str.h"
#include "c10m/app.h"

enum {
    HTTP_LOG_REQUEST_MAX = 1200,  // of the request line; what is longer is cut
    HTTP_LOG_FIELD_MAX = 380,     // of Referer, of User-Agent
};

struct http_log_record {
    uint64_t unix_s;
    uint64_t bytes;  // of the answer's body
    uint8_t peer[16];
    uint16_t status;
    uint16_t request_bytes, referer_bytes, agent_bytes;
    uint8_t texts[HTTP_LOG_REQUEST_MAX + 2 * HTTP_LOG_FIELD_MAX];  // in this order
};
static_assert(sizeof(struct http_log_record) <= C10M_LOG_BYTES_MAX, "one record, one message");

// http_log_fill: fills in what the request tells: peer and texts. `head` begins with the request
// line (n 0: there is none); `fields` are its field lines, n 0 where they are not wanted or not to
// be trusted. Worker.
void http_log_fill(struct http_log_record *r, const struct c10m_conn *c, struct http_text head,
                   struct http_text fields);

// http_log_bytes: how long a filled record is.
size_t http_log_bytes(const struct http_log_record *r);

// http_log_line: writes the record's line to to[0..HTTP_LOG_LINE_MAX); returns its length. Pure.
enum { HTTP_LOG_LINE_MAX = 4 * (HTTP_LOG_REQUEST_MAX + 2 * HTTP_LOG_FIELD_MAX) + 256 };
size_t http_log_line(const struct http_log_record *r, bool combined, char *to);

struct http_log;  // a log file and its buffer; control thread only

// http_log_open: opens or creates the file for appending, mode 0640. NULL, and why in err.
struct http_log *http_log_open(const char *path, bool combined, char *err, size_t err_bytes);
// http_log_close: writes what is left. NULL: nothing.
void http_log_close(struct http_log *log);
// http_log_put: a record of `len` bytes to the buffer, NULL: the buffer to the file, which is
// opened again when another lies at its path (log rotation). Returns how many lines were lost
// because the file did not take them.
unsigned http_log_put(struct http_log *log, const void *record, size_t len);
