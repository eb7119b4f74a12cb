// SPDX-License-Identifier: BSD-3-Clause
#include "app/http/packed.h"

#include <stddef.h>
#include <stdint.h>

static uint32_t little_endian(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// CRC-32 of RFC 1952 section 8, four bits at a time.
static uint32_t crc32(const uint8_t *p, size_t len)
{
    static const uint32_t nibble[16] = {
        0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
        0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
        0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
    };
    uint32_t crc = UINT32_MAX;
    for (; len > 0; p++, len--) {
        crc ^= *p;
        crc = crc >> 4 ^ nibble[crc & 15];
        crc = crc >> 4 ^ nibble[crc & 15];
    }
    return ~crc;
}

bool http_is_gzip_of(const struct http_reply *packed, const struct http_reply *plain)
{
    const uint8_t *p = packed->body;
    const size_t n = packed->body_bytes;
    return n >= 18 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 &&
           little_endian(p + n - 4) == plain->body_bytes &&
           little_endian(p + n - 8) == crc32(plain->body, plain->body_bytes);
}

bool http_is_brotli_of(const struct http_reply *packed, const struct http_reply *plain)
{
    return packed->body_bytes != 0 && packed->modified_s >= plain->modified_s;
}
