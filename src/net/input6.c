// SPDX-License-Identifier: BSD-3-Clause
// Received IPv6 packets.
#include "net/priv6.h"
#include "wire/datagram.h"

enum { AHEAD = 8 };  // as in input.c

// source_ok: whether a packet may have this source address: not multicast, IPv4-mapped or local.
static inline bool source_ok(const struct net6 *v6, const struct ip_addr *src)
{
    if (unlikely(!ip6_is_global_form(src)))
        return false;
    uint32_t k = 0;
    do {
        if (unlikely(ip6_same(src, &v6->local[k])))
            return false;
    } while (unlikely(++k < v6->n_own));
    return true;
}

// common_ix: the index >= 1 of the local address for which the frame is a common segment, or n if
// there is none.
static NOINLINE uint32_t common_ix(const struct net6 *v6, const uint8_t *frame)
{
    uint32_t ix = 1;
    while (ix < v6->n && (local6_is_gone(v6, ix) || !wire_is_common6(frame, &v6->common[ix])))
        ix++;
    return ix;
}

// input6_fast: does for IPv6 what input_fast() does for IPv4.
static ALWAYS_INLINE bool input6_fast(const struct net6 *v6, const struct pkt *p, uint32_t pkt_ix,
                                      struct seg_in *seg)
{
    const uint8_t *frame = pkt_data(p);
    const uint32_t len = pkt_len(p);
    if (unlikely(len < TCP6_DATA_OFF))
        return false;
    uint32_t local_ix = v6->fast_local_ix;
    if (unlikely(!wire_is_common6(frame, &v6->common[0]))) {
        const uint32_t ix = common_ix(v6, frame);
        if (ix >= v6->n)
            return false;
        local_ix = v6->local_ix_first + ix;
    }
    const uint32_t tcp_len = wire_parse_tcp6_fast(frame, len, local_ix, pkt_ix, seg);
    if (unlikely(tcp_len == 0 || !source_ok(v6, &seg->key.remote)))
        return false;
    const enum pkt_cksum verdict = pkt_rx_l4_cksum(p);
    if (unlikely(verdict != PKT_CKSUM_GOOD &&
                 (verdict == PKT_CKSUM_BAD || !wire_tcp6_right(frame, tcp_len))))
        return false;
    return true;
}

uint32_t input6_run(struct net *net, struct pkt **pkts, uint32_t i, uint32_t n, struct seg_in *seg)
{
    const struct net6 *v6 = net->v6;
    const uint32_t first = i;
    uint32_t sum = 0;
    for (; i < n; i++, seg++) {
        if (i + AHEAD < n)
            net_prefetch_headers(pkts[i + AHEAD]);
        if (unlikely(!input6_fast(v6, pkts[i], i, seg)))
            break;
        sum += pkt_total_len(pkts[i]);
    }
    net->stats->c.rx_bytes += sum;
    net->stats->c.rx_ip6 += i - first;
    net->stats->c.rx_tcp6 += i - first;
    return i;
}

static enum drop_reason input_tcp(struct net *net, const struct pkt *p, const struct wire_ip6 *ip,
                                  uint32_t ix, uint32_t pkt_ix, struct net_rx *rx)
{
    const enum pkt_cksum verdict = pkt_rx_l4_cksum(p);
    if (verdict == PKT_CKSUM_BAD)
        return DROP_tcp_checksum;
    struct seg_in *seg = &rx->segs[rx->n_segs];
    const enum drop_reason reason =
        wire_parse_tcp6(pkt_data(p), ip, verdict == PKT_CKSUM_UNKNOWN, seg);
    if (reason != DROP_NONE)
        return reason;
    seg->key.local_ix = (uint16_t)(net->v6->local_ix_first + ix);
    seg->pkt_ix = (uint16_t)pkt_ix;
    if (seg->opts & (SEG_OPT_SACK | SEG_OPT_FAST_OPEN))
        wire_read_sack(pkt_data(p), seg, rx->sacks[pkt_ix]);
    rx->n_segs++;
    net->stats->c.rx_tcp6++;
    return DROP_NONE;
}

// in_group: whether this host is a member: of the all-nodes groups, of the solicited-node group of
// a local address, or of a group that an application joined.
static bool in_group(const struct net *net, const struct ip_addr *dst)
{
    const struct net6 *v6 = net->v6;
    struct ip_addr group = ip6_all_nodes();
    if (ip6_same(dst, &group) || group_is_joined(&net->groups6, dst))
        return true;
    for (uint32_t k = 0; k < v6->n_own; k++) {
        group = ip6_solicited_node(&v6->local[k]);
        if (ip6_same(dst, &group) && !ip_is_zero(&v6->local[k]))
            return true;
    }
    return false;
}

// is_discovery: whether it is a neighbor discovery message. Its handler checks the source, which
// may be the unspecified address or a local address that another node claims.
static bool is_discovery(const uint8_t *frame, const struct wire_ip6 *ip)
{
    const uint8_t type = ip->proto == IP_PROTO_ICMP6 && ip->l4_len != 0 ? frame[ip->l4_off] : 0;
    return (type == ND_SOLICIT && ip_is_zero(&ip->src)) ||
           ((type == ND_SOLICIT || type == ND_ADVERT) && ip6_is_global_form(&ip->src));
}

// address_check: checks the addresses of a packet to us. *ix: index of the local address, or
// NET6_TO_GROUP.
static enum drop_reason address_check(const struct net *net, const uint8_t *frame,
                                      const struct wire_ip6 *ip, uint32_t *ix)
{
    const struct net6 *v6 = net->v6;
    if (!source_ok(v6, &ip->src) && !v6->loops && !is_discovery(frame, ip))
        return DROP_ip6_source;
    *ix = NET6_TO_GROUP;
    if (ip6_is_multicast(&ip->dst))
        return in_group(net, &ip->dst) ? DROP_NONE : DROP_ip6_group;
    const int found = net6_own(v6, &ip->dst);
    *ix = (uint32_t)found;
    if (found < 0)
        return DROP_ip6_not_for_us;
    return (frame[0] & 1) != 0 ? DROP_ip6_link_multicast : DROP_NONE;
}

static struct outcome input_echo(struct net *net, struct clock_now now, struct pkt *p,
                                 const struct wire_ip6 *ip, uint32_t ix, struct net_tx *tx)
{
    if (pkt_is_chain(p))
        return (struct outcome){.reason = DROP_pkt_chain};
    if (tx->n == tx->room)
        return (struct outcome){.reason = DROP_answer_room};
    if (!limit_take(&net->echoes, net->icmp_per_s, source_of(&ip->src), now.us))
        return (struct outcome){.reason = DROP_icmp_rate};
    const uint32_t len = wire_build_echo_reply6(pkt_data(p), &net->v6->from[ix], ip);
    const struct outcome o = echo_out(net, now, p, len, tx);
    if (o.reason == DROP_NONE) {
        net->stats->c.tx_icmp6_echo_reply++;
        net->stats->c.answered++;
    }
    net->stats->c.tx_ip6 += o.replied;
    return o;
}

static void count_error(struct core_counters *c, uint8_t type)
{
    c->rx_icmp6_unreachable += type == ICMP6_UNREACHABLE;
    c->rx_icmp6_too_big += type == ICMP6_TOO_BIG;
    c->rx_icmp6_time_exceeded += type == ICMP6_TIME_EXCEEDED;
    c->rx_icmp6_parameter += type == ICMP6_PARAMETER;
}

static uint16_t mtu_of(const struct wire_icmp6 *m)
{
    return (uint16_t)(m->type == ICMP6_TOO_BIG ? MIN(m->mtu, (uint32_t)UINT16_MAX) : 0);
}

// udp_error6: handles an ICMPv6 error about a datagram from local address ix.
static enum drop_reason udp_error6(struct net *net, struct clock_now now,
                                   const struct wire_icmp6 *m, int ix, uint32_t pkt_ix,
                                   struct net_rx *rx)
{
    const struct udp_in e = {.src = m->dst,
                             .src_port = m->has_echo ? 0 : m->dst_port,
                             .kind = m->has_echo ? UDP_ECHO_REPLY : UDP_TO_OPEN,
                             .dst_port = m->src_port,
                             .pkt_ix = (uint16_t)pkt_ix,
                             .data_off = m->data_off,
                             .data_len = m->data_len,
                             .local = (uint8_t)(net->n_locals + (uint32_t)ix),
                             .type = m->type,
                             .code = m->code,
                             .mtu = mtu_of(m)};
    return udp_error(net, now, &e, &m->src, rx);
}

static enum drop_reason input_error(struct net *net, struct clock_now now,
                                    const struct wire_icmp6 *m, uint32_t pkt_ix, struct net_rx *rx)
{
    const int ix = net6_own(net->v6, &m->src);
    count_error(&net->stats->c, m->type);
    if (m->type < ICMP6_UNREACHABLE || m->type > ICMP6_PARAMETER ||
        !(m->has_tcp || m->has_udp || m->has_echo) || ix < 0 || (uint32_t)ix >= net->v6->n)
        return DROP_icmp6_type;
    if (m->type == ICMP6_TOO_BIG && m->mtu < IP6_MTU_MIN)
        return DROP_icmp6_mtu;
    if (m->has_udp || m->has_echo)
        return udp_error6(net, now, m, ix, pkt_ix, rx);
    struct icmp_event *e = &rx->icmp[rx->n_icmp++];
    bool hard;
    *e = (struct icmp_event){.seq = m->seq,
                             .pkt_ix = (uint16_t)pkt_ix,
                             .kind = (uint8_t)wire_icmp6_kind(m->type, m->code),
                             .error = (uint8_t)wire_icmp6_errno(m->type, m->code, &hard)};
    e->mtu = mtu_of(m);
    e->key.remote = m->dst;
    e->key.remote_port = m->dst_port;
    e->key.local_port = m->src_port;
    e->key.local_ix = (uint16_t)(net->v6->local_ix_first + (uint32_t)ix);
    return DROP_NONE;
}

// input_link: handles messages that must come from the link, such as neighbor discovery.
static struct outcome input_link(struct net *net, struct clock_now now, struct pkt *p,
                                 const struct wire_ip6 *ip, uint8_t type, struct net_tx *tx)
{
    struct outcome o = {.reason = DROP_nd_router};
    if (pkt_is_chain(p)) {
        o.reason = DROP_pkt_chain;
    } else if (type == MLD_QUERY) {
        o.reason = mld_input(net, now, p, ip, tx);
    } else if (type == ND_SOLICIT || type == ND_ADVERT) {
        net->stats->c.rx_nd_solicit += type == ND_SOLICIT;
        net->stats->c.rx_nd_advert += type == ND_ADVERT;
        o.reason = nd_input(net, now, p, ip, &o.replied, tx);
    }
    o.for_linux = o.reason == DROP_NONE && !o.replied && type != ND_SOLICIT && !net->quiet;
    return o;
}

static struct outcome input_icmp(struct net *net, struct clock_now now, struct pkt *p,
                                 const struct wire_ip6 *ip, uint32_t ix, uint32_t pkt_ix,
                                 struct net_rx *rx, struct net_tx *tx)
{
    struct wire_icmp6 m;
    net->stats->c.rx_icmp6++;
    enum drop_reason reason = wire_parse_icmp6(pkt_data(p), ip, &m);
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (m.type == MLD_QUERY || (m.type >= ND_ROUTER_SOLICIT && m.type <= ND_REDIRECT))
        return input_link(net, now, p, ip, m.type, tx);
    if (ix == NET6_TO_GROUP)
        return (struct outcome){.reason = DROP_ip6_group};
    if (m.type == ICMP6_ECHO) {
        net->stats->c.rx_icmp6_echo++;
        if (net->to_linux_echo)
            return (struct outcome){.reason = DROP_icmp6_type};
        return input_echo(net, now, p, ip, ix, tx);
    }
    if (m.type == ICMP6_ECHO_REPLY && ix < net->v6->n &&
        echo_deliver(net, pkt_data(p), ip->l4_off, (uint16_t)ip->l4_len, &ip->src, &ip->dst,
                     net->n_locals + ix, pkt_ix, rx)) {
        net->stats->c.rx_udp6++;
        return (struct outcome){.reason = DROP_NONE};
    }
    return (struct outcome){.reason = m.type < ICMP6_ECHO ? input_error(net, now, &m, pkt_ix, rx)
                                                          : DROP_icmp6_type};
}

// input_group: handles packets to a group, except ICMPv6. UDP is delivered if a port is open for
// it. Otherwise no ICMPv6 error is sent.
static enum drop_reason input_group(struct net *net, struct clock_now now, const struct pkt *p,
                                    const struct wire_ip6 *ip, uint32_t pkt_ix, struct net_rx *rx,
                                    struct net_tx *tx)
{
    if (net->open == NULL || ip->proto != IP_PROTO_UDP)
        return DROP_ip6_group;
    const enum drop_reason reason = udp6_input(net, now, p, ip, NET_TO_GROUP, pkt_ix, rx, tx);
    return reason == DROP_udp_no_port ? DROP_ip6_group : reason;
}

// input_part: handles a fragment. A first fragment without all headers is refused (RFC 7112 5), and
// so is neighbor discovery in fragments (RFC 6980 5).
static struct outcome input_part(struct net *net, struct clock_now now, const uint8_t *frame,
                                 const struct wire_ip6 *ip)
{
    struct wire_ip6 whole = *ip;
    uint32_t ix;
    whole.proto = IP_PROTO_NONE;  // the upper-layer header is parsed after reassembly
    const enum drop_reason reason = address_check(net, frame, &whole, &ix);
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (net->reasm == NULL)
        return (struct outcome){.reason = DROP_ip6_fragment};
    if (ip->part_at == 0 && !wire_is_first6(frame, ip))
        return (struct outcome){.reason = DROP_fragment_header};
    const struct reasm_part part = {.src = ip->src,
                                    .dst = ip->dst,
                                    .id = ip->id,
                                    .ecn = ip->tos & 3,
                                    .more = ip->more,
                                    .at = ip->part_at,
                                    .len = ip->l4_len,
                                    .part_at = (uint16_t)(ip->l4_off - 8),
                                    .named_at = ip->named_at};
    return fragment_input(net, now, frame, ip->l4_off, part);
}

struct outcome input6_slow(struct net *net, struct clock_now now, struct pkt *p, uint32_t pkt_ix,
                           struct net_rx *rx, struct net_tx *tx)
{
    struct wire_ip6 ip;
    uint32_t ix = 0;
    const uint8_t *frame = pkt_data(p);
    enum drop_reason reason = wire_parse_ip6(frame, pkt_whole_len(p), &ip);
    if (reason == DROP_ip6_short || reason == DROP_ip6_version || reason == DROP_ip6_payload_length)
        return (struct outcome){.reason = reason};
    const bool is_part = reason == DROP_ip6_fragment;
    if (reason == DROP_ip6_next_header && net->to_linux) {
        ip.proto = IP_PROTO_NONE;
        const bool bad = address_check(net, frame, &ip, &ix) == DROP_ip6_source;
        return (struct outcome){.reason = bad ? DROP_ip6_source : reason};
    }
    if (reason != DROP_NONE && !is_part) {
        ip.proto = IP_PROTO_NONE;
        if (ip.problem_code != WIRE_NO_PROBLEM && address_check(net, frame, &ip, &ix) == DROP_NONE)
            error6_send(net, now, p, &ip, ix, ICMP6_PARAMETER, ip.problem_code, ip.problem_at, tx);
        return (struct outcome){.reason = reason};
    }
    if (is_part)
        return input_part(net, now, frame, &ip);
    reason = address_check(net, frame, &ip, &ix);
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (ip.proto == IP_PROTO_ICMP6)
        return input_icmp(net, now, p, &ip, ix, pkt_ix, rx, tx);
    if (ix == NET6_TO_GROUP)
        return (struct outcome){.reason = input_group(net, now, p, &ip, pkt_ix, rx, tx)};
    if (ix >= net->v6->n)
        return (struct outcome){.reason = DROP_ip6_link_local};
    if (ip.proto == IP_PROTO_TCP)
        return (struct outcome){.reason = input_tcp(net, p, &ip, ix, pkt_ix, rx)};
    return (struct outcome){.reason = udp6_input(net, now, p, &ip, ix, pkt_ix, rx, tx)};
}
