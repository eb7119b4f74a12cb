// The ARP cache (RFC 826, RFC 1122 2.3.2): sets of eight entries under a keyed hash, statics behind
// them.
//
//             packet, none known                    reply, or asked by the neighbour itself
//   FREE ---------------------------> PENDING ---------------------------------> REACHABLE
//     ^    arp_wait, arp_ask             | three tries                 arp_resolve  |    ^
//     |                                  v                                60 s, used|    | reply
//     +----------------------------------+<--- three tries --- PROBE <--------------+    |
//     ^                     tick_entry                           |  tick_entry           |
//     +--- 60 s, unused (REACHABLE)                              +-----------------------+
//
// STATIC: from the configuration, behind the sets, or by order (arp_add), in them, but never so
// many that a set has no room for others.
//
// A flood of addresses that never answer takes NET_ARP_PENDING_WAYS entries of each set and as many
// packets, and replaces only its own kind; a gateway's entry is never replaced.
#include <errno.h>

#include "net/priv6.h"

static const struct mac_addr mac_zero, mac_broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

static uint64_t arp_word(uint64_t mac_word, enum net_arp_state state, unsigned tries)
{
    return mac_word | (uint64_t)state << 48 | (uint64_t)tries << 56;
}

static uint64_t arp_mac_word(const struct arp_entry *e)
{
    return e->word & 0xffffffffffff;
}

static unsigned arp_tries(const struct arp_entry *e)
{
    return (unsigned)(e->word >> 56);
}

// entry_set: the one writer of what other threads read; the fence and the last store pair with the
// two loads of seq in net_arp_read().
static void entry_set(struct arp_entry *e, uint32_t v4_raw, uint64_t word)
{
    uint32_t seq = e->seq;
    __atomic_store_n(&e->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&e->v4_raw, v4_raw, __ATOMIC_RELAXED);
    __atomic_store_n(&e->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&e->seq, seq + 2, __ATOMIC_RELEASE);
}

static struct arp_entry *arp_set(struct net *net, uint32_t v4_raw)
{
    uint64_t h = siphash_u64x2(&net->secret, v4_raw, 0);
    return &net->arp[(h & (net->arp_sets - 1)) * NET_ARP_WAYS];
}

static struct arp_entry *arp_find(struct net *net, uint32_t v4_raw)
{
    for (uint32_t i = net->arp_sets * NET_ARP_WAYS; i < net->arp_slots; i++)
        if (net->arp[i].v4_raw == v4_raw)
            return &net->arp[i];
    struct arp_entry *set = arp_set(net, v4_raw);
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++)
        if (set[w].v4_raw == v4_raw)
            return &set[w];
    return NULL;
}

struct arp_entry *arp_usable(struct net *net, uint32_t hop_raw)
{
    struct arp_entry *e = hop_raw != 0 ? arp_find(net, hop_raw) : NULL;
    if (e == NULL || arp_state(e) < NET_ARP_REACHABLE)
        return NULL;
    net->hint[(hop_raw >> 24) % NET_HINTS] = (uint16_t)(e - net->arp);
    return e;
}

// arp_forget: frees the entry; packets that wait there end for `reason`.
static void arp_forget(struct net *net, struct arp_entry *e, enum drop_reason reason)
{
    wait_end(net, &e->waiting, reason, reason == DROP_arp_wait_expired);
    entry_set(e, 0, arp_word(0, NET_ARP_FREE, 0));
}

static struct arp_entry *older(struct arp_entry *a, struct arp_entry *b)
{
    return a == NULL || time_before(b->used_ms, a->used_ms) ? b : a;
}

// arp_place: an entry of v4_raw's set that may be overwritten: a free one; the oldest pending one;
// the known one that was unused for longest. Pending entries fill at most half of a set, and take
// one known entry at most, so that a full cache can still ask and a scan does not empty it.
// NULL: gateways and static entries fill the set.
static struct arp_entry *arp_place(struct net *net, uint32_t v4_raw, bool pending)
{
    struct arp_entry *set = arp_set(net, v4_raw);
    struct arp_entry *vacant = NULL, *oldest_pending = NULL, *oldest = NULL;
    unsigned n_pending = 0;
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++) {
        struct arp_entry *e = &set[w];
        if (arp_state(e) == NET_ARP_FREE) {
            vacant = e;
        } else if (arp_state(e) == NET_ARP_STATIC || route_is_via(net, e->v4_raw)) {
            continue;
        } else if (arp_state(e) == NET_ARP_PENDING) {
            n_pending++;
            oldest_pending = older(oldest_pending, e);
        } else {
            oldest = older(oldest, e);
        }
    }
    if (vacant != NULL && !(pending && n_pending >= NET_ARP_PENDING_WAYS))
        return vacant;
    struct arp_entry *victim = oldest_pending != NULL ? oldest_pending : oldest;
    if (victim != NULL) {
        net->stats->c.arp_evicted++;
        arp_forget(net, victim, DROP_arp_cache_full);
    }
    return victim;
}

// arp_request: one more try to learn e's MAC, to `to`. A try that the rate limit, the room or the
// pool refuses counts for a neighbour that is not known, so that a flood's entries end; who is
// known stays known until he has been asked. Gateways are few and have no limit but their timer.
static void arp_request(struct net *net, struct clock_now now, struct arp_entry *e,
                        const struct mac_addr *to, struct net_tx *tx)
{
    struct pkt *p;
    const bool allowed = tx->n != tx->room &&
                         (route_is_via(net, e->v4_raw) || rate_allow(&net->arp_rate, now.us)) &&
                         pkt_alloc_bulk(net->pool, &p, 1);
    e->due_ms = now.ms + NET_ARP_RETRY_MS;
    if (allowed || arp_state(e) == NET_ARP_PENDING)
        entry_set(e, e->v4_raw, e->word + ((uint64_t)1 << 56));
    if (!allowed) {
        net->stats->c.arp_limited++;
        return;
    }
    int k = net_on_link(net, e->v4_raw);
    wire_build_arp(pkt_data(p), ARP_OP_REQUEST, to, &net->mac, net->local[MAX(k, 0)], &mac_zero,
                   e->v4_raw);
    pkt_set_len(p, ARP_FRAME_BYTES);
    tx->pkts[tx->n++] = p;
    net->stats->c.tx_arp++;
}

static struct arp_entry *arp_make_pending(struct net *net, struct clock_now now, uint32_t hop_raw,
                                          struct pkt *p, struct net_tx *tx)
{
    struct arp_entry *e = arp_place(net, hop_raw, true);
    if (e == NULL)
        return NULL;
    entry_set(e, hop_raw, arp_word(0, NET_ARP_PENDING, 0));
    e->used_ms = now.ms;
    e->waiting = p;
    arp_request(net, now, e, &mac_broadcast, tx);
    return e;
}

void arp_wait(struct net *net, struct clock_now now, uint32_t hop_raw, struct pkt *p,
              struct net_tx *tx)
{
    struct arp_entry *e = arp_find(net, hop_raw);
    if (e == NULL) {
        if (arp_make_pending(net, now, hop_raw, p, tx) == NULL) {
            net->stats->drops[DROP_arp_cache_full]++;
            pkt_free(p);
        }
        return;
    }
    wait_add(net, &e->waiting, p, DROP_arp_wait_replaced);
}

void arp_ask(struct net *net, struct clock_now now, uint32_t hop_raw, struct net_tx *tx)
{
    if (arp_find(net, hop_raw) == NULL)
        arp_make_pending(net, now, hop_raw, NULL, tx);
}

// arp_resolve: e, free or already v4_raw's, says that v4_raw is at mac; a packet that waited
// leaves.
static void arp_resolve(struct net *net, struct clock_now now, struct arp_entry *e, uint32_t v4_raw,
                        const struct mac_addr *mac, struct net_tx *tx)
{
    uint64_t mac_word = wire_mac_word(mac);
    if (arp_mac_word(e) != mac_word)
        net->stats->c.arp_learned++;
    entry_set(e, v4_raw, arp_word(mac_word, NET_ARP_REACHABLE, 0));
    e->due_ms = now.ms + NET_ARP_REACHABLE_MS;
    wait_leave(net, &e->waiting, mac_word, tx);
}

// arp_learn: a neighbour that spoke to us, whom we shall want to answer.
static void arp_learn(struct net *net, struct clock_now now, struct arp_entry *e,
                      const struct wire_arp *a, struct net_tx *tx)
{
    if (e == NULL) {
        if (a->sender_raw == 0 || net_on_link(net, a->sender_raw) < 0)
            return;
        e = arp_place(net, a->sender_raw, false);
        if (e == NULL)
            return;
        e->used_ms = now.ms;
    }
    if (arp_state(e) != NET_ARP_STATIC)
        arp_resolve(net, now, e, a->sender_raw, &a->sender_mac, tx);
}

// announce: a gratuitous request for local address k (RFC 5227 2.3). False: no room or no packet.
static bool announce(struct net *net, uint32_t k, struct net_tx *tx)
{
    struct pkt *p;
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return false;
    wire_build_arp(pkt_data(p), ARP_OP_REQUEST, &mac_broadcast, &net->mac, net->local[k], &mac_zero,
                   net->local[k]);
    pkt_set_len(p, ARP_FRAME_BYTES);
    tx->pkts[tx->n++] = p;
    net->stats->c.tx_arp++;
    return true;
}

// defend: someone else claims local address k. It is not given up (RFC 5227 2.4 c).
static void defend(struct net *net, struct clock_now now, uint32_t k, struct net_tx *tx)
{
    net->stats->c.arp_conflicts++;
    if (!net->quiet && now.us >= net->defend_at_us[k] && rate_allow(&net->arp_rate, now.us) &&
        announce(net, k, tx))
        net->defend_at_us[k] = now.us + NET_ARP_DEFEND_MS * UINT64_C(1000);
}

// sender_false: does the sender claim what it cannot be? Address 0 is a probe (RFC 5227 1.1).
static bool sender_false(struct net *net, struct clock_now now, const struct wire_arp *a,
                         struct net_tx *tx)
{
    if ((a->sender_mac.b[0] & 1) != 0 || wire_mac_word(&a->sender_mac) == 0 ||
        wire_mac_word(&a->sender_mac) == wire_mac_word(&net->mac))
        return true;
    if (a->sender_raw == 0)
        return false;
    const int claimed = net_local_index(net, a->sender_raw);
    if (claimed >= 0) {
        defend(net, now, (uint32_t)claimed, tx);
        return true;
    }
    bool bad = !net_source_top_ok(a->sender_raw);
    for (uint32_t k = 0; k < net->n_locals; k++)
        bad |= a->sender_raw == net->bcast[k];
    return bad;
}

static void arp_reply_in_place(struct net *net, struct pkt *p, const struct wire_arp *a)
{
    wire_build_arp(pkt_data(p), ARP_OP_REPLY, &a->sender_mac, &net->mac, a->target_raw,
                   &a->sender_mac, a->sender_raw);
    pkt_turn_round(p);
    pkt_set_len(p, ARP_FRAME_BYTES);
    net->stats->c.tx_arp++;
    net->stats->c.answered++;
}

enum drop_reason arp_input(struct net *net, struct clock_now now, struct pkt *p, bool *replied,
                           struct net_tx *tx)
{
    struct wire_arp a;
    enum drop_reason reason = wire_parse_arp(pkt_data(p), pkt_len(p), &a);
    if (reason != DROP_NONE)
        return reason;
    if (sender_false(net, now, &a, tx))
        return DROP_arp_not_for_us;
    struct arp_entry *e = a.sender_raw != 0 ? arp_find(net, a.sender_raw) : NULL;
    bool for_us = net_local_index(net, a.target_raw) >= 0;
    if (a.op == ARP_OP_REQUEST && for_us) {
        if (net->quiet) {
            arp_learn(net, now, e, &a, tx);
            net->stats->c.delivered++;
            return DROP_NONE;
        }
        if (tx->n == tx->room)
            return DROP_answer_room;
        // The reply takes its place first: a packet released by learning takes the next, if any.
        tx->pkts[tx->n++] = p;
        arp_learn(net, now, e, &a, tx);
        arp_reply_in_place(net, p, &a);
        *replied = true;
        return DROP_NONE;
    }
    bool announced = a.sender_raw == a.target_raw && e != NULL && arp_state(e) != NET_ARP_STATIC;
    bool asked = a.op == ARP_OP_REPLY && for_us && e != NULL &&
                 (arp_state(e) == NET_ARP_PENDING || arp_state(e) == NET_ARP_PROBE);
    if (!announced && !asked)
        return a.op == ARP_OP_REPLY ? DROP_arp_reply_unasked : DROP_arp_not_for_us;
    arp_resolve(net, now, e, a.sender_raw, &a.sender_mac, tx);
    net->stats->c.delivered++;
    return DROP_NONE;
}

// tick_entry: what is due on one entry.
static void tick_entry(struct net *net, struct clock_now now, struct arp_entry *e,
                       struct net_tx *tx)
{
    enum net_arp_state state = arp_state(e);
    if (state == NET_ARP_FREE || state == NET_ARP_STATIC || time_before(now.ms, e->due_ms))
        return;
    bool wanted = now.ms - e->used_ms < NET_ARP_REACHABLE_MS || route_is_via(net, e->v4_raw);
    if (state == NET_ARP_REACHABLE && wanted) {
        entry_set(e, e->v4_raw, arp_word(arp_mac_word(e), NET_ARP_PROBE, 0));
    } else if (state == NET_ARP_REACHABLE || arp_tries(e) >= NET_ARP_TRIES) {
        net->stats->c.arp_expired++;
        arp_forget(net, e, DROP_arp_wait_expired);
        return;
    }
    // A neighbour that was known is asked by itself, and by broadcast only at last.
    struct mac_addr to = wire_mac_from_word(arp_mac_word(e));
    bool broadcast = state == NET_ARP_PENDING || arp_tries(e) == NET_ARP_TRIES - 1;
    arp_request(net, now, e, broadcast ? &mac_broadcast : &to, tx);
}

bool net_tick(struct net *net, struct clock_now now, struct net_tx *tx)
{
    if (net->tick_ms == now.ms)
        return false;
    net->tick_ms = now.ms;
    uint32_t slots = net->arp_sets * NET_ARP_WAYS;
    for (uint32_t i = 0; i < NET_TICK_SLOTS; i++) {
        tick_entry(net, now, &net->arp[net->tick_slot], tx);
        net->tick_slot = (net->tick_slot + 1) & (slots - 1);
    }
    if (net->v6 != NULL)
        nd_tick(net, now, tx);
    if (net->reasm != NULL)
        fragment_tick(net, now, tx);
    return true;
}

void net_drain(struct net *net)
{
    for (uint32_t i = 0; i < net->arp_slots; i++) {
        wait_drain(net, &net->arp[i].waiting);
    }
    if (net->v6 != NULL)
        nd_drain(net);
}

void net_announce(struct net *net, struct clock_now now, struct net_tx *tx)
{
    if (net->loops)
        return;
    for (uint32_t k = 0; k < net->n_locals && !net->quiet; k++)
        if (!announce(net, k, tx))
            net->stats->drops[DROP_pkt_pool_empty]++;
    for (uint32_t i = 0; i < net->n_routes; i++)
        if (net->routes[i].via_raw != 0)
            arp_ask(net, now, net->routes[i].via_raw, tx);
    if (net->v6 != NULL)
        nd_announce(net, now, tx);
}

static unsigned statics_in(const struct arp_entry *set)
{
    unsigned n = 0;
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++)
        n += arp_state(&set[w]) == NET_ARP_STATIC;
    return n;
}

static bool is_configured(const struct net *net, const struct arp_entry *e)
{
    return e >= &net->arp[net->arp_sets * NET_ARP_WAYS];
}

int arp_add(struct net *net, struct clock_now now, uint32_t v4_raw, const struct mac_addr *mac,
            bool permanent, struct net_tx *tx)
{
    struct arp_entry *e = arp_find(net, v4_raw);
    if (e != NULL && is_configured(net, e))
        return -EPERM;
    const bool one_more = permanent && (e == NULL || arp_state(e) != NET_ARP_STATIC);
    if (one_more && statics_in(arp_set(net, v4_raw)) >= NET_ARP_WAYS - NET_ARP_DYNAMIC_WAYS)
        return -ENOSPC;
    if (e == NULL)
        e = arp_place(net, v4_raw, false);
    if (e == NULL)
        return -ENOBUFS;
    e->used_ms = now.ms;
    arp_resolve(net, now, e, v4_raw, mac, tx);
    if (permanent)
        entry_set(e, v4_raw, arp_word(wire_mac_word(mac), NET_ARP_STATIC, 0));
    return 0;
}

int arp_del(struct net *net, uint32_t v4_raw)
{
    struct arp_entry *e = arp_find(net, v4_raw);
    if (e == NULL || is_configured(net, e))
        return e == NULL ? -ENOENT : -EPERM;
    arp_forget(net, e, DROP_arp_wait_expired);
    return 0;
}

unsigned arp_flush(struct net *net)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < net->arp_sets * NET_ARP_WAYS; i++) {
        struct arp_entry *e = &net->arp[i];
        if (arp_state(e) == NET_ARP_FREE || arp_state(e) == NET_ARP_STATIC)
            continue;
        arp_forget(net, e, DROP_arp_wait_expired);
        n++;
    }
    return n;
}
