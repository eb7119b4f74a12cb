// SPDX-License-Identifier: BSD-3-Clause
#include "wire/parse6.h"

void wire_common6_init(struct wire_common6 *c, const struct mac_addr *mac,
                       const struct ip_addr *addr)
{
    *c = (struct wire_common6){
        .head = {[ETH_TYPE_AT] = ETH_TYPE_IP6 >> 8,
                 [ETH_TYPE_AT + 1] = ETH_TYPE_IP6 & 255,
                 [ETH_BYTES] = 0x60},
        .head_mask = {255, 255, 255, 255, 255, 255, [ETH_TYPE_AT] = 255,
                      [ETH_TYPE_AT + 1] = 255, [ETH_BYTES] = 0xf0},
    };
    memcpy(c->head, mac->b, sizeof(mac->b));
    memcpy(c->dst, addr->b, sizeof(addr->b));
}

static enum drop_reason problem(struct wire_ip6 *out, uint8_t code, uint32_t at,
                                enum drop_reason reason)
{
    out->problem_code = code;
    out->problem_at = (uint16_t)at;
    return reason;
}

// walk_options: the options of a hop-by-hop or destination options header of n bytes at ip + at
// (RFC 8200 4.2). Unknown options are skipped if their type permits it.
static enum drop_reason walk_options(const uint8_t *ip, uint32_t at, uint32_t n,
                                     struct wire_ip6 *out)
{
    enum { PAD1 = 0 };
    enum { SKIP, DISCARD, TELL };  // the two highest bits; 3: TELL, but not for a multicast packet
    const uint32_t end = at + n;
    unsigned count = 0;
    for (uint32_t i = at + 2; i < end; count++) {
        const uint8_t type = ip[i];
        if (count == IP6_OPTIONS_MAX)
            return DROP_ip6_ext_limit;
        if (type == PAD1) {
            i++;
            continue;
        }
        if (end - i < 2 || ip[i + 1] + 2u > end - i)
            return problem(out, ICMP6_CODE_FIELD, i + 1, DROP_ip6_ext_header);
        if (type >> 6 != SKIP) {
            out->problem_to_group = type >> 6 == TELL;
            return problem(out, type >> 6 == DISCARD ? WIRE_NO_PROBLEM : ICMP6_CODE_OPTION, i,
                           DROP_ip6_option);
        }
        i += ip[i + 1] + 2u;
    }
    return DROP_NONE;
}

// walk_fragment: stores what the fragment header at ip + at says (RFC 8200 4.5).
static enum drop_reason walk_fragment(const uint8_t *ip, uint32_t at, struct wire_ip6 *out)
{
    const uint32_t data =
        (uint32_t)IP6_BYTES + load_be16(ip + IP6_PAYLOAD_AT) - at - IP6_FRAGMENT_BYTES;
    const uint16_t part = load_be16(ip + at + IP6_FRAGMENT_AT);
    out->more = (part & 1) != 0;
    out->part_at = part & 0xfff8;
    out->id = load_be32(ip + at + IP6_FRAGMENT_ID_AT);
    out->proto = ip[at];
    out->l4_off = (uint16_t)(ETH_BYTES + at + IP6_FRAGMENT_BYTES);
    out->l4_len = (uint16_t)data;
    if (out->more && data % 8 != 0)
        return problem(out, ICMP6_CODE_FIELD, IP6_PAYLOAD_AT, DROP_fragment_length);
    if (out->part_at + data > UINT16_MAX)
        return problem(out, ICMP6_CODE_FIELD, at + IP6_FRAGMENT_AT, DROP_fragment_length);
    return DROP_ip6_fragment;
}

// walk_header: one extension header of n bytes at ip + at.
static enum drop_reason walk_header(const uint8_t *ip, uint8_t kind, uint32_t at, uint32_t n,
                                    struct wire_ip6 *out)
{
    switch (kind) {
    case IP_PROTO_ROUTING:
        return ip[at + IP6_ROUTING_LEFT_AT] == 0
                   ? DROP_NONE
                   : problem(out, ICMP6_CODE_FIELD, at + IP6_ROUTING_TYPE_AT, DROP_ip6_routing);
    case IP_PROTO_FRAGMENT:
        return (load_be16(ip + at + IP6_FRAGMENT_AT) & 0xfff9) == 0 ? DROP_NONE
                                                                    : walk_fragment(ip, at, out);
    default:
        return walk_options(ip, at, n, out);
    }
}

static bool is_extension(uint8_t kind, bool first)
{
    return kind == IP_PROTO_ROUTING || kind == IP_PROTO_FRAGMENT || kind == IP_PROTO_OPTIONS ||
           (kind == IP_PROTO_HOPS && first);
}

// walk: parses the extension headers after the IPv6 header at ip. total: bytes of the packet.
static enum drop_reason walk(const uint8_t *ip, uint32_t total, struct wire_ip6 *out)
{
    uint32_t at = IP6_BYTES, named_at = IP6_NEXT_AT;
    uint8_t kind = ip[named_at];
    for (unsigned count = 0; is_extension(kind, at == IP6_BYTES); count++) {
        if (total - at < 8)
            return DROP_ip6_ext_header;
        const uint32_t n =
            kind == IP_PROTO_FRAGMENT ? IP6_FRAGMENT_BYTES : (ip[at + IP6_EXT_LEN_AT] + 1u) * 8;
        if (n > total - at)
            return DROP_ip6_ext_header;
        if (count == IP6_EXT_MAX || at + n - IP6_BYTES > IP6_EXT_BYTES_MAX)
            return DROP_ip6_ext_limit;
        out->named_at = (uint16_t)(ETH_BYTES + named_at);
        const enum drop_reason reason = walk_header(ip, kind, at, n, out);
        if (reason != DROP_NONE)
            return reason;
        named_at = at;
        kind = ip[at];
        at += n;
    }
    out->proto = kind;
    out->l4_off = (uint16_t)(ETH_BYTES + at);
    out->l4_len = (uint16_t)(total - at);
    if (kind == IP_PROTO_TCP || kind == IP_PROTO_UDP || kind == IP_PROTO_ICMP6)
        return DROP_NONE;
    if (kind == IP_PROTO_NONE)
        return DROP_ip6_no_next;
    return problem(out, ICMP6_CODE_NEXT_HEADER, named_at, DROP_ip6_next_header);
}

// any_extension_bytes: the length of the header of type `kind` at h if that is an extension header
// (IANA's list), including unsupported and misplaced ones; else 0. The headers after ESP cannot be
// read.
static uint32_t any_extension_bytes(const uint8_t *h, uint8_t kind)
{
    enum { AUTHENTICATION = 51, MOBILITY = 135, HIP = 139, SHIM6 = 140 };
    switch (kind) {
    case IP_PROTO_HOPS:
    case IP_PROTO_ROUTING:
    case IP_PROTO_OPTIONS:
    case MOBILITY:
    case HIP:
    case SHIM6:
        return (h[IP6_EXT_LEN_AT] + 1u) * 8;
    case AUTHENTICATION:  // RFC 4302 2.2
        return (h[IP6_EXT_LEN_AT] + 2u) * 4;
    default:
        return kind == IP_PROTO_FRAGMENT ? IP6_FRAGMENT_BYTES : 0;
    }
}

// wire_may_be_error6: in a fragment other than the first one, only the type of the fragmented
// header is known.
bool wire_may_be_error6(const uint8_t *ip, uint32_t total)
{
    static const uint8_t zeros[8];
    uint32_t at = IP6_BYTES, n;
    uint8_t kind = ip[IP6_NEXT_AT];
    bool cut = false;
    for (unsigned count = 0;; count++) {
        const bool there = total - at >= 8;
        n = any_extension_bytes(there ? ip + at : zeros, kind);
        if (n == 0)
            break;
        if (!there || cut || count == IP6_EXT_MAX || n > total - at)
            return true;
        cut = kind == IP_PROTO_FRAGMENT && load_be16(ip + at + IP6_FRAGMENT_AT) >> 3 != 0;
        kind = ip[at];
        at += n;
    }
    return kind == IP_PROTO_ICMP6 &&
           (cut || at == total || ip[at] < ICMP6_INFORMATIONAL || ip[at] == ND_REDIRECT);
}

bool wire_is_first6(const uint8_t *frame, const struct wire_ip6 *ip)
{
    const uint8_t *h = frame + ip->l4_off;
    static const uint8_t zeros[8];
    uint32_t left = ip->l4_len;
    uint8_t kind = ip->proto;
    for (unsigned count = 0; count <= IP6_EXT_MAX; count++) {
        const uint32_t n = any_extension_bytes(left >= 8 ? h : zeros, kind);
        // A fragment inside a fragment: after reassembly it would be a fragment again in this turn.
        if (kind == IP_PROTO_FRAGMENT)
            return false;
        if (n == 0)
            return left >= (kind == IP_PROTO_TCP ? TCP_BYTES : 8u) &&
                   !(kind == IP_PROTO_ICMP6 && h[0] >= ND_ROUTER_SOLICIT && h[0] <= ND_REDIRECT);
        if (left < 8 || n > left)
            return false;
        kind = h[0];
        h += n;
        left -= n;
    }
    return false;
}

enum drop_reason wire_parse_ip6(const uint8_t *frame, uint32_t len, struct wire_ip6 *out)
{
    const uint8_t *ip = frame + ETH_BYTES;
    if (len < ETH_BYTES + IP6_BYTES)
        return DROP_ip6_short;
    if (ip[0] >> 4 != 6)
        return DROP_ip6_version;
    memcpy(out->src.b, ip + IP6_SRC_AT, sizeof(out->src.b));
    memcpy(out->dst.b, ip + IP6_DST_AT, sizeof(out->dst.b));
    out->tos = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
    out->hops = ip[IP6_HOPS_AT];
    out->problem_code = WIRE_NO_PROBLEM;
    out->problem_at = 0;
    out->problem_to_group = false;
    const uint32_t total = (uint32_t)IP6_BYTES + load_be16(ip + IP6_PAYLOAD_AT);
    if (ETH_BYTES + total > len)
        return DROP_ip6_payload_length;
    const enum drop_reason reason = walk(ip, total, out);
    if (reason != DROP_NONE && wire_may_be_error6(ip, total))
        out->problem_code = WIRE_NO_PROBLEM;
    return reason;
}

enum drop_reason wire_parse_tcp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct seg_in *out)
{
    out->key.remote = ip->src;
    out->ecn = ip->tos & 3;
    return wire_parse_tcp_at(frame, ip->l4_off, ip->l4_len, verify,
                             cksum_pseudo6(&ip->src, &ip->dst, IP_PROTO_TCP, ip->l4_len), out);
}

enum drop_reason wire_parse_udp6(const uint8_t *frame, const struct wire_ip6 *ip, bool verify,
                                 struct wire_udp *out)
{
    const uint8_t *udp = frame + ip->l4_off;
    const uint16_t len = wire_parse_udp_at(frame, ip->l4_off, ip->l4_len, out);
    if (len == 0)
        return DROP_udp_length;
    if (load_raw16(udp + UDP_CKSUM_AT) == 0)
        return DROP_udp6_no_checksum;
    const uint64_t pseudo = cksum_pseudo6(&ip->src, &ip->dst, IP_PROTO_UDP, len);
    if (verify && cksum_fold(cksum_add(pseudo, udp, len)) != 0xffff)
        return DROP_udp_checksum;
    return DROP_NONE;
}

uint32_t wire_quoted_upper6(const uint8_t *ip, uint32_t len, uint8_t *proto)
{
    const uint8_t *part = ip + IP6_BYTES;
    *proto = ip[IP6_NEXT_AT];
    if (likely(*proto != IP_PROTO_FRAGMENT) || len < IP6_BYTES + IP6_FRAGMENT_BYTES ||
        (load_be16(part + IP6_FRAGMENT_AT) & ~7u) != 0)
        return IP6_BYTES;
    *proto = part[0];
    return IP6_BYTES + IP6_FRAGMENT_BYTES;
}

// parse_quoted: parses the packet that an error quotes: its IPv6 header and the first 8 bytes of
// the upper header.
static enum drop_reason parse_quoted(const uint8_t *frame, uint32_t off, uint32_t len,
                                     struct wire_icmp6 *out)
{
    const uint8_t *ip = frame + off;
    uint8_t proto = 0;
    const uint32_t at = len < IP6_BYTES ? IP6_BYTES : wire_quoted_upper6(ip, len, &proto);
    const uint8_t *upper = ip + at;
    if (len < at + 8 || ip[0] >> 4 != 6)
        return DROP_icmp6_malformed;
    out->has_tcp = proto == IP_PROTO_TCP;
    out->has_udp = proto == IP_PROTO_UDP;
    memcpy(out->src.b, ip + IP6_SRC_AT, sizeof(out->src.b));
    memcpy(out->dst.b, ip + IP6_DST_AT, sizeof(out->dst.b));
    out->src_port = load_be16(upper);
    out->dst_port = load_be16(upper + TCP_DST_PORT_AT);
    out->seq = load_be32(upper + TCP_SEQ_AT);
    out->has_echo = proto == IP_PROTO_ICMP6 && upper[0] == ICMP6_ECHO;
    if (out->has_echo)
        out->src_port = load_be16(upper + ICMP_ID_AT);
    if (out->has_udp)
        wire_quoted_udp(frame, off + at, len - at, &out->data_off, &out->data_len);
    return DROP_NONE;
}

enum drop_reason wire_parse_icmp6(const uint8_t *frame, const struct wire_ip6 *ip,
                                  struct wire_icmp6 *out)
{
    const uint8_t *m = frame + ip->l4_off;
    if (ip->l4_len < ICMP6_BYTES)
        return DROP_icmp6_malformed;
    const uint64_t pseudo = cksum_pseudo6(&ip->src, &ip->dst, IP_PROTO_ICMP6, ip->l4_len);
    if (cksum_fold(cksum_add(pseudo, m, ip->l4_len)) != 0xffff)
        return DROP_icmp6_checksum;
    *out = (struct wire_icmp6){.type = m[0], .code = m[ICMP_CODE_AT]};
    if (m[0] >= ICMP6_INFORMATIONAL)
        return DROP_NONE;
    out->mtu = load_be32(m + ICMP_REST_AT);
    return parse_quoted(frame, (uint32_t)ip->l4_off + ICMP6_BYTES, ip->l4_len - ICMP6_BYTES, out);
}

enum icmp_kind wire_icmp6_kind(uint8_t type, uint8_t code)
{
    const bool hard_code = code == ICMP6_CODE_PROHIBITED || code == ICMP6_CODE_PORT ||
                           code == ICMP6_CODE_POLICY || code == ICMP6_CODE_REJECT;
    if (type == ICMP6_TOO_BIG)
        return ICMP_TOO_BIG;
    if (type == ICMP6_PARAMETER || (type == ICMP6_UNREACHABLE && hard_code))
        return ICMP_HARD;
    return ICMP_SOFT;
}

// parse_nd_options: parses the options of a neighbor discovery message and stores the link-layer
// address. Returns false if an option is malformed.
static bool parse_nd_options(const uint8_t *o, uint32_t n, uint8_t wanted, struct wire_nd *out)
{
    for (unsigned count = 0; n != 0; count++) {
        const uint32_t len = n >= 8 ? o[1] * 8u : 0;
        if (len == 0 || len > n || count == ND_OPTIONS_MAX)
            return false;
        if (o[0] == wanted && !out->has_lla) {
            if (len != ND_LLA_BYTES)  // the address is not an Ethernet address
                return false;
            out->has_lla = true;
            memcpy(out->lla.b, o + 2, sizeof(out->lla.b));
        }
        o += len;
        n -= len;
    }
    return true;
}

enum drop_reason wire_parse_nd(const uint8_t *frame, const struct wire_ip6 *ip, struct wire_nd *out)
{
    const uint8_t *m = frame + ip->l4_off;
    if (ip->hops != IP6_HOPS_LINK)
        return DROP_nd_hops;
    if (ip->l4_len < ND_BYTES || m[ICMP_CODE_AT] != 0)
        return DROP_nd_malformed;
    *out = (struct wire_nd){.type = m[0], .flags = m[0] == ND_ADVERT ? m[ND_FLAGS_AT] : 0};
    memcpy(out->target.b, m + ND_TARGET_AT, sizeof(out->target.b));
    const bool solicit = m[0] == ND_SOLICIT;
    if (!ip6_is_global_form(&out->target) ||
        !parse_nd_options(m + ND_BYTES, ip->l4_len - ND_BYTES,
                          solicit ? ND_OPT_SOURCE : ND_OPT_TARGET, out))
        return DROP_nd_malformed;
    const struct ip_addr group = ip6_solicited_node(&out->target);
    if (solicit && ip_is_zero(&ip->src) && (out->has_lla || !ip_equal(&ip->dst, &group)))
        return DROP_nd_malformed;
    if (!solicit && ip6_is_multicast(&ip->dst) && (out->flags & ND_SOLICITED) != 0)
        return DROP_nd_malformed;
    return DROP_NONE;
}

bool wire_is_mld_query(const uint8_t *frame, const struct wire_ip6 *ip)
{
    const uint8_t *m = frame + ip->l4_off;
    struct ip_addr group;
    if (ip->l4_len < MLD_QUERY_BYTES || ip->hops != 1 || !ip6_is_link_local(&ip->src))
        return false;
    memcpy(group.b, m + MLD_GROUP_AT, sizeof(group.b));
    return ip_is_zero(&group);
}
