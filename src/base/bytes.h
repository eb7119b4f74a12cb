// SPDX-License-Identifier: BSD-3-Clause
// bytes.h: unaligned big-endian loads and stores. No other code converts wire order.
#pragma once
#include <string.h>

#include "base/base.h"

static inline uint16_t load_be16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap16(v);
}

static inline uint32_t load_be32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return __builtin_bswap32(v);
}

static inline void store_be16(void *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof(v));
}

static inline void store_be32(void *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof(v));
}
