// SPDX-License-Identifier: BSD-3-Clause
// ARP messages (RFC 826, RFC 5227). The neighbors are stored in neighbor_cache.h. Three messages
// confirm a neighbor: its reply to us, its request for one of our addresses, and, if it is known,
// its announcement.
#include "net/priv.h"

static const struct mac_addr mac_zero, mac_broadcast = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

// put_request: builds a request for target_raw from own_raw to MAC `to` in p and sends it.
static void put_request(struct net *net, struct pkt *p, const struct mac_addr *to, uint32_t own_raw,
                        uint32_t target_raw, struct net_tx *tx)
{
    wire_build_arp(pkt_data(p), ARP_OP_REQUEST, to, &net->mac, own_raw, &mac_zero, target_raw);
    pkt_set_len(p, ARP_FRAME_BYTES);
    tx->pkts[tx->n++] = p;
    net->stats->c.tx_arp++;
}

static void send_request(struct net *net, struct pkt *p, struct neighbor_key key,
                         const struct mac_addr *to, struct net_tx *tx)
{
    const uint32_t target_raw = neighbor_v4_raw(key);
    const int near = net_on_link(net, target_raw);
    const uint32_t k = near >= 0 ? (uint32_t)near : local_first(net);
    put_request(net, p, to != NULL ? to : &mac_broadcast, net->local[k], target_raw, tx);
}

static bool is_gateway(const struct net *net, struct neighbor_key key)
{
    return route_is_via(net, neighbor_v4_raw(key));
}

void arp_init(struct net *net, const struct net_config *c)
{
    static const struct neighbor_family family = {
        .is_v6 = false,
        .cache_full = DROP_arp_cache_full,
        .wait_replaced = DROP_arp_wait_replaced,
        .wait_expired = DROP_arp_wait_expired,
        .learned = offsetof(struct core_counters, arp_learned),
        .evicted = offsetof(struct core_counters, arp_evicted),
        .expired = offsetof(struct core_counters, arp_expired),
        .rate_limited = offsetof(struct core_counters, arp_limited),
        .is_gateway = is_gateway,
        .send_request = send_request,
    };
    neighbor_cache_init(&net->arp, net, &family, c);
}

static void resolve(struct net *net, struct clock_now now, struct neighbor *e,
                    const struct wire_arp *a, struct net_tx *tx)
{
    neighbor_resolve(&net->arp, now, e, neighbor_key4(a->sender_raw), wire_mac_word(&a->sender_mac),
                     true, tx);
}

// learn: stores the neighbor that sent us a request. It will need the entry for our answers.
static void learn(struct net *net, struct clock_now now, struct neighbor *e,
                  const struct wire_arp *a, struct net_tx *tx)
{
    if (e == NULL && a->sender_raw != 0 && net_on_link(net, a->sender_raw) >= 0)
        e = neighbor_place(&net->arp, now, neighbor_key4(a->sender_raw));
    if (e != NULL && neighbor_state(e) != NET_NEIGHBOR_STATIC)
        resolve(net, now, e, a, tx);
}

// announce: sends a gratuitous request for local address k (RFC 5227 2.3). Returns false if tx has
// no room or if no packet is free.
static bool announce(struct net *net, uint32_t k, struct net_tx *tx)
{
    struct pkt *p;
    if (tx->n == tx->room || !pkt_alloc_bulk(net->pool, &p, 1))
        return false;
    put_request(net, p, &mac_broadcast, net->local[k], net->local[k], tx);
    return true;
}

// defend: handles another host's claim of local address k. We keep the address (RFC 5227 2.4 c).
static void defend(struct net *net, struct clock_now now, uint32_t k, struct net_tx *tx)
{
    net->stats->c.arp_conflicts++;
    if (!net->quiet && now.us >= net->defend_at_us[k] && rate_allow(&net->arp.rate, now.us) &&
        announce(net, k, tx))
        net->defend_at_us[k] = now.us + NET_DEFEND_MS * UINT64_C(1000);
}

// sender_false: whether the sender's addresses are not valid. Address 0 is a probe (RFC 5227 1.1).
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

static void reply_in_place(struct net *net, struct pkt *p, const struct wire_arp *a)
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
    struct neighbor *e =
        a.sender_raw != 0 ? neighbor_find(&net->arp, neighbor_key4(a.sender_raw)) : NULL;
    bool for_us = net_local_index(net, a.target_raw) >= 0;
    if (a.op == ARP_OP_REQUEST && for_us) {
        if (net->quiet) {
            learn(net, now, e, &a, tx);
            net->stats->c.delivered++;
            return DROP_NONE;
        }
        if (tx->n == tx->room)
            return DROP_answer_room;
        // The reply is added to tx first, because learn() may add a waiting packet if room is left.
        tx->pkts[tx->n++] = p;
        learn(net, now, e, &a, tx);
        reply_in_place(net, p, &a);
        *replied = true;
        return DROP_NONE;
    }
    bool announced =
        a.sender_raw == a.target_raw && e != NULL && neighbor_state(e) != NET_NEIGHBOR_STATIC;
    bool asked =
        a.op == ARP_OP_REPLY && for_us && e != NULL &&
        (neighbor_state(e) == NET_NEIGHBOR_PENDING || neighbor_state(e) == NET_NEIGHBOR_PROBE);
    if (!announced && !asked)
        return a.op == ARP_OP_REPLY ? DROP_arp_reply_unasked : DROP_arp_not_for_us;
    resolve(net, now, e, &a, tx);
    net->stats->c.delivered++;
    return DROP_NONE;
}

void arp_announce_local(struct net *net, uint32_t k, struct net_tx *tx)
{
    if (!net->quiet && !local_is_gone(net, k) && !announce(net, k, tx))
        stat_drop(net->stats, DROP_pkt_pool_empty, 1);
}

void arp_announce(struct net *net, struct clock_now now, struct net_tx *tx)
{
    for (uint32_t k = 0; k < net->n_locals; k++)
        arp_announce_local(net, k, tx);
    for (uint32_t i = 0; i < net->n_routes; i++)
        if (net->routes[i].via_raw != 0)
            neighbor_ask(&net->arp, now, neighbor_key4(net->routes[i].via_raw), tx);
}
