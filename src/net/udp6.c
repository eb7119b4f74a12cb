// UDP over IPv6 and the ICMPv6 errors that we send: for a port without a service, and for what a
// header asks that nobody here does.
#include "net/priv6.h"

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
    if (reason == DROP_udp_no_port && !group) {
        net->counters.no_ports6++;
        error6_send(net, now, p, ip, ix, ICMP6_UNREACHABLE, ICMP6_CODE_PORT, 0, tx);
    }
    net->counters.datagrams6_in += reason == DROP_NONE;
    return reason;
}

void error6_send(struct net *net, struct clock_now now, const struct pkt *p,
                 const struct wire_ip6 *ip, uint32_t ix, uint8_t type, uint8_t code, uint32_t value,
                 struct net_tx *tx)
{
    struct pkt *answer;
    if (tx->n == tx->room || !rate_allow(&net->error_rate, now.us) ||
        !pkt_alloc_bulk(net->pool, &answer, 1)) {
        net->counters.errors_limited++;
        return;
    }
    const uint8_t *quoted = pkt_data(p) + ETH_BYTES;
    const uint32_t bytes = (uint32_t)IP6_BYTES + load_be16(quoted + 4);
    const uint32_t len =
        wire_build_error6(pkt_data(answer), &net->v6->from[ix], net_sender_mac(p), &ip->src, type,
                          code, value, quoted, MIN(bytes, (uint32_t)ICMP6_QUOTE_MAX));
    pkt_set_len(answer, len);
    tx->pkts[tx->n++] = answer;
    net->counters.ip6_out++;
    net->counters.unreachables6_out += type == ICMP6_UNREACHABLE;
    net->counters.problems6_out += type == ICMP6_PARAMETER;
}
