// SPDX-License-Identifier: BSD-3-Clause
// web_static.h: the pages of the program: the files of src/ctl/http/page listed in
// src/ctl/meson.build, converted to C by embed.py. They contain no data of the server.
#pragma once
#include <stddef.h>

struct web_static {
    const char *path;  // "/", "/top.js"
    const char *type;  // media type, such as "text/html; charset=utf-8"
    const void *bytes;
    size_t n;
};

extern const struct web_static web_statics[];
extern const unsigned web_n_statics;
