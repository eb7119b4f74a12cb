// SPDX-License-Identifier: BSD-3-Clause
// load_http.h: HTTP/1.1 in place of echoes: every connection asks for the same path, again and
// again (keep-alive). The first answer is taken apart: status 200, a Content-Length, and then it is
// the model: every later one has to be the same, byte for byte, but for the value of its Date.
// Until it is there one connection is asked at a time.
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
    uint32_t answer_bytes, head_bytes;  // learned: of each answer, body included; of its head
    uint32_t date_at, date_bytes;       // of that what may differ; 0, 0: nothing
    char request[LOAD_HTTP_REQUEST_MAX];
    uint8_t answer[LOAD_HTTP_ANSWER_MAX + 1];
};

// load_http_new: requests for `path`, which begins with a slash and has at most LOAD_HTTP_PATH_MAX
// bytes. NULL: no memory. Freed by free().
struct load_http *load_http_new(const char *path);

// load_http_learn: n bytes more of the first answer, behind `at` others. False: it is none that
// could be a model. It may have ended (learned) before its last byte: then there are too many.
bool load_http_learn(struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n);

// load_http_same: are these n bytes, behind `at` others of an answer, those of the model? They do
// not go beyond its end.
bool load_http_same(const struct load_http *h, uint32_t at, const uint8_t *data, uint32_t n);
