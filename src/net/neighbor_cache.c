// SPDX-License-Identifier: BSD-3-Clause
#include "net/neighbor_cache.h"

#include <errno.h>

#include "net/priv.h"

enum {
    READ_TRIES = 16
};  // to read one entry, which the worker writes a few times a second at most

static uint64_t word_of(uint64_t mac_word, enum net_neighbor_state state)
{
    return mac_word | (uint64_t)state << 48;
}

static const uint64_t one_try = UINT64_C(1) << 56;

static unsigned tries(const struct neighbor *e)
{
    return (unsigned)(e->word >> 56);
}

static struct neighbor_key key_of(const struct neighbor *e, bool is_v6)
{
    if (!is_v6)
        return neighbor_key4(__atomic_load_n(&e->v4_raw, __ATOMIC_RELAXED));
    const uint64_t *addr = ((const struct neighbor6 *)e)->addr;
    return (struct neighbor_key){
        {__atomic_load_n(&addr[0], __ATOMIC_RELAXED), __atomic_load_n(&addr[1], __ATOMIC_RELAXED)}};
}

static void key_set(struct neighbor *e, struct neighbor_key key, bool is_v6)
{
    if (!is_v6) {
        __atomic_store_n(&e->v4_raw, neighbor_v4_raw(key), __ATOMIC_RELAXED);
        return;
    }
    uint64_t *addr = ((struct neighbor6 *)e)->addr;
    __atomic_store_n(&addr[0], key.w[0], __ATOMIC_RELAXED);
    __atomic_store_n(&addr[1], key.w[1], __ATOMIC_RELAXED);
}

// entry_set: the only writer of the fields that other threads read. The fence and the last store
// pair with the two loads of seq in neighbor_read().
static void entry_set(const struct neighbor_cache *n, struct neighbor *e, struct neighbor_key key,
                      uint64_t word)
{
    const uint32_t seq = e->seq;
    __atomic_store_n(&e->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    key_set(e, key, n->is_v6);
    __atomic_store_n(&e->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&e->seq, seq + 2, __ATOMIC_RELEASE);
}

static void word_set(const struct neighbor_cache *n, struct neighbor *e, uint64_t word)
{
    entry_set(n, e, key_of(e, n->is_v6), word);
}

bool neighbor_read_entry(const struct neighbor *e, bool is_v6, struct neighbor_seen *out)
{
    for (int i = 0; i < READ_TRIES; i++) {
        const uint32_t seq = __atomic_load_n(&e->seq, __ATOMIC_ACQUIRE);  // pairs with entry_set()
        const struct neighbor_key key = key_of(e, is_v6);
        const uint64_t word = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if ((seq & 1) != 0 || seq != __atomic_load_n(&e->seq, __ATOMIC_RELAXED))
            continue;
        *out = (struct neighbor_seen){key, wire_mac_from_word(word), (uint8_t)(word >> 48)};
        return out->state != NET_NEIGHBOR_FREE;
    }
    return false;
}

bool neighbor_read(const struct neighbor_cache *n, uint32_t slot, struct neighbor_seen *out)
{
    return neighbor_read_entry(neighbor_at(n, slot, n->is_v6), n->is_v6, out);
}

size_t neighbor_cache_footprint(const struct net_config *c, bool is_v6)
{
    const size_t slots = (size_t)c->arp_entries + NET_STATICS_MAX;
    return slots * (is_v6 ? sizeof(struct neighbor6) : sizeof(struct neighbor));
}

// rate_init: a token bucket with per_s tokens a second and a burst of a tenth of that. 0: no
// tokens.
static struct rate rate_init(uint32_t per_s)
{
    if (per_s == 0)
        return (struct rate){0, UINT64_MAX, 0};
    const uint64_t interval_ns = 1000000000u / per_s;
    return (struct rate){0, interval_ns, interval_ns * (MAX(per_s / 10, 1u) - 1)};
}

static void add_configured(struct neighbor_cache *n, const struct net_static *s)
{
    struct neighbor *e = neighbor_at(n, n->slots++, n->is_v6);
    const struct neighbor_key key =
        n->is_v6 ? neighbor_key6(&s->addr) : neighbor_key4(raw32(ip_to_v4(&s->addr)));
    entry_set(n, e, key, word_of(wire_mac_word(&s->mac), NET_NEIGHBOR_STATIC));
}

void neighbor_cache_init(struct neighbor_cache *n, struct net *net,
                         const struct neighbor_family *family, const struct net_config *c)
{
    n->secret = c->keys.of[SECRET_NEIGHBORS];
    n->sets = c->arp_entries / NET_NEIGHBOR_WAYS;
    n->slots = c->arp_entries;
    n->is_v6 = family->is_v6;
    n->family = family;
    n->net = net;
    n->rate = rate_init(c->arp_rate_per_s);
    for (uint32_t k = 0; k < c->n_statics; k++)
        if (ip_is_v4(&c->statics[k].addr) != n->is_v6)
            add_configured(n, &c->statics[k]);
}

// set_of: the index of the first slot of the set of `key`.
static inline uint32_t set_of(const struct neighbor_cache *n, struct neighbor_key key)
{
    const uint64_t h = siphash_u64x2(&n->secret, key.w[0], key.w[1]);
    return (uint32_t)(h & (n->sets - 1)) * NET_NEIGHBOR_WAYS;
}

static ALWAYS_INLINE struct neighbor *find(struct neighbor_cache *n, struct neighbor_key key,
                                           bool is_v6)
{
    for (uint32_t i = n->sets * NET_NEIGHBOR_WAYS; i < n->slots; i++)
        if (neighbor_is(neighbor_at(n, i, is_v6), key, is_v6))
            return neighbor_at(n, i, is_v6);
    const uint32_t set = set_of(n, key);
    for (uint32_t w = 0; w < NET_NEIGHBOR_WAYS; w++)
        if (neighbor_is(neighbor_at(n, set + w, is_v6), key, is_v6))
            return neighbor_at(n, set + w, is_v6);
    return NULL;
}

struct neighbor *neighbor_find(struct neighbor_cache *n, struct neighbor_key key)
{
    return n->is_v6 ? find(n, key, true) : find(n, key, false);
}

static ALWAYS_INLINE struct neighbor *usable(struct neighbor_cache *n, struct neighbor_key key,
                                             bool is_v6)
{
    struct neighbor *e = find(n, key, is_v6);
    if (e == NULL || neighbor_state(e) < NET_NEIGHBOR_REACHABLE)
        return NULL;
    const size_t off = (size_t)((uint8_t *)e - n->memory);
    n->hint[neighbor_hint(key, is_v6)] =
        (uint16_t)(off / (is_v6 ? sizeof(struct neighbor6) : sizeof(struct neighbor)));
    return e;
}

struct neighbor *neighbor_usable(struct neighbor_cache *n, struct neighbor_key key)
{
    return n->is_v6 ? usable(n, key, true) : usable(n, key, false);
}

// count: increments the counter at this offset, which the family's table gives.
static void count(struct neighbor_cache *n, uint16_t counter)
{
    ++*(uint64_t *)((uint8_t *)&n->net->stats->c + counter);
}

static bool is_gateway(const struct neighbor_cache *n, const struct neighbor *e)
{
    return n->family->is_gateway(n->net, key_of(e, n->is_v6));
}

// forget: frees the entry and drops its waiting packets for `reason`.
static void forget(struct neighbor_cache *n, struct neighbor *e, enum drop_reason reason)
{
    static const struct neighbor_key none;
    wait_end(n->net, &e->waiting, reason, reason == n->family->wait_expired);
    entry_set(n, e, none, word_of(0, NET_NEIGHBOR_FREE));
}

static struct neighbor *older(struct neighbor *a, struct neighbor *b)
{
    return a == NULL || time_before(b->used_ms, a->used_ms) ? b : a;
}

// place: an entry of the set of `key` that may be overwritten: a free entry, else the oldest
// pending one, else the known one with the longest time since its last use. Pending entries fill at
// most half of a set and replace at most one known entry. A full cache can therefore still send
// requests, and a scan of addresses does not empty it. NULL: gateways and static entries fill the
// set.
static struct neighbor *place(struct neighbor_cache *n, struct neighbor_key key, bool pending)
{
    const uint32_t set = set_of(n, key);
    struct neighbor *vacant = NULL, *oldest_pending = NULL, *oldest = NULL;
    unsigned n_pending = 0;
    for (uint32_t w = 0; w < NET_NEIGHBOR_WAYS; w++) {
        struct neighbor *e = neighbor_at(n, set + w, n->is_v6);
        if (neighbor_state(e) == NET_NEIGHBOR_FREE) {
            vacant = e;
        } else if (neighbor_state(e) == NET_NEIGHBOR_STATIC || is_gateway(n, e)) {
            continue;
        } else if (neighbor_state(e) == NET_NEIGHBOR_PENDING) {
            n_pending++;
            oldest_pending = older(oldest_pending, e);
        } else {
            oldest = older(oldest, e);
        }
    }
    if (vacant != NULL && !(pending && n_pending >= NET_NEIGHBOR_PENDING_WAYS))
        return vacant;
    struct neighbor *victim = oldest_pending != NULL ? oldest_pending : oldest;
    if (victim != NULL) {
        count(n, n->family->evicted);
        forget(n, victim, n->family->cache_full);
    }
    return victim;
}

// request: sends a request for e's MAC, by unicast to the known MAC or by multicast. If the rate
// limit, tx or the pool refuses the request, it counts as a try for a pending neighbor, so that
// entries that a flood creates expire. It does not count for a known neighbor, which is removed
// only after real requests. The rate limit does not apply to gateways: they are few, and their
// timer limits them.
static void request(struct neighbor_cache *n, struct clock_now now, struct neighbor *e,
                    bool unicast, struct net_tx *tx)
{
    struct pkt *p;
    const struct mac_addr known = wire_mac_from_word(neighbor_mac_word(e));
    const bool allowed = tx->n != tx->room && (is_gateway(n, e) || rate_allow(&n->rate, now.us)) &&
                         pkt_alloc_bulk(n->net->pool, &p, 1);
    e->due_ms = now.ms + NET_NEIGHBOR_RETRY_MS;
    if (allowed || neighbor_state(e) == NET_NEIGHBOR_PENDING)
        word_set(n, e, e->word + one_try);
    if (allowed)
        n->family->send_request(n->net, p, key_of(e, n->is_v6), unicast ? &known : NULL, tx);
    else
        count(n, n->family->rate_limited);
}

struct neighbor *neighbor_place(struct neighbor_cache *n, struct clock_now now,
                                struct neighbor_key key)
{
    struct neighbor *e = place(n, key, false);
    if (e != NULL)
        e->used_ms = now.ms;
    return e;
}

// make_pending: creates an entry for `key` and sends a request. If p is not NULL, p waits in the
// entry. Returns false if the set has no place.
static bool make_pending(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                         struct pkt *p, struct net_tx *tx)
{
    struct neighbor *e = place(n, key, true);
    if (e == NULL)
        return false;
    entry_set(n, e, key, word_of(0, NET_NEIGHBOR_PENDING));
    e->used_ms = now.ms;
    e->waiting = p;
    request(n, now, e, false, tx);
    return true;
}

void neighbor_wait(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                   struct pkt *p, struct net_tx *tx)
{
    struct neighbor *e = neighbor_find(n, key);
    if (e != NULL) {
        wait_add(n->net, &e->waiting, p, n->family->wait_replaced);
    } else if (!make_pending(n, now, key, p, tx)) {
        stat_drop(n->net->stats, n->family->cache_full, 1);
        pkt_free(p);
    }
}

void neighbor_ask(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                  struct net_tx *tx)
{
    if (neighbor_find(n, key) == NULL)
        make_pending(n, now, key, NULL, tx);
}

void neighbor_resolve(struct neighbor_cache *n, struct clock_now now, struct neighbor *e,
                      struct neighbor_key key, uint64_t mac_word, bool confirmed, struct net_tx *tx)
{
    if (neighbor_mac_word(e) != mac_word)
        count(n, n->family->learned);
    entry_set(n, e, key,
              word_of(mac_word, confirmed ? NET_NEIGHBOR_REACHABLE : NET_NEIGHBOR_PROBE));
    e->due_ms = confirmed ? now.ms + NET_NEIGHBOR_REACHABLE_MS : now.ms;
    wait_leave(n->net, &e->waiting, mac_word, tx);
}

// tick_entry: runs the timer of one entry.
static void tick_entry(struct neighbor_cache *n, struct clock_now now, struct neighbor *e,
                       struct net_tx *tx)
{
    const enum net_neighbor_state state = neighbor_state(e);
    if (state == NET_NEIGHBOR_FREE || state == NET_NEIGHBOR_STATIC ||
        time_before(now.ms, e->due_ms))
        return;
    const bool wanted = now.ms - e->used_ms < NET_NEIGHBOR_REACHABLE_MS || is_gateway(n, e);
    if (state == NET_NEIGHBOR_REACHABLE && wanted) {
        word_set(n, e, word_of(neighbor_mac_word(e), NET_NEIGHBOR_PROBE));
    } else if (state == NET_NEIGHBOR_REACHABLE || tries(e) >= NET_NEIGHBOR_TRIES) {
        count(n, n->family->expired);
        forget(n, e, n->family->wait_expired);
        return;
    }
    // A known neighbor is asked by unicast first. The last request is sent by multicast.
    request(n, now, e, state != NET_NEIGHBOR_PENDING && tries(e) != NET_NEIGHBOR_TRIES - 1, tx);
}

// verify_gap_us: between two of those requests: half of the rate is left to other requests.
static uint64_t verify_gap_us(const struct neighbor_cache *n)
{
    return n->rate.interval_ns == UINT64_MAX ? 0 : 2 * n->rate.interval_ns / 1000;
}

void neighbor_verify_all(struct neighbor_cache *n, struct clock_now now)
{
    // Answers reach all workers. The one that speaks for the address asks first.
    uint64_t after_us = n->net->quiet ? NET_NEIGHBOR_RETRY_MS * UINT64_C(1000) : 0;
    for (uint32_t i = 0; i < n->sets * NET_NEIGHBOR_WAYS; i++) {
        struct neighbor *e = neighbor_at(n, i, n->is_v6);
        if (neighbor_state(e) != NET_NEIGHBOR_REACHABLE && neighbor_state(e) != NET_NEIGHBOR_PROBE)
            continue;
        word_set(n, e,
                 word_of(neighbor_mac_word(e), NET_NEIGHBOR_PROBE) +
                     (NET_NEIGHBOR_TRIES - 1) * one_try);
        const uint32_t at_ms = now.ms + (uint32_t)(after_us / 1000);
        e->due_ms = time_before(at_ms, e->due_ms) ? at_ms : e->due_ms;
        after_us += verify_gap_us(n);
    }
}

void neighbor_tick(struct neighbor_cache *n, struct clock_now now, struct net_tx *tx)
{
    for (uint32_t i = 0; i < NET_TICK_SLOTS; i++) {
        tick_entry(n, now, neighbor_at(n, n->tick_slot, n->is_v6), tx);
        n->tick_slot = (n->tick_slot + 1) & (n->sets * NET_NEIGHBOR_WAYS - 1);
    }
}

void neighbor_drain(struct neighbor_cache *n)
{
    for (uint32_t i = 0; i < n->slots; i++)
        wait_drain(n->net, &neighbor_at(n, i, n->is_v6)->waiting);
}

static unsigned statics_in_set(const struct neighbor_cache *n, struct neighbor_key key)
{
    const uint32_t set = set_of(n, key);
    unsigned found = 0;
    for (uint32_t w = 0; w < NET_NEIGHBOR_WAYS; w++)
        found += neighbor_state(neighbor_at(n, set + w, n->is_v6)) == NET_NEIGHBOR_STATIC;
    return found;
}

static bool is_configured(const struct neighbor_cache *n, const struct neighbor *e)
{
    return e >= neighbor_at(n, n->sets * NET_NEIGHBOR_WAYS, n->is_v6);
}

int neighbor_add(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                 const struct mac_addr *mac, bool permanent, struct net_tx *tx)
{
    struct neighbor *e = neighbor_find(n, key);
    if (e != NULL && is_configured(n, e))
        return -EPERM;
    const bool one_more = permanent && (e == NULL || neighbor_state(e) != NET_NEIGHBOR_STATIC);
    if (one_more && statics_in_set(n, key) >= NET_NEIGHBOR_WAYS - NET_NEIGHBOR_DYNAMIC_WAYS)
        return -ENOSPC;
    if (e == NULL)
        e = neighbor_place(n, now, key);
    if (e == NULL)
        return -ENOBUFS;
    e->used_ms = now.ms;
    neighbor_resolve(n, now, e, key, wire_mac_word(mac), true, tx);
    if (permanent)
        entry_set(n, e, key, word_of(wire_mac_word(mac), NET_NEIGHBOR_STATIC));
    return 0;
}

int neighbor_del(struct neighbor_cache *n, struct neighbor_key key)
{
    struct neighbor *e = neighbor_find(n, key);
    if (e == NULL || is_configured(n, e))
        return e == NULL ? -ENOENT : -EPERM;
    forget(n, e, n->family->wait_expired);
    return 0;
}

unsigned neighbor_flush(struct neighbor_cache *n)
{
    unsigned found = 0;
    for (uint32_t i = 0; i < n->sets * NET_NEIGHBOR_WAYS; i++) {
        struct neighbor *e = neighbor_at(n, i, n->is_v6);
        if (neighbor_state(e) == NET_NEIGHBOR_FREE || neighbor_state(e) == NET_NEIGHBOR_STATIC)
            continue;
        forget(n, e, n->family->wait_expired);
        found++;
    }
    return found;
}

// nearer: the time from `first` to `last` that is nearest to `ms`.
static uint32_t nearer(uint32_t ms, uint32_t first, uint32_t last)
{
    return time_before(ms, first) ? first : time_before(last, ms) ? last : ms;
}

void neighbor_take(struct neighbor_cache *n, struct clock_now now, struct neighbor_key key,
                   const struct net_neighbor_left *left)
{
    if (neighbor_find(n, key) != NULL ||
        (left->permanent &&
         statics_in_set(n, key) >= NET_NEIGHBOR_WAYS - NET_NEIGHBOR_DYNAMIC_WAYS))
        return;
    struct neighbor *e = neighbor_place(n, now, key);
    if (e == NULL)
        return;
    entry_set(n, e, key,
              word_of(wire_mac_word(&left->mac),
                      left->permanent ? NET_NEIGHBOR_STATIC : NET_NEIGHBOR_REACHABLE));
    e->due_ms = nearer(left->due_ms, now.ms, now.ms + NET_NEIGHBOR_REACHABLE_MS);
    e->used_ms = nearer(left->used_ms, now.ms - NET_NEIGHBOR_REACHABLE_MS, now.ms);
}
