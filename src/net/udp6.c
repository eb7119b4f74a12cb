// SPDX-License-Identifier: BSD-3-Clause
// UDP over IPv6, and the ICMPv6 errors that we send for closed ports and unsupported header fields.
#include "net/priv6.h"

// error_from: the index of our address from which an ICMPv6 error about the packet is sent. ix: the
// local address to which the packet was sent. Returns -1 if RFC 4443 2.4 (e) forbids an error.
// (e.1) and (e.2), about ICMPv6 errors and redirects, are checked in wire_parse_ip6().
static int error_from(const struct net6 *v6, const uint8_t *eth, const struct wire_ip6 *ip,
                      uint32_t ix, uint8_t type, uint8_t code)
{
    // (e.3) to (e.5) with their exceptions. Some options are never reported to a multicast packet
    // (RFC 8200 4.2).
    const bool group = ix == NET6_TO_GROUP, to_many = group || (eth[0] & 1) != 0;
    if (to_many && (type != ICMP6_PARAMETER || code != ICMP6_CODE_OPTION || !ip->problem_to_group))
        return -1;
    // (e.6): the source must denote a single node. At a loopback port it is one of our addresses.
    const bool ours = net6_own(v6, &ip->src) >= 0;
    if (v6->loops ? !ours : ours || !ip6_is_global_form(&ip->src))
        return -1;
    if (!group)
        return (int)ix;
    return (int)(ip6_is_link_local(&ip->src) ? v6->link_local : net6_source(v6, &ip->src));
}

enum drop_reason udp6_input(struct net *net, struct clock_now now, const struct pkt *p,
                            const struct wire_ip6 *ip, uint32_t ix, uint32_t pkt_ix,
                            struct net_rx *rx, struct net_tx *tx)
{
    struct wire_udp m;
    const bool verify = pkt_rx_l4_cksum(p) != PKT_CKSUM_GOOD;
    enum drop_reason reason = wire_parse_udp6(pkt_data(p), ip, verify, &m);
    if (reason != DROP_NONE)
        return reason;
    const bool group = ix == NET_TO_GROUP;
    reason = udp_deliver(net, &m, &ip->src, &ip->dst, group ? ix : net->n_locals + ix, pkt_ix, rx);
    if (reason == DROP_udp_no_port && !group && !net->to_linux) {
        net->stats->c.rx_udp6_no_port++;
        error6_send(net, now, p, ip, ix, ICMP6_UNREACHABLE, ICMP6_CODE_PORT, 0, tx);
    }
    if (reason == DROP_NONE && udp_is_secret(&rx->udp[rx->n_udp - 1]) && net->to_linux)
        linux_note(p, pkt_ix, NET_LINUX_CLAIM, rx);
    else if (reason == DROP_NONE && udp_is_secret(&rx->udp[rx->n_udp - 1]) &&
             error_from(net->v6, pkt_data(p), ip, ix, ICMP6_UNREACHABLE, ICMP6_CODE_PORT) >= 0)
        limit_take(&net->errors, net->errors_per_s, source_of(&ip->src), now.us);
    net->stats->c.rx_udp6 += reason == DROP_NONE;
    return reason;
}

void error6_quote(struct net *net, struct clock_now now, const uint8_t *eth,
                  const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code,
                  uint32_t value, const uint8_t *quoted, uint32_t n, struct net_tx *tx)
{
    struct pkt *answer;
    struct mac_addr to;
    const int from = error_from(net->v6, eth, ip, ix, type, code);
    if (from < 0)
        return;
    if (!limit_take(&net->errors, net->errors_per_s, source_of(&ip->src), now.us) ||
        tx->n == tx->room || !pkt_alloc_bulk(net->pool, &answer, 1)) {
        net->stats->c.icmp_errors_limited++;
        return;
    }
    memcpy(to.b, eth + ETH_SRC_AT, sizeof(to.b));
    const uint32_t len =
        wire_build_error6(pkt_data(answer), &net->v6->from[from], wire_mac_word(&to), &ip->src,
                          type, code, value, quoted, n);
    pkt_set_len(answer, len);
    tx->pkts[tx->n++] = answer;
    net->stats->c.tx_ip6++;
    net->stats->c.tx_icmp6_unreachable += type == ICMP6_UNREACHABLE;
    net->stats->c.tx_icmp6_parameter += type == ICMP6_PARAMETER;
    net->stats->c.tx_icmp6_time_exceeded += type == ICMP6_TIME_EXCEEDED;
}

void error6_send(struct net *net, struct clock_now now, const struct pkt *p,
                 const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code, uint32_t value,
                 struct net_tx *tx)
{
    const uint8_t *quoted = pkt_data(p) + ETH_BYTES;
    const uint32_t bytes = (uint32_t)IP6_BYTES + load_be16(quoted + 4);
    error6_quote(net, now, pkt_data(p), ip, ix, type, code, value, quoted,
                 MIN(bytes, (uint32_t)ICMP6_QUOTE_MAX), tx);
}
