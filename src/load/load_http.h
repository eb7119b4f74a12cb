// SPDX-License-Identifier: BSD-3-Clause
// load_http.h: HTTP/1.1 instead of echo. Every connection requests the same path repeatedly
// (keep-alive). The first response, which must have status 200 and Content-Length, is parsed and
// becomes the model: every later one must have the same bytes, except the value of Date. Until the
// model is complete, one request is sent at a time.
//
//   HTTP/1.1 200 OK\r\n ... Date: [29 bytes that may differ]\r\n ... \r\n\r\n body
#pragma once
#include "base/base.h"

enum {
    LOAD_HTTP_REQUEST_MAX = 512,
    LOAD_HTTP_PATH_MAX = 400,
    LOAD_HTTP_ANSWER_MAX = 65535,  // head and body: load_conn.got has 16 bits
};

struct load_http {
    uint32_t request_bytes;
    bool learned;
    uint32_t answer_bytes, head_bytes;  // of the model: length with the body; length of the head
    uint32_t date_at, date_bytes;       // position and length of the value of Date; 0, 0: none
    char request[LOAD_HTTP_REQUEST_MAX];
    uint8_t answer[LOAD_HTTP_ANSWER_MAX + 1];
};

// load_http_new: makes the request for `path`, which begins with a slash and has at most
// LOAD_HTTP_PATH_MAX bytes. Returns NULL if there is no memory. Free it with free().
struct load_http *load_http_new(const char *path);

// load_http_learn: adds n bytes of the first response, after `at` earlier ones; sets `learned` when
// it is complete. False: it cannot be a model, or there are bytes after its end.
bool load_http_learn(struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n);

// load_http_is_refusal: whether these n bytes are one whole response with status 503.
bool load_http_is_refusal(const uint8_t *data, uint32_t n);

// load_http_same: whether these n bytes, after `at` earlier ones of a response, are those of the
// model. at + n must not exceed the length of the model.
bool load_http_same(const struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n);
