// SPDX-License-Identifier: BSD-3-Clause
// copy.h: exact copies of short ranges whose length is not known when compiled: cheaper than a
// call.
#pragma once
#include <string.h>

#include "base/base.h"

// copy_bytes: copies n bytes (ranges apart), none read or written beyond them: whole 32s, the last
// one overlapping.
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
