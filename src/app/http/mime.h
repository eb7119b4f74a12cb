// SPDX-License-Identifier: BSD-3-Clause
// mime.h: the media type of a file, by its extension: a built-in table, or a file in the form of
// Debian's media-types (/etc/mime.types): TYPE EXTENSION ..., a # begins a comment.
#pragma once
#include <stddef.h>

enum {
    HTTP_TYPE_BYTES_MAX = 100,  // of a type: longer ones are an error
    HTTP_EXTENSION_MAX = 32,
    HTTP_TYPES_MAX = 65536,          // extensions of a file
    HTTP_TYPES_BYTES_MAX = 4 << 20,  // of the file
};

struct http_types;  // a file's; NULL stands for the built-in table

// http_types_read: the file at `path`. NULL: err has FILE:LINE: what was expected. An extension
// that comes again has the later type.
struct http_types *http_types_read(const char *path, char *err, size_t err_bytes);
void http_types_free(struct http_types *types);

// http_mime: the Content-Type for a file called `name`; "application/octet-stream" when the
// extension is missing or unknown. Case does not matter. Texts say that they are UTF-8, as long as
// the table does not say otherwise.
const char *http_mime(const struct http_types *types, const char *name);
