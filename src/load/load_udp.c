// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_udp.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "wire/datagram.h"

struct load_udp *load_udp_new(void)
{
    return calloc(1, sizeof(struct load_udp));
}

void load_udp_free(struct load_udp *u)
{
    free(u);
}

static struct load_udp_slot *slot_of(struct load_udp *u, uint64_t k)
{
    return &u->slots[k % LOAD_UDP_SLOTS];
}

// Fills in the payload of datagram k, rounded up to a multiple of eight bytes.
static void fill(uint8_t *data, uint32_t n, uint64_t k)
{
    const uint64_t mark = (k + 1) * 0x9e3779b97f4a7c15ULL;
    store_raw64(data, k);
    for (uint32_t at = 8; at < n; at += 8)
        store_raw64(data + at, mark + at);
}

static void build(struct load *l, struct pkt *p, const struct wire_datagram *d, uint32_t flow)
{
    const uint32_t low_raw = raw32(l->first_low + load_host(flow));
    if (l->v6) {
        store_raw32(l->from6.addr.b + IP_V4_AT, low_raw);
        pkt_set_len(p, wire_build_datagram6(pkt_data(p), &l->from6, l->hop_mac_word, &l->p.server,
                                            d, false));
    } else {
        l->from.v4_raw = low_raw;
        pkt_set_len(p, wire_build_datagram4(pkt_data(p), &l->from, l->hop_mac_word,
                                            load_raw32(l->p.server.b + IP_V4_AT), d, false));
    }
}

// False: no packet is free or the send queue is full.
static bool send_one(struct load *l, uint64_t from_ns)
{
    struct load_udp *u = l->udp;
    struct pkt *p = load_packet(l);
    if (p == NULL)
        return false;
    const struct wire_datagram d = {.src_port = load_port(u->flow),
                                    .dst_port = l->p.server_port,
                                    .ttl = IP4_TTL,
                                    .df = true,
                                    .data = l->payload,
                                    .len = l->p.payload};
    fill(l->payload, l->p.payload, u->next);
    build(l, p, &d, u->flow);
    *slot_of(u, u->next) = (struct load_udp_slot){from_ns, l->now_ns, u->flow, LOAD_UDP_WAITING};
    u->next++;
    u->flow = u->flow + 1 < l->p.connections ? u->flow + 1 : 0;
    l->in_flight++;
    l->c.asked++;
    return true;
}

static bool first_v6_part(const struct load *l, const struct ip_addr *a)
{
    return memcmp(a->b, l->p.first.b, 12) == 0;
}

// Parses a datagram. *flow is the index of its client; UINT32_MAX: it is not from the server to a
// client. DROP_NONE: *d is valid.
static enum drop_reason parse4(const struct load *l, const struct pkt *p, struct wire_udp *d,
                               uint32_t *flow)
{
    const uint8_t *frame = pkt_data(p);
    struct wire_ip4 ip;
    enum drop_reason why = wire_parse_ip4(frame, pkt_len(p), true, &ip);
    if (why == DROP_NONE)
        why = wire_parse_udp(frame, &ip, true, d);
    *flow = UINT32_MAX;
    if (why == DROP_NONE && ip.src_raw == load_raw32(l->p.server.b + IP_V4_AT) &&
        d->src_port == l->p.server_port)
        *flow = load_index(raw32(ip.dst_raw) - l->first_low, d->dst_port, l->p.connections);
    return why;
}

static enum drop_reason parse6(const struct load *l, const struct pkt *p, struct wire_udp *d,
                               uint32_t *flow)
{
    const uint8_t *frame = pkt_data(p);
    struct wire_ip6 ip;
    enum drop_reason why = wire_parse_ip6(frame, pkt_len(p), &ip);
    if (why == DROP_NONE)
        why = wire_parse_udp6(frame, &ip, true, d);
    *flow = UINT32_MAX;
    if (why == DROP_NONE && ip_equal(&ip.src, &l->p.server) && first_v6_part(l, &ip.dst) &&
        d->src_port == l->p.server_port)
        *flow = load_index(ip_to_v4(&ip.dst) - l->first_low, d->dst_port, l->p.connections);
    return why;
}

static bool is_udp(const struct load *l, const struct pkt *p)
{
    const uint8_t *frame = pkt_data(p);
    if (l->v6)
        return pkt_len(p) > ETH_BYTES + IP6_NEXT_AT &&
               load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP6 &&
               frame[ETH_BYTES + IP6_NEXT_AT] == IP_PROTO_UDP;
    return pkt_len(p) > ETH_BYTES + IP4_PROTO_AT &&
           load_be16(frame + ETH_TYPE_AT) == ETH_TYPE_IP4 &&
           frame[ETH_BYTES + IP4_PROTO_AT] == IP_PROTO_UDP;
}

static void answered(struct load *l, struct load_udp_slot *s, bool right)
{
    l->c.wrong += !right;
    if (s->state == LOAD_UDP_ANSWERED) {
        l->c.duplicates++;
        return;
    }
    if (s->state == LOAD_UDP_WAITING) {
        l->in_flight--;
        l->c.answered++;
        load_histogram_add(&l->latency, l->now_ns - s->sent_ns);
        if (l->schedule.rate != 0)
            load_histogram_add(&l->corrected, l->now_ns - s->from_ns);
    } else {
        l->c.late_answers++;
    }
    s->state = LOAD_UDP_ANSWERED;
}

static void datagram_input(struct load *l, const uint8_t *data, uint32_t len, uint32_t flow)
{
    struct load_udp *u = l->udp;
    const uint64_t k = len >= 8 ? load_raw64(data) : UINT64_MAX;
    if (k >= u->next || u->next - k > LOAD_UDP_SLOTS) {
        l->c.wrong++;
        return;
    }
    struct load_udp_slot *s = slot_of(u, k);
    uint8_t expected[LOAD_PAYLOAD_MAX + 8];
    fill(expected, l->p.payload, k);
    if (flow != s->flow)
        l->c.wrong++;  // the number does not belong to this flow
    else
        answered(l, s, len == l->p.payload && memcmp(data, expected, len) == 0);
}

static void frame_input(struct load *l, const struct pkt *p)
{
    struct wire_udp d;
    struct seg_in s;
    uint32_t flow;
    if (unlikely(!is_udp(l, p))) {
        if (load_frame_input(l, p, &s) != UINT32_MAX)
            l->c.strangers++;  // a TCP segment
        return;
    }
    if ((l->v6 ? parse6 : parse4)(l, p, &d, &flow) != DROP_NONE)
        l->c.damaged++;
    else if (flow == UINT32_MAX)
        l->c.strangers++;
    else
        datagram_input(l, pkt_data(p) + d.data_off, d.data_len, flow);
}

static void receive(struct load *l)
{
    struct pkt *in[BURST_MAX];
    const uint16_t n = l->p.port->ops->rx_burst(l->p.port, 0, in, BURST_MAX);
    for (uint16_t i = 0; i < n; i++)
        prefetch0(pkt_data(in[i]));
    for (uint16_t i = 0; i < n; i++)
        frame_input(l, in[i]);
    l->c.rx_packets += n;
    if (n != 0)
        pkt_free_bulk(in, n);
}

// Counts datagrams without an answer for LOAD_UDP_LOST_MS as lost, oldest first.
static void expire(struct load *l)
{
    struct load_udp *u = l->udp;
    for (; u->oldest != u->next; u->oldest++) {
        struct load_udp_slot *s = slot_of(u, u->oldest);
        if (s->state != LOAD_UDP_WAITING)
            continue;
        if (l->now_ns - s->sent_ns < LOAD_UDP_LOST_MS * UINT64_C(1000000))
            return;
        s->state = LOAD_UDP_LOST;
        l->in_flight--;
        l->c.datagrams_lost++;
    }
}

// The number of datagrams that may be sent now.
static uint64_t allowed(struct load *l)
{
    struct load_udp *u = l->udp;
    uint64_t n = l->p.window - MIN(l->in_flight, l->p.window);
    if (l->p.rate != 0) {
        if (l->schedule.rate == 0)
            load_schedule_begin(&l->schedule, l->p.rate, l->now_ns);
        n = load_schedule_backlog(&l->schedule, l->now_ns);
    }
    n = MIN(n, LOAD_UDP_SLOTS - (u->next - u->oldest));
    // if the port is full, queued packets are sent first
    n = MIN(n, (uint64_t)LOAD_OUT_MAX - l->n_out);
    return MIN(n, (uint64_t)LOAD_UDP_TURN);
}

static void send_some(struct load *l)
{
    for (uint64_t n = allowed(l); n != 0; n--) {
        if (!send_one(l, l->now_ns))
            return;
        if (l->schedule.rate != 0)
            slot_of(l->udp, l->udp->next - 1)->from_ns = load_schedule_take(&l->schedule);
    }
}

enum load_phase load_udp_turn(struct load *l)
{
    receive(l);
    expire(l);
    if (unlikely(!load_ready(l)))
        load_ask_hop(l);
    else if (l->phase == LOAD_ASK && !l->stop_asking)
        send_some(l);
    if (l->n_out != 0)
        load_flush(l);
    if (l->phase == LOAD_OPEN && load_ready(l))
        l->phase = LOAD_ASK;
    else if (l->phase == LOAD_ASK && l->stop_asking && l->in_flight == 0)
        l->phase = LOAD_END;
    return l->phase;
}
