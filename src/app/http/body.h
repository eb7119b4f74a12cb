// SPDX-License-Identifier: BSD-3-Clause
// body.h: finds the content of a request in the stream (RFC 9112 sections 6 and 7), by
// Content-Length, or in chunks with extensions and trailers. No side effects. A state machine that
// reads single bytes, so the result does not depend on the segments in which they arrive. Stricter
// than many servers: every line ends with CRLF, a chunk size consists of hexadecimal digits only,
// and extensions must follow their grammar.
#pragma once
#include <assert.h>

#include "app/http/request_parse.h"
#include "app/http/str.h"

struct http_body {
    uint32_t left;    // bytes left of the content, or of the present chunk
    uint32_t total;   // content bytes announced so far
    uint32_t extras;  // bytes of extensions and trailers so far
    uint8_t state;
};
static_assert(sizeof(struct http_body) <= 16, "part of the connection's state (conn.h)");

struct http_body_limits {
    uint32_t content_bytes, extra_bytes;
};

// http_body_begin: starts content of `length` bytes (at least 1), or in chunks.
void http_body_begin(struct http_body *b, bool chunked, uint32_t length);

// http_body_read: continues with the bytes [data, data + len). *used is the number of bytes
// consumed, and *run the content among them. Returns HTTP_MORE (call again with the bytes after
// *used), HTTP_DONE (the body ends at *used; trailers were checked and are ignored), or the status
// of the error: 400, 413 (content or extensions longer than the limit), 431 (trailers longer than
// the limit).
int http_body_read(struct http_body *b, const struct http_body_limits *limits, const uint8_t *data,
                   size_t len, size_t *used, struct http_text *run);
