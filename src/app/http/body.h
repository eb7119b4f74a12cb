// SPDX-License-Identifier: BSD-3-Clause
// body.h: where the content of a request lies in the stream (RFC 9112 sections 6 and 7): by its
// length, or in chunks with extensions and trailers. Pure; a machine of single bytes, so that the
// verdict does not depend on how they were cut. Stricter than many: every line ends in CRLF, a size
// is hexadecimal digits and nothing else, an extension follows its grammar.
#pragma once
#include <assert.h>

#include "app/http/request_parse.h"
#include "app/http/str.h"

struct http_body {
    uint32_t left;    // of the content, or of the present chunk
    uint32_t total;   // content bytes announced so far
    uint32_t extras;  // bytes of extensions and trailers so far
    uint8_t state;
};
static_assert(sizeof(struct http_body) <= 16, "it lies in the connection's line (conn.h)");

struct http_body_limits {
    uint32_t content_bytes, extra_bytes;
};

// http_body_begin: content of `length` bytes (at least 1), or in chunks.
void http_body_begin(struct http_body *b, bool chunked, uint32_t length);

// http_body_read: reads on in [data, data + len). *used of it are consumed, and *run of that is
// content. Returns HTTP_MORE (call again: with the rest, or with what follows), HTTP_DONE (*used is
// the end of the body; trailers were checked and are of no use to us), or the status of the error:
// 400, 413 (content or extensions longer than the limit), 431 (trailers).
int http_body_read(struct http_body *b, const struct http_body_limits *limits, const uint8_t *data,
                   size_t len, size_t *used, struct http_text *run);
