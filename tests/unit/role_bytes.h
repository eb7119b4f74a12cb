// SPDX-License-Identifier: BSD-3-Clause
// role_bytes.h: the bytes that applications of tests send: number i of a stream is role_byte(i).
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline uint8_t role_byte(uint64_t i)
{
    return (uint8_t)(i * 131 + (i >> 8) * 7 + (i >> 16));
}

// role_fill: n bytes from number `from` on. role_matches: whether they are that.
void role_fill(uint8_t *to, uint64_t from, size_t n);
bool role_matches(const uint8_t *at, uint64_t from, size_t n);
