// SPDX-License-Identifier: BSD-3-Clause
// access_log.h: the access log in the Common or the Combined format of Apache.
//
//   worker: http_log_record --c10m_log--> ring --> control thread: http_log_put -> buffer -> file
//           (raw texts, truncated)        (full: dropped, counted)   (escaped)
//
// Each response writes one line when the server starts to send it, with its status and the length
// of its body, even if the peer does not receive all of it. The time is UTC. Control bytes and
// bytes above 0x7e are written as \xHH; quote and backslash are preceded by a backslash.
#pragma once
#include <assert.h>

#include "app/http/str.h"
#include "c10m/app.h"

enum {
    HTTP_LOG_REQUEST_MAX = 1200,  // of the request line; longer ones are truncated
    HTTP_LOG_FIELD_MAX = 380,     // of Referer and of User-Agent; longer ones are truncated
};

struct http_log_record {
    uint64_t unix_s;
    uint64_t bytes;  // length of the response body
    uint8_t peer[16];
    uint16_t status;
    uint16_t request_bytes, referer_bytes, agent_bytes;
    // request line, Referer, User-Agent
    uint8_t texts[HTTP_LOG_REQUEST_MAX + 2 * HTTP_LOG_FIELD_MAX];
};
static_assert(sizeof(struct http_log_record) <= C10M_LOG_BYTES_MAX, "one record, one message");

// http_log_fill: fills in peer and texts from the request. `head` begins with the request line (n
// 0: there is none). `fields` are the field lines of the head; n 0: the format does not need them,
// or the head is malformed. Worker.
void http_log_fill(struct http_log_record *r, const struct c10m_conn *c, struct http_text head,
                   struct http_text fields);

// http_log_bytes: the length of a filled record in bytes.
size_t http_log_bytes(const struct http_log_record *r);

// http_log_line: writes the record's line to to[0..HTTP_LOG_LINE_MAX) and returns its length. No
// side effects.
enum { HTTP_LOG_LINE_MAX = 4 * (HTTP_LOG_REQUEST_MAX + 2 * HTTP_LOG_FIELD_MAX) + 256 };
size_t http_log_line(const struct http_log_record *r, bool combined, char *to);

struct http_log;  // a log file and its buffer; control thread only

// http_log_open: opens the file for appending; creates it with mode 0640. Returns NULL with the
// reason in err.
struct http_log *http_log_open(const char *path, bool combined, char *err, size_t err_bytes);
// http_log_close: writes the rest of the buffer, closes the file and frees log. NULL is allowed.
void http_log_close(struct http_log *log);
// http_log_put: adds a record of `len` bytes to the buffer. record NULL: writes the buffer to the
// file; if another file is at its path (log rotation), opens that one first; len C10M_LOG_REOPEN:
// afterwards, at once. Returns how many lines were lost because a write failed.
unsigned http_log_put(struct http_log *log, const void *record, size_t len);
