// SPDX-License-Identifier: BSD-3-Clause
// snmp6.c: /proc/net/snmp6 with the names of Linux 6.18 (net/ipv6/proc.c), in the same order. The
// lines of single ICMPv6 types (Icmp6InType...) are left out, because named lines have the same
// counts. A line is 0 if c10m has no such thing or does not count it by family: bytes, ECN, and all
// UDP refusals except one reason. net/snmp and net/netstat have the sums of both families.
#include <inttypes.h>

#include "stat/columns.h"

#define C(counter) ((int64_t)s->c.counter)

static void lines_render(struct text *out, const struct core_stats *s)
{
    const int64_t header =
        DROPS(s, DROP_ip6_short, DROP_ip6_version, DROP_ip6_payload_length, DROP_ip6_ext_header,
              DROP_ip6_ext_limit, DROP_ip6_option, DROP_ip6_routing);
    const int64_t address = DROPS(s, DROP_ip6_source, DROP_ip6_not_for_us, DROP_ip6_group,
                                  DROP_ip6_link_multicast, DROP_ip6_link_local);
    const int64_t refused =
        header + address + DROPS(s, DROP_ip6_next_header, DROP_ip6_fragment, DROP_ip6_no_next);
    const int64_t icmp_out = C(tx_icmp6_echo_reply) + C(tx_icmp6_unreachable) +
                             C(tx_icmp6_parameter) + C(tx_icmp6_time_exceeded) + C(tx_nd_solicit) +
                             C(tx_nd_advert) + C(tx_mld_report);
    const struct column lines[] = {
        {"Ip6InReceives", C(rx_ip6)},
        {"Ip6InHdrErrors", header},
        {"Ip6InTooBigErrors", 0},
        {"Ip6InNoRoutes", 0},
        {"Ip6InAddrErrors", address},
        {"Ip6InUnknownProtos", DROPS(s, DROP_ip6_next_header)},
        {"Ip6InTruncatedPkts", 0},
        {"Ip6InDiscards", 0},
        {"Ip6InDelivers",
         less(s->c.rx_ip6 + s->c.reassembled6, (uint64_t)refused + s->c.rx_fragments6)},
        {"Ip6OutForwDatagrams", 0},
        {"Ip6OutRequests", C(tx_ip6)},
        {"Ip6OutDiscards",
         DROPS(s, DROP_nd_cache_full, DROP_nd_wait_replaced, DROP_nd_wait_expired)},
        {"Ip6OutNoRoutes", 0},
        {"Ip6ReasmTimeout", C(reassembly_timeouts6)},
        {"Ip6ReasmReqds", DROPS(s, DROP_ip6_fragment) + C(rx_fragments6)},
        {"Ip6ReasmOKs", C(reassembled6)},
        {"Ip6ReasmFails", DROPS(s, DROP_ip6_fragment) + C(reassembly_fails6)},
        {"Ip6FragOKs", C(tx_fragmented6)},
        {"Ip6FragFails", C(tx_fragment_fails6)},
        {"Ip6FragCreates", C(tx_fragments6)},
        {"Ip6InMcastPkts", 0},
        {"Ip6OutMcastPkts", 0},
        {"Ip6InOctets", 0},
        {"Ip6OutOctets", 0},
        {"Ip6InMcastOctets", 0},
        {"Ip6OutMcastOctets", 0},
        {"Ip6InBcastOctets", 0},
        {"Ip6OutBcastOctets", 0},
        {"Ip6InNoECTPkts", C(rx_ip6)},
        {"Ip6InECT1Pkts", 0},
        {"Ip6InECT0Pkts", 0},
        {"Ip6InCEPkts", 0},
        {"Ip6OutTransmits", C(tx_ip6)},
        {"Icmp6InMsgs", C(rx_icmp6)},
        {"Icmp6InErrors",
         DROPS(s, DROP_icmp6_malformed, DROP_icmp6_checksum, DROP_nd_hops, DROP_nd_malformed)},
        {"Icmp6OutMsgs", icmp_out},
        {"Icmp6OutErrors", 0},
        {"Icmp6InCsumErrors", DROPS(s, DROP_icmp6_checksum)},
        {"Icmp6OutRateLimitHost", 0},
        {"Icmp6InDestUnreachs", C(rx_icmp6_unreachable)},
        {"Icmp6InPktTooBigs", C(rx_icmp6_too_big)},
        {"Icmp6InTimeExcds", C(rx_icmp6_time_exceeded)},
        {"Icmp6InParmProblems", C(rx_icmp6_parameter)},
        {"Icmp6InEchos", C(rx_icmp6_echo)},
        {"Icmp6InEchoReplies", 0},
        {"Icmp6InGroupMembQueries", C(rx_mld_query)},
        {"Icmp6InGroupMembResponses", 0},
        {"Icmp6InGroupMembReductions", 0},
        {"Icmp6InRouterSolicits", 0},
        {"Icmp6InRouterAdvertisements", 0},
        {"Icmp6InNeighborSolicits", C(rx_nd_solicit)},
        {"Icmp6InNeighborAdvertisements", C(rx_nd_advert)},
        {"Icmp6InRedirects", 0},
        {"Icmp6InMLDv2Reports", 0},
        {"Icmp6OutDestUnreachs", C(tx_icmp6_unreachable)},
        {"Icmp6OutPktTooBigs", 0},
        {"Icmp6OutTimeExcds", C(tx_icmp6_time_exceeded)},
        {"Icmp6OutParmProblems", C(tx_icmp6_parameter)},
        {"Icmp6OutEchos", 0},
        {"Icmp6OutEchoReplies", C(tx_icmp6_echo_reply)},
        {"Icmp6OutGroupMembQueries", 0},
        {"Icmp6OutGroupMembResponses", 0},
        {"Icmp6OutGroupMembReductions", 0},
        {"Icmp6OutRouterSolicits", 0},
        {"Icmp6OutRouterAdvertisements", 0},
        {"Icmp6OutNeighborSolicits", C(tx_nd_solicit)},
        {"Icmp6OutNeighborAdvertisements", C(tx_nd_advert)},
        {"Icmp6OutRedirects", 0},
        {"Icmp6OutMLDv2Reports", C(tx_mld_report)},
        {"Udp6InDatagrams", less(s->c.rx_udp6, s->c.udp_refused6)},
        {"Udp6NoPorts", C(rx_udp6_no_port)},
        {"Udp6InErrors", DROPS(s, DROP_udp6_no_checksum) + C(udp_refused6)},
        {"Udp6OutDatagrams", C(tx_udp6)},
        {"Udp6RcvbufErrors", C(udp_refused6)},
        {"Udp6SndbufErrors", C(udp_unsent6)},
        {"Udp6InCsumErrors", DROPS(s, DROP_udp6_no_checksum)},
        {"Udp6IgnoredMulti", 0},
        {"Udp6MemErrors", 0},
        {"UdpLite6InDatagrams", 0},
        {"UdpLite6NoPorts", 0},
        {"UdpLite6InErrors", 0},
        {"UdpLite6OutDatagrams", 0},
        {"UdpLite6RcvbufErrors", 0},
        {"UdpLite6SndbufErrors", 0},
        {"UdpLite6InCsumErrors", 0},
        {"UdpLite6MemErrors", 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        text_printf(out, "%-32s\t%" PRId64 "\n", lines[i].name, lines[i].value);
}

void snmp6_render(struct text *out, const struct core_stats *const *cores, unsigned n)
{
    struct core_stats s;
    stat_sum(&s, cores, n);
    lines_render(out, &s);
}
