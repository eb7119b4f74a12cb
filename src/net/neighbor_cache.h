// SPDX-License-Identifier: BSD-3-Clause
// neighbor_cache.h: the neighbours of one family at one port queue: the MAC of each, and the
// packets that wait for it. ARP (arp.c) and neighbour discovery (ndisc.c) tell the cache what they
// learn; it tells them whom to ask.
//
//             neighbor_wait,              neighbor_resolve,
//             neighbor_ask                confirmed
//   FREE -------------------> PENDING -----------------------> REACHABLE
//    ^ ^                       |   |                            |     ^
//    | |  three tries          |   | neighbor_resolve,   60 s,  |     | neighbor_resolve,
//    | +-----------------------+   | not confirmed       in use v     | confirmed
//    |                             +--------------------------> PROBE +
//    |                                                           |
//    +-----------------------------------------------------------+ three tries
//    (and from REACHABLE after 60 s that nobody used it)
//
// neighbor_tick() makes the transitions that time causes. The MAC of a neighbour in PROBE is used;
// the first tries go to that MAC, the last one to all, as the tries for a pending neighbour do.
// STATIC entries change by order only. Those of the configuration lie behind the sets; those that
// neighbor_add() made lie in the sets, and leave NET_NEIGHBOR_DYNAMIC_WAYS entries of each to
// others.
//
// The cache consists of sets of NET_NEIGHBOR_WAYS entries, selected by a keyed hash. A flood of
// addresses that never answer takes NET_NEIGHBOR_PENDING_WAYS entries of each set and as many
// packets, and then replaces its own entries. The entry of a gateway is never replaced.
//
// One worker owns a cache; neighbor_read() alone may be called from another thread.
#pragma once
#include "base/siphash.h"
#include "net/net.h"
#include "wire/raw.h"

// neighbor_key: an IPv4 address as it lies in memory, and 0; or both halves of an IPv6 address as
// they lie in memory. 0, 0 is no neighbour's.
struct neighbor_key {
    uint64_t w[2];
};

// neighbor: an entry, all of it for IPv4. The worker writes; seq, v4_raw and word, and addr of
// neighbor6, are read by any thread under seq.
struct neighbor {
    uint32_t seq;      // odd while the other fields that are read under it change
    uint32_t v4_raw;   // 0: free; not used for IPv6
    uint64_t word;     // low 48 bits the MAC, 8 bits enum net_neighbor_state, 8 bits requests made
    uint32_t due_ms;   // when neighbor_tick() acts on it; not with NET_NEIGHBOR_STATIC
    uint32_t used_ms;  // last packet sent to it; with NET_NEIGHBOR_PENDING when it was made
    struct pkt *waiting;  // with NET_NEIGHBOR_PENDING: the first of them (wait_add); NULL: none
};
static_assert(sizeof(struct neighbor) == 32, "a set of eight is four cache lines");

// neighbor6: the entry for IPv6.
struct neighbor6 {
    struct neighbor n;
    uint64_t addr[2];  // as struct ip_addr lies in memory; 0, 0: free
} CACHE_ALIGNED;
static_assert(sizeof(struct neighbor6) == CACHE_LINE, "one miss a neighbour");

// rate: a token bucket as the time when the next token is due (GCRA, ITU-T I.371).
struct rate {
    uint64_t next_ns;
    uint64_t interval_ns;  // UINT64_MAX: nothing is allowed
    uint64_t slack_ns;     // burst less one, in intervals
};

static inline bool rate_allow(struct rate *r, uint64_t now_us)
{
    uint64_t now_ns = now_us * 1000;
    uint64_t at = MAX(r->next_ns, now_ns);
    if (at - now_ns > r->slack_ns || r->interval_ns == UINT64_MAX)
        return false;
    r->next_ns = at + r->interval_ns;
    return true;
}

// neighbor_family: what differs between ARP and neighbour discovery, apart from their messages and
// from `confirmed` of neighbor_resolve().
struct neighbor_family {
    bool is_v6;
    uint8_t cache_full, wait_replaced, wait_expired;   // enum drop_reason
    uint16_t learned, evicted, expired, rate_limited;  // offsets in struct core_counters
    // is_gateway: does a route, or the default route, lead there?
    bool (*is_gateway)(const struct net *net, struct neighbor_key key);
    // send_request: makes p the request for the MAC of `key` and appends it to tx, which has room.
    // to: the MAC that was known; NULL: all who may have the address, which is the broadcast
    // address (RFC 826) or the solicited-node group (RFC 4861 7.2.2).
    void (*send_request)(struct net *net, struct pkt *p, struct neighbor_key key,
                         const struct mac_addr *to, struct net_tx *tx);
};

enum { NET_HINTS = 16 };

struct neighbor_cache {
    // Written by neighbor_cache_init() alone.
    struct siphash_key secret;  // selects the set
    uint32_t sets;              // a power of two
    uint32_t slots;             // sets times ways, plus those of the configuration at the end
    bool is_v6;                 // the family's
    const struct neighbor_family *family;
    struct net *net;
    // Written by the worker.
    uint16_t hint[NET_HINTS] CACHE_ALIGNED;  // slot where a next hop was found last
    struct rate rate;  // of requests, and of what else the family sends unasked
    uint32_t tick_slot;
    uint8_t memory[] CACHE_ALIGNED;  // of the entries: struct neighbor, or struct neighbor6
};

// neighbor_cache_footprint: bytes of `memory` for c, of a valid c->arp_entries.
size_t neighbor_cache_footprint(const struct net_config *c, bool is_v6);

// neighbor_cache_init: makes n, whose bytes are 0, the empty cache of `net` and places c's static
// neighbours of the family in it.
void neighbor_cache_init(struct neighbor_cache *n, struct net *net,
                         const struct neighbor_family *family, const struct net_config *c);

static inline struct neighbor_key neighbor_key4(uint32_t v4_raw)
{
    return (struct neighbor_key){{v4_raw, 0}};
}

static inline struct neighbor_key neighbor_key6(const struct ip_addr *a)
{
    return (struct neighbor_key){{load_raw64(a->b), load_raw64(a->b + 8)}};
}

static inline uint32_t neighbor_v4_raw(struct neighbor_key key)
{
    return (uint32_t)key.w[0];
}

static inline struct ip_addr neighbor_addr6(struct neighbor_key key)
{
    struct ip_addr a;
    memcpy(a.b, key.w, sizeof(a.b));
    return a;
}

static inline uint8_t neighbor_state(const struct neighbor *e)
{
    return (uint8_t)(e->word >> 48);
}

static inline uint64_t neighbor_mac_word(const struct neighbor *e)
{
    return e->word & 0xffffffffffff;
}

// In the four functions that follow, the caller says is_v6 as a constant where speed counts: each
// family then has code with its own size of an address.
static ALWAYS_INLINE struct neighbor *neighbor_at(const struct neighbor_cache *n, uint32_t slot,
                                                  bool is_v6)
{
    return is_v6 ? &((struct neighbor6 *)n->memory)[slot].n : &((struct neighbor *)n->memory)[slot];
}

static ALWAYS_INLINE bool neighbor_is(const struct neighbor *e, struct neighbor_key key, bool is_v6)
{
    if (!is_v6)
        return e->v4_raw == neighbor_v4_raw(key);
    const uint64_t *addr = ((const struct neighbor6 *)e)->addr;
    return ((addr[0] ^ key.w[0]) | (addr[1] ^ key.w[1])) == 0;
}

// neighbor_hint: the index in hint[]: by the last byte of the address.
static ALWAYS_INLINE uint32_t neighbor_hint(struct neighbor_key key, bool is_v6)
{
    return (is_v6 ? (uint32_t)(key.w[1] >> 56) : neighbor_v4_raw(key) >> 24) % NET_HINTS;
}

// neighbor_hot: the entry of `key` if the hint knows it and its MAC is usable, else NULL.
static ALWAYS_INLINE struct neighbor *neighbor_hot(const struct neighbor_cache *n,
                                                   struct neighbor_key key, bool is_v6)
{
    struct neighbor *e = neighbor_at(n, n->hint[neighbor_hint(key, is_v6)], is_v6);
    return likely(neighbor_is(e, key, is_v6) && neighbor_state(e) >= NET_NEIGHBOR_REACHABLE) ? e
                                                                                             : NULL;
}

// neighbor_find: the entry of `key`, NULL: none. neighbor_usable: the same if its MAC is usable;
// the hint then knows it.
struct neighbor *neighbor_find(struct neighbor_cache *n, struct neighbor_key key);
struct neighbor *neighbor_usable(struct neighbor_cache *n, struct neighbor_key key);

// neighbor_wait: p, built but for its destination MAC, waits for `key`, which neighbor_usable() did
// not find; a request goes to tx when one is due. Takes p over in any case. neighbor_ask: asks for
// `key` unless it has an entry.
void neighbor_wait(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                   struct pkt *p, struct net_tx *tx);
void neighbor_ask(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                  struct net_tx *tx);

// neighbor_place: a free entry for `key`, which has none, for neighbor_resolve() at once. NULL:
// gateways and static entries fill the set.
struct neighbor *neighbor_place(struct neighbor_cache *n, struct clock_now now,
                                struct neighbor_key key);

// neighbor_resolve: `key`, whose entry e is, is at mac_word; the packets that wait for it leave.
// Not confirmed: it said so unasked, which RFC 4861 7.3.2 calls STALE. Here the entry goes to
// PROBE, so that the MAC is used at once and the neighbour is asked at the next tick. ARP has no
// STALE and always confirms.
void neighbor_resolve(struct neighbor_cache *n, struct clock_now now, struct neighbor *e,
                      struct neighbor_key key, uint64_t mac_word, bool confirmed,
                      struct net_tx *tx);

// neighbor_tick: what is due on the next NET_TICK_SLOTS entries.
void neighbor_tick(struct neighbor_cache *n, struct clock_now now, struct net_tx *tx);

// neighbor_drain: net_drain(). neighbor_add, neighbor_del, neighbor_flush: net_neighbor_add() and
// so on, of one family.
void neighbor_drain(struct neighbor_cache *n);
int neighbor_add(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                 const struct mac_addr *mac, bool permanent, struct net_tx *tx);
int neighbor_del(struct neighbor_cache *n, struct neighbor_key key);
unsigned neighbor_flush(struct neighbor_cache *n);

// neighbor_read: copies slot's entry to out; false as net_arp_read() says. Any thread.
struct neighbor_seen {
    struct neighbor_key key;
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};
bool neighbor_read(const struct neighbor_cache *n, uint32_t slot, struct neighbor_seen *out);
