// SPDX-License-Identifier: BSD-3-Clause
// raw.h: unaligned loads and stores in memory order. A value in wire order that is only copied,
// compared or summed keeps its order; its name ends in _raw.
#pragma once
#ifdef __SSE4_1__
#include <smmintrin.h>
#endif

#include "base/bytes.h"

static inline uint16_t load_raw16(const void *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t load_raw32(const void *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint64_t load_raw64(const void *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline void store_raw16(void *p, uint16_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void store_raw32(void *p, uint32_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline void store_raw64(void *p, uint64_t v)
{
    memcpy(p, &v, sizeof(v));
}

static inline uint32_t raw32(uint32_t host)
{
    return __builtin_bswap32(host);
}

// wire_v16: 16 bytes of a header in one register, where compilers do not vectorize by themselves.
typedef uint8_t wire_v16 __attribute__((vector_size(16)));

static inline wire_v16 wire_load16(const uint8_t *p)
{
    typedef wire_v16 anywhere __attribute__((aligned(1), may_alias));
    return *(const anywhere *)(const void *)p;
}

// wire_is_zero: whether every byte of v is 0.
static inline bool wire_is_zero(wire_v16 v)
{
#ifdef __SSE4_1__
    return _mm_testz_si128((__m128i)v, (__m128i)v);
#else
    uint64_t half[2];
    memcpy(half, &v, sizeof(half));
    return (half[0] | half[1]) == 0;
#endif
}
