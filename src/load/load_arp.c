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
    l->ask_hop_us = l->now_us + LOAD_ARP_US;
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return;
    wire_build_arp(pkt_data(p), ARP_OP_REQUEST, &all, &l->p.port->mac, raw32(l->p.link_v4), &none,
                   raw32(l->p.hop_v4));
    pkt_set_len(p, ARP_FRAME_BYTES);
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

// Our address on the link, or one of a connection.
static bool is_ours(const struct load *l, uint32_t v4)
{
    return (v4 == l->p.link_v4 && v4 != 0) || v4 - l->p.first_v4 <= load_host(l->p.connections - 1);
}

void load_arp_input(struct load *l, const uint8_t *frame, uint32_t len)
{
    struct wire_arp a;
    if (wire_parse_arp(frame, len, &a) != DROP_NONE) {
        l->c.damaged++;
        return;
    }
    const bool asked_for = wire_mac_word(&l->p.hop_mac) == 0 && a.sender_raw == raw32(l->p.hop_v4);
    if (asked_for && (a.sender_mac.b[0] & 1) == 0)
        l->hop_mac_word = wire_mac_word(&a.sender_mac);
    if (a.op == ARP_OP_REQUEST && is_ours(l, __builtin_bswap32(a.target_raw)))
        reply(l, &a);
}
