// Neighbour discovery (RFC 4861): the neighbours of IPv6, kept as arp.c keeps those of IPv4, with
// the same states, times and limits. STALE and DELAY are folded into them: a MAC that a neighbour
// told about itself is used like a confirmed one, but asked again at once (PROBE) where RFC 4861
// calls it STALE.
//
//             packet, none known                 advertisement, solicited
//   FREE ---------------------------> PENDING ------------------------------> REACHABLE
//     ^    nd_wait, nd_ask               | three tries                           |    ^
//     |                                  v                                60 s, used  |
//     advertisement
//     +----------------------------------+<--- three tries --- PROBE <-----------+    | from it
//     ^                                                          ^  |                 |
//     |                    its own solicitation, or an override  |  +-----------------+
//     +--- 60 s, unused (REACHABLE)                              |
#include <errno.h>
#include <string.h>

#include "net/priv6.h"

static uint64_t nd_word(uint64_t mac_word, enum net_arp_state state, unsigned tries)
{
    return mac_word | (uint64_t)state << 48 | (uint64_t)tries << 56;
}

static uint64_t nd_mac_word(const struct nd_entry *e)
{
    return e->word & 0xffffffffffff;
}

static unsigned nd_tries(const struct nd_entry *e)
{
    return (unsigned)(e->word >> 56);
}

static struct ip_addr nd_addr(const struct nd_entry *e)
{
    struct ip_addr a;
    memcpy(a.b, e->addr, sizeof(a.b));
    return a;
}

// entry_set: the one writer of what other threads read; the fence and the last store pair with the
// two loads of seq in net_nd_read().
static void entry_set(struct nd_entry *e, const struct ip_addr *addr, uint64_t word)
{
    uint32_t seq = e->seq;
    __atomic_store_n(&e->seq, seq + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_store_n(&e->addr[0], load_raw64(addr->b), __ATOMIC_RELAXED);
    __atomic_store_n(&e->addr[1], load_raw64(addr->b + 8), __ATOMIC_RELAXED);
    __atomic_store_n(&e->word, word, __ATOMIC_RELAXED);
    __atomic_store_n(&e->seq, seq + 2, __ATOMIC_RELEASE);
}

static void word_set(struct nd_entry *e, uint64_t word)
{
    const struct ip_addr addr = nd_addr(e);
    entry_set(e, &addr, word);
}

static struct nd_entry *nd_set(struct net *net, const struct ip_addr *a)
{
    const uint64_t h = siphash_u64x2(&net->secret, load_raw64(a->b), load_raw64(a->b + 8));
    return &net->v6->nd[(h & (net->v6->sets - 1)) * NET_ARP_WAYS];
}

static struct nd_entry *nd_find(struct net *net, const struct ip_addr *a)
{
    struct net6 *v6 = net->v6;
    for (uint32_t i = v6->sets * NET_ARP_WAYS; i < v6->slots; i++)
        if (nd_is(&v6->nd[i], a))
            return &v6->nd[i];
    struct nd_entry *set = nd_set(net, a);
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++)
        if (nd_is(&set[w], a))
            return &set[w];
    return NULL;
}

struct nd_entry *nd_usable(struct net *net, const struct ip_addr *hop)
{
    struct nd_entry *e = nd_find(net, hop);
    if (e == NULL || nd_state(e) < NET_ARP_REACHABLE)
        return NULL;
    net->v6->hint[nd_hint_of(hop)] = (uint16_t)(e - net->v6->nd);
    return e;
}

// nd_forget: frees the entry; packets that wait there end for `reason`.
static void nd_forget(struct net *net, struct nd_entry *e, enum drop_reason reason)
{
    static const struct ip_addr none;
    wait_end(net, &e->waiting, reason, reason == DROP_nd_wait_expired);
    entry_set(e, &none, nd_word(0, NET_ARP_FREE, 0));
}

static struct nd_entry *older(struct nd_entry *a, struct nd_entry *b)
{
    return a == NULL || time_before(b->used_ms, a->used_ms) ? b : a;
}

// nd_place: an entry of a's set that may be overwritten, as arp_place() chooses it. NULL: none.
static struct nd_entry *nd_place(struct net *net, const struct ip_addr *a, bool pending)
{
    struct nd_entry *set = nd_set(net, a);
    struct nd_entry *vacant = NULL, *oldest_pending = NULL, *oldest = NULL;
    unsigned n_pending = 0;
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++) {
        struct nd_entry *e = &set[w];
        const struct ip_addr addr = nd_addr(e);
        if (nd_state(e) == NET_ARP_FREE) {
            vacant = e;
        } else if (nd_state(e) == NET_ARP_STATIC || route6_is_via(net->v6, &addr)) {
            continue;
        } else if (nd_state(e) == NET_ARP_PENDING) {
            n_pending++;
            oldest_pending = older(oldest_pending, e);
        } else {
            oldest = older(oldest, e);
        }
    }
    if (vacant != NULL && !(pending && n_pending >= NET_ARP_PENDING_WAYS))
        return vacant;
    struct nd_entry *victim = oldest_pending != NULL ? oldest_pending : oldest;
    if (victim != NULL) {
        net->stats->c.nd_evicted++;
        nd_forget(net, victim, DROP_nd_cache_full);
    }
    return victim;
}

// packet: one to send, or NULL: no room, none left, or, with `allowed` false, over the rate.
static struct pkt *packet(struct net *net, bool allowed, const struct net_tx *tx)
{
    struct pkt *p;
    if (!allowed || tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1)) {
        net->stats->c.nd_limited++;
        return NULL;
    }
    return p;
}

static void send(struct net *net, struct pkt *p, uint32_t len, struct net_tx *tx)
{
    pkt_set_len(p, len);
    tx->pkts[tx->n++] = p;
    net->stats->c.tx_ip6++;
}

// nd_request: one more try to learn e's MAC; to itself, at the MAC that was known, if unicast. Of
// tries that are refused, and of gateways, as arp_request().
static void nd_request(struct net *net, struct clock_now now, struct nd_entry *e, bool unicast,
                       struct net_tx *tx)
{
    const struct ip_addr target = nd_addr(e);
    const struct mac_addr to = wire_mac_from_word(nd_mac_word(e));
    const bool allowed = tx->n != tx->room &&
                         (route6_is_via(net->v6, &target) || rate_allow(&net->v6->rate, now.us));
    struct pkt *p = packet(net, allowed, tx);
    e->due_ms = now.ms + NET_ARP_RETRY_MS;
    if (p != NULL || nd_state(e) == NET_ARP_PENDING)
        word_set(e, e->word + ((uint64_t)1 << 56));
    if (p == NULL)
        return;
    const struct wire_from6 *from = &net->v6->from[net->v6->link_local];
    send(net, p,
         wire_build_solicit(pkt_data(p), from, &net->mac, &target, unicast ? &to : NULL, false),
         tx);
    net->stats->c.tx_nd_solicit++;
}

static struct nd_entry *nd_make_pending(struct net *net, struct clock_now now,
                                        const struct ip_addr *hop, struct pkt *p, struct net_tx *tx)
{
    struct nd_entry *e = nd_place(net, hop, true);
    if (e == NULL)
        return NULL;
    entry_set(e, hop, nd_word(0, NET_ARP_PENDING, 0));
    e->used_ms = now.ms;
    e->waiting = p;
    nd_request(net, now, e, false, tx);
    return e;
}

void nd_wait(struct net *net, struct clock_now now, const struct ip_addr *hop, struct pkt *p,
             struct net_tx *tx)
{
    struct nd_entry *e = nd_find(net, hop);
    if (e == NULL) {
        if (nd_make_pending(net, now, hop, p, tx) == NULL) {
            net->stats->drops[DROP_nd_cache_full]++;
            pkt_free(p);
        }
        return;
    }
    wait_add(net, &e->waiting, p, DROP_nd_wait_replaced);
}

void nd_ask(struct net *net, struct clock_now now, const struct ip_addr *hop, struct net_tx *tx)
{
    if (nd_find(net, hop) == NULL)
        nd_make_pending(net, now, hop, NULL, tx);
}

// nd_resolve: e's neighbour is at mac_word; a packet that waited leaves. Not confirmed: it is asked
// itself at the next tick (RFC 4861 calls it STALE).
static void nd_resolve(struct net *net, struct clock_now now, struct nd_entry *e, uint64_t mac_word,
                       bool confirmed, struct net_tx *tx)
{
    if (nd_mac_word(e) != mac_word)
        net->stats->c.nd_learned++;
    word_set(e, nd_word(mac_word, confirmed ? NET_ARP_REACHABLE : NET_ARP_PROBE, 0));
    e->due_ms = confirmed ? now.ms + NET_ARP_REACHABLE_MS : now.ms;
    wait_leave(net, &e->waiting, mac_word, tx);
}

// may_learn: is the sender of a solicitation one that we would reach on the link?
static bool may_learn(const struct net6 *v6, const struct ip_addr *src)
{
    struct ip_addr hop;
    return route6_find(v6, src, &hop) && ip6_same(&hop, src);
}

// nd_learn: a neighbour that asked for us tells its MAC (RFC 4861 7.2.3). A MAC that is known and
// the same changes nothing.
static void nd_learn(struct net *net, struct clock_now now, const struct ip_addr *src,
                     const struct wire_nd *m, struct net_tx *tx)
{
    if (!m->has_lla || ip_is_zero(src))
        return;
    struct nd_entry *e = nd_find(net, src);
    if (e == NULL) {
        if (!may_learn(net->v6, src) || (e = nd_place(net, src, false)) == NULL)
            return;
        entry_set(e, src, nd_word(0, NET_ARP_PENDING, 0));
        e->used_ms = now.ms;
    }
    const uint64_t mac_word = wire_mac_word(&m->lla);
    if (nd_state(e) != NET_ARP_STATIC && nd_mac_word(e) != mac_word)
        nd_resolve(net, now, e, mac_word, false, tx);
}

// advert: what own address k is at, unasked (RFC 4861 7.2.6). False: no room or packet.
static bool advert(struct net *net, bool allowed, uint32_t k, struct net_tx *tx)
{
    const struct ip_addr all = ip6_all_nodes();
    const struct mac_addr to = ip6_group_mac(&all);
    struct pkt *p = packet(net, allowed, tx);
    if (p == NULL)
        return false;
    wire_build_advert(pkt_data(p), &net->v6->from[k], &net->mac, &all, &to, ND_OVERRIDE);
    send(net, p, ND_FRAME_BYTES, tx);
    net->stats->c.tx_nd_advert++;
    return true;
}

// conflict: someone else claims own address k, which is not given up.
static void conflict(struct net *net, struct clock_now now, uint32_t k, struct net_tx *tx)
{
    net->stats->c.nd_conflicts++;
    if (!net->quiet && now.us >= net->v6->defend_at_us[k] &&
        advert(net, rate_allow(&net->v6->rate, now.us), k, tx))
        net->v6->defend_at_us[k] = now.us + NET_ARP_DEFEND_MS * UINT64_C(1000);
}

static bool false_mac(const struct net *net, const struct mac_addr *mac)
{
    const uint64_t word = wire_mac_word(mac);
    return (mac->b[0] & 1) != 0 || word == 0 || word == wire_mac_word(&net->mac);
}

// answer_in_place: p, a solicitation for own address k, becomes its advertisement: to all nodes if
// it has no sender yet (RFC 4861 7.2.4).
static void answer_in_place(struct net *net, struct pkt *p, const struct wire_ip6 *ip, uint32_t k)
{
    const bool probe = ip_is_zero(&ip->src);
    const struct ip_addr dst = probe ? ip6_all_nodes() : ip->src;
    struct mac_addr to;
    if (probe)
        to = ip6_group_mac(&dst);
    else
        memcpy(to.b, pkt_data(p) + 6, sizeof(to.b));
    wire_build_advert(pkt_data(p), &net->v6->from[k], &net->mac, &dst, &to,
                      probe ? ND_OVERRIDE : ND_OVERRIDE | ND_SOLICITED);
    pkt_turn_round(p);
    pkt_set_len(p, ND_FRAME_BYTES);
    net->stats->c.tx_ip6++;
    net->stats->c.tx_nd_advert++;
    net->stats->c.answered++;
}

static enum drop_reason solicit_input(struct net *net, struct clock_now now, struct pkt *p,
                                      const struct wire_ip6 *ip, const struct wire_nd *m,
                                      bool *replied, struct net_tx *tx)
{
    const int k = net6_own(net->v6, &m->target);
    if (k < 0)
        return DROP_nd_not_for_us;
    if (net->quiet) {
        nd_learn(net, now, &ip->src, m, tx);
        net->stats->c.delivered++;
        return DROP_NONE;
    }
    if (tx->n == tx->room || pkt_room(p) < ND_FRAME_BYTES)
        return DROP_answer_room;
    // The reply takes its place first: a packet released by learning takes the next, if any.
    tx->pkts[tx->n++] = p;
    nd_learn(net, now, &ip->src, m, tx);
    answer_in_place(net, p, ip, (uint32_t)k);
    *replied = true;
    return DROP_NONE;
}

// advert_input: RFC 4861 7.2.5.
static enum drop_reason advert_input(struct net *net, struct clock_now now, const struct wire_nd *m,
                                     struct net_tx *tx)
{
    const int k = net6_own(net->v6, &m->target);
    if (k >= 0) {
        conflict(net, now, (uint32_t)k, tx);
        return DROP_nd_not_for_us;
    }
    struct nd_entry *e = nd_find(net, &m->target);
    if (e == NULL || nd_state(e) == NET_ARP_STATIC)
        return DROP_nd_unasked;
    const bool known = nd_state(e) != NET_ARP_PENDING;
    const uint64_t mac_word = m->has_lla ? wire_mac_word(&m->lla) : nd_mac_word(e);
    const bool other = mac_word != nd_mac_word(e);
    if (!known && !m->has_lla)
        return DROP_nd_unasked;
    net->stats->c.delivered++;
    if (known && other && (m->flags & ND_OVERRIDE) == 0) {  // 7.2.5, rule I: what is known stays
        if (nd_state(e) == NET_ARP_REACHABLE)
            nd_resolve(net, now, e, nd_mac_word(e), false, tx);
    } else if ((m->flags & ND_SOLICITED) != 0) {
        nd_resolve(net, now, e, mac_word, true, tx);
    } else if (!known || other) {
        nd_resolve(net, now, e, mac_word, false, tx);
    }
    return DROP_NONE;
}

enum drop_reason nd_input(struct net *net, struct clock_now now, struct pkt *p,
                          const struct wire_ip6 *ip, bool *replied, struct net_tx *tx)
{
    struct wire_nd m;
    struct mac_addr sender;
    const enum drop_reason reason = wire_parse_nd(pkt_data(p), ip, &m);
    if (reason != DROP_NONE)
        return reason;
    memcpy(sender.b, pkt_data(p) + 6, sizeof(sender.b));
    if (false_mac(net, &sender) || (m.has_lla && false_mac(net, &m.lla)))
        return DROP_nd_not_for_us;
    if (m.type == ND_ADVERT)
        return advert_input(net, now, &m, tx);
    const int claimed = net6_own(net->v6, &ip->src);
    if (claimed < 0)
        return solicit_input(net, now, p, ip, &m, replied, tx);
    conflict(net, now, (uint32_t)claimed, tx);
    return DROP_nd_not_for_us;
}

enum { GROUPS_A_REPORT = 32 };
static_assert(16 + (NET6_OWN_MAX + GROUPS_A_REPORT) * MLD_RECORD_BYTES + IP6_BYTES <= IP6_MTU_MIN,
              "a report is one packet");

static bool report_of(struct net *net, bool allowed, const struct wire_mld *m, struct net_tx *tx)
{
    const struct net6 *v6 = net->v6;
    struct pkt *p = packet(net, allowed, tx);
    if (p == NULL)
        return false;
    send(net, p, wire_build_mld_report(pkt_data(p), &v6->from[v6->link_local], m), tx);
    net->stats->c.tx_mld_report++;
    return true;
}

// report: of all groups: those of our addresses, and those that were joined, GROUPS_A_REPORT at a
// time: as many as fit the least MTU.
static bool report(struct net *net, bool allowed, uint8_t kind, struct net_tx *tx)
{
    struct wire_mld some = {.addrs = net->v6->local, .n_addrs = net->v6->n_own, .kind = kind};
    const struct groups *g = &net->groups6;
    bool sent = true;
    for (uint32_t i = 0; sent && i <= g->n; i += GROUPS_A_REPORT) {
        some.groups = g->addr + i;
        some.n_groups = MIN(g->n - i, (uint32_t)GROUPS_A_REPORT);
        if (i == 0 || some.n_groups != 0)
            sent = report_of(net, allowed, &some, tx);
        some.n_addrs = 0;
    }
    return sent;
}

void mld_changed(struct net *net, struct clock_now now, const struct ip_addr *group, uint8_t kind,
                 struct net_tx *tx)
{
    const struct wire_mld one = {.groups = group, .n_groups = 1, .kind = kind};
    if (!net->quiet)
        report_of(net, rate_allow(&net->v6->rate, now.us), &one, tx);
}

enum drop_reason mld_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip6 *ip, struct net_tx *tx)
{
    if (!wire_is_mld_query(pkt_data(p), ip))
        return DROP_icmp6_type;
    net->stats->c.rx_mld_query++;
    if (!net->quiet && !report(net, rate_allow(&net->v6->rate, now.us), MLD_IS_EXCLUDE, tx))
        return DROP_answer_room;
    net->stats->c.delivered++;
    return DROP_NONE;
}

// tick_entry: what is due on one entry.
static void tick_entry(struct net *net, struct clock_now now, struct nd_entry *e, struct net_tx *tx)
{
    const enum net_arp_state state = nd_state(e);
    const struct ip_addr addr = nd_addr(e);
    if (state == NET_ARP_FREE || state == NET_ARP_STATIC || time_before(now.ms, e->due_ms))
        return;
    const bool wanted = now.ms - e->used_ms < NET_ARP_REACHABLE_MS || route6_is_via(net->v6, &addr);
    if (state == NET_ARP_REACHABLE && wanted) {
        word_set(e, nd_word(nd_mac_word(e), NET_ARP_PROBE, 0));
    } else if (state == NET_ARP_REACHABLE || nd_tries(e) >= NET_ARP_TRIES) {
        net->stats->c.nd_expired++;
        nd_forget(net, e, DROP_nd_wait_expired);
        return;
    }
    // A neighbour that was known is asked by itself, and by the group only at last.
    const bool group = state == NET_ARP_PENDING || nd_tries(e) == NET_ARP_TRIES - 1;
    nd_request(net, now, e, !group, tx);
}

void nd_tick(struct net *net, struct clock_now now, struct net_tx *tx)
{
    struct net6 *v6 = net->v6;
    for (uint32_t i = 0; i < NET_TICK_SLOTS; i++) {
        tick_entry(net, now, &v6->nd[v6->tick_slot], tx);
        v6->tick_slot = (v6->tick_slot + 1) & (v6->sets * NET_ARP_WAYS - 1);
    }
}

void nd_drain(struct net *net)
{
    for (uint32_t i = 0; i < net->v6->slots; i++)
        wait_drain(net, &net->v6->nd[i].waiting);
}

// probe: does anybody else have own address k (RFC 4862 5.4)? It is used meanwhile, as RFC 4429
// lets optimistic nodes do.
static void probe(struct net *net, uint32_t k, struct net_tx *tx)
{
    const struct net6 *v6 = net->v6;
    struct pkt *p = packet(net, true, tx);
    if (p == NULL)
        return;
    send(net, p,
         wire_build_solicit(pkt_data(p), &v6->from[k], &net->mac, &v6->local[k], NULL, true), tx);
    net->stats->c.tx_nd_solicit++;
}

void nd_announce(struct net *net, struct clock_now now, struct net_tx *tx)
{
    const struct net6 *v6 = net->v6;
    if (!net->quiet) {
        report(net, true, MLD_TO_EXCLUDE, tx);
        for (uint32_t k = 0; k < v6->n_own; k++) {
            probe(net, k, tx);
            advert(net, true, k, tx);
        }
    }
    for (uint32_t i = 0; i < v6->n_routes; i++)
        if (!ip_is_zero(&v6->routes[i].via))
            nd_ask(net, now, &v6->routes[i].via, tx);
}

static unsigned statics_in(const struct nd_entry *set)
{
    unsigned n = 0;
    for (uint32_t w = 0; w < NET_ARP_WAYS; w++)
        n += nd_state(&set[w]) == NET_ARP_STATIC;
    return n;
}

static bool is_configured(const struct net6 *v6, const struct nd_entry *e)
{
    return e >= &v6->nd[v6->sets * NET_ARP_WAYS];
}

int nd_add(struct net *net, struct clock_now now, const struct ip_addr *a,
           const struct mac_addr *mac, bool permanent, struct net_tx *tx)
{
    struct nd_entry *e = nd_find(net, a);
    if (e != NULL && is_configured(net->v6, e))
        return -EPERM;
    const bool one_more = permanent && (e == NULL || nd_state(e) != NET_ARP_STATIC);
    if (one_more && statics_in(nd_set(net, a)) >= NET_ARP_WAYS - NET_ARP_DYNAMIC_WAYS)
        return -ENOSPC;
    if (e == NULL)
        e = nd_place(net, a, false);
    if (e == NULL)
        return -ENOBUFS;
    if (nd_state(e) == NET_ARP_FREE)
        entry_set(e, a, nd_word(0, NET_ARP_PENDING, 0));
    e->used_ms = now.ms;
    nd_resolve(net, now, e, wire_mac_word(mac), true, tx);
    if (permanent)
        word_set(e, nd_word(wire_mac_word(mac), NET_ARP_STATIC, 0));
    return 0;
}

int nd_del(struct net *net, const struct ip_addr *a)
{
    struct nd_entry *e = nd_find(net, a);
    if (e == NULL || is_configured(net->v6, e))
        return e == NULL ? -ENOENT : -EPERM;
    nd_forget(net, e, DROP_nd_wait_expired);
    return 0;
}

unsigned nd_flush(struct net *net)
{
    struct net6 *v6 = net->v6;
    unsigned n = 0;
    for (uint32_t i = 0; i < v6->sets * NET_ARP_WAYS; i++) {
        struct nd_entry *e = &v6->nd[i];
        if (nd_state(e) == NET_ARP_FREE || nd_state(e) == NET_ARP_STATIC)
            continue;
        nd_forget(net, e, DROP_nd_wait_expired);
        n++;
    }
    return n;
}
