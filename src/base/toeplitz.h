// SPDX-License-Identifier: BSD-3-Clause
// toeplitz.h: the hash by which packets are spread over queues and workers: Microsoft's "Receive
// Side Scaling" specification, as NICs have it. Linear: it spreads. A server draws its key at the
// start, so that nobody can compute beforehand which of his connections fall to one worker; who
// could watch many of his own fall might still learn it (the flow table has a hash of its own).
//
//   input   source address, destination address, source port, destination port, in wire order
//   hash    XOR over the input's set bits, each of the 32 key bits that begin at its position
//   home    table[hash % entries] = hash % entries % workers
//
// The table of a NIC is filled in the same way, so that with a queue for each worker a packet
// arrives at home.
#pragma once
#include <string.h>

#include "base/base.h"

enum {
    TOEPLITZ_KEY_BYTES = 40,
    TOEPLITZ_KEY_BYTES_MAX = 64,  // of devices that want a longer one
    TOEPLITZ_V4_BYTES = 12,       // of input
    TOEPLITZ_V6_BYTES = 36,
    TOEPLITZ_ENTRIES = 128,  // of the table where the port has none
};

// toeplitz_key: the key of the specification's own examples, and once more behind it.
extern const uint8_t toeplitz_key[TOEPLITZ_KEY_BYTES_MAX];

// toeplitz_spreads: do the ports of either end alone reach every entry of the smallest table, over
// both families? Of keys drawn by chance one in some thousand leaves it to the addresses.
bool toeplitz_spreads(const uint8_t *key);

// toeplitz: for each half byte of the input what its value adds to the hash: 4.5 KiB, of which
// an IPv4 packet uses the first 1.5.
struct toeplitz {
    uint32_t half[2 * TOEPLITZ_V6_BYTES][16];
};

static_assert(TOEPLITZ_V6_BYTES + 4 <= TOEPLITZ_KEY_BYTES, "the shortest key serves both");

void toeplitz_init(struct toeplitz *t, const uint8_t *key);

// toeplitz_of: of n bytes of input in wire order, n at most TOEPLITZ_V6_BYTES.
static ALWAYS_INLINE uint32_t toeplitz_of(const struct toeplitz *t, const uint8_t *in, unsigned n)
{
    uint32_t hash = 0;
    for (unsigned i = 0; i < n; i++)
        hash ^= t->half[2 * i][in[i] >> 4] ^ t->half[2 * i + 1][in[i] & 15];
    return hash;
}

// toeplitz_v4: addresses and ports as they lie in memory in wire order.
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

// toeplitz_v6: the same; src and dst are 16 bytes each. For "TcpIPv6" of the specification, the
// variant without extension headers' addresses.
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

// toeplitz_home: of `workers`, by a table of `entries`, a power of two.
static inline unsigned toeplitz_home(uint32_t hash, unsigned entries, unsigned workers)
{
    return (hash & (entries - 1)) % workers;
}
