// SPDX-License-Identifier: BSD-3-Clause
#include "frame.h"

#include <string.h>

#include "nic.h"

enum { PROTO_TCP = 6, PROTO_UDP = 17, FRAME_MAX = 16384 };

static unsigned be16(const uint8_t *p)
{
    return (unsigned)p[0] << 8 | p[1];
}

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)be16(p) << 16 | be16(p + 2);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void put32(uint8_t *p, uint32_t v)
{
    put16(p, v >> 16);
    put16(p + 2, v & 0xffff);
}

static uint64_t add(uint64_t sum, const uint8_t *p, uint32_t len)
{
    for (; len > 1; p += 2, len -= 2)
        sum += be16(p);
    return len == 0 ? sum : sum + ((uint64_t)*p << 8);
}

static unsigned fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (unsigned)sum;
}

static uint64_t pseudo(const uint8_t *data, const struct frame *f, unsigned proto, uint32_t bytes)
{
    const uint8_t *ip = data + f->l3;
    return add(proto + bytes, f->v4 ? ip + 12 : ip + 8, f->v4 ? 8 : 32);
}

static void parse_l4(const uint8_t *data, uint32_t end, unsigned proto, struct frame *f)
{
    const uint32_t have = end - f->l4;
    if (f->fragment || (proto != PROTO_TCP && proto != PROTO_UDP))
        return;
    if (have < (proto == PROTO_TCP ? 20 : 8))
        return;
    f->tcp = proto == PROTO_TCP;
    f->udp = proto == PROTO_UDP;
    f->udp_zero = f->udp && be16(data + f->l4 + 6) == 0;
    f->l4_checked = true;
    f->l4_ok = fold(add(pseudo(data, f, proto, have), data + f->l4, have)) == 0xffff;
}

static void parse_v4(const uint8_t *data, uint32_t len, struct frame *f)
{
    const uint8_t *ip = data + f->l3;
    const unsigned header = len < f->l3 + 20 ? 0 : (ip[0] & 15) * 4u;
    if (header < 20 || ip[0] >> 4 != 4 || be16(ip + 2) < header || f->l3 + be16(ip + 2) > len)
        return;
    f->v4 = true;
    f->more = header > 20;
    f->fragment = (be16(ip + 6) & 0x3fff) != 0;
    f->ip_ok = fold(add(0, ip, header)) == 0xffff;
    f->l4 = f->l3 + header;
    parse_l4(data, f->l3 + be16(ip + 2), ip[9], f);
}

static void parse_v6(const uint8_t *data, uint32_t len, struct frame *f)
{
    const uint8_t *ip = data + f->l3;
    if (len < f->l3 + 40 || ip[0] >> 4 != 6 || f->l3 + 40 + be16(ip + 4) > len)
        return;
    f->v6 = true;
    f->more = ip[6] == 0 || ip[6] == 43 || ip[6] == 44 || ip[6] == 60;
    f->fragment = ip[6] == 44;
    f->l4 = f->l3 + 40;
    parse_l4(data, f->l3 + 40 + be16(ip + 4), ip[6], f);
}

void frame_parse(const uint8_t *data, uint32_t len, struct frame *out)
{
    memset(out, 0, sizeof(*out));
    if (len < 14)
        return;
    out->l3 = 14;
    unsigned type = be16(data + 12);
    if (type == 0x8100 && len >= 18) {
        out->vlan = true;
        out->l3 = 18;
        type = be16(data + 16);
    }
    if (type == 0x0800)
        parse_v4(data, len, out);
    else if (type == 0x86dd)
        parse_v6(data, len, out);
}

uint32_t frame_hash(const uint8_t *data, const struct frame *f, int what, const uint8_t *key)
{
    uint8_t input[36];
    const uint8_t *ip = data + f->l3;
    unsigned n = f->v4 ? 8 : 32;
    memcpy(input, f->v4 ? ip + 12 : ip + 8, n);
    if (what == FRAME_HASH_L4) {
        memcpy(input + n, data + f->l4, 4);
        n += 4;
    }
    uint32_t hash = 0, window = be32(key);
    for (unsigned bit = 0; bit < n * 8; bit++) {
        if (input[bit / 8] & 0x80 >> bit % 8)
            hash ^= window;
        const unsigned next = bit + 32;
        window = window << 1 | (key[next / 8] >> (7 - next % 8) & 1);
    }
    return hash;
}

// sum_l4: the driver has put the sum of the pseudo header into the field; of a large segment
// without the length.
static void sum_l4(const struct frame_tx *tx, uint8_t *frame, uint32_t len, bool add_length)
{
    const unsigned start = tx->l2 + tx->l3;
    const unsigned place = start + (tx->tcp ? 16 : 6);
    unsigned sum = fold(add(add_length ? len - start : 0, frame + start, len - start));
    sum = ~sum & 0xffff;
    put16(frame + place, sum == 0 && !tx->tcp ? 0xffff : sum);
}

// sum_ip: over the header with its field, which the driver has to leave 0.
static void sum_ip(const struct frame_tx *tx, uint8_t *frame)
{
    put16(frame + tx->l2 + 10, ~fold(add(0, frame + tx->l2, tx->l3)) & 0xffff);
}

static const char *wrong(const struct frame_tx *tx)
{
    const unsigned headers = tx->l2 + tx->l3 + tx->l4;
    const uint8_t *ip = tx->data + tx->l2;
    if (!tx->ip_sum && !tx->l4_sum && tx->mss == 0)
        return NULL;
    if (tx->l2 < 14 || tx->l3 < 20 || tx->len < tx->l2 + tx->l3 + (tx->l4_sum ? 8 : 0))
        return "lengths of the headers";
    // The family matters where the IP header is written: DPDK's drivers do not announce it
    // otherwise.
    if ((tx->mss != 0 || tx->ip_sum) && (tx->v4 ? ip[0] != (0x40 | tx->l3 / 4) : ip[0] >> 4 != 6))
        return "not the IP header that was announced";
    if (tx->mss == 0)
        return NULL;
    if (!tx->tcp || !tx->l4_sum || (tx->v4 && !tx->ip_sum))
        return "a large segment without its checksums";
    if (tx->l4 < 20 || headers >= tx->len || ip[tx->l3 + 12] >> 4 != tx->l4 / 4)
        return "length of the TCP header";
    return headers + tx->mss > FRAME_MAX ? "MSS" : NULL;
}

static void cut(const struct frame_tx *tx, void (*send)(const uint8_t *frame, uint32_t len))
{
    uint8_t frame[FRAME_MAX];
    const unsigned headers = tx->l2 + tx->l3 + tx->l4;
    const uint32_t payload = tx->len - headers;
    const uint8_t *ip = tx->data + tx->l2, *tcp = ip + tx->l3;
    unsigned number = 0;
    for (uint32_t at = 0; at < payload; at += tx->mss, number++) {
        const uint32_t part = payload - at < tx->mss ? payload - at : tx->mss;
        memcpy(frame, tx->data, headers);
        memcpy(frame + headers, tx->data + headers + at, part);
        uint8_t *to_ip = frame + tx->l2, *to_tcp = to_ip + tx->l3;
        if (tx->v4) {
            put16(to_ip + 2, tx->l3 + tx->l4 + part);
            put16(to_ip + 4, be16(ip + 4) + number);
        } else {
            put16(to_ip + 4, tx->l3 - 40 + tx->l4 + part);
        }
        put32(to_tcp + 4, be32(tcp + 4) + at);
        // The flags of a segment that is first and last pass the mask of the last.
        const uint16_t mask = at + part == payload ? tx->last
                              : number == 0        ? tx->first
                                                   : tx->middle;
        put16(to_tcp + 12, be16(tcp + 12) & (0xf000 | mask));
        if (tx->v4)
            sum_ip(tx, frame);
        sum_l4(tx, frame, headers + part, true);
        send(frame, headers + part);
    }
}

void frame_send(struct frame_tx *tx, struct frame_work *done,
                void (*send)(const uint8_t *frame, uint32_t len))
{
    const char *why = wrong(tx);
    done->segmented += tx->mss != 0;
    done->ip_sums += tx->ip_sum;
    done->l4_sums += tx->l4_sum;
    if (why != NULL) {
        nic_wrong("transmit descriptors: %s (l2 %u, l3 %u, l4 %u, mss %u, %u bytes)", why, tx->l2,
                  tx->l3, tx->l4, tx->mss, tx->len);
        return;
    }
    if (tx->mss != 0) {
        cut(tx, send);
        return;
    }
    if (tx->ip_sum)
        sum_ip(tx, tx->data);
    if (tx->l4_sum)
        sum_l4(tx, tx->data, tx->len, false);
    send(tx->data, tx->len);
}

void frame_work_print(FILE *out, unsigned q, const struct frame_work *done)
{
    fprintf(out, "tx_segmented_%u %llu\ntx_ip_sums_%u %llu\ntx_l4_sums_%u %llu\n", q,
            (unsigned long long)done->segmented, q, (unsigned long long)done->ip_sums, q,
            (unsigned long long)done->l4_sums);
}

uint32_t frame_wire_bytes(uint32_t len)
{
    return (len < 60 ? 60 : len) + 4;
}
