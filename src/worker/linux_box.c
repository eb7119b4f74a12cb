// SPDX-License-Identifier: BSD-3-Clause
#include "worker/linux_box.h"

#include <string.h>

#include "stat/trace_points.h"
#include "wire/proto.h"
#include "wire/raw.h"

enum { VLAN_TAG_BYTES = 4 };

static uint64_t box_bytes(void)
{
    return ALIGN_UP(sizeof(struct linux_box), CACHE_LINE);
}

uint64_t linux_box_footprint(void)
{
    return box_bytes() + frame_ring_footprint(LINUX_TO_UNITS) +
           frame_ring_footprint(LINUX_FROM_UNITS);
}

struct linux_box *linux_box_init(void *mem, uint32_t rate, const struct mac_addr *mac,
                                 struct siphash_key key, const struct linux_flows *flows)
{
    struct linux_box *b = mem;
    uint8_t *at = (uint8_t *)mem + box_bytes();
    memset(b, 0, sizeof(*b));
    b->to = frame_ring_init(at, LINUX_TO_UNITS);
    b->from = frame_ring_init(at + frame_ring_footprint(LINUX_TO_UNITS), LINUX_FROM_UNITS);
    b->flows = flows;
    b->rate = rate;
    b->mac = *mac;
    for (unsigned i = 0; i < NET_LINUX_CLASSES; i++)
        limit_init(&b->limits[i],
                   (struct siphash_key){siphash_u64x2(&key, i, 0), siphash_u64x2(&key, i, 1)});
    return b;
}

// source_at: whose limit a frame counts against: the source address of IP; else the sender's MAC.
static uint64_t source_at(const uint8_t *frame, uint32_t len)
{
    const uint8_t *ip = frame + ETH_BYTES;
    const uint16_t type = load_be16(frame + ETH_TYPE_AT);
    if (type == ETH_TYPE_IP4 && len >= ETH_BYTES + IP4_BYTES)
        return load_be32(ip + IP4_SRC_AT);
    if (type == ETH_TYPE_IP6 && len >= ETH_BYTES + IP6_BYTES) {
        struct ip_addr a;
        memcpy(a.b, ip + IP6_SRC_AT, sizeof(a.b));
        return source_of(&a);
    }
    return (uint64_t)load_be16(frame + ETH_SRC_AT) << 32 | load_be32(frame + ETH_SRC_AT + 2);
}

static bool within_rate(struct linux_box *b, const struct pkt *p, uint8_t cls, uint64_t now_us)
{
    const uint32_t share = cls == NET_LINUX_FLOW ? LINUX_FLOW_SHARE : LINUX_OTHER_SHARE;
    const uint64_t who = source_at(pkt_data(p), pkt_len(p));
    return limit_take(&b->limits[cls], MAX(b->rate / share, 1u), who, now_us);
}

static bool has_room(const struct linux_box *b, const struct pkt *p, uint8_t cls)
{
    const uint32_t kept =
        cls == NET_LINUX_FLOW || cls == NET_LINUX_LINK ? 0 : (uint32_t)LINUX_TO_UNITS / 2;
    return frame_ring_room(b->to) >= kept + frame_ring_units(pkt_total_len(p));
}

// give: DROP_NONE, or why the packet was not given.
static enum drop_reason give(struct worker *w, struct linux_box *b, const struct pkt *p,
                             uint8_t cls)
{
    if (!within_rate(b, p, cls, w->tcp.now.us)) {
        b->counts.rate[cls]++;
        return DROP_linux_rate;
    }
    if (!has_room(b, p, cls) || !frame_ring_put_pkt(b->to, p)) {
        b->counts.full++;
        return DROP_linux_full;
    }
    b->counts.given[cls]++;
    return DROP_NONE;
}

void linux_box_give(struct worker *w, unsigned port, const struct pkt *p, uint8_t cls)
{
    const enum drop_reason reason = give(w, w->linux_boxes[port], p, cls);
    if (reason != DROP_NONE) {
        stat_drop(w->stats, reason, 1);
        return;
    }
    w->stats->c.to_linux++;
    w->stats->c.delivered++;
}

void linux_box_claim(struct worker *w, unsigned port, const struct pkt *p, uint8_t cls)
{
    within_rate(w->linux_boxes[port], p, cls, w->tcp.now.us);
}

static void copy(struct worker *w, unsigned port, const struct pkt *p, uint8_t cls)
{
    if (give(w, w->linux_boxes[port], p, cls) == DROP_NONE)
        w->stats->c.to_linux_copies++;
    else
        w->stats->c.to_linux_missed++;
}

void linux_box_net(struct worker *w)
{
    static void (*const how[])(struct worker *, unsigned, const struct pkt *, uint8_t) = {
        [NET_LINUX_GIVE] = linux_box_give,
        [NET_LINUX_COPY] = copy,
        [NET_LINUX_CLAIM] = linux_box_claim,
    };
    for (uint32_t i = 0; i < w->rx.n_linux; i++) {
        const struct net_linux *l = &w->rx.linux_pkts[i];
        how[l->how](w, w->rx_port, w->pkts[l->pkt_ix], l->cls);
    }
    w->rx.n_linux = 0;
}

static uint8_t class_of_segment(const struct linux_box *b, const struct pkt *p)
{
    const struct linux_flow f = linux_flow_of(b->flows, pkt_data(p), pkt_len(p), false);
    return linux_flow_known(b->flows, f.hash) ? NET_LINUX_FLOW : NET_LINUX_TCP;
}

void linux_box_segment(struct worker *w, const struct pkt *p)
{
    linux_box_give(w, w->rx_port, p, class_of_segment(w->linux_boxes[w->rx_port], p));
}

void linux_box_stranger(struct worker *w, const struct seg_in *s, const struct pkt *p)
{
    if (tcp_is_for_linux(&w->tcp, &s->key))
        linux_box_claim(w, w->rx_port, p, class_of_segment(w->linux_boxes[w->rx_port], p));
}

// may_send: whether the rate of what Linux sends allows a packet now; takes it.
static bool may_send(struct linux_box *b, uint64_t now_ns)
{
    const uint64_t each_ns = 1000000000 / MAX(b->rate, 1u), burst_ns = LINUX_FROM_BURST * each_ns;
    if (b->from_at_ns + burst_ns < now_ns)
        b->from_at_ns = now_ns - burst_ns;
    if (b->from_at_ns > now_ns)
        return false;
    b->from_at_ns += each_ns;
    return true;
}

// is_good: whether a packet of Linux may be sent. A bridge on the interface would send packets of
// others, which the port's neighbors would then look for here.
static bool is_good(struct worker *w, struct linux_box *b, const uint8_t *frame)
{
    if (memcmp(frame + ETH_SRC_AT, b->mac.b, sizeof(b->mac.b)) == 0)
        return true;
    b->counts.bad_source++;
    stat_drop(w->stats, DROP_linux_source, 1);
    return false;
}

static void pass_on(struct worker *w, struct worker_port *wp, struct linux_box *b, struct pkt *p,
                    uint32_t len)
{
    frame_ring_take(b->from, pkt_data(p));
    pkt_set_len(p, len);
    if (!is_good(w, b, pkt_data(p))) {
        pkt_free(p);
        return;
    }
    wp->tx.pkts[wp->tx.n++] = p;
    w->stats->c.from_linux++;
    b->counts.sent++;
    b->counts.sent_bytes += len;
}

static void too_long(struct worker *w, struct linux_box *b)
{
    frame_ring_take(b->from, NULL);
    b->counts.bad_length++;
    stat_drop(w->stats, DROP_linux_length, 1);
}

// send_some: leaves half of the places of the port to TCP.
static void send_some(struct worker *w, struct worker_port *wp, struct linux_box *b)
{
    const uint32_t len_max = MIN((uint32_t)wp->port->mtu + ETH_BYTES + VLAN_TAG_BYTES, PKT_ROOM);
    for (unsigned i = 0; i < LINUX_FROM_TURN && wp->tx.n < wp->tx.room / 2; i++) {
        const uint32_t len = frame_ring_next(b->from);
        struct pkt *p;
        if (len == 0)
            return;
        if (!may_send(b, w->tcp.now.us * 1000)) {
            b->counts.waits++;
            return;
        }
        if (len < ETH_BYTES || len > len_max)
            too_long(w, b);
        else if (pkt_alloc_bulk(w->linux_pool, &p, 1))
            pass_on(w, wp, b, p, len);
        else
            return;  // it waits
    }
}

void linux_box_send(struct worker *w)
{
    for (unsigned p = 0; p < w->n_ports; p++)
        if (w->linux_boxes[p] != NULL && w->id == 0)
            send_some(w, &w->ports[p], w->linux_boxes[p]);
}
