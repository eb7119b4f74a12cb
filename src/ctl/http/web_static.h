// SPDX-License-Identifier: BSD-3-Clause
// web_static.h: pages that are part of the program: the files of src/ctl/http/page that
// src/ctl/meson.build lists, made into C by embed.py. They tell nothing of the server.
#pragma once
#include <stddef.h>

struct web_static {
    const char *path;  // "/", "/top.js"
    const char *type;  // of its content, "text/html; charset=utf-8"
    const void *bytes;
    size_t n;
};

extern const struct web_static web_statics[];
extern const unsigned web_n_statics;
