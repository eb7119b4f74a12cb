// SPDX-License-Identifier: BSD-3-Clause
// fields.h: the fields whose value matters only now and then, read from a head that http_parse has
// found complete. Pure.
#pragma once
#include "app/http/request_parse.h"
#include "app/http/str.h"

// http_fields_of: the field lines of the head at `head`, behind its request line; http_field_next
// takes the next one off. False: no more.
struct http_text http_fields_of(const struct http_request *r, const uint8_t *head);
bool http_field_next(struct http_text *fields, struct http_text *name, struct http_text *value);

// http_field_find: the value of the first field called `lower` (without capitals); false: none.
bool http_field_find(struct http_text fields, const char *lower, struct http_text *value);

// http_content_length: the value of Content-Length, UINT64_MAX when it is longer than that. The
// head has one.
uint64_t http_content_length(struct http_text fields);

// http_expects_continue: whether Expect asks for "100-continue" and for nothing else (RFC 9110
// section 10.1.1).
bool http_expects_continue(struct http_text fields);

// http_prefers: which of the codings that are offered is to be preferred (RFC 9110 section 12.5.3):
// the one with the highest weight that is acceptable and not less than the file as it is; of equals
// br. HTTP_AS_IS: none.
enum http_packed { HTTP_AS_IS, HTTP_GZIP = 1 << 0, HTTP_BR = 1 << 1 };
enum http_packed http_prefers(struct http_text fields, unsigned offered);

// http_representation: what a conditional request is compared with.
struct http_representation {
    struct http_text etag;  // with its quotes, strong
    uint64_t modified_s;
};

enum http_condition {
    HTTP_CONDITIONS_HOLD,
    HTTP_UNCHANGED,  // 304
    HTTP_FAILED,     // 412
};

// http_conditions: the verdict on If-Match, If-Unmodified-Since, If-None-Match and
// If-Modified-Since, in the order of RFC 9110 section 13.2.2. The method is GET or HEAD.
enum http_condition http_conditions(struct http_text fields, const struct http_representation *of,
                                    uint64_t now_s);

// http_range_holds: whether If-Range is missing or true (RFC 9110 section 13.1.5). A date counts
// only if it is strong: more than a second old.
bool http_range_holds(struct http_text fields, const struct http_representation *of,
                      uint64_t now_s);
