// SPDX-License-Identifier: BSD-3-Clause
// mime.h: the media type of a file by its extension, from a built-in table, or from a file in the
// format of Debian's package media-types (/etc/mime.types): TYPE EXTENSION ..., # begins a comment.
#pragma once
#include <stddef.h>

enum {
    HTTP_TYPE_BYTES_MAX = 100,  // longer types are an error
    HTTP_EXTENSION_MAX = 32,
    HTTP_TYPES_MAX = 65536,          // extensions in a file
    HTTP_TYPES_BYTES_MAX = 4 << 20,  // size of the file
};

struct http_types;  // types of a file; NULL: the built-in table

// http_types_read: reads the file at `path`. Returns NULL with FILE:LINE and what was expected in
// err. If an extension occurs twice, the later type is used.
struct http_types *http_types_read(const char *path, char *err, size_t err_bytes);
void http_types_free(struct http_types *types);

// http_mime: the Content-Type of a file named `name`; "application/octet-stream" if the extension
// is missing or unknown. Upper and lower case are equal. Text types get "; charset=utf-8".
const char *http_mime(const struct http_types *types, const char *name);
