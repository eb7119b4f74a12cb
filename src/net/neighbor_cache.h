// SPDX-License-Identifier: BSD-3-Clause
// neighbor_cache.h: the neighbors of one family at one port queue: the MAC of each, and the
// packets that wait for it. ARP (arp.c) and neighbor discovery (ndisc.c) tell the cache what they
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
// neighbor_tick() makes the transitions that time causes. The MAC of a neighbor in PROBE is used;
// the first tries go to that MAC, the last one to all, as the tries for a pending neighbor do.
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

// neighbor_key: an IPv4 address in memory order, and 0; or both halves of an IPv6 address in memory
// order. 0, 0 is the key of no neighbor.
struct neighbor_key {
    uint64_t w[2];
};

// neighbor: an entry; for IPv4 all of it. The worker writes it. Any thread may read v4_raw, word
// and neighbor6.addr under the sequence count seq.
struct neighbor {
    uint32_t seq;         // odd while the worker changes the fields read under it
    uint32_t v4_raw;      // 0: free; not used for IPv6
    uint64_t word;        // MAC (48 bits), enum net_neighbor_state (8), requests sent (8)
    uint32_t due_ms;      // when neighbor_tick() acts on it; not with NET_NEIGHBOR_STATIC
    uint32_t used_ms;     // last packet to it; with NET_NEIGHBOR_PENDING: creation
    struct pkt *waiting;  // with NET_NEIGHBOR_PENDING: oldest packet (wait_add); NULL
};
static_assert(sizeof(struct neighbor) == 32, "a set of eight is four cache lines");

// neighbor6: the entry for IPv6.
struct neighbor6 {
    struct neighbor n;
    uint64_t addr[2];  // as struct ip_addr lies in memory; 0, 0: free
} CACHE_ALIGNED;
static_assert(sizeof(struct neighbor6) == CACHE_LINE, "one miss a neighbor");

// rate: a token bucket, stored as the time of the next token (GCRA, ITU-T I.371).
struct rate {
    uint64_t next_ns;
    uint64_t interval_ns;  // UINT64_MAX: rate 0
    uint64_t slack_ns;     // burst less one, times interval_ns
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

// neighbor_family: what differs between ARP and neighbor discovery, apart from their messages and
// from `confirmed` of neighbor_resolve().
struct neighbor_family {
    bool is_v6;
    uint8_t cache_full, wait_replaced, wait_expired;   // enum drop_reason
    uint16_t learned, evicted, expired, rate_limited;  // offsets in struct core_counters
    // is_gateway: whether a route or the default route leads to this next hop.
    bool (*is_gateway)(const struct net *net, struct neighbor_key key);
    // send_request: builds the request for the MAC of `key` in p and appends it to tx, which has
    // room. to: the last known MAC; NULL: broadcast (RFC 826) or the solicited-node group (RFC 4861
    // 7.2.2).
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
    struct rate rate;  // of requests and other unsolicited messages of the family
    uint32_t tick_slot;
    uint8_t memory[] CACHE_ALIGNED;  // of the entries: struct neighbor, or struct neighbor6
};

// neighbor_cache_footprint: bytes of neighbor_cache.memory for c, whose arp_entries is valid.
size_t neighbor_cache_footprint(const struct net_config *c, bool is_v6);

// neighbor_cache_init: makes n, whose bytes are 0, the empty cache of `net` and places c's static
// neighbors of the family in it.
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

// The next four functions take is_v6 as a constant on the fast path, so that each family gets its
// own code.
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

// neighbor_hint: the index in hint[], from the last byte of the address.
static ALWAYS_INLINE uint32_t neighbor_hint(struct neighbor_key key, bool is_v6)
{
    return (is_v6 ? (uint32_t)(key.w[1] >> 56) : neighbor_v4_raw(key) >> 24) % NET_HINTS;
}

// neighbor_hot: the entry of `key` if hint[] points to it and its MAC is usable, else NULL.
static ALWAYS_INLINE struct neighbor *neighbor_hot(const struct neighbor_cache *n,
                                                   struct neighbor_key key, bool is_v6)
{
    struct neighbor *e = neighbor_at(n, n->hint[neighbor_hint(key, is_v6)], is_v6);
    return likely(neighbor_is(e, key, is_v6) && neighbor_state(e) >= NET_NEIGHBOR_REACHABLE) ? e
                                                                                             : NULL;
}

// neighbor_find: the entry of `key`; NULL: none. neighbor_usable: the same if its MAC is usable,
// else NULL; updates hint[].
struct neighbor *neighbor_find(struct neighbor_cache *n, struct neighbor_key key);
struct neighbor *neighbor_usable(struct neighbor_cache *n, struct neighbor_key key);

// neighbor_wait: queues p until the MAC of `key` is known, after neighbor_usable() returned NULL. p
// is complete but for its destination MAC. Sends a request if one is due. Takes p in any case.
//
// neighbor_ask: sends a request for `key` if it has no entry.
void neighbor_wait(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                   struct pkt *p, struct net_tx *tx);
void neighbor_ask(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                  struct net_tx *tx);

// neighbor_place: a free entry for `key`, which has none; the caller calls neighbor_resolve() at
// once. NULL: the set holds gateways and static entries only.
struct neighbor *neighbor_place(struct neighbor_cache *n, struct clock_now now,
                                struct neighbor_key key);

// neighbor_resolve: sets the MAC of `key`, whose entry is e, and sends the packets that wait for
// it. Not confirmed: the neighbor sent it unsolicited, which RFC 4861 7.3.2 calls STALE. The entry
// then becomes PROBE: the MAC is used at once, and a request is sent at the next tick. ARP has no
// STALE and always confirms.
void neighbor_resolve(struct neighbor_cache *n, struct clock_now now, struct neighbor *e,
                      struct neighbor_key key, uint64_t mac_word, bool confirmed,
                      struct net_tx *tx);

// neighbor_verify_all: after the link was down, another host or another NIC may have the address of
// a neighbor. The next ticks send one request for each known neighbor to all, not to the MAC that
// is known, at half of the rate limit. A quiet net (net.h) begins a second later, and asks only for
// those that have not answered by then. A neighbor that does not answer is removed. Its MAC is used
// until then.
void neighbor_verify_all(struct neighbor_cache *n, struct clock_now now);

// neighbor_tick: runs the timers of the next NET_TICK_SLOTS entries.
void neighbor_tick(struct neighbor_cache *n, struct clock_now now, struct net_tx *tx);

// neighbor_drain, neighbor_add, neighbor_del, neighbor_flush: net_drain(), net_neighbor_add() and
// so on for one family.
void neighbor_drain(struct neighbor_cache *n);
int neighbor_add(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                 const struct mac_addr *mac, bool permanent, struct net_tx *tx);
int neighbor_del(struct neighbor_cache *n, struct neighbor_key key);
unsigned neighbor_flush(struct neighbor_cache *n);

// neighbor_read: copies the entry of `slot` to out. False as net_arp_read(). Any thread.
struct neighbor_seen {
    struct neighbor_key key;
    struct mac_addr mac;
    uint8_t state;  // enum net_neighbor_state
};
bool neighbor_read(const struct neighbor_cache *n, uint32_t slot, struct neighbor_seen *out);

// neighbor_read_entry: the same of an entry, of whatever cache.
bool neighbor_read_entry(const struct neighbor *e, bool is_v6, struct neighbor_seen *out);

// neighbor_take: net_neighbors_take() of one whose address is `key`, unless it is known or its set
// has no place.
void neighbor_take(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                   const struct net_neighbor_left *left);
