// SPDX-License-Identifier: BSD-3-Clause
// fuzz_frame: bursts of frames through net_input(). The input is a row of records: a byte of flags,
// two bytes of length (little-endian), the frame. The length is in bits 0-13, cut at 9,216 and at
// the end. Bit 15: the frame is in several buffers, and a byte before it says how many bytes are in
// each but the last one: its value, or from 128 on (value - 127) * 64. Bit 14 of the first record:
// the port has an MTU of 9,000 bytes instead of 1,500. Flags: bits 0-1 and 2-3 the port's verdicts
// on the IPv4 and the TCP checksum; 2 in bits 0-1 is as 1, and puts an ICMPv6 checksum right; bit 4
// puts the frame's first 6 bytes right (our MAC); bit 5 ends the burst behind this frame; bit 6
// lets a minute pass and net_tick() run; bit 7 leaves room behind the frame, which the answer to a
// solicitation may need.
//
// Checked: each packet ends in exactly one way, a payload lies in the first buffer of its frame, an
// answer is one buffer and fits in the MTU, no packet is kept, and where the fast parser accepts,
// the slow one says the same.
#include <rte_mempool.h>
#include <stdlib.h>

#include "net/net.h"
#include "wire/build.h"
#include "wire/parse6.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FRAME_MAX = PKT_JUMBO_ROOM, TX_ROOM = BURST_MAX, NET_BYTES = 98304 };

static const struct mac_addr own_mac = {{2, 0, 0, 0, 0, 1}};

struct world {
    struct net *net;
    struct udp_table *open;
    struct clock_now now;
    struct core_stats stats;
    struct pkt_pool *pool;
    struct pkt *pkts[BURST_MAX];
    uint32_t n, mtu;
    uint64_t given, handed_up;
};

// The pool's packets come from malloc(). EAL, which would give it a ring, does not run here.
static uint32_t pool_out;

static int pool_get(struct rte_mempool *mp, void **objs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct pkt *p = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*p), CACHE_LINE));
        memset(p, 0, sizeof(*p));
        p->m.pool = mp;
        p->m.buf_len = PKT_HEADROOM + PKT_JUMBO_ROOM;
        p->m.buf_addr = malloc(p->m.buf_len);
        p->m.nb_segs = 1;
        rte_mbuf_refcnt_set(&p->m, 1);
        objs[i] = p;
    }
    pool_out += n;
    return 0;
}

static int pool_put(struct rte_mempool *mp, void *const *objs, unsigned n)
{
    (void)mp;
    for (unsigned i = 0; i < n; i++) {
        free(((struct pkt *)objs[i])->m.buf_addr);
        free(objs[i]);
    }
    pool_out -= n;
    return 0;
}

static int pool_alloc(struct rte_mempool *mp)
{
    (void)mp;
    return 0;
}

static void pool_free(struct rte_mempool *mp)
{
    (void)mp;
}

static unsigned pool_count(const struct rte_mempool *mp)
{
    (void)mp;
    return 0;
}

static struct pkt_pool *pool_make(void)
{
    static const struct rte_mempool_ops ops = {.name = "malloc",
                                               .alloc = pool_alloc,
                                               .free = pool_free,
                                               .enqueue = pool_put,
                                               .dequeue = pool_get,
                                               .get_count = pool_count};
    static struct {
        struct pkt_pool pool;
        struct rte_pktmbuf_pool_private private;
    } p CACHE_ALIGNED;
    p.pool.mp.ops_index = rte_mempool_register_ops(&ops);
    ((struct rte_pktmbuf_pool_private *)rte_mempool_get_priv(&p.pool.mp))->mbuf_data_room_size =
        PKT_HEADROOM + PKT_JUMBO_ROOM;
    return &p.pool;
}

// open_ports: as applications do it: 5000 of one address, 5001 of all, each of one family.
static void open_ports(struct udp_table *t)
{
    udp_table_init(t, (struct siphash_key){1, 2});
    const struct udp_open ports[] = {{.at = ip_from_v4(0x0a000001), .port = 5000},
                                     {.at = ip_from_v4(0), .port = 5001},
                                     {.at = {{0}}, .port = 5001, .v6only = true}};
    for (unsigned i = 0; i < ARRAY_LEN(ports); i++) {
        struct udp_open o = ports[i];
        o.service = 5;
        CHECK(udp_table_open(t, &o) >= 0);
    }
}

static void world_start(struct world *w, void *mem, bool jumbo)
{
    struct net_config c;
    struct err e = {.text = ""};
    net_config_default(&c);
    c.mac = own_mac;
    if (jumbo)
        c.mtu = 9000;
    w->mtu = c.mtu;
    c.n_locals = 4;
    c.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    c.locals[1] = (struct net_local){ip_from_v4(0xac100001), 16};
    CHECK(ip_parse("2001:db8::1", &c.locals[2].addr) &&
          ip_parse("2001:db8:5::1", &c.locals[3].addr));
    c.locals[2].prefix_bits = c.locals[3].prefix_bits = 64;
    c.gateway = 0x0a0000fe;
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    c.arp_rate_per_s = 0;
    c.icmp_errors_per_s = 0;
    c.n_udp = 1;
    c.udp[0] = (struct net_udp_port){7, UINT16_MAX, 3};
    c.open = w->open;
    CHECK(net_footprint(&c) <= NET_BYTES);
    w->net = net_init(mem, &c, w->pool, &w->stats, &e);
    CHECK(w->net != NULL);
    w->now = clock_at_us(1000000);
}

static const uint64_t ip_verdict[4] = {0, RTE_MBUF_F_RX_IP_CKSUM_GOOD, RTE_MBUF_F_RX_IP_CKSUM_GOOD,
                                       RTE_MBUF_F_RX_IP_CKSUM_BAD};
static const uint64_t l4_verdict[4] = {0, RTE_MBUF_F_RX_L4_CKSUM_GOOD, RTE_MBUF_F_RX_L4_CKSUM_GOOD,
                                       RTE_MBUF_F_RX_L4_CKSUM_BAD};

// put_sum6: the checksum of ICMPv6 right behind the IPv6 header, if that is what the frame holds.
static void put_sum6(uint8_t *f, uint32_t len)
{
    struct ip_addr src, dst;
    if (len < TCP6_OFF + 4 || load_be16(f + 12) != ETH_TYPE_IP6 || f[20] != IP_PROTO_ICMP6)
        return;
    const uint16_t n = (uint16_t)MIN((uint32_t)load_be16(f + 18), len - TCP6_OFF);
    if (n < 4)
        return;
    memcpy(src.b, f + 22, 16);
    memcpy(dst.b, f + 38, 16);
    store_be16(f + TCP6_OFF + 2, 0);
    const uint64_t pseudo = cksum_pseudo6(&src, &dst, IP_PROTO_ICMP6, n);
    store_raw16(f + TCP6_OFF + 2, (uint16_t)~cksum_fold(cksum_add(pseudo, f + TCP6_OFF, n)));
}

// buffer: a packet of these bytes, in memory of exactly their size and `more`.
static struct pkt *buffer(const uint8_t *data, uint32_t len, uint32_t more)
{
    struct pkt *p = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*p), CACHE_LINE));
    const uint32_t room = len + more;
    memset(p, 0, sizeof(*p));
    p->m.buf_addr = malloc(room != 0 ? room : 1);
    memcpy(p->m.buf_addr, data, len);
    p->m.buf_len = (uint16_t)room;
    p->m.nb_segs = 1;
    p->m.refcnt = 1;
    pkt_set_len(p, len);
    return p;
}

static void buffers_free(struct pkt *p)
{
    for (struct rte_mbuf *m = &p->m, *next; m != NULL; m = next) {
        next = m->next;
        free(m->buf_addr);
        free(m);
    }
}

// chain: the bytes in buffers of `each` bytes, as a device scatters a frame; the last has the rest.
static struct pkt *chain(const uint8_t *data, uint32_t len, uint32_t each, uint32_t more)
{
    struct pkt *parts[PKT_CHAIN_MAX];
    unsigned n = 0;
    while (n < PKT_CHAIN_MAX - 1 && len > each) {
        parts[n++] = buffer(data, each, 0);
        data += each;
        len -= each;
    }
    parts[n++] = buffer(data, len, more);
    pkt_chain(parts, n);
    return parts[0];
}

// world_add: the frame as a packet, in buffers of `each` bytes.
static void world_add(struct world *w, uint8_t flags, const uint8_t *frame, uint32_t len,
                      uint32_t each)
{
    static uint8_t bytes[FRAME_MAX];
    memcpy(bytes, frame, len);
    if (flags & 0x10)
        memcpy(bytes, own_mac.b, MIN(len, 6u));
    if ((flags & 3) == 2)
        put_sum6(bytes, len);
    struct pkt *p = chain(bytes, len, each, flags & 0x80 ? ND_LLA_BYTES : 0);
    p->m.ol_flags = ip_verdict[flags & 3] | l4_verdict[flags >> 2 & 3];
    w->pkts[w->n++] = p;
}

// parse_slowly: the segment of a frame that was taken, by the parsers that know every form.
static void parse_slowly(const struct pkt *p, struct seg_in *slow)
{
    const uint8_t *frame = pkt_data(p);
    const uint32_t len = pkt_len(p);
    const bool verify = pkt_rx_l4_cksum(p) == PKT_CKSUM_UNKNOWN;
    struct wire_ip4 ip;
    struct wire_ip6 ip6;
    if (load_be16(frame + 12) == ETH_TYPE_IP6) {
        CHECK(wire_parse_ip6(frame, len, &ip6) == DROP_NONE);
        CHECK(wire_parse_tcp6(frame, &ip6, verify, slow) == DROP_NONE);
        CHECK(!ip_is_v4(&slow->key.remote));
        return;
    }
    CHECK(wire_parse_ip4(frame, len, pkt_rx_ip_cksum(p) == PKT_CKSUM_UNKNOWN, &ip) == DROP_NONE);
    CHECK(wire_parse_tcp(frame, &ip, verify, slow) == DROP_NONE);
    CHECK(ip_is_v4(&slow->key.remote));
}

static void check_segment(const struct seg_in *s, const struct pkt *p)
{
    struct seg_in slow;
    CHECK(p != NULL && (uint32_t)s->data_off + s->data_len <= pkt_len(p));
    parse_slowly(p, &slow);
    CHECK(ip_is_v4(&s->key.remote) == (s->key.local_ix < 2));
    slow.key.local_ix = s->key.local_ix;
    slow.pkt_ix = s->pkt_ix;
    CHECK(memcmp(s, &slow, offsetof(struct seg_in, sack_count) + 1) == 0);
    CHECK(s->key.local_ix < 4 && s->key.local_port != 0 && s->key.remote_port != 0);
}

static void check_datagram(const struct world *w, const struct udp_in *u, const struct pkt *p)
{
    CHECK(p != NULL && (uint32_t)u->data_off + u->data_len <= pkt_len(p));
    if (u->kind == UDP_SERVED) {
        CHECK(u->dst_port == 7 && u->src_port != 7 && u->service == 3 && u->local < 4);
        return;
    }
    CHECK(u->open < UDP_PORTS_MAX && w->open->open[u->open].port == u->dst_port);
    CHECK(u->service == 5 && (u->local < 4 || (u->local == NET_TO_GROUP && u->kind != UDP_ERROR)));
}

static uint64_t world_ended(const struct world *w)
{
    uint64_t ended = w->handed_up + w->stats.c.delivered + w->stats.c.answered;
    for (unsigned i = 0; i < DROP_COUNT; i++)
        ended += w->stats.drops[i];
    return ended;
}

static void check_answer(const struct world *w, const struct pkt *p)
{
    CHECK(!pkt_is_chain(p) && p->m.next == NULL && pkt_len(p) == pkt_total_len(p));
    CHECK(pkt_len(p) <= w->mtu + ETH_BYTES);
}

static void world_run(struct world *w)
{
    struct pkt *pkts[BURST_MAX], *tx_pkts[TX_ROOM];
    struct net_rx rx;
    struct net_tx tx = {tx_pkts, 0, TX_ROOM};
    for (uint32_t i = 0; i < w->n; i++)
        pkts[i] = w->pkts[i];
    net_input(w->net, w->now, pkts, w->n, &rx, &tx);
    w->given += w->n;
    w->handed_up += rx.n_segs + rx.n_icmp + rx.n_udp;
    CHECK(world_ended(w) == w->given);
    for (uint32_t i = 0; i < rx.n_segs; i++)
        check_segment(&rx.segs[i], pkts[rx.segs[i].pkt_ix]);
    for (uint32_t i = 0; i < rx.n_udp; i++)
        check_datagram(w, &rx.udp[i], pkts[rx.udp[i].pkt_ix]);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < w->n; i++)
        taken += pkts[i] == NULL;
    CHECK(taken + pool_out == tx.n);  // no packet of the pool was kept
    for (uint32_t i = 0; i < tx.n; i++)
        check_answer(w, tx.pkts[i]);
    for (uint32_t i = 0; i < tx.n; i++)
        if (tx.pkts[i]->m.pool != NULL)
            pkt_free(tx.pkts[i]);
    CHECK(pool_out == 0);
    for (uint32_t i = 0; i < w->n; i++)
        buffers_free(w->pkts[i]);
    w->n = 0;
    w->now = clock_at_us(w->now.us + 7000);
}

// record: what stands before a frame.
struct record {
    uint8_t flags;
    uint32_t len, each;
};

// take: reads a record; the frame follows. False: the input has no more.
static bool take(struct record *r, const uint8_t **data, size_t *n)
{
    if (*n < 3)
        return false;
    const uint8_t *d = *data;
    const bool split = d[2] & 0x80 && *n > 3;
    const size_t head = 3 + (size_t)split;
    *r = (struct record){d[0], d[1] | (d[2] & 0x3fu) << 8, FRAME_MAX};
    if (split)
        r->each = d[3] < 128 ? MAX(d[3], 1u) : (d[3] - 127u) * 64;
    *data += head;
    *n -= head;
    r->len = MIN(r->len, (uint32_t)MIN(*n, (size_t)FRAME_MAX));
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t mem[NET_BYTES] CACHE_ALIGNED;
    static struct udp_table open;  // net stores only paths
    static struct pkt_pool *pool;
    if (pool == NULL) {
        pool = pool_make();
        open_ports(&open);
    }
    udp_paths_forget(&open);
    struct world w = {.open = &open, .pool = pool};
    world_start(&w, mem, n >= 3 && data[2] & 0x40);
    for (struct record r; take(&r, &data, &n);) {
        world_add(&w, r.flags, data, r.len, r.each);
        data += r.len;
        n -= r.len;
        if (w.n == BURST_MAX || (r.flags & 0x20) != 0)
            world_run(&w);
        if (r.flags & 0x40) {
            struct net_tx none = {NULL, 0, 0};
            w.now = clock_at_us(w.now.us + NET_NEIGHBOR_REACHABLE_MS * 1000ull);
            net_tick(w.net, w.now, &none);
        }
    }
    world_run(&w);
    return 0;
}
