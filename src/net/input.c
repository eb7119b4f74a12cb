// SPDX-License-Identifier: BSD-3-Clause
#include "net/priv6.h"
#include "wire/datagram.h"

// How many packets ahead headers are prefetched: this hides about one last-level cache miss.
enum { AHEAD = 8 };

// is_own: whether it is a local or broadcast address. Every address is, if no place has one: then
// common[0] would accept frames to 0.0.0.0.
static NOINLINE bool is_own(const struct net *net, uint32_t raw)
{
    if (locals_all_gone(net))
        return true;
    for (uint32_t k = 0; k < net->n_locals; k++)
        if (raw == net->local[k] || raw == net->bcast[k])
            return true;
    return false;
}

// source_ok: whether a packet may have this source address: not local, broadcast or multicast.
static inline bool source_ok(const struct net *net, uint32_t src_raw)
{
    const bool top = net->source_top[src_raw & 0xff];
    return likely(top & net->source_low[src_raw >> 24]) || (top && !is_own(net, src_raw));
}

// common_ix: the index >= 1 of the local address for which the frame is a common segment, or
// n_locals if there is none.
static NOINLINE uint32_t common_ix(const struct net *net, const uint8_t *frame)
{
    uint32_t ix = 1;
    while (ix < net->n_locals &&
           (local_is_gone(net, ix) || !wire_is_common(frame, &net->common[ix])))
        ix++;
    return ix;
}

// input_fast: if p is a common, valid TCP segment to us, parses it into seg. pkt_ix: its index in
// the burst. Returns false in all other cases, without counting anything.
static ALWAYS_INLINE bool input_fast(const struct net *net, const struct pkt *p, uint32_t pkt_ix,
                                     struct seg_in *seg)
{
    const uint8_t *frame = pkt_data(p);
    const uint32_t len = pkt_len(p);
    if (unlikely(len < TCP4_DATA_OFF))
        return false;
    uint32_t local_ix = net->fast_local_ix;
    if (unlikely(!wire_is_common(frame, &net->common[0]))) {
        const uint32_t ix = common_ix(net, frame);
        if (ix >= net->n_locals)
            return false;
        local_ix = net->local_ix_first + ix;
    }
    const uint32_t tcp_len = wire_parse_tcp4_fast(frame, len, local_ix, pkt_ix, seg);
    if (unlikely(tcp_len == 0 || !source_ok(net, load_raw32(frame + ETH_BYTES + IP4_SRC_AT))))
        return false;
    return likely(pkt_rx_cksum_any(p) ? pkt_rx_cksum_all_good(p)
                                      : wire_ip4_tcp4_right(frame, tcp_len));
}

static enum drop_reason input_tcp(struct net *net, const struct pkt *p, const struct wire_ip4 *ip,
                                  uint32_t ix, uint32_t pkt_ix, struct net_rx *rx)
{
    enum pkt_cksum verdict = pkt_rx_l4_cksum(p);
    if (verdict == PKT_CKSUM_BAD)
        return DROP_tcp_checksum;
    struct seg_in *seg = &rx->segs[rx->n_segs];
    enum drop_reason reason = wire_parse_tcp(pkt_data(p), ip, verdict == PKT_CKSUM_UNKNOWN, seg);
    if (reason != DROP_NONE)
        return reason;
    seg->key.local_ix = (uint16_t)(net->local_ix_first + ix);
    seg->pkt_ix = (uint16_t)pkt_ix;
    if (seg->opts & (SEG_OPT_SACK | SEG_OPT_FAST_OPEN))
        wire_read_sack(pkt_data(p), seg, rx->sacks[pkt_ix]);
    rx->n_segs++;
    return DROP_NONE;
}

// address_check: checks the addresses of a packet to us. *ix: index of the local address.
static enum drop_reason address_check(const struct net *net, const struct wire_ip4 *ip,
                                      uint32_t *ix)
{
    const int found = net_local_index(net, ip->dst_raw);
    if (unlikely(locals_all_gone(net)))
        return DROP_ip_not_for_us;
    if (!source_ok(net, ip->src_raw) && !net->loops)
        return DROP_ip_source;
    *ix = (uint32_t)found;
    return found < 0 ? DROP_ip_not_for_us : DROP_NONE;
}

struct outcome echo_out(struct net *net, struct clock_now now, struct pkt *p, uint32_t len,
                        struct net_tx *tx)
{
    if (unlikely(len > (uint32_t)net->ip_bytes_max + ETH_BYTES)) {
        const bool sent = fragment_send(net, now, pkt_data(p), len, tx);
        return (struct outcome){.reason = sent ? DROP_NONE : DROP_answer_room};
    }
    if (unlikely(pkt_is_attached(p))) {  // a reply to a reassembled request
        struct pkt *own = fragment_packet(net, len);
        if (own == NULL)
            return (struct outcome){.reason = DROP_answer_room};
        memcpy(pkt_data(own), pkt_data(p), len);
        net->stats->c.tx_ip6 += load_be16(pkt_data(own) + ETH_TYPE_AT) == ETH_TYPE_IP6;
        tx->pkts[tx->n++] = own;
        return (struct outcome){.reason = DROP_NONE};  // the caller still owns p
    }
    pkt_turn_round(p);
    pkt_set_len(p, len);
    tx->pkts[tx->n++] = p;
    return (struct outcome){.reason = DROP_NONE, .replied = true};
}

static struct outcome input_echo(struct net *net, struct clock_now now, struct pkt *p,
                                 const struct wire_ip4 *ip, uint32_t ix, struct net_tx *tx)
{
    if (pkt_is_chain(p))
        return (struct outcome){.reason = DROP_pkt_chain};
    if (tx->n == tx->room)
        return (struct outcome){.reason = DROP_answer_room};
    if (!limit_take(&net->echoes, net->icmp_per_s, raw32(ip->src_raw), now.us))
        return (struct outcome){.reason = DROP_icmp_rate};
    uint32_t len = wire_build_echo_reply(pkt_data(p), &net->from[ix], ip->src_raw, ip->tos,
                                         ip->l4_off, ip->l4_len);
    const struct outcome o = echo_out(net, now, p, len, tx);
    if (o.reason == DROP_NONE) {
        net->stats->c.tx_icmp++;
        net->stats->c.tx_icmp_echo_reply++;
        net->stats->c.answered++;
    }
    return o;
}

// udp_error4: handles an ICMP error about a datagram from local address ix.
static enum drop_reason udp_error4(struct net *net, struct clock_now now, const struct wire_icmp *m,
                                   int ix, uint32_t pkt_ix, struct net_rx *rx)
{
    const bool sized = m->type == ICMP_UNREACHABLE && m->code == ICMP_CODE_FRAG_NEEDED;
    const struct ip_addr ours = ip_from_v4(raw32(m->src_raw));
    const struct udp_in e = {.src = ip_from_v4(raw32(m->dst_raw)),
                             .src_port = m->has_echo ? 0 : m->dst_port,
                             .kind = m->has_echo ? UDP_ECHO_REPLY : UDP_TO_OPEN,
                             .dst_port = m->src_port,
                             .pkt_ix = (uint16_t)pkt_ix,
                             .data_off = m->data_off,
                             .data_len = m->data_len,
                             .local = (uint8_t)ix,
                             .type = m->type,
                             .code = m->code,
                             .mtu = sized ? m->mtu : 0};
    return udp_error(net, now, &e, &ours, rx);
}

static enum drop_reason input_icmp_error(struct net *net, struct clock_now now,
                                         const struct wire_icmp *m, uint32_t pkt_ix,
                                         struct net_rx *rx)
{
    int ix = net_local_index(net, m->src_raw);
    bool hard;
    const int error = wire_icmp4_errno(m->type, m->code, &hard);
    if (error == 0)  // it means nothing to a sender
        return DROP_icmp_type;
    if ((m->has_udp || m->has_echo) && ix >= 0)
        return udp_error4(net, now, m, ix, pkt_ix, rx);
    if (!m->has_tcp || ix < 0)
        return DROP_icmp_type;
    struct icmp_event *e = &rx->icmp[rx->n_icmp++];
    *e = (struct icmp_event){.seq = m->seq,
                             .pkt_ix = (uint16_t)pkt_ix,
                             .mtu = m->mtu,
                             .kind = (uint8_t)wire_icmp4_kind(m->type, m->code),
                             .error = (uint8_t)error};
    e->key.remote = ip_from_v4(raw32(m->dst_raw));
    e->key.remote_port = m->dst_port;
    e->key.local_port = m->src_port;
    e->key.local_ix = (uint16_t)(net->local_ix_first + ix);
    return DROP_NONE;
}

static struct outcome input_icmp(struct net *net, struct clock_now now, struct pkt *p,
                                 const struct wire_ip4 *ip, uint32_t ix, uint32_t pkt_ix,
                                 struct net_rx *rx, struct net_tx *tx)
{
    struct wire_icmp m;
    net->stats->c.rx_icmp++;
    enum drop_reason reason = wire_parse_icmp(pkt_data(p), ip, &m);
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (m.type == ICMP_ECHO) {
        net->stats->c.rx_icmp_echo++;
        if (net->to_linux_echo)
            return (struct outcome){.reason = DROP_icmp_type};
        return input_echo(net, now, p, ip, ix, tx);
    }
    if (m.type == ICMP_ECHO_REPLY) {
        const struct ip_addr src = ip_from_v4(raw32(ip->src_raw)),
                             dst = ip_from_v4(raw32(ip->dst_raw));
        const bool wanted = echo_deliver(net, pkt_data(p), ip->l4_off, (uint16_t)ip->l4_len, &src,
                                         &dst, ix, pkt_ix, rx);
        return (struct outcome){.reason = wanted ? DROP_NONE : DROP_icmp_type};
    }
    return (struct outcome){.reason = input_icmp_error(net, now, &m, pkt_ix, rx)};
}

// in_group: whether this host is a member: of the all-systems group (RFC 1112 4), or of a group
// that an application joined.
static bool in_group(const struct net *net, uint32_t dst_raw)
{
    const struct ip_addr dst = ip_from_v4(raw32(dst_raw));
    return dst_raw == raw32(0xe0000001) || group_is_joined(&net->groups4, &dst);
}

// is_to_group: whether it is UDP to a broadcast address or to a group of which we are a member.
static bool is_to_group(const struct net *net, const struct wire_ip4 *ip)
{
    return net->open != NULL && ip->proto == IP_PROTO_UDP &&
           (is_broadcast(net, ip->dst_raw) || in_group(net, ip->dst_raw));
}

// input_group: handles UDP to a broadcast address or a group. No ICMP error is sent if the port is
// closed.
static enum drop_reason input_group(struct net *net, struct clock_now now, const struct pkt *p,
                                    const struct wire_ip4 *ip, uint32_t pkt_ix, struct net_rx *rx,
                                    struct net_tx *tx)
{
    if (!is_to_group(net, ip))
        return DROP_ip_not_for_us;
    const enum drop_reason reason = udp_input(net, now, p, ip, NET_TO_GROUP, pkt_ix, rx, tx);
    return reason == DROP_udp_no_port ? DROP_ip_not_for_us : reason;
}

static struct outcome input_part(struct net *net, struct clock_now now, const uint8_t *frame,
                                 const struct wire_ip4 *ip)
{
    if (net->reasm == NULL)
        return (struct outcome){.reason = DROP_ip_fragment};
    const struct reasm_part part = {.src = ip_from_v4(raw32(ip->src_raw)),
                                    .dst = ip_from_v4(raw32(ip->dst_raw)),
                                    .id = ip->id,
                                    .proto = ip->proto,
                                    .ecn = ip->tos & 3,
                                    .more = ip->more,
                                    .at = ip->part_at,
                                    .len = ip->l4_len};
    return fragment_input(net, now, frame, ip->l4_off, part);
}

static struct outcome input_ip4(struct net *net, struct clock_now now, struct pkt *p,
                                uint32_t pkt_ix, struct net_rx *rx, struct net_tx *tx)
{
    struct wire_ip4 ip;
    uint32_t ix = 0;
    enum pkt_cksum verdict = pkt_rx_ip_cksum(p);
    enum drop_reason reason =
        wire_parse_ip4(pkt_data(p), pkt_whole_len(p), verdict == PKT_CKSUM_UNKNOWN, &ip);
    const bool is_part = reason == DROP_ip_fragment;
    if (is_part)
        reason = DROP_NONE;
    if (reason == DROP_NONE && verdict == PKT_CKSUM_BAD)
        reason = DROP_ip_checksum;
    if (reason == DROP_NONE)
        reason = address_check(net, &ip, &ix);
    if (is_part && reason == DROP_ip_not_for_us && is_to_group(net, &ip))
        return input_part(net, now, pkt_data(p), &ip);
    if (reason == DROP_ip_not_for_us)  // a fragment to a group was handled before
        return (struct outcome){.reason = input_group(net, now, p, &ip, pkt_ix, rx, tx)};
    if (reason == DROP_NONE && (pkt_data(p)[0] & 1) != 0)  // RFC 1122 3.3.6
        reason = DROP_ip_link_broadcast;
    if (reason != DROP_NONE)
        return (struct outcome){.reason = reason};
    if (is_part)
        return input_part(net, now, pkt_data(p), &ip);
    if (ip.proto == IP_PROTO_TCP)
        return (struct outcome){.reason = input_tcp(net, p, &ip, ix, pkt_ix, rx)};
    if (ip.proto == IP_PROTO_ICMP)
        return input_icmp(net, now, p, &ip, ix, pkt_ix, rx, tx);
    if (ip.proto == IP_PROTO_UDP)
        return (struct outcome){.reason = udp_input(net, now, p, &ip, ix, pkt_ix, rx, tx)};
    unreachable_send(net, now, p, &ip, ix, ICMP_CODE_PROTOCOL, tx);
    return (struct outcome){.reason = DROP_ip_protocol};
}

static struct outcome input_arp(struct net *net, struct clock_now now, struct pkt *p,
                                struct net_tx *tx)
{
    struct outcome o = {.reason = DROP_pkt_chain};
    net->stats->c.rx_arp++;
    if (!pkt_is_chain(p))
        o.reason = arp_input(net, now, p, &o.replied, tx);
    o.for_linux = o.reason == DROP_NONE && !o.replied && !net->quiet;
    return o;
}

// take_tag: removes the tag of a frame for which there is no port of a VLAN, if it has a priority
// only: such a frame is one without a tag (IEEE 802.1Q 6.9). DROP_NONE: another type is behind it.
static enum drop_reason take_tag(struct pkt *p)
{
    const uint8_t *tag = pkt_data(p) + PKT_TAG_TYPE_AT;
    if (pkt_len(p) < PKT_TAG_FRAME_BYTES)
        return DROP_eth_short;
    const uint16_t inner = load_be16(tag + PKT_TAG_BYTES);
    if (load_be16(tag) == PKT_TAG_TYPE_OUTER || inner == PKT_TAG_TYPE ||
        inner == PKT_TAG_TYPE_OUTER)
        return DROP_vlan_stacked;
    if ((load_be16(tag + 2) & PKT_TAG_VID_MASK) != 0)
        return DROP_vlan_unknown;
    pkt_untag(p);
    return DROP_NONE;
}

// input_type: processes a frame by its type. again: it had a tag, and is to be processed by the
// type behind it.
static ALWAYS_INLINE struct outcome input_type(struct net *net, struct clock_now now, struct pkt *p,
                                               uint32_t pkt_ix, struct net_rx *rx,
                                               struct net_tx *tx, bool *again)
{
    *again = false;
    switch (load_be16(pkt_data(p) + ETH_TYPE_AT)) {
    case ETH_TYPE_ARP:
        return input_arp(net, now, p, tx);
    case ETH_TYPE_IP4:
        return input_ip4(net, now, p, pkt_ix, rx, tx);
    case ETH_TYPE_IP6:
        if (net->v6 == NULL)
            return (struct outcome){.reason = DROP_eth_type_unknown};
        net->stats->c.rx_ip6++;
        return input6_slow(net, now, p, pkt_ix, rx, tx);
    case PKT_TAG_TYPE:
    case PKT_TAG_TYPE_OUTER: {
        const enum drop_reason reason = take_tag(p);
        *again = reason == DROP_NONE;
        return (struct outcome){.reason = reason};
    }
    default:
        return (struct outcome){.reason = DROP_eth_type_unknown};
    }
}

// input_slow: processes any packet that input_fast() does not accept.
static struct outcome input_slow(struct net *net, struct clock_now now, struct pkt *p,
                                 uint32_t pkt_ix, struct net_rx *rx, struct net_tx *tx)
{
    const uint8_t *frame = pkt_data(p);
    if (pkt_len(p) < ETH_BYTES)
        return (struct outcome){.reason = DROP_eth_short};
    if ((frame[0] & 1) == 0 && load_raw64(frame) << 16 != net->mac_word_shl16)
        return (struct outcome){.reason = DROP_eth_not_for_us};
    struct outcome o;
    bool again;
    do
        o = input_type(net, now, p, pkt_ix, rx, tx, &again);
    while (unlikely(again));  // no tag is behind one that was removed
    return o;
}

// drop_count: counts a drop. A wrong length in a packet of several buffers counts as pkt_chain.
static void drop_count(struct net *net, const struct pkt *p, enum drop_reason reason)
{
    bool of_length = reason == DROP_eth_short || reason == DROP_ip_short ||
                     reason == DROP_ip_header_length || reason == DROP_ip_total_length ||
                     reason == DROP_ip6_short || reason == DROP_ip6_payload_length;
    stat_drop(net->stats, of_length && pkt_is_chain(p) ? DROP_pkt_chain : reason, 1);
}

// settle: acts on the outcome o of the packet at pkts[i].
static void settle(struct net *net, struct pkt **pkts, uint32_t i, struct outcome o,
                   struct net_rx *rx)
{
    if (o.reason != DROP_NONE) {
        if (!net->to_linux || !linux_offer(net, pkts[i], i, o.reason, rx))
            drop_count(net, pkts[i], o.reason);
    } else if (o.replied) {
        pkts[i] = NULL;
    } else if (unlikely(o.for_linux && net->to_linux)) {
        linux_note(pkts[i], i, NET_LINUX_COPY, rx);
    }
    if (unlikely(o.whole != NULL && rx->n_whole == BURST_MAX)) {  // one for each packet, no more
        pkt_free(o.whole);
        stat_drop(net->stats, DROP_fragment_room, 1);
    } else if (unlikely(o.whole != NULL)) {
        pkt_free(pkts[i]);
        pkts[i] = o.whole;
        rx->whole[rx->n_whole++] = (uint8_t)i;
    }
}

// settle_slow: processes the packet at pkts[i], which input_fast() did not accept.
static NOINLINE void settle_slow(struct net *net, struct clock_now now, struct pkt **pkts,
                                 uint32_t i, struct net_rx *rx, struct net_tx *tx)
{
    settle(net, pkts, i, input_slow(net, now, pkts[i], i, rx, tx), rx);
}

// net_input_whole: the fragments of this frame were checked, and counted in rx_ip6, when they
// arrived. The frame itself is not added to rx_ip6.
void net_input_whole(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t i,
                     struct net_rx *rx, struct net_tx *tx)
{
    const uint32_t segs = rx->n_segs;
    const bool v6 = load_be16(pkt_data(pkts[i]) + ETH_TYPE_AT) == ETH_TYPE_IP6;
    settle(net, pkts, i, (v6 ? input6_slow : input_ip4)(net, now, pkts[i], i, rx, tx), rx);
    net->stats->c.rx_tcp += rx->n_segs - segs;
}

// input_run: parses packets from pkts[i] on into seg while input_fast() accepts them, and adds
// their bytes to *bytes. Returns the index of the first other packet, or n. It is a separate
// function so that the compiler keeps the loop's values in registers.
static NOINLINE uint32_t input_run(const struct net *net, struct pkt **pkts, uint32_t i, uint32_t n,
                                   struct seg_in *seg, uint64_t *bytes)
{
    uint32_t sum = 0;
    for (; i < n; i++, seg++) {
        if (i + AHEAD < n)
            net_prefetch_headers(pkts[i + AHEAD]);
        if (unlikely(!input_fast(net, pkts[i], i, seg)))
            break;
        sum += pkt_total_len(pkts[i]);
    }
    *bytes += sum;
    return i;
}

// input_others: processes packets from pkts[i] on: a run of common IPv6 segments, or else one
// packet. Returns the index of the last packet that it processed.
static NOINLINE uint32_t input_others(struct net *net, struct clock_now now, struct pkt **pkts,
                                      uint32_t i, uint32_t n, struct net_rx *rx, struct net_tx *tx)
{
    if (net->v6 != NULL && likely(!locals6_all_gone(net->v6))) {  // common[0] would accept ::
        const uint32_t end = input6_run(net, pkts, i, n, &rx->segs[rx->n_segs]);
        rx->n_segs += end - i;
        if (end != i)
            return end - 1;
    }
    net->stats->c.rx_bytes += pkt_total_len(pkts[i]);  // before a reply may overwrite the packet
    settle_slow(net, now, pkts, i, rx, tx);
    return i;
}

void net_input(struct net *net, struct clock_now now, struct pkt **pkts, uint32_t n,
               struct net_rx *rx, struct net_tx *tx)
{
    DCHECK(n <= BURST_MAX);
    rx->n_segs = rx->n_icmp = rx->n_udp = rx->n_whole = rx->n_linux = 0;
    for (uint32_t i = 0; i < MIN(n, AHEAD); i++)
        net_prefetch_headers(pkts[i]);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t from = i;
        i = input_run(net, pkts, i, n, &rx->segs[rx->n_segs], &net->stats->c.rx_bytes);
        rx->n_segs += i - from;
        if (unlikely(i < n))
            i = input_others(net, now, pkts, i, n, rx, tx);
    }
    net->stats->c.rx_tcp += rx->n_segs;
}
