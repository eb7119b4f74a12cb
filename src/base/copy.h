// SPDX-License-Identifier: BSD-3-Clause
// copy.h: copies of short ranges whose length the compiler does not know, without a function call.
#pragma once
#include <string.h>

#include "base/base.h"

// copy_bytes: copies n bytes in blocks of 32, the last of which overlaps the one before. It reads
// and writes no byte outside the ranges. The ranges do not overlap each other.
static inline void copy_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t n)
{
    if (unlikely(n < 32)) {
        memcpy(to, from, n);
        return;
    }
    for (size_t at = 0; at + 32 < n; at += 32)
        __builtin_memcpy(to + at, from + at, 32);
    __builtin_memcpy(to + n - 32, from + n - 32, 32);
}
