// SPDX-License-Identifier: BSD-3-Clause
// Messages of neighbor discovery (RFC 4861) for IPv6, of duplicate address detection (RFC 4862),
// and of MLDv2 (RFC 3810). The neighbors are stored in neighbor_cache.h. Only a solicited
// advertisement confirms a neighbor. Its solicitation and its unsolicited advertisement do not
// (RFC 4861 7.2.3, 7.2.5).
#include <string.h>

#include "net/priv6.h"

// packet: returns a packet to send, or NULL if tx has no room, if no packet is free, or if the rate
// limit was reached (`allowed` is false).
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

static void send_request(struct net *net, struct pkt *p, struct neighbor_key key,
                         const struct mac_addr *to, struct net_tx *tx)
{
    const struct wire_from6 *from = &net->v6->from[net->v6->link_local];
    const struct ip_addr target = neighbor_addr6(key);
    send(net, p, wire_build_solicit(pkt_data(p), from, &net->mac, &target, to, false), tx);
    net->stats->c.tx_nd_solicit++;
}

static bool is_gateway(const struct net *net, struct neighbor_key key)
{
    const struct ip_addr a = neighbor_addr6(key);
    return route6_is_via(net->v6, &a);
}

void nd_init(struct net *net, const struct net_config *c)
{
    static const struct neighbor_family family = {
        .is_v6 = true,
        .cache_full = DROP_nd_cache_full,
        .wait_replaced = DROP_nd_wait_replaced,
        .wait_expired = DROP_nd_wait_expired,
        .learned = offsetof(struct core_counters, nd_learned),
        .evicted = offsetof(struct core_counters, nd_evicted),
        .expired = offsetof(struct core_counters, nd_expired),
        .rate_limited = offsetof(struct core_counters, nd_limited),
        .is_gateway = is_gateway,
        .send_request = send_request,
    };
    neighbor_cache_init(&net->v6->nd, net, &family, c);
}

// may_learn: whether the sender of a solicitation can be reached on the link.
static bool may_learn(const struct net6 *v6, const struct ip_addr *src)
{
    struct ip_addr hop;
    return route6_find(v6, src, &hop) && ip6_same(&hop, src);
}

// learn: stores the MAC address that a neighbor sent in its solicitation (RFC 4861 7.2.3). If the
// entry already has this MAC, it does not change.
static void learn(struct net *net, struct clock_now now, const struct ip_addr *src,
                  const struct wire_nd *m, struct net_tx *tx)
{
    if (!m->has_lla || ip_is_zero(src))
        return;
    struct neighbor_cache *nd = &net->v6->nd;
    const struct neighbor_key key = neighbor_key6(src);
    struct neighbor *e = neighbor_find(nd, key);
    if (e == NULL && may_learn(net->v6, src))
        e = neighbor_place(nd, now, key);
    const uint64_t mac_word = wire_mac_word(&m->lla);
    if (e != NULL && neighbor_state(e) != NET_NEIGHBOR_STATIC && neighbor_mac_word(e) != mac_word)
        neighbor_resolve(nd, now, e, key, mac_word, false, tx);
}

// advert: sends an unsolicited advertisement of local address k (RFC 4861 7.2.6). Returns false if
// packet() returns NULL.
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

// conflict: handles another node's claim of local address k. We keep the address.
static void conflict(struct net *net, struct clock_now now, uint32_t k, struct net_tx *tx)
{
    net->stats->c.nd_conflicts++;
    if (!net->quiet && now.us >= net->v6->defend_at_us[k] &&
        advert(net, rate_allow(&net->v6->nd.rate, now.us), k, tx))
        net->v6->defend_at_us[k] = now.us + NET_DEFEND_MS * UINT64_C(1000);
}

static bool false_mac(const struct net *net, const struct mac_addr *mac)
{
    const uint64_t word = wire_mac_word(mac);
    return (mac->b[0] & 1) != 0 || word == 0 || word == wire_mac_word(&net->mac);
}

// answer_in_place: turns p, a solicitation of local address k, into the advertisement that answers
// it. If the source is the unspecified address, the advertisement goes to all nodes (RFC 4861
// 7.2.4).
static void answer_in_place(struct net *net, struct pkt *p, const struct wire_ip6 *ip, uint32_t k)
{
    const bool probe = ip_is_zero(&ip->src);
    const struct ip_addr dst = probe ? ip6_all_nodes() : ip->src;
    struct mac_addr to;
    if (probe)
        to = ip6_group_mac(&dst);
    else
        memcpy(to.b, pkt_data(p) + ETH_SRC_AT, sizeof(to.b));
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
        learn(net, now, &ip->src, m, tx);
        net->stats->c.delivered++;
        return DROP_NONE;
    }
    if (tx->n == tx->room || pkt_room(p) < ND_FRAME_BYTES)
        return DROP_answer_room;
    // The reply is added to tx first, because learn() may add a waiting packet if room is left.
    tx->pkts[tx->n++] = p;
    learn(net, now, &ip->src, m, tx);
    answer_in_place(net, p, ip, (uint32_t)k);
    *replied = true;
    return DROP_NONE;
}

// advert_input: handles a received advertisement (RFC 4861 7.2.5).
static enum drop_reason advert_input(struct net *net, struct clock_now now, const struct wire_nd *m,
                                     struct net_tx *tx)
{
    const int k = net6_own(net->v6, &m->target);
    if (k >= 0) {
        conflict(net, now, (uint32_t)k, tx);
        return DROP_nd_not_for_us;
    }
    struct neighbor_cache *nd = &net->v6->nd;
    const struct neighbor_key key = neighbor_key6(&m->target);
    struct neighbor *e = neighbor_find(nd, key);
    if (e == NULL || neighbor_state(e) == NET_NEIGHBOR_STATIC)
        return DROP_nd_unasked;
    const bool known = neighbor_state(e) != NET_NEIGHBOR_PENDING;
    const uint64_t mac_word = m->has_lla ? wire_mac_word(&m->lla) : neighbor_mac_word(e);
    const bool other = mac_word != neighbor_mac_word(e);
    if (!known && !m->has_lla)
        return DROP_nd_unasked;
    net->stats->c.delivered++;
    if (known && other && (m->flags & ND_OVERRIDE) == 0) {  // 7.2.5 rule I: the known MAC stays
        if (neighbor_state(e) == NET_NEIGHBOR_REACHABLE)
            neighbor_resolve(nd, now, e, key, neighbor_mac_word(e), false, tx);
    } else if ((m->flags & ND_SOLICITED) != 0) {
        neighbor_resolve(nd, now, e, key, mac_word, true, tx);
    } else if (!known || other) {
        neighbor_resolve(nd, now, e, key, mac_word, false, tx);
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
    memcpy(sender.b, pkt_data(p) + ETH_SRC_AT, sizeof(sender.b));
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

// report: reports all groups: those of local addresses and those that applications joined. A report
// contains at most GROUPS_A_REPORT groups, so that it fits in the smallest MTU.
static bool report(struct net *net, bool allowed, uint8_t kind, struct net_tx *tx)
{
    struct ip_addr own[NET6_OWN_MAX];
    uint32_t n_own = 0;
    for (uint32_t k = 0; k < net->v6->n_own; k++)
        if (!ip_is_zero(&net->v6->local[k]))
            own[n_own++] = net->v6->local[k];
    if (n_own == 0)  // all places are free: there is no address to report from
        return true;
    struct wire_mld some = {.addrs = own, .n_addrs = n_own, .kind = kind};
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
        report_of(net, rate_allow(&net->v6->nd.rate, now.us), &one, tx);
}

enum drop_reason mld_input(struct net *net, struct clock_now now, const struct pkt *p,
                           const struct wire_ip6 *ip, struct net_tx *tx)
{
    if (!wire_is_mld_query(pkt_data(p), ip))
        return DROP_icmp6_type;
    net->stats->c.rx_mld_query++;
    if (!net->quiet && !report(net, rate_allow(&net->v6->nd.rate, now.us), MLD_IS_EXCLUDE, tx))
        return DROP_answer_room;
    net->stats->c.delivered++;
    return DROP_NONE;
}

// probe: asks whether another node uses local address k (RFC 4862 5.4). Meanwhile the address is in
// use, as RFC 4429 allows.
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

void nd_announce_local(struct net *net, uint32_t k, struct net_tx *tx)
{
    const struct ip_addr group = ip6_solicited_node(&net->v6->local[k]);
    const struct wire_mld one = {.groups = &group, .n_groups = 1, .kind = MLD_TO_EXCLUDE};
    if (net->quiet)
        return;
    report_of(net, true, &one, tx);
    advert(net, true, k, tx);
}

void nd_leave_local(struct net *net, const struct ip_addr *gone, struct net_tx *tx)
{
    const struct ip_addr group = ip6_solicited_node(gone);
    const struct wire_mld one = {.groups = &group, .n_groups = 1, .kind = MLD_TO_INCLUDE};
    bool used = net->quiet || ip_is_zero(&net->v6->local[net->v6->link_local]);
    for (uint32_t k = 0; k < net->v6->n_own; k++) {
        const struct ip_addr other = ip6_solicited_node(&net->v6->local[k]);
        used |= !ip_is_zero(&net->v6->local[k]) && ip6_same(&other, &group);
    }
    if (!used)
        report_of(net, true, &one, tx);
}

void nd_announce(struct net *net, struct clock_now now, struct net_tx *tx)
{
    const struct net6 *v6 = net->v6;
    if (!net->quiet) {
        report(net, true, MLD_TO_EXCLUDE, tx);
        for (uint32_t k = 0; k < v6->n_own; k++) {
            if (ip_is_zero(&v6->local[k]))
                continue;
            probe(net, k, tx);
            advert(net, true, k, tx);
        }
    }
    for (uint32_t i = 0; i < v6->n_routes; i++)
        if (!ip_is_zero(&v6->routes[i].via))
            neighbor_ask(&net->v6->nd, now, neighbor_key6(&v6->routes[i].via), tx);
}
