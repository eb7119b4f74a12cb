// SPDX-License-Identifier: BSD-3-Clause
// keys.h: the secrets of a server, drawn at its start. Each keyed hash has its own key, so that the
// output of one, such as an initial sequence number, a port or an IP identification that a peer
// sees, reveals nothing about another.
#pragma once
#include "base/siphash.h"

// X(NAME, what its hash determines)
#define SECRET_PURPOSES(X)                                                                         \
    X(FLOW_TABLE, "where a connection lies in the flow table")                                     \
    X(SOURCES, "where a source lies in the table of sources")                                      \
    X(NUMBERS, "initial sequence numbers (RFC 6528)")                                              \
    X(COOKIES, "SYN cookies (RFC 4987)")                                                           \
    X(FAST_OPEN, "cookies of Fast Open (RFC 7413)")                                                \
    X(TIMESTAMPS, "offset of the timestamps to a peer (RFC 7323 5.4)")                             \
    X(PORTS, "ports of active opens (RFC 6056)")                                                   \
    X(OUT_OF_ORDER, "whose data out of order is counted together")                                 \
    X(RESETS, "limit of RSTs")                                                                     \
    X(NEIGHBORS, "where an address lies in the neighbor tables")                                   \
    X(IP_IDS, "IPv4 identifications (RFC 7739)")                                                   \
    X(REASSEMBLY, "where a datagram in fragments lies, and its source")                            \
    X(ECHOES, "limit of echo replies")                                                             \
    X(ERRORS, "limit of ICMP errors")                                                              \
    X(UDP_PATHS, "where a destination lies in the table of paths")                                 \
    X(LINUX, "limits of packets for Linux, and its connections")                                   \
    X(PREFIXES, "which counters count the connections of a prefix")

#define SECRET_ENUM(name, what) SECRET_##name,
enum secret { SECRET_PURPOSES(SECRET_ENUM) SECRET_COUNT };
#undef SECRET_ENUM

struct keys {
    struct siphash_key of[SECRET_COUNT];
};

// keys_from: derives all keys from one secret, for a run that is repeated from a seed. The secret
// cannot be computed from a key.
static inline struct keys keys_from(struct siphash_key secret)
{
    struct keys k;
    for (uint64_t i = 0; i < SECRET_COUNT; i++)
        k.of[i] = (struct siphash_key){siphash_u64x2(&secret, i, 0), siphash_u64x2(&secret, i, 1)};
    return k;
}
