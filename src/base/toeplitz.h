// toeplitz.h: the hash by which packets are spread over queues and workers: Microsoft's "Receive
// Side Scaling" specification, as NICs have it. Linear and with a public key: it spreads, it
// protects from nothing (the flow table has a keyed hash of its own).
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
    TOEPLITZ_INPUT_BYTES = 12,    // IPv4
    TOEPLITZ_ENTRIES = 128,       // of the table where the port has none
};

// toeplitz_key: the key of the specification's own examples, and once more behind it.
extern const uint8_t toeplitz_key[TOEPLITZ_KEY_BYTES_MAX];

// toeplitz: for each half byte of the input what its value adds to the hash: 1.5 KiB.
struct toeplitz {
    uint32_t half[2 * TOEPLITZ_INPUT_BYTES][16];
};

void toeplitz_init(struct toeplitz *t, const uint8_t *key);

// toeplitz_v4: addresses and ports as they lie in memory in wire order.
static inline uint32_t toeplitz_v4(const struct toeplitz *t, uint32_t src_raw, uint32_t dst_raw,
                                   uint16_t src_port_raw, uint16_t dst_port_raw)
{
    uint8_t in[TOEPLITZ_INPUT_BYTES];
    uint32_t hash = 0;
    memcpy(in, &src_raw, 4);
    memcpy(in + 4, &dst_raw, 4);
    memcpy(in + 8, &src_port_raw, 2);
    memcpy(in + 10, &dst_port_raw, 2);
    for (unsigned i = 0; i < TOEPLITZ_INPUT_BYTES; i++)
        hash ^= t->half[2 * i][in[i] >> 4] ^ t->half[2 * i + 1][in[i] & 15];
    return hash;
}

// toeplitz_home: of `workers`, by a table of `entries`, a power of two.
static inline unsigned toeplitz_home(uint32_t hash, unsigned entries, unsigned workers)
{
    return (hash & (entries - 1)) % workers;
}
