// SPDX-License-Identifier: BSD-3-Clause
// fields.h: the fields that few requests need. They are parsed when needed, from a head that
// http_parse() has found complete. No side effects.
#pragma once
#include "app/http/request_parse.h"
#include "app/http/str.h"

// http_fields_of: the field lines after the request line of the head at `head`. http_field_next:
// removes the next one from *fields. False: there are no more.
struct http_text http_fields_of(const struct http_request *r, const uint8_t *head);
bool http_field_next(struct http_text *fields, struct http_text *name, struct http_text *value);

// http_field_find: the value of the first field with the name `lower` (in lower case). False: there
// is none.
bool http_field_find(struct http_text fields, const char *lower, struct http_text *value);

// http_content_length: the value of Content-Length, which the head must have; UINT64_MAX if it is
// larger.
uint64_t http_content_length(struct http_text fields);

// http_expects_continue: whether Expect asks for "100-continue" and for nothing else (RFC 9110
// section 10.1.1).
bool http_expects_continue(struct http_text fields);

// http_prefers: the preferred one of the offered codings (RFC 9110 section 12.5.3): the acceptable
// one with the highest weight, if that is not lower than the weight of identity. With equal
// weights, br. HTTP_AS_IS: none.
enum http_packed { HTTP_AS_IS, HTTP_GZIP = 1 << 0, HTTP_BR = 1 << 1 };
enum http_packed http_prefers(struct http_text fields, unsigned offered);

// http_representation: the validators with which a conditional request is compared.
struct http_representation {
    struct http_text etag;  // strong, with its quotes
    uint64_t modified_s;
};

enum http_condition {
    HTTP_CONDITIONS_HOLD,
    HTTP_UNCHANGED,  // 304
    HTTP_FAILED,     // 412
};

// http_conditions: evaluates If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in
// the order of RFC 9110 section 13.2.2. The method must be GET or HEAD.
enum http_condition http_conditions(struct http_text fields, const struct http_representation *of,
                                    uint64_t now_s);

// http_range_holds: whether If-Range is missing or true (RFC 9110 section 13.1.5). A date is a
// strong validator only if it is more than a second old.
bool http_range_holds(struct http_text fields, const struct http_representation *of,
                      uint64_t now_s);
