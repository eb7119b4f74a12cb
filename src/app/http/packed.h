// SPDX-License-Identifier: BSD-3-Clause
// packed.h: compressed versions of a file NAME: NAME.gz and NAME.br in the same directory.
#pragma once
#include <stdbool.h>

#include "app/http/reply.h"

// http_is_gzip_of: whether `packed` is a gzip file of `plain`, with one member. Compares the
// header, and the length and CRC-32 in the trailer; does not decompress.
bool http_is_gzip_of(const struct http_reply *packed, const struct http_reply *plain);

// http_is_brotli_of: whether `packed` may be a brotli stream of `plain`: it is not empty and not
// older. The format has no checksum.
bool http_is_brotli_of(const struct http_reply *packed, const struct http_reply *plain);
