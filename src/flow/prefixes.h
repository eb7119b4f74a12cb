// SPDX-License-Identifier: BSD-3-Clause
// prefixes.h: the approximate number of open connections of each prefix of addresses, for one
// worker. A prefix is an IPv4 /24 or an IPv6 /48. One organization gets that much (RFC 6177), so a
// host cannot leave its prefix by changing its address.
//
// A count-min sketch (Cormode, Muthukrishnan: "An improved data stream summary", 2005): two rows of
// counters. A prefix has one counter in each row, and its count is the smaller one. The count is
// never too small. It is too large by the connections of other prefixes with the same counter, on
// average at most a PREFIX_CELLS-th of all. The size does not depend on the number of prefixes, so
// nobody can fill it. The hash is keyed, so nobody can choose whose counter to share.
//
//   keyed hash of the prefix -> low bits:  row 0, counter     count = the smaller of the two
//                            -> next bits: row 1, counter
//
// One owner. Cost: six rounds of AES and two counters, when a connection opens or closes.
#pragma once
#include "flow/addr_hash.h"

enum {
    PREFIX_CELL_BITS = 12,
    // Of a row: 16 KiB, so that both stay in the second-level cache while connections come and go.
    PREFIX_CELLS = 1 << PREFIX_CELL_BITS,
    PREFIX_V4_BITS = 24,
    PREFIX_V6_BITS = 48,
};

struct prefixes {
    struct addr_hash_key key;
    uint32_t cell[2][PREFIX_CELLS];
};

// prefixes_init: places an empty sketch in mem, sizeof(struct prefixes) bytes.
struct prefixes *prefixes_init(void *mem, struct siphash_key secret);

// prefix_cut: the prefix of an address, with zeros behind it.
static inline struct ip_addr prefix_cut(const struct ip_addr *a)
{
    struct ip_addr p = {{0}};
    if (ip_is_v4(a)) {
        p = *a;
        p.b[IP_V4_AT + PREFIX_V4_BITS / 8] = 0;
        return p;
    }
    memcpy(p.b, a->b, PREFIX_V6_BITS / 8);
    return p;
}

static inline uint32_t prefix_hash(const struct prefixes *p, const struct ip_addr *who)
{
    const struct ip_addr prefix = prefix_cut(who);
    return addr_hash(&p->key, &prefix);
}

// prefixes_enter, prefixes_leave: a connection of `who` opens or closes.
static inline void prefixes_enter(struct prefixes *p, const struct ip_addr *who)
{
    const uint32_t h = prefix_hash(p, who);
    p->cell[0][h % PREFIX_CELLS]++;
    p->cell[1][(h >> PREFIX_CELL_BITS) % PREFIX_CELLS]++;
}

static inline void prefixes_leave(struct prefixes *p, const struct ip_addr *who)
{
    const uint32_t h = prefix_hash(p, who);
    p->cell[0][h % PREFIX_CELLS]--;
    p->cell[1][(h >> PREFIX_CELL_BITS) % PREFIX_CELLS]--;
}

// prefixes_count: connections of the prefix of `who`, or a little more.
uint32_t prefixes_count(const struct prefixes *p, const struct ip_addr *who);
