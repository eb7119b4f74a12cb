// SPDX-License-Identifier: BSD-3-Clause
// fuzz_frame: bursts of frames through net_input(). The input is a row of records: a byte of flags,
// two bytes of length (little-endian, cut at 2,000 and at the end), the frame. Flags: bits 0-1 and
// 2-3 the port's verdicts on the IPv4 and the TCP checksum; 2 in bits 0-1 is as 1, and puts an
// ICMPv6 checksum right; bit 4 puts the frame's first 6 bytes right (our MAC); bit 5 ends the burst
// behind this frame; bit 6 lets a minute pass and net_tick() run; bit 7 leaves room behind the
// frame, which the answer to a solicitation may need.
//
// Checked: each packet ends in exactly one way, a payload lies in its frame, and where the fast
// parser accepts, the slow one says the same.
#include <stdlib.h>

#include "net/net.h"
#include "wire/build.h"
#include "wire/parse6.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FRAME_MAX = 2000, TX_ROOM = BURST_MAX, NET_BYTES = 98304 };

static const struct mac_addr own_mac = {{2, 0, 0, 0, 0, 1}};

struct world {
    struct net *net;
    struct udp_table *open;
    struct clock_now now;
    struct core_stats stats;
    struct pkt store[BURST_MAX];
    uint32_t n;
    uint64_t given, handed_up;
};

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

static void world_start(struct world *w, void *mem)
{
    struct net_config c;
    struct err e = {.text = ""};
    net_config_default(&c);
    c.mac = own_mac;
    c.n_locals = 4;
    c.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    c.locals[1] = (struct net_local){ip_from_v4(0xac100001), 16};
    CHECK(ip_parse("2001:db8::1", &c.locals[2].addr) &&
          ip_parse("2001:db8:5::1", &c.locals[3].addr));
    c.locals[2].prefix_bits = c.locals[3].prefix_bits = 64;
    c.gateway = 0x0a0000fe;
    c.arp_entries = NET_NEIGHBOR_ENTRIES_MIN;
    c.arp_rate_per_s = 0;  // no pool here: nothing may be allocated
    c.icmp_errors_per_s = 0;
    c.n_udp = 1;
    c.udp[0] = (struct net_udp_port){7, UINT16_MAX, 3};
    c.open = w->open;
    CHECK(net_footprint(&c) <= NET_BYTES);
    w->net = net_init(mem, &c, NULL, &w->stats, &e);
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

// world_add: the frame as a packet in memory of exactly its size.
static void world_add(struct world *w, uint8_t flags, const uint8_t *frame, uint32_t len)
{
    struct pkt *p = &w->store[w->n++];
    const uint32_t room = len + (flags & 0x80 ? ND_LLA_BYTES : 0);
    uint8_t *bytes = malloc(room != 0 ? room : 1);
    memcpy(bytes, frame, len);
    if (flags & 0x10)
        memcpy(bytes, own_mac.b, MIN(len, 6u));
    if ((flags & 3) == 2)
        put_sum6(bytes, len);
    memset(p, 0, sizeof(*p));
    p->m.buf_addr = bytes;
    p->m.buf_len = (uint16_t)room;
    p->m.nb_segs = 1;
    p->m.refcnt = 1;
    p->m.ol_flags = ip_verdict[flags & 3] | l4_verdict[flags >> 2 & 3];
    pkt_set_len(p, len);
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

static void world_run(struct world *w)
{
    struct pkt *pkts[BURST_MAX], *tx_pkts[TX_ROOM];
    struct net_rx rx;
    struct net_tx tx = {tx_pkts, 0, TX_ROOM};
    for (uint32_t i = 0; i < w->n; i++)
        pkts[i] = &w->store[i];
    net_input(w->net, w->now, pkts, w->n, &rx, &tx);
    w->given += w->n;
    w->handed_up += rx.n_segs + rx.n_icmp + rx.n_udp;
    CHECK(world_ended(w) == w->given);
    for (uint32_t i = 0; i < rx.n_segs; i++)
        check_segment(&rx.segs[i], pkts[rx.segs[i].pkt_ix]);
    for (uint32_t i = 0; i < rx.n_udp; i++)
        check_datagram(w, &rx.udp[i], pkts[rx.udp[i].pkt_ix]);
    uint32_t taken = 0;
    for (uint32_t i = 0; i < w->n; i++) {
        taken += pkts[i] == NULL;
        free(w->store[i].m.buf_addr);
    }
    CHECK(taken == tx.n);
    w->n = 0;
    w->now = clock_at_us(w->now.us + 7000);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint8_t mem[NET_BYTES] CACHE_ALIGNED;
    static struct udp_table open;  // net only looks
    struct world w = {.open = &open};
    if (open.n_open == 0)
        open_ports(&open);
    world_start(&w, mem);
    while (n >= 3) {
        uint8_t flags = data[0];
        uint32_t len = data[1] | (uint32_t)data[2] << 8;
        data += 3;
        n -= 3;
        len = MIN(len, MIN((uint32_t)n, (uint32_t)FRAME_MAX));
        world_add(&w, flags, data, len);
        data += len;
        n -= len;
        if (w.n == BURST_MAX || (flags & 0x20) != 0)
            world_run(&w);
        if (flags & 0x40) {
            struct net_tx none = {NULL, 0, 0};
            w.now = clock_at_us(w.now.us + NET_NEIGHBOR_REACHABLE_MS * 1000ull);
            net_tick(w.net, w.now, &none);
        }
    }
    world_run(&w);
    return 0;
}
