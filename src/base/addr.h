// SPDX-License-Identifier: BSD-3-Clause
// addr.h: network addresses and the flow key, in host form.
#pragma once
#include <string.h>

#include "base/base.h"
#include "base/bytes.h"

struct mac_addr {
    uint8_t b[6];
};

// ip_addr: 16 bytes. IPv6 as on the wire; IPv4 in the mapped form ::ffff:a.b.c.d (RFC 4291
// 2.5.5.2). One comparison serves both families.
struct ip_addr {
    uint8_t b[16];
};

enum { IP_V4_AT = 12 };  // where the IPv4 address begins in the mapped form

static inline struct ip_addr ip_from_v4(uint32_t v4)
{
    return (struct ip_addr){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, (uint8_t)(v4 >> 24),
                             (uint8_t)(v4 >> 16), (uint8_t)(v4 >> 8), (uint8_t)v4}};
}

static inline uint32_t ip_to_v4(const struct ip_addr *a)
{
    return (uint32_t)a->b[12] << 24 | (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 | a->b[15];
}

// ip_is_v4: whether a is IPv4 in the mapped form.
static inline bool ip_is_v4(const struct ip_addr *a)
{
    uint64_t high;
    uint32_t mark;
    memcpy(&high, a->b, sizeof(high));
    memcpy(&mark, a->b + 8, sizeof(mark));
    return (high == 0) & (mark == 0xffff0000);
}

static inline bool ip_equal(const struct ip_addr *a, const struct ip_addr *b)
{
    return memcmp(a->b, b->b, sizeof(a->b)) == 0;
}

// ip_is_zero: whether a is the unspecified address of IPv6 (::). 0.0.0.0 is not.
static inline bool ip_is_zero(const struct ip_addr *a)
{
    static const struct ip_addr zero;
    return ip_equal(a, &zero);
}

// ip_is_any: whether a is :: or 0.0.0.0: any address, or none.
static inline bool ip_is_any(const struct ip_addr *a)
{
    return ip_is_zero(a) || (ip_is_v4(a) && ip_to_v4(a) == 0);
}

// ip_bits: bits of an address of a's family: the longest prefix length.
static inline unsigned ip_bits(const struct ip_addr *a)
{
    return ip_is_v4(a) ? 32 : 128;
}

// source_of: what limits count by: an IPv4 address as a number, or the upper half of an IPv6
// address. An IPv6 source is never below 2^32, because such prefixes are not assigned (RFC 4291
// 2.4).
static inline uint64_t source_of(const struct ip_addr *a)
{
    return ip_is_v4(a) ? ip_to_v4(a) : (uint64_t)load_be32(a->b) << 32 | load_be32(a->b + 4);
}

// ip_in_prefix: whether a and prefix are of one family and equal in the first `bits` bits, bits <=
// ip_bits().
bool ip_in_prefix(const struct ip_addr *a, const struct ip_addr *prefix, unsigned bits);

// ip_first: a with all bits after the first `bits` set to 0.
struct ip_addr ip_first(const struct ip_addr *a, unsigned bits);

// ip_text: writes a as text into out and returns out. IPv6 as RFC 5952, IPv4 as four decimal
// numbers.
enum { IP_TEXT_BYTES = 40 };
const char *ip_text(const struct ip_addr *a, char out[IP_TEXT_BYTES]);

// ip_parse: parses the whole of `text` as an IPv6 address (RFC 4291 2.2) or four decimal numbers.
// Zones and prefixes are not accepted. False: it is not an address, and out is unchanged.
bool ip_parse(const char *text, struct ip_addr *out);

// flow_key: identifies a connection in the flow table: the peer's address, the index of the local
// address, and both ports in host order. 24 bytes, so that it is hashed as three words. `zero` is 0
// in keys that are in the table.
struct flow_key {
    struct ip_addr remote;
    uint16_t local_ix;
    uint16_t zero;
    uint16_t remote_port;
    uint16_t local_port;
} __attribute__((aligned(8)));

static_assert(sizeof(struct flow_key) == 24, "hashed and compared as three 64-bit words");

static inline bool flow_key_equal(const struct flow_key *a, const struct flow_key *b)
{
    const uint64_t *x = (const uint64_t *)a, *y = (const uint64_t *)b;
    return ((x[0] ^ y[0]) | (x[1] ^ y[1]) | (x[2] ^ y[2])) == 0;
}
