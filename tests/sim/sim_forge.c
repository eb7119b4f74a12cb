// SPDX-License-Identifier: BSD-3-Clause
// Frames that no stack of ours has sent: copies, parts of segments, ICMP errors, and what somebody
// forges who sees the connection pass (RFC 5961's attacker, and a better informed one).
#include <string.h>

#include "sim.h"
#include "wire/cksum.h"
#include "wire/proto.h"

struct view {  // the places of a TCP segment in a frame
    uint8_t *ip, *tcp, *data;
    uint32_t head, data_len;
    bool v6;
};

static bool look(struct pkt *p, struct view *v)
{
    uint8_t *f = pkt_data(p);
    const uint32_t type = load_be16(f + 12);
    uint32_t l4;
    v->ip = f + ETH_BYTES;
    v->v6 = type == ETH_TYPE_IP6;
    if (type == ETH_TYPE_IP4 && v->ip[9] == IP_PROTO_TCP) {
        v->tcp = v->ip + (v->ip[0] & 15) * 4;
        l4 = load_be16(v->ip + 2) - (uint32_t)(v->tcp - v->ip);
    } else if (v->v6 && v->ip[6] == IP_PROTO_TCP) {
        v->tcp = v->ip + IP6_BYTES;
        l4 = load_be16(v->ip + 4);
    } else {
        return false;
    }
    v->head = (v->tcp[12] >> 4) * 4u;
    v->data = v->tcp + v->head;
    v->data_len = l4 - v->head;
    return true;
}

static void store16(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void store32(uint8_t *p, uint32_t v)
{
    store16(p, v >> 16);
    store16(p + 2, v);
}

static void sum_ip4(uint8_t *ip)
{
    store_raw16(ip + 10, 0);
    store_raw16(ip + 10, (uint16_t)~cksum_fold(cksum_add(0, ip, (ip[0] & 15) * 4u)));
}

// The sum of an IP packet's upper layer with its pseudo header.
static uint16_t sum_l4(const struct view *v, const uint8_t *l4, uint32_t len, uint8_t proto)
{
    uint64_t sum = v->v6 ? cksum_add(0, v->ip + 8, 32) : cksum_add(0, v->ip + 12, 8);
    uint8_t rest[4] = {0, proto, (uint8_t)(len >> 8), (uint8_t)len};
    sum = cksum_add(sum, rest, 4);
    return (uint16_t)~cksum_fold(cksum_add(sum, l4, len));
}

// Lengths and sums of a segment that now has data_len bytes.
static void finish(struct pkt *p, struct view *v, uint32_t data_len)
{
    const uint32_t l4 = v->head + data_len;
    v->data_len = data_len;
    if (v->v6) {
        store16(v->ip + 4, l4);
    } else {
        store16(v->ip + 2, (uint32_t)(v->tcp - v->ip) + l4);
        sum_ip4(v->ip);
    }
    store_raw16(v->tcp + 16, 0);
    store_raw16(v->tcp + 16, sum_l4(v, v->tcp, l4, IP_PROTO_TCP));
    pkt_set_len(p, (uint32_t)(v->tcp - pkt_data(p)) + l4);
}

struct pkt *sim_copy(struct sim_world *w, const struct pkt *p)
{
    struct pkt *copy;
    if (!pkt_alloc_bulk(w->pool, &copy, 1))
        return NULL;
    memcpy(pkt_data(copy), pkt_data(p), pkt_len(p));
    pkt_set_len(copy, pkt_len(p));
    return copy;
}

bool sim_mark_ce(struct pkt *p)
{
    struct view v;
    if (!look(p, &v))
        return false;
    const unsigned tos = v.v6 ? (unsigned)(v.ip[0] << 4 | v.ip[1] >> 4) & 0xff : v.ip[1];
    if ((tos & 3) == 0)
        return false;  // not of an ECN-capable transport
    if (v.v6) {
        v.ip[1] |= 0x30;
    } else {
        v.ip[1] |= 3;
        sum_ip4(v.ip);
    }
    return true;
}

struct pkt *sim_split(struct sim_world *w, struct rng *r, const struct pkt *p)
{
    struct pkt *copy = sim_copy(w, p);
    struct view v;
    if (copy == NULL)
        return NULL;
    if (!look(copy, &v) || v.data_len < 2 || (v.tcp[13] & (SEG_SYN | SEG_RST))) {
        pkt_free(copy);
        return NULL;
    }
    const uint32_t from = rng_below(r, v.data_len), len = 1 + rng_below(r, v.data_len - from);
    memmove(v.data, v.data + from, len);
    if (from + len != v.data_len)
        v.tcp[13] &= (uint8_t)~SEG_FIN;
    store32(v.tcp + 4, load_be32(v.tcp + 4) + from);
    finish(copy, &v, len);
    return copy;
}

static uint32_t near_by(struct rng *r, uint32_t value)
{
    static const uint32_t far[] = {0,     1,     2,       100,      536,     1460,
                                   20000, 65535, 1 << 20, 1u << 30, 1u << 31};
    const uint32_t d = far[rng_below(r, ARRAY_LEN(far))];
    return rng_below(r, 2) ? value + d : value - d;
}

// Without payload: forged bytes inside the window are beyond what any TCP can tell.
struct pkt *sim_forge(struct sim_world *w, struct rng *r, const struct pkt *p)
{
    static const uint8_t flags[] = {
        SEG_RST, SEG_RST | SEG_ACK, SEG_SYN,           SEG_SYN | SEG_ACK, SEG_ACK, SEG_ACK,
        0,       SEG_FIN,           SEG_SYN | SEG_FIN, SEG_ACK | SEG_URG};
    struct pkt *copy = sim_copy(w, p);
    struct view v;
    if (copy == NULL)
        return NULL;
    if (!look(copy, &v)) {
        pkt_free(copy);
        return NULL;
    }
    const uint32_t end = load_be32(v.tcp + 4) + v.data_len;
    v.tcp[13] = flags[rng_below(r, ARRAY_LEN(flags))];
    store32(v.tcp + 4, near_by(r, end));
    if (v.tcp[13] & SEG_ACK)
        store32(v.tcp + 8, near_by(r, load_be32(v.tcp + 8)));
    if (rng_below(r, 4) == 0)
        store16(v.tcp + 14, rng_below(r, 65536));
    finish(copy, &v, 0);
    return copy;
}

// The option of that kind in v's header, after its two first bytes; NULL: there is none.
static uint8_t *option(const struct view *v, uint8_t kind)
{
    for (uint8_t *o = v->tcp + TCP_BYTES; o < v->data && o[0] != TCP_OPT_END;) {
        if (o[0] == kind)
            return o + 2;
        if (o[0] == TCP_OPT_NOP)
            o++;
        else if (o + 1 < v->data && o[1] >= 2)
            o += o[1];
        else
            break;
    }
    return NULL;
}

static bool lie_echo(struct rng *r, const struct view *v)
{
    uint8_t *o = option(v, TCP_OPT_TS);
    if (o == NULL)
        return false;
    const uint32_t ago_ms = (1u << rng_below(r, 18)) + rng_below(r, 1000);
    const uint32_t echo = load_be32(o + 4);
    const uint32_t lies[] = {echo - ago_ms, echo - ago_ms, echo + ago_ms, rng_below(r, UINT32_MAX)};
    store32(o + 4, lies[rng_below(r, ARRAY_LEN(lies))]);
    return true;
}

// Seldom: what comes after a clock that went ahead is old (RFC 7323 5.3), to both stacks.
static bool lie_clock(struct rng *r, const struct view *v)
{
    uint8_t *o = option(v, TCP_OPT_TS);
    if (o == NULL || rng_below(r, 64) != 0)
        return false;
    store32(o, near_by(r, load_be32(o)));
    return true;
}

static bool lie_sack(struct rng *r, const struct view *v)
{
    uint8_t *o = option(v, TCP_OPT_SACK);
    if (o == NULL)
        return false;
    for (unsigned i = 0; i < (o[-1] - 2u) / 4; i++)
        if (rng_below(r, 2))
            store32(o + (size_t)i * 4, near_by(r, load_be32(o + (size_t)i * 4)));
    return true;
}

static bool lie_window(struct rng *r, const struct view *v)
{
    static const uint16_t lies[] = {0, 0, 1, 100, 65535};
    store16(v->tcp + 14, lies[rng_below(r, ARRAY_LEN(lies))]);
    return true;
}

static bool lie_ack(struct rng *r, const struct view *v)
{
    // Not less: a cookie may differ from another good one in its MSS alone (tcp_cookie.c).
    const uint32_t by = 8 + rng_below(r, 3000);
    store32(v->tcp + 8, load_be32(v->tcp + 8) + (rng_below(r, 8) == 0 ? by : -by));
    return true;
}

bool sim_lie(struct rng *r, struct pkt *p, unsigned lies)
{
    static bool (*const lie[])(struct rng *, const struct view *) = {
        [LIE_ECHO] = lie_echo,     [LIE_CLOCK] = lie_clock, [LIE_SACK] = lie_sack,
        [LIE_WINDOW] = lie_window, [LIE_ACK] = lie_ack,
    };
    const unsigned about = rng_below(r, LIE_COUNT);
    struct view v;
    if ((lies >> about & 1) == 0 || !look(p, &v) || (v.tcp[13] & (SEG_SYN | SEG_RST)) != 0 ||
        !lie[about](r, &v))
        return false;
    finish(p, &v, v.data_len);
    return true;
}

// A router's answer: RFC 792 and 1191, RFC 4443 3.2. It speaks with the addressee's address.
struct pkt *sim_too_big(struct sim_world *w, const struct pkt *p, uint16_t mtu)
{
    struct pkt *e = sim_copy(w, p), *whole = sim_copy(w, p);
    struct view v;
    if (e == NULL || whole == NULL || !look(e, &v)) {
        if (e != NULL)
            pkt_free(e);
        if (whole != NULL)
            pkt_free(whole);
        return NULL;
    }
    uint8_t *f = pkt_data(e);
    const uint8_t *was = pkt_data(whole);
    const uint32_t quote = MIN(pkt_len(p) - ETH_BYTES, v.v6 ? 1200u : 548u);
    memcpy(f, was + 6, 6);
    memcpy(f + 6, was, 6);
    uint8_t *icmp = v.ip + (v.v6 ? IP6_BYTES : IP4_BYTES);
    memcpy(icmp + 8, was + ETH_BYTES, quote);
    const uint32_t size = v.v6 ? 16 : 4, src = v.v6 ? 8 : 12;
    memcpy(v.ip + src, was + ETH_BYTES + src + size, size);
    memcpy(v.ip + src + size, was + ETH_BYTES + src, size);
    memset(icmp, 0, 8);
    icmp[0] = v.v6 ? 2 : ICMP_UNREACHABLE;
    icmp[1] = v.v6 ? 0 : ICMP_CODE_FRAG_NEEDED;
    store16(icmp + 6, mtu);
    if (v.v6) {
        v.ip[6] = 58;
        store16(v.ip + 4, 8 + quote);
        store_raw16(icmp + 2, sum_l4(&v, icmp, 8 + quote, 58));
    } else {
        v.ip[0] = 0x45;
        v.ip[1] = 0;
        v.ip[9] = IP_PROTO_ICMP;
        store16(v.ip + 2, IP4_BYTES + 8 + quote);
        sum_ip4(v.ip);
        store_raw16(icmp + 2, (uint16_t)~cksum_fold(cksum_add(0, icmp, 8 + quote)));
    }
    pkt_set_len(e, (uint32_t)(icmp - f) + 8 + quote);
    pkt_free(whole);
    return e;
}
