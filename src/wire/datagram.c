// SPDX-License-Identifier: BSD-3-Clause
#include "wire/datagram.h"

#include <errno.h>

// put_udp: writes header and payload at udp. pseudo: the sum of the pseudo header.
static void put_udp(uint8_t *udp, const struct wire_datagram *d, uint64_t pseudo, bool l4_offload)
{
    store_be16(udp, d->src_port);
    store_be16(udp + UDP_DST_PORT_AT, d->dst_port);
    store_be16(udp + UDP_LEN_AT, (uint16_t)(UDP_BYTES + d->len));
    store_be16(udp + UDP_CKSUM_AT, 0);
    if (l4_offload) {
        if (d->len != 0)
            memcpy(udp + UDP_BYTES, d->data, d->len);
        store_raw16(udp + UDP_CKSUM_AT, cksum_fold(pseudo));
        return;
    }
    const uint64_t sum = cksum_plus(pseudo, load_raw64(udp));
    const uint16_t cksum =
        (uint16_t)~cksum_fold(cksum_plus(sum, cksum_copy(0, udp + UDP_BYTES, d->data, d->len)));
    store_raw16(udp + UDP_CKSUM_AT, cksum != 0 ? cksum : 0xffff);
}

static_assert((int)ICMP_BYTES == (int)UDP_BYTES && (int)ICMP6_BYTES == (int)UDP_BYTES,
              "an ICMP message has its payload at the same offset as a datagram");

// put_icmp: does the same for an ICMP message. pseudo: 0 over IPv4 (RFC 792), the sum over IPv6
// (RFC 4443 2.3).
static void put_icmp(uint8_t *m, const struct wire_datagram *d, uint64_t pseudo)
{
    memcpy(m, d->icmp, ICMP_BYTES);
    store_be16(m + ICMP_CKSUM_AT, 0);
    store_be16(m + ICMP_ID_AT, d->src_port);
    const uint64_t sum = cksum_plus(pseudo, load_raw64(m));
    store_raw16(m + ICMP_CKSUM_AT, (uint16_t)~cksum_fold(cksum_plus(
                                       sum, cksum_copy(0, m + ICMP_BYTES, d->data, d->len))));
}

static void put_ip4(uint8_t *ip, uint32_t src_raw, uint32_t dst_raw, const struct wire_datagram *d)
{
    ip[0] = 0x45;
    ip[IP4_TOS_AT] = d->tos;
    store_be16(ip + IP4_TOTAL_AT, (uint16_t)(IP4_BYTES + UDP_BYTES + d->len));
    store_be16(ip + IP4_ID_AT, d->df ? 0 : d->id);
    store_be16(ip + IP4_FRAGMENT_AT, d->df ? IP4_DF : 0);
    ip[IP4_TTL_AT] = d->ttl;
    ip[IP4_PROTO_AT] = d->icmp != NULL ? IP_PROTO_ICMP : IP_PROTO_UDP;
    store_be16(ip + IP4_CKSUM_AT, 0);
    store_raw32(ip + IP4_SRC_AT, src_raw);
    store_raw32(ip + IP4_DST_AT, dst_raw);
    store_raw16(ip + IP4_CKSUM_AT, (uint16_t)~cksum_fold(cksum_add(0, ip, IP4_BYTES)));
}

uint32_t wire_build_datagram4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                              uint32_t dst_raw, const struct wire_datagram *d, bool l4_offload)
{
    const uint16_t len = (uint16_t)(UDP_BYTES + d->len);
    wire_put_eth4(frame, from, dst_word);
    put_ip4(frame + ETH_BYTES, from->v4_raw, dst_raw, d);
    if (d->icmp != NULL) {
        put_icmp(frame + TCP4_OFF, d, 0);
        return TCP4_OFF + (uint32_t)len;
    }
    put_udp(frame + TCP4_OFF, d, cksum_pseudo4(from->v4_raw, dst_raw, IP_PROTO_UDP, len),
            l4_offload);
    return TCP4_OFF + (uint32_t)len;
}

uint32_t wire_build_datagram6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                              const struct ip_addr *dst, const struct wire_datagram *d,
                              bool l4_offload)
{
    const uint16_t len = (uint16_t)(UDP_BYTES + d->len);
    const uint8_t proto = d->icmp != NULL ? IP_PROTO_ICMP6 : IP_PROTO_UDP;
    wire_put_eth_ip6(frame, from, dst_word, dst, proto, d->tos, d->ttl, len);
    if (d->icmp != NULL) {
        put_icmp(frame + TCP6_OFF, d, cksum_pseudo6(&from->addr, dst, proto, len));
        return TCP6_OFF + (uint32_t)len;
    }
    put_udp(frame + TCP6_OFF, d, cksum_pseudo6(&from->addr, dst, IP_PROTO_UDP, len), l4_offload);
    return TCP6_OFF + (uint32_t)len;
}

struct meaning {
    int error;
    bool hard;
};

static int tell(struct meaning m, bool *hard)
{
    *hard = m.hard;
    return m.error;
}

// As net/ipv4/icmp.c and net/ipv4/udp.c of Linux 6.18. A source quench is ignored (RFC 6633).
int wire_icmp4_errno(uint8_t type, uint8_t code, bool *hard)
{
    static const struct meaning unreachable[] = {
        {ENETUNREACH, false},                         // net unreachable
        {EHOSTUNREACH, false}, {ENOPROTOOPT, true},   // host, protocol unreachable
        {ECONNREFUSED, true},  {EMSGSIZE, true},      // port unreachable, fragmentation needed
        {EOPNOTSUPP, false},                          // source route failed
        {ENETUNREACH, true},                          // net unknown
        {EHOSTDOWN, true},     {ENONET, true},        // host unknown, source host isolated
        {ENETUNREACH, true},                          // net prohibited
        {EHOSTUNREACH, true},  {ENETUNREACH, false},  // host prohibited, net for this TOS
        {EHOSTUNREACH, false}, {EHOSTUNREACH, true},  // host for this TOS, filtered
        {EHOSTUNREACH, true},  {EHOSTUNREACH, true},
    };
    if (type == ICMP_UNREACHABLE && code < ARRAY_LEN(unreachable))
        return tell(unreachable[code], hard);
    if (type == ICMP_TIME_EXCEEDED && code == 0)  // code 1: fragment reassembly time exceeded
        return tell((struct meaning){EHOSTUNREACH, false}, hard);
    if (type == ICMP_PARAMETER)
        return tell((struct meaning){EPROTO, true}, hard);
    return tell((struct meaning){0, false}, hard);
}

// As net/ipv6/icmp.c and net/ipv6/udp.c of Linux 6.18.
int wire_icmp6_errno(uint8_t type, uint8_t code, bool *hard)
{
    static const struct meaning unreachable[] = {
        {ENETUNREACH, false},                   // no route
        {EACCES, true},                         // prohibited
        {EHOSTUNREACH, false},                  // beyond the scope of the source address
        {EHOSTUNREACH, false},                  // address unreachable
        {ECONNREFUSED, true},  {EACCES, true},  // port unreachable; source address fails policy
        {EACCES, true},
    };
    if (type == ICMP6_UNREACHABLE)
        return tell(code < ARRAY_LEN(unreachable) ? unreachable[code]
                                                  : (struct meaning){EPROTO, true},
                    hard);
    if (type == ICMP6_TOO_BIG)
        return tell((struct meaning){EMSGSIZE, true}, hard);
    if (type == ICMP6_TIME_EXCEEDED)
        return tell((struct meaning){EHOSTUNREACH, false}, hard);
    if (type == ICMP6_PARAMETER)
        return tell((struct meaning){EPROTO, true}, hard);
    return tell((struct meaning){0, false}, hard);
}
