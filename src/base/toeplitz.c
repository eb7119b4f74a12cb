// SPDX-License-Identifier: BSD-3-Clause
#include "base/toeplitz.h"

const uint8_t toeplitz_key[TOEPLITZ_KEY_BYTES_MAX] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0,
    0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30, 0xf2, 0x0c,
    0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa, 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
    0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4,
};

// window: the 32 bits of the key that begin at bit `at`.
static uint32_t window(const uint8_t *key, unsigned at)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < 5; i++)
        bits = bits << 8 | key[at / 8 + i];
    return (uint32_t)(bits >> (8 - at % 8));
}

void toeplitz_init(struct toeplitz *t, const uint8_t *key)
{
    memset(t, 0, sizeof(*t));
    for (unsigned h = 0; h < ARRAY_LEN(t->half); h++)
        for (unsigned value = 0; value < 16; value++)
            for (unsigned bit = 0; bit < 4; bit++)
                if (value >> (3 - bit) & 1)
                    t->half[h][value] ^= window(key, 4 * h + bit);
}

// rank_of: how many of the BITS low bits of the hash the 14 low bits of a port can vary
// independently: the rank over GF(2) of the low bits of their key windows. at: the offset of the
// port in the hash input, in bits.
static unsigned rank_of(const uint8_t *key, unsigned at)
{
    enum { PORT_BITS = 14, BITS = 7 };
    static_assert(1 << BITS == TOEPLITZ_ENTRIES, "size of the table assumed if the port has none");
    uint32_t rows[BITS] = {0};  // rows[i]: the row whose highest bit is bit i
    unsigned rank = 0;
    for (unsigned i = 16 - PORT_BITS; i < 16; i++) {
        uint32_t row = window(key, at + i) & (TOEPLITZ_ENTRIES - 1);
        for (unsigned bit = BITS; bit-- != 0 && row != 0;) {
            if (!(row >> bit & 1))
                continue;
            if (rows[bit] == 0) {
                rows[bit] = row;
                rank++;
                row = 0;
            } else {
                row ^= rows[bit];
            }
        }
    }
    return rank;
}

bool toeplitz_spreads(const uint8_t *key)
{
    static const unsigned ports[] = {64, 80, 256, 272};  // bit offsets in the input: IPv4, IPv6
    for (unsigned i = 0; i < ARRAY_LEN(ports); i++)
        if (rank_of(key, ports[i]) != 7)
            return false;
    return true;
}
