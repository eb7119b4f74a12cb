// SPDX-License-Identifier: BSD-3-Clause
#include "base/bytes.h"
#include "drivers/bond_internal.h"

static void count(uint64_t *counter, uint64_t n)
{
    __atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

static uint64_t bytes_of(struct pkt *const *pkts, uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += pkt_total_len(pkts[i]);
    return bytes;
}

// ---- receive

static NOINLINE void drop_idle(struct bond_counts *c, struct pkt **pkts, uint16_t n)
{
    if (n == 0)
        return;
    count(&c->idle_packets, n);
    count(&c->idle_bytes, bytes_of(pkts, n));
    pkt_free_bulk(pkts, n);
}

static NOINLINE void take_slow(struct bond_lane *l, unsigned m, struct pkt *p)
{
    struct bond_counts *c = &l->counts[m];
    count(&c->slow_packets, 1);
    count(&c->slow_bytes, pkt_total_len(p));
    if (!slow_frames_put(&l->in[m], pkt_data(p), pkt_len(p)))
        count(&c->slow_lost, 1);
    pkt_free(p);
}

static bool is_slow(const struct pkt *p)
{
    return pkt_len(p) > SLOW_TYPE_AT + 2 && load_be16(pkt_data(p) + SLOW_TYPE_AT) == SLOW_TYPE;
}

// without_slow: takes the frames of the slow protocols out of the burst. Returns how many remain.
static uint16_t without_slow(struct bond_lane *l, unsigned m, struct pkt **pkts, uint16_t n)
{
    uint16_t kept = 0;
    for (uint16_t i = 0; i < n; i++)
        prefetch0(pkt_data(pkts[i]));
    for (uint16_t i = 0; i < n; i++)
        if (unlikely(is_slow(pkts[i])))
            take_slow(l, m, pkts[i]);
        else
            pkts[kept++] = pkts[i];
    return kept;
}

static uint16_t receive(const struct bond *b, struct bond_lane *l, unsigned m, uint16_t q,
                        struct pkt **pkts, uint16_t n)
{
    struct port *from = b->members[m].port;
    const bool used = (shared_u32_load(&b->use) >> (PORT_MEMBERS_MAX + m) & 1) != 0;
    uint16_t got = from->ops->rx_burst(from, q, pkts, n);
    if (b->is_lacp)
        got = without_slow(l, m, pkts, got);
    if (likely(used))
        return got;
    drop_idle(&l->counts[m], pkts, got);
    return 0;
}

// send_slow: what the control thread wants to be sent.
static void send_slow(struct bond *b, struct bond_lane *l)
{
    struct slow_frame f;
    struct pkt *p;
    for (unsigned m = 0; m < b->n; m++)
        while (unlikely(slow_frames_get(&b->members[m].out, &f))) {
            struct port *to = b->members[m].port;
            if (!pkt_alloc_bulk(b->pool, &p, 1))
                continue;  // as lost on the way: LACP sends again
            pkt_set_len(p, f.len);
            memcpy(pkt_data(p), f.bytes, f.len);
            if (to->ops->tx_burst(to, 0, &p, 1) == 0) {
                pkt_free(p);
                continue;
            }
            count(&l->slow_sent, 1);
            count(&l->slow_sent_bytes, f.len);
        }
}

// bond_rx_burst: each member is first in its turn, so that none is kept waiting by another.
uint16_t bond_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct bond *b = bond_of(p);
    struct bond_lane *l = &b->lanes[q];
    uint16_t got = 0;
    l->first = l->first + 1 < b->n ? l->first + 1 : 0;
    for (unsigned k = 0, m = l->first; k < b->n && got < n; k++) {
        got = (uint16_t)(got + receive(b, l, m, q, pkts + got, (uint16_t)(n - got)));
        m = m + 1 < b->n ? m + 1 : 0;
    }
    if (b->is_lacp && q == 0)
        send_slow(b, l);
    return got;
}

int bond_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const struct bond *b = bond_of(p);
    unsigned n = 0;
    for (unsigned m = 0; m < b->n; m++) {
        const int more = port_wait_fds(b->members[m].port, q, out + n, max - n);
        if (more < 0)
            return PORT_WAIT_NOT;
        n += (unsigned)more;
    }
    return (int)n;
}

// ---- transmit

static uint32_t mixed(uint32_t h, uint32_t v)
{
    h = (h ^ v) * 0x9e3779b1u;  // 2^32 by the golden ratio
    return h ^ h >> 15;
}

static uint32_t mix_words(uint32_t h, const uint8_t *from, unsigned words)
{
    for (unsigned i = 0; i < words; i++)
        h = mixed(h, load_be32(from + 4 * i));
    return h;
}

// mix_ip4: a fragment has no ports but the first, and all of them go the same way.
static uint32_t mix_ip4(uint32_t h, const uint8_t *ip, uint32_t len, enum bond_hash by)
{
    enum { IP4 = 20, TCP = 6, UDP = 17 };
    if (len < IP4)
        return h;
    h = mix_words(h, ip + 12, 2);
    const uint32_t head = (ip[0] & 0xf) * 4u;
    const bool part = (load_be16(ip + 6) & 0x3fff) != 0;
    const bool has_ports = ip[9] == TCP || ip[9] == UDP;
    return by == BOND_HASH_L34 && has_ports && !part && len >= head + 4 ? mix_words(h, ip + head, 1)
                                                                        : h;
}

static uint32_t mix_ip6(uint32_t h, const uint8_t *ip, uint32_t len, enum bond_hash by)
{
    enum { IP6 = 40, TCP = 6, UDP = 17 };
    if (len < IP6)
        return h;
    h = mix_words(h, ip + 8, 8);
    const bool has_ports = ip[6] == TCP || ip[6] == UDP;
    return by == BOND_HASH_L34 && has_ports && len >= IP6 + 4 ? mix_words(h, ip + IP6, 1) : h;
}

uint32_t bond_hash_of(const uint8_t *frame, uint32_t len, enum bond_hash by)
{
    enum { ETH = 14, IP4_TYPE = 0x0800, IP6_TYPE = 0x86dd };
    uint32_t at = PKT_TAG_TYPE_AT;
    if (len < ETH)
        return 0;
    if (load_be16(frame + at) == PKT_TAG_TYPE && len >= PKT_TAG_FRAME_BYTES)
        at += PKT_TAG_BYTES;
    const uint16_t type = load_be16(frame + at);
    const uint32_t h = mixed(mix_words(0, frame, 3), type);
    at += 2;
    if (by != BOND_HASH_L2 && type == IP4_TYPE)
        return mix_ip4(h, frame + at, len - at, by);
    if (by != BOND_HASH_L2 && type == IP6_TYPE)
        return mix_ip6(h, frame + at, len - at, by);
    return h;
}

static uint16_t send_by(const struct bond *b, unsigned m, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct port *to = b->members[m].port;
    return to->ops->tx_burst(to, q, pkts, n);
}

static uint32_t senders(const struct bond *b)
{
    return shared_u32_load(&b->use) & BOND_ALL;
}

uint16_t bond_backup_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct bond *b = bond_of(p);
    return send_by(b, (unsigned)__builtin_ctz(senders(b)), q, pkts, n);
}

// drop_all: no member is used.
static NOINLINE uint16_t drop_all(struct bond_lane *l, struct pkt **pkts, uint16_t n)
{
    count(&l->tx_no_member, n);
    pkt_free_bulk_slow(pkts, n);
    return n;
}

// send_spread: each flow to one of the members in `to`. What a member does not take is left at the
// end of pkts, in order.
static uint16_t send_spread(const struct bond *b, uint32_t to, uint16_t q, struct pkt **pkts,
                            uint16_t n)
{
    struct pkt *mine[BURST_MAX], *left[BURST_MAX];
    uint8_t list[PORT_MEMBERS_MAX], of[BURST_MAX];
    uint32_t n_list = 0, n_left = 0;
    for (uint32_t bits = to; bits != 0; bits &= bits - 1)
        list[n_list++] = (uint8_t)__builtin_ctz(bits);
    for (uint16_t i = 0; i < n; i++) {
        const uint32_t h = bond_hash_of(pkt_data(pkts[i]), pkt_len(pkts[i]), b->hash);
        of[i] = (uint8_t)((uint64_t)h * n_list >> 32);
    }
    for (uint32_t k = 0; k < n_list; k++) {
        uint16_t n_mine = 0;
        for (uint16_t i = 0; i < n; i++)
            if (of[i] == k)
                mine[n_mine++] = pkts[i];
        uint16_t sent = n_mine == 0 ? 0 : send_by(b, list[k], q, mine, n_mine);
        for (; sent < n_mine; sent++)
            left[n_left++] = mine[sent];
    }
    memcpy(pkts + n - n_left, left, n_left * sizeof(left[0]));
    return (uint16_t)(n - n_left);
}

uint16_t bond_lacp_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct bond *b = bond_of(p);
    const uint32_t to = senders(b);
    if (unlikely(to == 0))
        return drop_all(&b->lanes[q], pkts, n);
    if ((to & (to - 1)) == 0)
        return send_by(b, (unsigned)__builtin_ctz(to), q, pkts, n);
    return send_spread(b, to, q, pkts, MIN(n, (uint16_t)BURST_MAX));
}

void bond_say_farewell(struct bond *b)
{
    struct slow_frame f = {.len = LACP_FRAME_BYTES};
    for (unsigned m = 0; m < b->n && b->is_lacp; m++) {
        if (b->lacp.members[m].rx == LACP_RX_DISABLED)
            continue;
        lacp_farewell(&b->lacp, m, &b->port.mac, f.bytes);
        slow_frames_put(&b->members[m].out, f.bytes, f.len);
    }
    if (b->is_lacp)
        send_slow(b, &b->lanes[0]);
}
