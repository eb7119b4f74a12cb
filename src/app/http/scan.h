// SPDX-License-Identifier: BSD-3-Clause
// scan.h: finds the end of a line and invalid bytes in it, in one pass.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// http_is_control: whether b is not allowed in a line of a request: control characters except HTAB,
// and DEL (RFC 9110 section 5.5).
static inline bool http_is_control(uint8_t b)
{
    return (b < 0x20 && b != '\t') || b == 0x7f;
}

#ifdef __SSE2__
#include <emmintrin.h>

// http_controls_16: one bit for each of the 16 bytes at p, set if http_is_control().
static inline unsigned http_controls_16(const uint8_t *p)
{
    __m128i x = _mm_loadu_si128((const __m128i *)(const void *)p);
    __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x1f)), x);
    __m128i tab = _mm_cmpeq_epi8(x, _mm_set1_epi8('\t'));
    __m128i del = _mm_cmpeq_epi8(x, _mm_set1_epi8(0x7f));
    return (unsigned)_mm_movemask_epi8(_mm_or_si128(_mm_andnot_si128(tab, low), del));
}
#else
static inline unsigned http_controls_16(const uint8_t *p)
{
    unsigned bits = 0;
    for (unsigned i = 0; i < 16; i++)
        bits |= (unsigned)http_is_control(p[i]) << i;
    return bits;
}
#endif

// http_scan: the first byte of [p, end) that http_is_control(), or end. Reads no byte beyond end.
static inline const uint8_t *http_scan(const uint8_t *p, const uint8_t *end)
{
    for (; end - p >= 16; p += 16) {
        unsigned bits = http_controls_16(p);
        if (bits != 0)
            return p + __builtin_ctz(bits);
    }
    while (p < end && !http_is_control(*p))
        p++;
    return p;
}
