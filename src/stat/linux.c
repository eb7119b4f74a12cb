// SPDX-License-Identifier: BSD-3-Clause
// linux.c: prints statistics in the formats of Linux's /proc/net files.
#include <inttypes.h>

#include "stat/columns.h"

void columns_render(struct text *out, const char *proto, const struct column *cols, size_t n)
{
    text_printf(out, "%s:", proto);
    for (size_t i = 0; i < n; i++)
        text_printf(out, " %s", cols[i].name);
    text_printf(out, "\n%s:", proto);
    for (size_t i = 0; i < n; i++)
        text_printf(out, " %" PRId64, cols[i].value);
    text_put(out, "\n", 1);
}

int64_t drops_sum(const struct core_stats *s, const enum drop_reason *reasons, size_t n)
{
    uint64_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += s->drops[reasons[i]];
    return (int64_t)total;
}

// TCP_BAD: packets that contain no valid TCP segment. RFC 4022 counts them in tcpInErrs and in
// tcpInSegs.
#define TCP_BAD                                                                                    \
    DROP_tcp_short, DROP_tcp_header_length, DROP_tcp_checksum, DROP_tcp_options, DROP_tcp_port_zero

static void ip_render(struct text *out, const struct core_stats *s, uint32_t ttl)
{
    int64_t header = DROPS(s, DROP_ip_short, DROP_ip_version, DROP_ip_header_length,
                           DROP_ip_total_length, DROP_ip_checksum);
    int64_t address = DROPS(s, DROP_ip_source, DROP_ip_not_for_us);
    int64_t protocol = DROPS(s, DROP_ip_protocol), fragments = DROPS(s, DROP_ip_fragment);
    const int64_t parts = less(s->c.rx_fragments, s->c.rx_fragments6),
                  whole = less(s->c.reassembled, s->c.reassembled6),
                  timeouts = less(s->c.reassembly_timeouts, s->c.reassembly_timeouts6),
                  failed = less(s->c.reassembly_timeouts + s->c.reassembly_evicted +
                                    s->c.reassembly_share + s->c.reassembly_broken +
                                    s->c.reassembly_room,
                                s->c.reassembly_fails6);
    int64_t no_datagram =
        DROPS(s, DROP_udp_length, DROP_udp_checksum, DROP_udp_no_port, DROP_udp_loop);
    int64_t no_segment = DROPS(s, TCP_BAD);
    // Invalid segments and datagrams are not counted by family. All of them are included here.
    int64_t delivered =
        less(s->c.rx_tcp + s->c.rx_icmp + s->c.rx_udp, s->c.rx_tcp6 + s->c.rx_udp6) + no_datagram +
        no_segment;
    const uint64_t icmp6 = s->c.tx_icmp6_echo_reply + s->c.tx_icmp6_unreachable +
                           s->c.tx_icmp6_parameter + s->c.tx_icmp6_time_exceeded +
                           s->c.tx_nd_solicit + s->c.tx_nd_advert + s->c.tx_mld_report;
    int64_t sent = less(s->c.tx_tcp + s->c.tx_icmp + s->c.tx_udp + icmp6, s->c.tx_ip6);
    int64_t lost = DROPS(s, DROP_pkt_pool_empty, DROP_reply_room, DROP_tx_full, DROP_arp_cache_full,
                         DROP_arp_wait_replaced, DROP_arp_wait_expired);
    const struct column cols[] = {
        {"Forwarding", 2},  // 2: does not forward (RFC 4293)
        {"DefaultTTL", ttl},
        {"InReceives",
         delivered + header + address + protocol + fragments + MAX(parts - whole, INT64_C(0))},
        {"InHdrErrors", header},
        {"InAddrErrors", address},
        {"ForwDatagrams", 0},
        {"InUnknownProtos", protocol},
        {"InDiscards", 0},
        {"InDelivers", delivered},
        {"OutRequests", sent},
        {"OutDiscards", lost},
        {"OutNoRoutes", DROPS(s, DROP_ip_no_route)},
        {"ReasmTimeout", timeouts},
        {"ReasmReqds", fragments + parts},
        {"ReasmOKs", whole},
        {"ReasmFails", fragments + failed},
        {"FragOKs", less(s->c.tx_fragmented, s->c.tx_fragmented6)},
        {"FragFails", less(s->c.tx_fragment_fails, s->c.tx_fragment_fails6)},
        {"FragCreates", less(s->c.tx_fragments, s->c.tx_fragments6)},
        {"OutTransmits", sent},
    };
    columns_render(out, "Ip", cols, ARRAY_LEN(cols));
}

static void icmp_render(struct text *out, const struct core_stats *s)
{
    const struct column cols[] = {
        {"InMsgs", (int64_t)s->c.rx_icmp},
        {"InErrors", DROPS(s, DROP_icmp_malformed, DROP_icmp_checksum)},
        {"InCsumErrors", DROPS(s, DROP_icmp_checksum)},
        {"InDestUnreachs", 0},
        {"InTimeExcds", 0},
        {"InParmProbs", 0},
        {"InSrcQuenchs", 0},
        {"InRedirects", 0},
        {"InEchos", (int64_t)s->c.rx_icmp_echo},
        {"InEchoReps", 0},
        {"InTimestamps", 0},
        {"InTimestampReps", 0},
        {"InAddrMasks", 0},
        {"InAddrMaskReps", 0},
        {"OutMsgs", (int64_t)s->c.tx_icmp},
        {"OutErrors", 0},
        {"OutRateLimitGlobal", DROPS(s, DROP_icmp_rate) + (int64_t)s->c.icmp_errors_limited},
        {"OutRateLimitHost", 0},
        {"OutDestUnreachs", (int64_t)s->c.tx_icmp_unreachable},
        {"OutTimeExcds", 0},
        {"OutParmProbs", 0},
        {"OutSrcQuenchs", 0},
        {"OutRedirects", 0},
        {"OutEchos", 0},
        {"OutEchoReps", (int64_t)s->c.tx_icmp_echo_reply},
        {"OutTimestamps", 0},
        {"OutTimestampReps", 0},
        {"OutAddrMasks", 0},
        {"OutAddrMaskReps", 0},
    };
    columns_render(out, "Icmp", cols, ARRAY_LEN(cols));
}

static void tcp_render(struct text *out, const struct core_stats *s,
                       const struct snmp_constants *constants)
{
    // tcpOutSegs excludes segments that contain only retransmitted bytes (RFC 4022). The two
    // counters are read at different moments, so less() keeps the difference from becoming
    // negative.
    const int64_t first = less(s->c.tx_tcp, s->c.tx_retransmits_segs), bad = DROPS(s, TCP_BAD);
    const struct column cols[] = {
        {"RtoAlgorithm", 1},  // as Linux prints it
        {"RtoMin", constants->rto_ms_min},
        {"RtoMax", constants->rto_ms_max},
        {"MaxConn", constants->conns_max},
        {"ActiveOpens", (int64_t)s->c.conns_opened_active},
        {"PassiveOpens", (int64_t)s->c.conns_opened_passive},
        {"AttemptFails", (int64_t)s->c.conns_failed},
        {"EstabResets", (int64_t)s->c.established_resets},
        {"CurrEstab", (int64_t)s->c.established_now},
        {"InSegs", (int64_t)s->c.rx_tcp + bad},
        {"OutSegs", first},
        {"RetransSegs", (int64_t)s->c.tx_retransmits_segs},
        {"InErrs", bad},
        {"OutRsts", (int64_t)s->c.rst_sent},
        {"InCsumErrors", DROPS(s, DROP_tcp_checksum)},
    };
    columns_render(out, "Tcp", cols, ARRAY_LEN(cols));
}

// Linux counts a datagram for which the receive buffer is full in InErrors and not in InDatagrams.
static void udp_render(struct text *out, const struct core_stats *s)
{
    const uint64_t refused = (uint64_t)less(s->drops[DROP_udp_refused], s->c.udp_refused6);
    const struct column cols[] = {
        {"InDatagrams", less(s->c.rx_udp, s->c.rx_udp6 + refused)},
        {"NoPorts", less(s->drops[DROP_udp_no_port], s->c.rx_udp6_no_port)},
        {"InErrors", DROPS(s, DROP_udp_length, DROP_udp_checksum) + (int64_t)refused},
        {"OutDatagrams", less(s->c.tx_udp, s->c.tx_udp6)},
        {"RcvbufErrors", (int64_t)refused},
        {"SndbufErrors", less(s->c.udp_unsent, s->c.udp_unsent6)},
        {"InCsumErrors", DROPS(s, DROP_udp_checksum)},
        {"IgnoredMulti", 0},
        {"MemErrors", 0},
    };
    columns_render(out, "Udp", cols, ARRAY_LEN(cols));
}

void snmp_render(struct text *out, const struct core_stats *const *cores, unsigned n,
                 const struct snmp_constants *constants)
{
    struct core_stats s;
    stat_sum(&s, cores, n);
    ip_render(out, &s, constants->ttl);
    icmp_render(out, &s);
    tcp_render(out, &s, constants);
    udp_render(out, &s);
}

// most: the largest value of a gauge over the cores. Applications open each UDP port on every core,
// so a sum would count it several times.
static uint64_t most(const struct core_stats *const *cores, unsigned n, size_t counter)
{
    uint64_t max = 0;
    for (unsigned i = 0; i < n; i++)
        max = MAX(max, stat_load((const uint64_t *)&cores[i]->c + counter / sizeof(uint64_t)));
    return max;
}

#define MOST(counter) most(cores, n, offsetof(struct core_counters, counter))

void sockstat_render(struct text *out, const struct core_stats *const *cores, unsigned n,
                     uint32_t buffer_bytes)
{
    enum { LINUX_PAGE_BYTES = 4096 };
    struct core_stats s;
    stat_sum(&s, cores, n);
    const uint64_t conns = s.c.connections_now, v4 = (uint64_t)less(conns, s.c.connections6_now);
    const uint64_t udp = MOST(udp_ports_now);
    uint64_t mem_pages = (s.c.buffers_now * buffer_bytes + LINUX_PAGE_BYTES - 1) / LINUX_PAGE_BYTES;
    text_printf(out, "sockets: used %" PRIu64 "\n", conns + udp + MOST(udp6_ports_now));
    text_printf(out,
                "TCP: inuse %" PRIu64 " orphan %" PRIu64 " tw %" PRIu64 " alloc %" PRIu64
                " mem %" PRIu64 "\n",
                v4, s.c.orphans_now, s.c.time_wait_now, conns, mem_pages);
    text_printf(out,
                "UDP: inuse %" PRIu64 " mem 0\nUDPLITE: inuse 0\nRAW: inuse 0\n"
                "FRAG: inuse 0 memory 0\n",
                udp);
}

void sockstat6_render(struct text *out, const struct core_stats *const *cores, unsigned n)
{
    struct core_stats s;
    stat_sum(&s, cores, n);
    text_printf(out,
                "TCP6: inuse %" PRIu64 "\nUDP6: inuse %" PRIu64
                "\nUDPLITE6: inuse 0\nRAW6: inuse 0\n"
                "FRAG6: inuse 0 memory 0\n",
                s.c.connections6_now, MOST(udp6_ports_now));
}
