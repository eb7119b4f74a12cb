// SPDX-License-Identifier: BSD-3-Clause
#include <string.h>

#include "net/priv6.h"

void net_config_default(struct net_config *c)
{
    *c = (struct net_config){.mtu = 1500,
                             .arp_entries = 1024,
                             .arp_rate_per_s = 1000,
                             .icmp_rate_per_s = 10000,
                             .icmp_errors_per_s = 1000};
}

static bool arp_entries_ok(uint32_t n)
{
    return n >= NET_NEIGHBOR_ENTRIES_MIN && n <= NET_NEIGHBOR_ENTRIES_MAX && (n & (n - 1)) == 0;
}

size_t net_footprint(const struct net_config *c)
{
    if (!arp_entries_ok(c->arp_entries))
        return 0;
    return ALIGN_UP(sizeof(struct net) + neighbor_cache_footprint(c, false), CACHE_LINE) +
           ALIGN_UP(net6_footprint(c), CACHE_LINE);
}

static bool unicast(const struct ip_addr *a)
{
    return ip_is_v4(a) ? net_source_top_ok(raw32(ip_to_v4(a))) : ip6_is_global_form(a);
}

bool net_is_unicast_mac(const struct mac_addr *mac)
{
    return (mac->b[0] & 1) == 0 && wire_mac_word(mac) != 0;
}

static int check_local(const struct net_config *c, uint32_t k, struct err *e)
{
    const struct net_local *l = &c->locals[k];
    char text[IP_TEXT_BYTES];
    if (c->changes && net_local_is_none(l))
        return 0;
    if ((!unicast(&l->addr) && !c->loops) || l->prefix_bits > ip_bits(&l->addr))
        return err_set(e, "address %s/%u: not a unicast address with a prefix of 0 to %u",
                       ip_text(&l->addr, text), l->prefix_bits, ip_bits(&l->addr));
    for (uint32_t i = 0; i < k; i++)
        if (ip_equal(&c->locals[i].addr, &l->addr))
            return err_set(e, "address %s: given twice", ip_text(&l->addr, text));
    return 0;
}

static int check_static(const struct net_config *c, uint32_t k, struct err *e)
{
    const struct net_static *s = &c->statics[k];
    char text[IP_TEXT_BYTES];
    if ((!unicast(&s->addr) && !c->loops) || !net_is_unicast_mac(&s->mac))
        return err_set(e, "neighbor %s: address or MAC is not unicast", ip_text(&s->addr, text));
    for (uint32_t i = 0; i < k; i++)
        if (ip_equal(&c->statics[i].addr, &s->addr))
            return err_set(e, "neighbor %s: given twice", ip_text(&s->addr, text));
    return 0;
}

static int check_config(const struct net_config *c, struct err *e)
{
    if (!arp_entries_ok(c->arp_entries))
        return err_set(e, "ARP cache of %u entries: not a power of two in %d..%d", c->arp_entries,
                       NET_NEIGHBOR_ENTRIES_MIN, NET_NEIGHBOR_ENTRIES_MAX);
    if (!net_is_unicast_mac(&c->mac))
        return err_set(e, "MAC address is zero or multicast");
    if (c->mtu < IP4_BYTES_MIN_MTU)
        return err_set(e, "MTU %u: below %d", c->mtu, IP4_BYTES_MIN_MTU);
    if (c->n_locals > NET_LOCALS_MAX)
        return err_set(e, "%u addresses: at most %d", c->n_locals, NET_LOCALS_MAX);
    if (c->n_statics > NET_STATICS_MAX)
        return err_set(e, "%u static neighbors: at most %d", c->n_statics, NET_STATICS_MAX);
    if (c->n_udp > NET_UDP_PORTS_MAX)
        return err_set(e, "%u UDP ports: at most %d", c->n_udp, NET_UDP_PORTS_MAX);
    for (uint32_t k = 0; k < c->n_locals; k++)
        if (check_local(c, k, e) != 0)
            return -1;
    for (uint32_t k = 0; k < c->n_statics; k++)
        if (check_static(c, k, e) != 0)
            return -1;
    return net6_check(c, e) != 0 ? -1 : routes_check(c, e);
}

struct net *net_init(void *mem, const struct net_config *c, struct pkt_pool *pool,
                     struct core_stats *stats, struct err *e)
{
    if (check_config(c, e) != 0)
        return NULL;
    struct net *net = mem;
    CHECK((uintptr_t)mem % CACHE_LINE == 0);
    memset(net, 0, net_footprint(c));
    net->on_link_subnet[0] = 1;  // with mask 0: without a local address, nothing is on-link
    wire_common_init(&net->common[0], &c->mac, NULL);
    net->mac_word_shl16 = wire_mac_word(&c->mac) << 16;
    while (net->n_locals < c->n_locals && ip_is_v4(&c->locals[net->n_locals].addr))
        net->n_locals++;
    net->local_ix_first = net->fast_local_ix = c->local_ix_first;
    net->pkt_room = pool != NULL ? pkt_pool_room(pool) : PKT_ROOM;
    net->ip_bytes_max = net->ip_bytes_most =
        (uint16_t)MIN((uint32_t)c->mtu, net->pkt_room - ETH_BYTES);
    net->tx_l4 = (c->caps & PORT_TX_L4_CKSUM) != 0;
    net->tx_ip = (c->caps & PORT_TX_IP_CKSUM) != 0;
    net->tso = (c->caps & PORT_TSO) != 0;
    net->chain_max = c->chain_max != 0 ? c->chain_max : (uint16_t)PKT_CHAIN_MAX;
    net->stats = stats;
    net->pool = pool;
    net->id_key = c->keys.of[SECRET_IP_IDS];
    net->mac = c->mac;
    net->quiet = c->quiet;
    net->loops = c->loops;
    net->to_linux = c->to_linux;
    net->to_linux_echo = c->to_linux && c->to_linux_echo;
    net->changes = c->changes;
    net->reasm = c->reasm;
    net->port = c->port;
    for (unsigned k = 0; k < NET_LOCALS_MAX; k++)
        net->device_of[k] = c->device_of[k] != 0 ? c->device_of[k] : (uint8_t)(c->port + 1);
    net->icmp_per_s = c->icmp_rate_per_s;
    net->errors_per_s = c->icmp_errors_per_s;
    limit_init(&net->echoes, c->keys.of[SECRET_ECHOES]);
    limit_init(&net->errors, c->keys.of[SECRET_ERRORS]);
    net->n_udp = c->n_udp;
    memcpy(net->udp, c->udp, sizeof(net->udp));
    net->open = c->open;
    net->tick_ms = UINT32_MAX;
    for (uint32_t k = 0; k < net->n_locals; k++)
        local_place(net, k, &c->locals[k]);
    locals_tables(net);
    routes_init(net, c);
    arp_init(net, c);
    const size_t v6_bytes = ALIGN_UP(net6_footprint(c), CACHE_LINE);
    if (v6_bytes != 0)
        net6_init(net, (uint8_t *)mem + net_footprint(c) - v6_bytes, c);
    return net;
}

struct ip_addr net_local_addr(const struct net *net, uint8_t local)
{
    return local < net->n_locals ? ip_from_v4(raw32(net->local[local]))
                                 : net->v6->local[local - net->n_locals];
}

void net_forget(struct net *net)
{
    net->arp.rate.next_ns = 0;
    limit_rest(&net->echoes);
    limit_rest(&net->errors);
    if (net->v6 != NULL)
        net->v6->nd.rate.next_ns = 0;
    if (net->open != NULL)
        udp_paths_forget(net->open);
}

void net_tick(struct net *net, struct clock_now now, struct net_tx *tx)
{
    if (net->tick_ms == now.ms)
        return;
    net->tick_ms = now.ms;
    neighbor_tick(&net->arp, now, tx);
    if (net->v6 != NULL)
        neighbor_tick(&net->v6->nd, now, tx);
    if (net->reasm != NULL)
        fragment_tick(net, now, tx);
}

void net_drain(struct net *net)
{
    neighbor_drain(&net->arp);
    if (net->v6 != NULL)
        neighbor_drain(&net->v6->nd);
}

void net_announce(struct net *net, struct clock_now now, struct net_tx *tx)
{
    if (net->loops)
        return;
    neighbor_verify_all(&net->arp, now);
    if (net->v6 != NULL)
        neighbor_verify_all(&net->v6->nd, now);
    arp_announce(net, now, tx);
    if (net->v6 != NULL)
        nd_announce(net, now, tx);
}

uint16_t net_mss(const struct net *net)
{
    return (uint16_t)(net->ip_bytes_max - IP4_BYTES - TCP_BYTES);
}
