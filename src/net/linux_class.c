// SPDX-License-Identifier: BSD-3-Clause
// Which packets Linux gets on a port with to_linux: those that nobody here owns, not those that are
// malformed or false. And the class of each, by which its rate is limited.
#include "net/priv6.h"
#include "wire/link_talk.h"

enum {
    DHCP_SERVER = 67,  // RFC 2131, RFC 8415
    DHCP_CLIENT = 68,
    DHCP6_CLIENT = 546,
    DHCP6_SERVER = 547,
};

static const bool wanted[DROP_COUNT] = {
    [DROP_eth_type_unknown] = true, [DROP_arp_not_for_us] = true,  [DROP_arp_reply_unasked] = true,
    [DROP_ip_not_for_us] = true,    [DROP_ip_protocol] = true,     [DROP_ip6_not_for_us] = true,
    [DROP_ip6_group] = true,        [DROP_ip6_next_header] = true, [DROP_ip6_link_local] = true,
    [DROP_nd_not_for_us] = true,    [DROP_nd_unasked] = true,      [DROP_nd_router] = true,
    [DROP_icmp_type] = true,        [DROP_icmp6_type] = true,      [DROP_icmp_no_owner] = true,
    [DROP_udp_no_port] = true,
};

// source_fits: whether a packet whose source is not valid here may be valid for Linux: the port has
// no IPv4 address, or a host without an address asks everybody (DHCP, RFC 2131 4.1).
static bool source_fits(const struct net *net, const uint8_t *frame)
{
    return net->n_locals == 0 ||
           ((frame[0] & 1) != 0 && load_raw32(frame + ETH_BYTES + IP4_SRC_AT) == 0);
}

static enum net_linux_class class_of_udp(const uint8_t *udp, const uint8_t *end, bool v6)
{
    if (udp + UDP_BYTES > end)
        return NET_LINUX_REST;
    const uint16_t to = load_be16(udp + 2);
    const bool dhcp =
        v6 ? to == DHCP6_CLIENT || to == DHCP6_SERVER : to == DHCP_CLIENT || to == DHCP_SERVER;
    return dhcp ? NET_LINUX_PROTO : NET_LINUX_REST;
}

static enum net_linux_class class_of_proto(uint8_t proto, const uint8_t *l4, const uint8_t *end,
                                           bool v6)
{
    switch (proto) {
    case IP_PROTO_TCP:
        return NET_LINUX_TCP;
    case IP_PROTO_UDP:
        return class_of_udp(l4, end, v6);
    case IP_PROTO_ICMP:
    case IP_PROTO_ICMP6:
        return NET_LINUX_REST;
    default:
        return NET_LINUX_PROTO;
    }
}

// is_from_link: neighbor discovery that has crossed no router (RFC 4861 3.1).
static bool is_from_link(const uint8_t *frame, uint32_t len)
{
    return wire_is_link_talk(frame, len) && frame[ETH_BYTES + IP6_HOPS_AT] == IP6_HOPS_LINK;
}

enum net_linux_class net_linux_class_of(const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + ETH_BYTES, *end = frame + len;
    const uint16_t type = load_be16(frame + ETH_TYPE_AT);
    if ((frame[0] & 1) != 0 || (type != ETH_TYPE_IP4 && type != ETH_TYPE_IP6))
        return NET_LINUX_LINK;
    if (type == ETH_TYPE_IP4 && len >= ETH_BYTES + IP4_BYTES)
        return class_of_proto(ip[IP4_PROTO_AT], ip + 4 * (ip[0] & 15u), end, false);
    if (type == ETH_TYPE_IP6 && len >= ETH_BYTES + IP6_BYTES)
        return is_from_link(frame, len)
                   ? NET_LINUX_LINK
                   : class_of_proto(ip[IP6_NEXT_AT], ip + IP6_BYTES, end, true);
    return NET_LINUX_REST;
}

void linux_note(const struct pkt *p, uint32_t pkt_ix, enum net_linux_how how, struct net_rx *rx)
{
    DCHECK(rx->n_linux < BURST_MAX);
    rx->linux_pkts[rx->n_linux++] =
        (struct net_linux){.pkt_ix = (uint8_t)pkt_ix,
                           .cls = (uint8_t)net_linux_class_of(pkt_data(p), pkt_len(p)),
                           .how = (uint8_t)how};
}

bool linux_offer(const struct net *net, const struct pkt *p, uint32_t pkt_ix,
                 enum drop_reason reason, struct net_rx *rx)
{
    const uint8_t *frame = pkt_data(p);
    if (!wanted[reason] && (reason != DROP_ip_source || !source_fits(net, frame)))
        return false;
    if (net->quiet && wire_is_link_talk(frame, pkt_len(p)))  // the first worker gives it
        return false;
    linux_note(p, pkt_ix, NET_LINUX_GIVE, rx);
    return true;
}
