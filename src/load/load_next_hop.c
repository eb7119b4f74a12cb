// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_internal.h"

bool load_ready(const struct load *l)
{
    return l->hop_mac_word != 0;
}

void load_ask_hop(struct load *l)
{
    static const struct mac_addr all = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}}, none;
    if (l->now_us < l->ask_hop_us)
        return;
    l->ask_hop_us = l->now_us + LOAD_HOP_US;
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    if (l->v6) {
        l->from6.addr = l->p.link;
        pkt_set_len(
            p, wire_build_solicit(pkt_data(p), &l->from6, &l->p.port->mac, &l->p.hop, NULL, false));
        l->from6.addr = l->p.first;
        return;
    }
    wire_build_arp(pkt_data(p), ARP_OP_REQUEST, &all, &l->p.port->mac, raw32(ip_to_v4(&l->p.link)),
                   &none, raw32(ip_to_v4(&l->p.hop)));
    pkt_set_len(p, ARP_FRAME_BYTES);
}

// Stores the MAC address of the next hop, unless it was configured.
static void learn(struct load *l, const struct mac_addr *mac)
{
    if (wire_mac_word(&l->p.hop_mac) == 0 && (mac->b[0] & 1) == 0)
        l->hop_mac_word = wire_mac_word(mac);
}

static void reply(struct load *l, const struct wire_arp *asked)
{
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    wire_build_arp(pkt_data(p), ARP_OP_REPLY, &asked->sender_mac, &l->p.port->mac,
                   asked->target_raw, &asked->sender_mac, asked->sender_raw);
    pkt_set_len(p, ARP_FRAME_BYTES);
}

// Whether v4 is the client's address on the link or that of a connection.
static bool is_ours4(const struct load *l, uint32_t v4)
{
    const uint32_t link_v4 = ip_to_v4(&l->p.link);
    return (v4 == link_v4 && v4 != 0) || load_has_host(l, v4);
}

static bool is_ours6(const struct load *l, const struct ip_addr *a)
{
    return ip_equal(a, &l->p.link) ||
           (memcmp(a->b, l->p.first.b, 12) == 0 && load_has_host(l, ip_to_v4(a)));
}

void load_arp_input(struct load *l, const uint8_t *frame, uint32_t len)
{
    struct wire_arp a;
    if (wire_parse_arp(frame, len, &a) != DROP_NONE) {
        l->c.damaged++;
        return;
    }
    if (l->v6)
        return;
    if (a.sender_raw == raw32(ip_to_v4(&l->p.hop)))
        learn(l, &a.sender_mac);
    if (a.op == ARP_OP_REQUEST && is_ours4(l, __builtin_bswap32(a.target_raw)))
        reply(l, &a);
}

// Answers a solicitation. If its source is the unspecified address (duplicate address detection),
// the advertisement goes to all nodes (RFC 4861 7.2.4).
static void advertise(struct load *l, const uint8_t *frame, const struct wire_ip6 *ip,
                      const struct ip_addr *target)
{
    const bool probe = ip_is_zero(&ip->src);
    const struct ip_addr dst = probe ? ip6_all_nodes() : ip->src;
    struct mac_addr to = ip6_group_mac(&dst);
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    if (!probe)
        memcpy(to.b, frame + ETH_SRC_AT, sizeof(to.b));
    l->from6.addr = *target;
    wire_build_advert(pkt_data(p), &l->from6, &l->p.port->mac, &dst, &to,
                      probe ? ND_OVERRIDE : ND_OVERRIDE | ND_SOLICITED);
    l->from6.addr = l->p.first;
    pkt_set_len(p, ND_FRAME_BYTES);
}

// Whether the ICMPv6 checksum is correct (RFC 4443 2.3).
static bool checksum_right(const uint8_t *frame, const struct wire_ip6 *ip)
{
    struct wire_icmp6 m;
    return wire_parse_icmp6(frame, ip, &m) == DROP_NONE;
}

void load_nd_input(struct load *l, const uint8_t *frame, const struct wire_ip6 *ip)
{
    struct wire_nd nd;
    if (!checksum_right(frame, ip)) {
        l->c.damaged++;
        return;
    }
    const uint8_t type = frame[ip->l4_off];
    if ((type != ND_SOLICIT && type != ND_ADVERT) || wire_parse_nd(frame, ip, &nd) != DROP_NONE)
        return;
    if (nd.type == ND_ADVERT && nd.has_lla && ip_equal(&nd.target, &l->p.hop))
        learn(l, &nd.lla);
    if (nd.type == ND_SOLICIT && is_ours6(l, &nd.target))
        advertise(l, frame, ip, &nd.target);
}
