// SPDX-License-Identifier: BSD-3-Clause
// request_parse.h: parses the head of a request (RFC 9112 sections 2, 3, 5, 6) line by line as it
// arrives. No side effects.
//
//   data ->  [CRLF]  GET /path HTTP/1.1 CRLF  Host: a CRLF  ...  CRLF  | body or next request
//                    `line` = start of the present line; `at` = end of the scanned part
//
// The parser stores offsets only: the caller passes the same bytes again, followed by new ones, and
// each byte is scanned once. The result does not depend on the segments in which the bytes arrive.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HTTP_HEAD_BYTES_MIN = 256,    // range of header_bytes_max
    HTTP_HEAD_BYTES_MAX = 16384,  // C10M_DATA_CONTIG_BYTES; the offsets below are 16 bits wide
};

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_OPTIONS,
    HTTP_POST,
    HTTP_CONNECT,
    HTTP_NOT_ALLOWED,  // a method of RFC 9110 or 5789 that files do not allow
};

enum http_request_flag {
    HTTP_MINOR_0 = 1 << 0,     // HTTP/1.0
    HTTP_HOST = 1 << 1,        // has Host
    HTTP_LENGTH = 1 << 2,      // has Content-Length
    HTTP_CODING = 1 << 3,      // has Transfer-Encoding
    HTTP_BODY = 1 << 4,        // a body follows the head: Content-Length above 0, or chunked
    HTTP_CLOSE = 1 << 5,       // Connection: close
    HTTP_KEEP_ALIVE = 1 << 6,  // Connection: keep-alive
    // Fields whose value is read when the head is complete (fields.h):
    HTTP_CONDITION = 1 << 7,     // If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since
    HTTP_RANGE = 1 << 8,         // Range
    HTTP_ENCODING = 1 << 9,      // Accept-Encoding
    HTTP_EXPECT = 1 << 10,       // Expect
    HTTP_CODING_MORE = 1 << 11,  // Transfer-Encoding has another coding before chunked
    // A request with none of these is answered on the fast path. HTTP_ENCODING is not among them,
    // because every browser sends it; whether it matters depends on the file.
    HTTP_LESS_COMMON = HTTP_BODY | HTTP_CONDITION | HTTP_RANGE | HTTP_EXPECT,
};

// http_request: the state of the parser for the present head; all zero before its first byte.
struct http_request {
    uint16_t line;          // offset of the present line
    uint16_t at;            // end of the scanned part; after HTTP_DONE the length of the head
    uint16_t target_off;    // the request-target
    uint16_t target_bytes;  // 0: the request line is not complete yet
    uint8_t method;         // enum http_method
    uint16_t flags;         // enum http_request_flag
};

enum { HTTP_MORE = 0, HTTP_DONE = 1 };

// http_parse: continues with [data, data + len), which begins with the first byte of the head and
// is at least as long as in the call before. Returns HTTP_MORE (the head is incomplete), HTTP_DONE
// (r->at is the length of the head; method, flags and target are valid) or the status of the error:
// 400, 414 (request line longer than head_bytes_max), 431 (head longer than head_bytes_max), 501
// (unknown method, also one without end, or unknown transfer coding), 505. After an error the start
// of the next request is unknown: the connection must be closed.
int http_parse(struct http_request *r, const uint8_t *data, size_t len, size_t head_bytes_max);

// http_keep_alive: whether the connection can stay open after this request (RFC 9112 section 9.3).
static inline bool http_keep_alive(const struct http_request *r)
{
    if (r->flags & HTTP_CLOSE)
        return false;
    return !(r->flags & HTTP_MINOR_0) || (r->flags & HTTP_KEEP_ALIVE);
}
