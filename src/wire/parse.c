// SPDX-License-Identifier: BSD-3-Clause
#include "wire/parse.h"

#include "base/bytes.h"

void wire_common_init(struct wire_common *c, const struct mac_addr *mac, const uint32_t *v4_raw)
{
    enum {
        TAIL = WIRE_COMMON_TAIL_AT,
        FRAGMENT = ETH_BYTES + IP4_FRAGMENT_AT - TAIL,
        PROTO = ETH_BYTES + IP4_PROTO_AT - TAIL,
        DST = ETH_BYTES + IP4_DST_AT - TAIL,
    };
    // Compared: version and header length; the fragment word without DF; the protocol.
    *c = (struct wire_common){
        .head = {[ETH_TYPE_AT] = ETH_TYPE_IP4 >> 8,
                 [ETH_TYPE_AT + 1] = ETH_TYPE_IP4 & 255,
                 [ETH_BYTES] = 0x45},
        .head_mask = {255, 255, 255, 255, 255, 255, [ETH_TYPE_AT] = 255,
                      [ETH_TYPE_AT + 1] = 255, [ETH_BYTES] = 255},
        .tail = {[PROTO] = IP_PROTO_TCP},
        .tail_mask = {[FRAGMENT] = 0x3f, [FRAGMENT + 1] = 255, [PROTO] = 255},
    };
    memcpy(c->head, mac->b, sizeof(mac->b));
    if (v4_raw != NULL) {
        memcpy(&c->tail[DST], v4_raw, sizeof(*v4_raw));
        memset(&c->tail_mask[DST], 255, sizeof(*v4_raw));
    }
}

enum drop_reason wire_parse_arp(const uint8_t *frame, uint32_t len, struct wire_arp *out)
{
    if (len < ARP_FRAME_BYTES)
        return DROP_arp_malformed;
    const uint8_t *a = frame + ETH_BYTES;
    if (load_be16(a) != 1 || load_be16(a + ARP_PROTOCOL_AT) != ETH_TYPE_IP4 ||
        a[ARP_MAC_BYTES_AT] != 6 || a[ARP_IP_BYTES_AT] != 4)
        return DROP_arp_malformed;
    out->op = load_be16(a + ARP_OP_AT);
    if (out->op != ARP_OP_REQUEST && out->op != ARP_OP_REPLY)
        return DROP_arp_malformed;
    memcpy(out->sender_mac.b, a + ARP_SENDER_MAC_AT, 6);
    out->sender_raw = load_raw32(a + ARP_SENDER_IP_AT);
    out->target_raw = load_raw32(a + ARP_TARGET_IP_AT);
    return DROP_NONE;
}

enum drop_reason wire_parse_ip4(const uint8_t *frame, uint32_t len, bool verify,
                                struct wire_ip4 *out)
{
    if (len < ETH_BYTES + IP4_BYTES)
        return DROP_ip_short;
    const uint8_t *ip = frame + ETH_BYTES;
    uint32_t head = (ip[0] & 15) * 4u, total = load_be16(ip + IP4_TOTAL_AT);
    if (ip[0] >> 4 != 4)
        return DROP_ip_version;
    if (head < IP4_BYTES || ETH_BYTES + head > len)
        return DROP_ip_header_length;
    if (total < head || ETH_BYTES + total > len)
        return DROP_ip_total_length;
    if (verify && cksum_fold(cksum_add(0, ip, head)) != 0xffff)
        return DROP_ip_checksum;
    out->src_raw = load_raw32(ip + IP4_SRC_AT);
    out->dst_raw = load_raw32(ip + IP4_DST_AT);
    out->l4_off = (uint16_t)(ETH_BYTES + head);
    out->l4_len = (uint16_t)(total - head);
    out->proto = ip[IP4_PROTO_AT];
    out->tos = ip[IP4_TOS_AT];
    const uint16_t part = load_be16(ip + IP4_FRAGMENT_AT) & (IP4_MF | IP4_OFFSET_MASK);
    if (likely(part == 0))
        return DROP_NONE;
    out->more = (part & IP4_MF) != 0;
    out->part_at = (uint16_t)(part << 3);
    out->id = load_be16(ip + IP4_ID_AT);
    return DROP_ip_fragment;
}

static void fast_open(uint32_t at, uint32_t len, struct seg_in *out)
{
    out->opts |= SEG_OPT_FAST_OPEN;
    out->sack_off = len == 2 ? 0 : (uint8_t)(TCP_BYTES + at + 2);
    out->sack_count = len == 10;
}

// parse_option: parses the option at opt[at]. len: its length, including kind and length.
static void parse_option(const uint8_t *opt, uint32_t at, uint32_t len, struct seg_in *out)
{
    const uint8_t *o = opt + at;
    bool syn = out->flags & SEG_SYN;
    switch (o[0]) {
    case TCP_OPT_MSS:
        if (len == 4 && syn && load_be16(o + 2) != 0) {
            out->mss = load_be16(o + 2);
            out->opts |= SEG_OPT_MSS;
        }
        break;
    case TCP_OPT_WSCALE:
        if (len == 3 && syn) {
            out->wscale = MIN(o[2], TCP_WSCALE_MAX);
            out->opts |= SEG_OPT_WSCALE;
        }
        break;
    case TCP_OPT_SACK_PERM:
        if (len == 2 && syn)
            out->opts |= SEG_OPT_SACK_PERM;
        break;
    case TCP_OPT_SACK:
        if (len >= 10 && len % 8 == 2 && !syn) {
            out->sack_off = (uint8_t)(TCP_BYTES + at + 2);
            out->sack_count = (uint8_t)(len / 8);
            out->opts |= SEG_OPT_SACK;
        }
        break;
    case TCP_OPT_TS:
        if (len == 10) {
            out->ts_val = load_be32(o + 2);
            out->ts_ecr = load_be32(o + 6);
            out->opts |= SEG_OPT_TS;
        }
        break;
    case TCP_OPT_FAST_OPEN:  // RFC 7413 4.1.1: 4 to 16 bytes, or none, in an even number
        if (syn && !(out->flags & SEG_ACK) && (len == 2 || (len >= 6 && len <= 18 && len % 2 == 0)))
            fast_open(at, len, out);
        break;
    default:
        break;
    }
}

enum drop_reason wire_parse_tcp_options(const uint8_t *opt, uint32_t n, struct seg_in *out)
{
    out->opts = 0;
    out->mss = 0;
    out->wscale = 0;
    out->ts_val = 0;
    out->ts_ecr = 0;
    out->sack_off = 0;
    out->sack_count = 0;
    for (uint32_t i = 0; i < n && opt[i] != TCP_OPT_END;) {
        if (opt[i] == TCP_OPT_NOP) {
            i++;
            continue;
        }
        if (n - i < 2 || opt[i + 1] < 2 || opt[i + 1] > n - i)
            return DROP_tcp_options;
        parse_option(opt, i, opt[i + 1], out);
        i += opt[i + 1];
    }
    return DROP_NONE;
}

void wire_read_sack(const uint8_t *frame, const struct seg_in *s, struct seq_range *out)
{
    const uint8_t *block = frame + s->tcp_off + s->sack_off;
    for (uint32_t i = 0; i < s->sack_count; i++, block += 8)
        out[i] = (struct seq_range){load_be32(block), load_be32(block + 4)};
}

enum drop_reason wire_parse_tcp_at(const uint8_t *frame, uint32_t off, uint32_t len, bool verify,
                                   uint64_t pseudo, struct seg_in *out)
{
    const uint8_t *tcp = frame + off;
    if (len < TCP_BYTES)
        return DROP_tcp_short;
    uint32_t head = (tcp[TCP_DATA_OFFSET_AT] >> 4) * 4u;
    if (head < TCP_BYTES || head > len)
        return DROP_tcp_header_length;
    if (verify && cksum_fold(cksum_add(pseudo, tcp, len)) != 0xffff)
        return DROP_tcp_checksum;
    if (load_be16(tcp) == 0 || load_be16(tcp + TCP_DST_PORT_AT) == 0)
        return DROP_tcp_port_zero;
    out->key.local_ix = 0;
    out->key.zero = 0;
    out->key.remote_port = load_be16(tcp);
    out->key.local_port = load_be16(tcp + TCP_DST_PORT_AT);
    out->seq = load_be32(tcp + TCP_SEQ_AT);
    out->ack = load_be32(tcp + TCP_ACK_AT);
    out->wnd = load_be16(tcp + TCP_WND_AT);
    out->data_off = (uint16_t)(off + head);
    out->data_len = (uint16_t)(len - head);
    out->pkt_ix = 0;
    out->flags = tcp[TCP_FLAGS_AT];
    out->head = tcp[TCP_DATA_OFFSET_AT];
    out->urg = load_be16(tcp + TCP_URG_AT);
    out->tcp_off = (uint16_t)off;
    return wire_parse_tcp_options(tcp + TCP_BYTES, head - TCP_BYTES, out);
}

enum drop_reason wire_parse_tcp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct seg_in *out)
{
    out->key.remote = ip_from_v4(raw32(ip->src_raw));
    out->ecn = ip->tos & 3;
    return wire_parse_tcp_at(frame, ip->l4_off, ip->l4_len, verify,
                             cksum_pseudo4(ip->src_raw, ip->dst_raw, IP_PROTO_TCP, ip->l4_len),
                             out);
}

void wire_quoted_udp(const uint8_t *frame, uint32_t off, uint32_t len, uint16_t *data_off,
                     uint16_t *data_len)
{
    const uint32_t said = load_be16(frame + off + UDP_LEN_AT), bytes = MIN(said, len);
    *data_off = (uint16_t)(off + UDP_BYTES);
    *data_len = (uint16_t)(bytes > UDP_BYTES ? bytes - UDP_BYTES : 0);
}

// parse_quoted: parses the packet that an ICMP error quotes at frame + off: its IPv4 header and the
// first 8 bytes after it.
static enum drop_reason parse_quoted(const uint8_t *frame, uint32_t off, uint32_t len,
                                     struct wire_icmp *out)
{
    const uint8_t *ip = frame + off;
    if (len < IP4_BYTES || ip[0] >> 4 != 4)
        return DROP_icmp_malformed;
    uint32_t head = (ip[0] & 15) * 4u;
    if (head < IP4_BYTES || head + 8 > len ||
        (load_be16(ip + IP4_FRAGMENT_AT) & IP4_OFFSET_MASK) != 0)
        return DROP_icmp_malformed;
    out->has_tcp = ip[IP4_PROTO_AT] == IP_PROTO_TCP;
    out->has_udp = ip[IP4_PROTO_AT] == IP_PROTO_UDP;
    out->src_raw = load_raw32(ip + IP4_SRC_AT);
    out->dst_raw = load_raw32(ip + IP4_DST_AT);
    out->src_port = load_be16(ip + head);
    out->dst_port = load_be16(ip + head + TCP_DST_PORT_AT);
    out->seq = load_be32(ip + head + TCP_SEQ_AT);
    out->has_echo = ip[IP4_PROTO_AT] == IP_PROTO_ICMP && ip[head] == ICMP_ECHO;
    if (out->has_echo)
        out->src_port = load_be16(ip + head + ICMP_ID_AT);
    if (out->has_udp)
        wire_quoted_udp(frame, off + head, len - head, &out->data_off, &out->data_len);
    return DROP_NONE;
}

enum drop_reason wire_parse_icmp(const uint8_t *frame, const struct wire_ip4 *ip,
                                 struct wire_icmp *out)
{
    const uint8_t *m = frame + ip->l4_off;
    if (ip->l4_len < ICMP_BYTES)
        return DROP_icmp_malformed;
    if (cksum_fold(cksum_add(0, m, ip->l4_len)) != 0xffff)
        return DROP_icmp_checksum;
    *out = (struct wire_icmp){
        .type = m[0], .code = m[ICMP_CODE_AT], .mtu = load_be16(m + ICMP_MTU_AT)};
    if (m[0] != ICMP_UNREACHABLE && m[0] != ICMP_TIME_EXCEEDED && m[0] != ICMP_PARAMETER)
        return DROP_NONE;
    return parse_quoted(frame, (uint32_t)ip->l4_off + ICMP_BYTES, ip->l4_len - ICMP_BYTES, out);
}

enum icmp_kind wire_icmp4_kind(uint8_t type, uint8_t code)
{
    // Hard errors are codes 2 to 4 (RFC 1122 4.2.3.9) and, as in Linux, these of RFC 1812 5.2.7.1:
    // destination unknown, isolated, prohibited, filtered. The other codes (0, 1, 5, 11, 12: net,
    // host, source route, type of service) may be temporary.
    enum {
        HARD_CODES = 1 << 2 | 1 << 3 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 13 |
                     1 << 14 | 1 << 15,
    };
    if (type != ICMP_UNREACHABLE || code >= 16)
        return ICMP_SOFT;
    if (code == ICMP_CODE_FRAG_NEEDED)
        return ICMP_TOO_BIG;
    return (HARD_CODES >> code & 1) != 0 ? ICMP_HARD : ICMP_SOFT;
}

uint16_t wire_parse_udp_at(const uint8_t *frame, uint32_t off, uint32_t len, struct wire_udp *out)
{
    const uint8_t *udp = frame + off;
    if (len < UDP_BYTES)
        return 0;
    const uint16_t bytes = load_be16(udp + UDP_LEN_AT);
    if (bytes < UDP_BYTES || bytes > len)
        return 0;
    out->src_port = load_be16(udp);
    out->dst_port = load_be16(udp + UDP_DST_PORT_AT);
    out->data_off = (uint16_t)(off + UDP_BYTES);
    out->data_len = (uint16_t)(bytes - UDP_BYTES);
    return bytes;
}

enum drop_reason wire_parse_udp(const uint8_t *frame, const struct wire_ip4 *ip, bool verify,
                                struct wire_udp *out)
{
    const uint8_t *udp = frame + ip->l4_off;
    const uint16_t len = wire_parse_udp_at(frame, ip->l4_off, ip->l4_len, out);
    if (len == 0)
        return DROP_udp_length;
    const uint64_t pseudo = cksum_pseudo4(ip->src_raw, ip->dst_raw, IP_PROTO_UDP, len);
    if (verify && load_raw16(udp + UDP_CKSUM_AT) != 0 &&
        cksum_fold(cksum_add(pseudo, udp, len)) != 0xffff)
        return DROP_udp_checksum;
    return DROP_NONE;
}
