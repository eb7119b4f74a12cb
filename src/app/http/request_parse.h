// SPDX-License-Identifier: BSD-3-Clause
// request_parse.h: the head of a request (RFC 9112 sections 2, 3, 5, 6), read line by line as it
// arrives. Pure.
//
//   data ->  [CRLF]  GET /path HTTP/1.1 CRLF  Host: a CRLF  ...  CRLF  | body or next request
//                    `line` = start of the line being read; `at` = how far it has been scanned
//
// Nothing is kept of the bytes but offsets: the caller offers the same bytes again with what
// followed, and each byte is looked at once however small the pieces are. The verdict does not
// depend on how the bytes were cut.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_BYTES_MIN = 256,    // least and most that header_bytes_max may be:
    HTTP_HEAD_BYTES_MAX = 16384,  // C10M_DATA_CONTIG_BYTES; the offsets below are 16 bits wide
};

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_OPTIONS,
    HTTP_POST,
    HTTP_CONNECT,
    HTTP_NOT_ALLOWED,  // a method that RFC 9110 or 5789 knows and files do not offer
};

enum http_request_flag {
    HTTP_MINOR_0 = 1 << 0,     // HTTP/1.0
    HTTP_HOST = 1 << 1,        // Host was given
    HTTP_LENGTH = 1 << 2,      // Content-Length was given
    HTTP_CODING = 1 << 3,      // Transfer-Encoding was given
    HTTP_BODY = 1 << 4,        // a body follows the head: Content-Length above 0, or chunked
    HTTP_CLOSE = 1 << 5,       // Connection: close
    HTTP_KEEP_ALIVE = 1 << 6,  // Connection: keep-alive
    // Fields whose value is read when the head is complete (fields.h):
    HTTP_CONDITION = 1 << 7,     // If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since
    HTTP_RANGE = 1 << 8,         // Range
    HTTP_ENCODING = 1 << 9,      // Accept-Encoding
    HTTP_EXPECT = 1 << 10,       // Expect
    HTTP_CODING_MORE = 1 << 11,  // Transfer-Encoding has another coding before chunked
    // What a request that is answered at once has none of. (Every browser names encodings: whether
    // that matters the file tells.)
    HTTP_LESS_COMMON = HTTP_BODY | HTTP_CONDITION | HTTP_RANGE | HTTP_EXPECT,
};

// http_request: what has been read of the present head; all zero before its first byte.
struct http_request {
    uint16_t line;          // offset of the line being read
    uint16_t at;            // offset up to which it has been scanned; when done: the head's length
    uint16_t target_off;    // the request-target
    uint16_t target_bytes;  // 0: the request line has not been read yet
    uint8_t method;         // enum http_method
    uint16_t flags;         // enum http_request_flag
};

enum { HTTP_MORE = 0, HTTP_DONE = 1 };

// http_parse: reads on in [data, data + len), which begins with the head's first byte and is at
// least as long as the time before. Returns HTTP_MORE (the head has no end yet), HTTP_DONE (r->at
// is its length; method, flags and target are valid) or the status of the error that the head
// deserves: 400, 414 (request line longer than head_bytes_max), 431 (head longer), 501 (method,
// also one that does not end, or transfer coding), 505. After an error the position of the next
// request is unknown: the connection must be closed.
int http_parse(struct http_request *r, const uint8_t *data, size_t len, size_t head_bytes_max);

// http_keep_alive: whether the connection can stay open after this request (RFC 9112 section 9.3).
static inline bool http_keep_alive(const struct http_request *r)
{
    if (r->flags & HTTP_CLOSE)
        return false;
    return !(r->flags & HTTP_MINOR_0) || (r->flags & HTTP_KEEP_ALIVE);
}
