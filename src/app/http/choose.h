// SPDX-License-Identifier: BSD-3-Clause
// choose.h: chooses the response to a request with a complete head. No side effects.
#pragma once
#include "app/http/path.h"
#include "app/http/request_parse.h"
#include "app/http/service.h"
#include "app/http/str.h"

enum http_kind {
    HTTP_WHOLE,            // an unchanged reply of the table
    HTTP_PART,             // 206: one range of it
    HTTP_PARTS,            // 206: several ranges of it
    HTTP_NOT_CHANGED,      // 304
    HTTP_NO_SUCH_PART,     // 416
    HTTP_ANSWER_CONTENT,   // 200 with the request's content
    HTTP_ANSWER_FIELDS,    // 200 with the request's field lines
    HTTP_ANSWER_REDIRECT,  // the reply with a suffix after its Location
};

// http_whose: the site and the host that answer a request.
struct http_whose {
    const struct http_site *site;
    const struct http_host *host;
};

// http_choice: the response to a request, to be sent after its content was read.
struct http_choice {
    uint32_t reply;
    uint16_t kind;      // enum http_kind
    uint16_t n_ranges;  // HTTP_PART: 1
    bool bad;           // the start of the next request is unknown: close the connection
    // HTTP_ANSWER_REDIRECT: the suffix of Location: the rest of the path, and the query with its
    // '?'.
    struct http_text rest, query;
    struct http_range ranges[HTTP_RANGES_MAX];
    char key[HTTP_PATH_ROOM(HTTP_HEAD_BYTES_MAX)];  // `rest` points into it
};

// http_choose: sets *choice for the request r, whose head is at `head`. now_s: Unix time in
// seconds.
void http_choose(const struct http_service *s, const struct http_whose *whose,
                 const struct http_request *r, const uint8_t *head, uint64_t now_s,
                 struct http_choice *choice);

// http_content_status: the status of the error because of which the request's content is not read:
// 411, 413 or 417; 0: none. `choice`: as set by http_choose().
unsigned http_content_status(const struct http_service *s, const struct http_request *r,
                             const uint8_t *head, const struct http_choice *choice);
