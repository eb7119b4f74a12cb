// SPDX-License-Identifier: BSD-3-Clause
#include "role_bytes.h"

void role_fill(uint8_t *to, uint64_t from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = role_byte(from + i);
}

bool role_matches(const uint8_t *at, uint64_t from, size_t n)
{
    uint8_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong |= at[i] ^ role_byte(from + i);
    return wrong == 0;
}
