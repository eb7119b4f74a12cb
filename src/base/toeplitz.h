// SPDX-License-Identifier: BSD-3-Clause
// toeplitz.h: the hash that spreads packets over queues and workers: Toeplitz, as in Microsoft's
// "Receive Side Scaling" specification and in NICs. A server draws a random key at its start, so
// that nobody can predict which connections share a worker. The hash is linear: a host that could
// observe many of its own connections could still compute the key. The flow table uses another
// hash.
//
//   input   source address, destination address, source port, destination port, in wire order
//   hash    XOR of the 32 key bits at the position of each set bit of the input
//   home    table[hash % entries] = hash % entries % workers
//
// The tables of NICs are filled in the same way. With one queue for each worker a packet therefore
// arrives at its worker.
#pragma once
#include <string.h>

#include "base/base.h"

enum {
    TOEPLITZ_KEY_BYTES = 40,
    TOEPLITZ_KEY_BYTES_MAX = 64,  // for devices with longer keys
    TOEPLITZ_V4_BYTES = 12,       // of input
    TOEPLITZ_V6_BYTES = 36,
    TOEPLITZ_ENTRIES = 128,  // of the table if the port has none
};

// toeplitz_key: the example key of the specification, repeated to the maximum length.
extern const uint8_t toeplitz_key[TOEPLITZ_KEY_BYTES_MAX];

// toeplitz_spreads: whether the ports of either end reach every entry of the smallest table, in
// both families. About one random key in a thousand does not: its entries depend on the addresses
// only.
bool toeplitz_spreads(const uint8_t *key);

// toeplitz: the contribution of each half byte of the input, by position and value: 4.5 KiB, of
// which an IPv4 packet uses the first 1.5.
struct toeplitz {
    uint32_t half[2 * TOEPLITZ_V6_BYTES][16];
};

static_assert(TOEPLITZ_V6_BYTES + 4 <= TOEPLITZ_KEY_BYTES, "the shortest key serves both");

void toeplitz_init(struct toeplitz *t, const uint8_t *key);

// toeplitz_of: the hash of n bytes in wire order, n <= TOEPLITZ_V6_BYTES.
static ALWAYS_INLINE uint32_t toeplitz_of(const struct toeplitz *t, const uint8_t *in, unsigned n)
{
    uint32_t hash = 0;
    for (unsigned i = 0; i < n; i++)
        hash ^= t->half[2 * i][in[i] >> 4] ^ t->half[2 * i + 1][in[i] & 15];
    return hash;
}

// toeplitz_v4: the hash of addresses and ports in wire order.
static inline uint32_t toeplitz_v4(const struct toeplitz *t, uint32_t src_raw, uint32_t dst_raw,
                                   uint16_t src_port_raw, uint16_t dst_port_raw)
{
    uint8_t in[TOEPLITZ_V4_BYTES];
    memcpy(in, &src_raw, 4);
    memcpy(in + 4, &dst_raw, 4);
    memcpy(in + 8, &src_port_raw, 2);
    memcpy(in + 10, &dst_port_raw, 2);
    return toeplitz_of(t, in, sizeof(in));
}

// toeplitz_v6: the same for IPv6: "TcpIPv6" of the specification, without the addresses of
// extension headers. src and dst are 16 bytes each.
static inline uint32_t toeplitz_v6(const struct toeplitz *t, const uint8_t *src, const uint8_t *dst,
                                   uint16_t src_port_raw, uint16_t dst_port_raw)
{
    uint8_t in[TOEPLITZ_V6_BYTES];
    memcpy(in, src, 16);
    memcpy(in + 16, dst, 16);
    memcpy(in + 32, &src_port_raw, 2);
    memcpy(in + 34, &dst_port_raw, 2);
    return toeplitz_of(t, in, sizeof(in));
}

// toeplitz_home: the worker of a hash, with a table of `entries`, a power of two.
static inline unsigned toeplitz_home(uint32_t hash, unsigned entries, unsigned workers)
{
    return (hash & (entries - 1)) % workers;
}
