// SPDX-License-Identifier: BSD-3-Clause
// packed.h: files that hold the bytes of another one, packed: NAME.gz and NAME.br beside NAME.
#pragma once
#include <stdbool.h>

#include "app/http/reply.h"

// http_is_gzip_of: whether `packed` is the gzip file of `plain`, of one member, as far as its ends
// tell: length and CRC-32 in its trailer are those of plain.
bool http_is_gzip_of(const struct http_reply *packed, const struct http_reply *plain);

// http_is_brotli_of: the same of a brotli stream, which holds no sum: it is not empty, and not
// older than plain.
bool http_is_brotli_of(const struct http_reply *packed, const struct http_reply *plain);
