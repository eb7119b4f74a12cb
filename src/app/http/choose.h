// SPDX-License-Identifier: BSD-3-Clause
// choose.h: from a complete head to what is to be answered. Pure.
#pragma once
#include "app/http/path.h"
#include "app/http/request_parse.h"
#include "app/http/service.h"
#include "app/http/str.h"

enum http_kind {
    HTTP_WHOLE,            // a reply of the table as it is
    HTTP_PART,             // 206: one range of it
    HTTP_PARTS,            // 206: several
    HTTP_NOT_CHANGED,      // 304
    HTTP_NO_SUCH_PART,     // 416
    HTTP_ANSWER_CONTENT,   // 200 with the request's content
    HTTP_ANSWER_FIELDS,    // 200 with the request's field lines
    HTTP_ANSWER_REDIRECT,  // the reply, and behind its Location the suffix
};

// http_whose: what a request is answered from.
struct http_whose {
    const struct http_site *site;
    const struct http_host *host;
};

// http_choice: the answer that a request deserves once its content, if there is any, has been read.
struct http_choice {
    uint32_t reply;
    uint16_t kind;      // enum http_kind
    uint16_t n_ranges;  // HTTP_PART: 1
    bool bad;           // nothing behind this head can be trusted: close
    // HTTP_ANSWER_REDIRECT: what goes behind the Location: the path's rest, the query with its '?'.
    struct http_text rest, query;
    struct http_range ranges[HTTP_RANGES_MAX];
    char key[HTTP_PATH_ROOM(HTTP_HEAD_BYTES_MAX)];  // rest lies in it
};

// http_choose: the choice for the request r with its head at `head`. now_s: unix time.
void http_choose(const struct http_service *s, const struct http_whose *whose,
                 const struct http_request *r, const uint8_t *head, uint64_t now_s,
                 struct http_choice *choice);

// http_content_status: 0, or why the request's content is not to be read: 411, 413, 417. The choice
// is the one made for it.
unsigned http_content_status(const struct http_service *s, const struct http_request *r,
                             const uint8_t *head, const struct http_choice *choice);
