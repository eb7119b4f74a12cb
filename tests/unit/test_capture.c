// SPDX-License-Identifier: BSD-3-Clause
// Copies of frames at a worker: ring, filter, coming and going, over real turns.
#include <pcap.h>

#include "base/clock.h"
#include "hosts.h"
#include "pkt_env.h"
#include "seed.h"
#include "server/capture_filter.h"
#include "server/capture_reader.h"
#include "worker/capture_ring.h"

static struct hosts *h;
static struct server *s;  // the first end's
static struct worker *w;
static struct pkt_pool *pool;

static int set_up(void **state)
{
    static const struct c10m_app app = {.name = "none"};
    static const struct c10m_app *const apps[2][3] = {{&app}, {&app}};
    h = hosts_new(apps, NULL);
    s = &h->e[0].server;
    w = h->e[0].w;
    return 0;
}

static int tear_down(void **state)
{
    capture_readers_stop(s);
    hosts_free(h);
    return 0;
}

static uint32_t ports_asked = 1;

static struct capture_reader *dump_of(uint32_t snap, uint8_t ways, const char *program)
{
    const struct capture_reader_params p = {.program = program,
                                            .snap_bytes = snap,
                                            .ports = ports_asked,
                                            .directions = ways,
                                            .ring_bytes = CAPTURE_RING_BYTES_MIN};
    struct err err = {.text = ""};
    struct capture_reader *d = capture_reader_new(s, &p, &err);
    if (d == NULL)
        print_message("%s\n", err.text);
    return d;
}

static void turns(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        hosts_turn(h, 0);
}

static struct capture_reader *attached(uint32_t snap, uint8_t ways, const char *program)
{
    struct capture_reader *d = dump_of(snap, ways, program);
    assert_non_null(d);
    while (!capture_reader_attach(d))
        continue;
    turns(WORKER_HOUSE_TURNS);
    assert_true(capture_reader_acked(d));
    return d;
}

// A frame of len bytes, whose contents say which one it is.
static struct pkt *frame_of(uint32_t len, uint8_t number)
{
    struct pkt *p = pkt_of(pool, 0, len);
    for (uint32_t i = 0; i < len; i++)
        pkt_data(p)[i] = (uint8_t)(number + i);
    return p;
}

static void copy_one(struct pkt *p, enum capture_direction way)
{
    assert_non_null(w->captures);
    capture_burst(w->captures, 0, way, &p, 1);
    pkt_free(p);
}

static void frame_is(struct capture_reader *d, uint32_t bytes, uint32_t orig, uint8_t number)
{
    static uint8_t got[CAPTURE_SNAP_MAX];
    struct capture_frame f;
    assert_true(capture_reader_peek(d, &f));
    assert_int_equal(f.bytes, bytes);
    assert_int_equal(f.orig_bytes, orig);
    capture_reader_take(d, got);
    for (uint32_t i = 0; i < bytes; i++)
        if (got[i] != (uint8_t)(number + i))
            fail_msg("byte %u of %u is %u", i, bytes, got[i]);
}

static void frames_come_in_order_with_their_bytes(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN | CAPTURE_OUT, NULL);
    struct capture_frame f;
    assert_false(capture_reader_peek(d, &f));
    const uint64_t before = tsc_read();
    copy_one(frame_of(60, 1), CAPTURE_IN);
    copy_one(frame_of(1514, 2), CAPTURE_OUT);
    copy_one(frame_of(33, 3), CAPTURE_IN);
    assert_true(capture_reader_peek(d, &f));
    assert_int_equal(f.direction, CAPTURE_IN);
    assert_true(f.tsc >= before && f.tsc <= tsc_read());
    frame_is(d, 60, 60, 1);
    assert_true(capture_reader_peek(d, &f));
    assert_int_equal(f.direction, CAPTURE_OUT);
    frame_is(d, 1514, 1514, 2);
    frame_is(d, 33, 33, 3);
    assert_false(capture_reader_peek(d, &f));
    capture_reader_free(d);
}

// vlan_copied: what is copied of a frame of 60 bytes of the port of VLAN 100 on port 0, with these
// ports in the dump. Returns the bytes; the frame itself stays without a tag.
static uint32_t vlan_copied(uint32_t ports, const char *program, uint8_t got[64])
{
    const unsigned ix = s->params.n_ports;
    struct capture_frame f;
    s->params.ports[ix] = (struct server_port_params){.port = {.driver = "vlan", .vlan = 100}};
    s->params.n_ports++;
    ports_asked = ports | 1u << ix;
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN, program);
    struct pkt *p = frame_of(60, 0);
    capture_burst(w->captures, ix, CAPTURE_IN, &p, 1);
    assert_int_equal(pkt_len(p), 60);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(pkt_data(p)[i], i);
    pkt_free(p);
    const bool some = capture_reader_peek(d, &f);
    if (some)
        capture_reader_take(d, got);
    capture_reader_free(d);
    s->params.n_ports--;
    ports_asked = 1;
    return some ? f.bytes : 0;
}

static void a_frame_of_a_vlan_has_its_tag_where_its_parent_is_captured(void **state)
{
    // ether[14:2] == 100: ldh [14]; jeq #100; ret
    static const char of_100[] = "4 40 0 0 14 21 0 1 100 6 0 0 262144 6 0 0 0";
    static const uint8_t tag[4] = {0x81, 0, 0, 100};
    uint8_t got[64];
    assert_int_equal(vlan_copied(1, NULL, got), 64);
    assert_memory_equal(got + 12, tag, sizeof(tag));
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(got[i < 12 ? i : i + 4], i);
    assert_int_equal(vlan_copied(0, NULL, got), 60);
    for (unsigned i = 0; i < 60; i++)
        assert_int_equal(got[i], i);
    assert_int_equal(vlan_copied(1, of_100, got), 64);  // the filter sees it too
    assert_int_equal(vlan_copied(0, of_100, got), 0);
}

static void only_so_many_bytes_are_copied_as_were_asked_for(void **state)
{
    struct capture_reader *d = attached(96, CAPTURE_IN, NULL);
    for (uint32_t n = 1; n < 200; n++) {
        copy_one(frame_of(n, (uint8_t)n), CAPTURE_IN);
        frame_is(d, MIN(n, 96u), n, (uint8_t)n);
    }
    capture_reader_free(d);
}

static void a_ring_wraps_at_every_place(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN, NULL);
    struct rng rng = test_rng(__func__);
    for (unsigned i = 0; i < 20000; i++) {
        const uint32_t len = 14 + (uint32_t)(rng_u64(&rng) % 2000);
        copy_one(frame_of(len, (uint8_t)i), CAPTURE_IN);
        frame_is(d, len, len, (uint8_t)i);
    }
    capture_reader_free(d);
}

static void a_full_ring_drops_and_counts_and_goes_on(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN, NULL);
    for (unsigned i = 0; i < 1000; i++)
        copy_one(frame_of(1500, (uint8_t)i), CAPTURE_IN);
    struct capture_ring_counts c = capture_reader_counts(d, 0);
    assert_int_equal(c.seen, 1000);
    assert_int_equal(c.matched, 1000);
    // A ring of 2^n elements holds one less.
    const unsigned fit = (CAPTURE_RING_BYTES_MIN / CAPTURE_UNIT_BYTES - 1) /
                         (1 + (1500 + CAPTURE_UNIT_BYTES - 1) / CAPTURE_UNIT_BYTES);
    assert_int_equal(c.dropped, 1000 - fit);
    for (unsigned i = 0; i < fit; i++)
        frame_is(d, 1500, 1500, (uint8_t)i);
    struct capture_frame f;
    assert_false(capture_reader_peek(d, &f));
    copy_one(frame_of(1500, 7), CAPTURE_IN);
    frame_is(d, 1500, 1500, 7);
    capture_reader_free(d);
}

static void a_chain_is_copied_whole(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_OUT, NULL);
    struct pkt *pkts[PKT_CHAIN_MAX];
    uint32_t total = 0;
    for (unsigned i = 0; i < PKT_CHAIN_MAX; i++) {
        pkts[i] = frame_of(1990 - i, (uint8_t)total);
        total += 1990 - i;
    }
    pkt_chain(pkts, PKT_CHAIN_MAX);
    copy_one(pkts[0], CAPTURE_OUT);
    frame_is(d, total, total, 0);
    capture_reader_free(d);
}

static void only_the_way_and_the_port_that_were_asked_for_are_copied(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_OUT, NULL);
    copy_one(frame_of(60, 1), CAPTURE_IN);
    copy_one(frame_of(60, 2), CAPTURE_OUT);
    struct pkt *other = frame_of(60, 3);
    capture_burst(w->captures, 1, CAPTURE_OUT, &other, 1);
    pkt_free(other);
    frame_is(d, 60, 60, 2);
    struct capture_frame f;
    assert_false(capture_reader_peek(d, &f));
    assert_int_equal(capture_reader_counts(d, 0).seen, 1);
    capture_reader_free(d);
}

static void two_dumps_get_their_own_copies(void **state)
{
    struct capture_reader *a = attached(20, CAPTURE_IN, NULL), *b = attached(30, CAPTURE_IN, NULL);
    copy_one(frame_of(60, 1), CAPTURE_IN);
    frame_is(a, 20, 60, 1);
    capture_reader_free(a);
    turns(WORKER_HOUSE_TURNS);
    copy_one(frame_of(60, 2), CAPTURE_IN);
    frame_is(b, 30, 60, 1);
    frame_is(b, 30, 60, 2);
    capture_reader_free(b);
    turns(WORKER_HOUSE_TURNS);
    capture_readers_reap(s);
    assert_null(w->captures);
    assert_int_equal(capture_readers_usage(s).ring_bytes, 0);
}

static void memory_stays_until_the_worker_has_let_go(void **state)
{
    struct capture_reader *d = attached(60, CAPTURE_IN, NULL);
    capture_reader_free(d);
    for (unsigned i = 0; i < 10; i++)
        capture_readers_reap(s);  // the worker makes no turn
    struct capture_readers_usage u = capture_readers_usage(s);
    assert_int_equal(u.dumps, 0);
    assert_int_equal(u.waiting, 1);
    assert_true(u.ring_bytes >= CAPTURE_RING_BYTES_MIN);
    copy_one(frame_of(60, 1), CAPTURE_IN);  // it may still write there
    turns(WORKER_HOUSE_TURNS);
    capture_readers_reap(s);
    u = capture_readers_usage(s);
    assert_int_equal(u.waiting, 0);
    assert_int_equal(u.ring_bytes, 0);
    assert_null(w->captures);
}

// It may have read which list it gets, and not yet said so.
static void a_worker_may_be_about_to_follow_what_is_over(void **state)
{
    struct capture_reader *d = dump_of(60, CAPTURE_IN, NULL);
    assert_non_null(d);
    while (!capture_reader_attach(d))
        continue;
    capture_reader_free(d);
    capture_readers_reap(s);
    assert_int_equal(capture_readers_usage(s).waiting, 1);
    turns(WORKER_HOUSE_TURNS);
    assert_null(w->captures);
    capture_readers_reap(s);
    assert_int_equal(capture_readers_usage(s).waiting, 0);
}

static void what_was_copied_can_be_taken_after_the_end(void **state)
{
    struct capture_reader *d = attached(60, CAPTURE_IN, NULL);
    copy_one(frame_of(60, 1), CAPTURE_IN);
    capture_reader_detach(d);
    assert_false(capture_reader_acked(d));
    turns(WORKER_HOUSE_TURNS);
    assert_true(capture_reader_acked(d));
    frame_is(d, 60, 60, 1);
    assert_int_equal(capture_reader_counts(d, 0).matched, 1);
    capture_reader_free(d);
}

static void there_are_so_many_dumps_and_no_more(void **state)
{
    struct capture_reader *all[CAPTURE_READERS_MAX];
    for (unsigned i = 0; i < CAPTURE_READERS_MAX; i++)
        all[i] = attached(60, CAPTURE_IN, NULL);
    assert_null(dump_of(60, CAPTURE_IN, NULL));
    assert_int_equal(capture_readers_usage(s).refused, 1);
    capture_reader_free(all[2]);
    all[2] = attached(60, CAPTURE_IN, NULL);
    for (unsigned i = 0; i < CAPTURE_READERS_MAX; i++)
        capture_reader_free(all[i]);
}

static void a_worker_that_has_stopped_holds_nothing(void **state)
{
    struct capture_reader *d = attached(60, CAPTURE_IN, NULL);
    shared_u32_store_release(&w->state, WORKER_STOPPED);
    capture_reader_free(d);
    assert_int_equal(capture_readers_usage(s).waiting, 0);
}

// A frame to all: of type `type`; for IPv6 with next header `proto`, behind `options` bytes of
// hop-by-hop options a message of ICMPv6 `icmp`.
static void to_all_is(bool expected, uint16_t type, uint8_t proto, unsigned options, uint8_t icmp)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN | CAPTURE_OUT, NULL);
    struct pkt *p = pkt_of(pool, 0, 86);
    uint8_t *f = pkt_data(p), *l4 = f + 14 + 40 + options;
    store_be16(f + 12, type);
    f[14 + 6] = options == 0 ? proto : 0;
    f[14 + 40] = proto;
    l4[0] = icmp;
    w->captures->at[0]->quiet = true;  // as those of all workers but the first
    capture_burst(w->captures, 0, CAPTURE_IN, &p, 1);
    assert_int_equal(capture_reader_counts(d, 0).matched, !expected);
    capture_burst(w->captures, 0, CAPTURE_OUT, &p, 1);
    assert_int_equal(capture_reader_counts(d, 0).matched, 1 + !expected);
    pkt_free(p);
    capture_reader_free(d);
    turns(WORKER_HOUSE_TURNS);
}

static void what_every_worker_receives_is_copied_by_one(void **state)
{
    to_all_is(true, 0x0806, 0, 0, 0);
    to_all_is(false, 0x0800, 0, 0, 0);
    to_all_is(true, 0x86dd, 58, 0, 135);
    to_all_is(true, 0x86dd, 58, 0, 136);
    to_all_is(true, 0x86dd, 58, 8, 130);
    to_all_is(false, 0x86dd, 58, 0, 128);
    to_all_is(false, 0x86dd, 6, 0, 135);
}

// Replies of a real stack, over a port that takes nothing for a while.
static unsigned taken;
static bool takes;
static uint16_t reluctant(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    if (!takes)
        return 0;
    pkt_free(pkts[0]);
    taken++;
    return 1;
}

static void what_waits_for_the_port_is_copied_once(void **state)
{
    static struct port_ops ops;
    ops = *h->e[0].wires[0].port.ops;
    ops.tx_burst = reluctant;
    h->e[0].wires[0].port.ops = &ops;
    struct capture_reader *d = attached(60, CAPTURE_OUT, NULL);
    for (unsigned i = 0; i < 3; i++)
        hosts_connect(h, 0, HOSTS_PORT);
    takes = false;
    taken = 0;
    turns(5);
    const uint64_t waiting = w->ports[0].tx.n;
    struct capture_reader *late = attached(60, CAPTURE_OUT, NULL);
    takes = true;
    turns(8);
    assert_int_equal(taken, capture_reader_counts(d, 0).matched);
    assert_true(waiting >= 3 && taken >= waiting);
    assert_int_equal(capture_reader_counts(late, 0).matched, taken - waiting);
    capture_reader_free(late);
    capture_reader_free(d);
}

static void a_real_handshake_is_seen_both_ways(void **state)
{
    struct capture_reader *d = attached(CAPTURE_SNAP_MAX, CAPTURE_IN | CAPTURE_OUT, NULL);
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 20);
    uint8_t flags[3], ways[3], got[CAPTURE_SNAP_MAX];
    unsigned n = 0;
    for (struct capture_frame f; n < 3 && capture_reader_peek(d, &f); n++) {
        capture_reader_take(d, got);
        flags[n] = got[14 + 20 + 13];
        ways[n] = f.direction;
    }
    assert_int_equal(n, 3);
    assert_int_equal(flags[0], 0x02);
    assert_int_equal(ways[0], CAPTURE_OUT);
    assert_int_equal(flags[1], 0x12);
    assert_int_equal(ways[1], CAPTURE_IN);
    assert_int_equal(flags[2], 0x10);
    capture_reader_free(d);
}

// The text of a program that libpcap made.
static char *text_of(const struct bpf_program *b)
{
    static char text[CAPTURE_PROGRAM_MAX * 32];
    int n = snprintf(text, sizeof(text), "%u\n", b->bf_len);
    for (unsigned i = 0; i < b->bf_len; i++) {
        const struct bpf_insn *in = &b->bf_insns[i];
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%u %u %u %u\n", in->code, in->jt, in->jf,
                      in->k);
    }
    return text;
}

// Something like a packet: types, protocols, addresses and ports that filters ask for, any length.
static uint32_t some_packet(struct rng *rng, uint8_t *f)
{
    static const uint16_t types[] = {0x0800, 0x0800, 0x86dd, 0x0806, 0x8100, 0x1234};
    static const uint8_t protos[] = {6, 6, 17, 1, 58, 0, 44, 132};
    static const uint16_t ports[] = {80, 22, 53, 443, 0x0800, 65535};
    for (unsigned i = 0; i < 128; i++)
        f[i] = (uint8_t)rng_u64(rng);
    const uint16_t type = types[rng_u64(rng) % ARRAY_LEN(types)];
    store_be16(f + 12, type);
    uint8_t *ip = f + 14, *l4 = ip + (type == 0x0800 ? 20 : 40);
    const uint8_t proto = protos[rng_u64(rng) % ARRAY_LEN(protos)];
    if (type == 0x0800) {
        ip[0] = rng_u64(rng) % 8 == 0 ? 0x46 : 0x45;
        l4 = ip + (ip[0] & 15) * 4;
        ip[9] = proto;
        store_be16(ip + 6, rng_u64(rng) % 8 == 0 ? 0x2003 : 0x4000);
        store_be32(ip + 12, 0x0a000000 + (uint32_t)rng_u64(rng) % 4);
        store_be32(ip + 16, 0x0a000000 + (uint32_t)rng_u64(rng) % 4);
    } else {
        ip[0] = 0x60;
        ip[6] = proto;
        memset(ip + 8, 0, 32);
        ip[8] = ip[24] = 0xfd;
        ip[23] = rng_u64(rng) % 3;
        ip[39] = rng_u64(rng) % 3;
    }
    store_be16(l4, ports[rng_u64(rng) % ARRAY_LEN(ports)]);
    store_be16(l4 + 2, ports[rng_u64(rng) % ARRAY_LEN(ports)]);
    return rng_u64(rng) % 4 == 0 ? (uint32_t)rng_u64(rng) % 128 : 128;
}

static void a_filter_decides_as_libpcap_does(void **state)
{
    static const char *const expressions[] = {
        "",
        "tcp",
        "tcp port 80",
        "udp or icmp",
        "host 10.0.0.1 and not port 22",
        "ip6",
        "ip6 and tcp dst port 443",
        "host fd00::1",
        "src net 10.0.0.0/31",
        "portrange 1-1024",
        "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
        "icmp[icmptype] == icmp-echo",
        "arp",
        "vlan",
        "ip[6:2] & 0x1fff != 0",
        "greater 100",
        "less 64",
        "ether[0] & 1 = 1",
        "ether multicast",
        "ip[2:2] % 7 = 3",
        "ip[0] & 15 > 5",
        "len * 3 > 200 and tcp",
        "((ip[2:2] - ((ip[0]&0xf)<<2)) - ((tcp[12]&0xf0)>>2)) != 0",
        "ip proto 132 or (udp port 53 and src host 10.0.0.2)",
        "not ip and not ip6",
        "tcp[0:4] = 0x00500016 or tcp[100] = 7",
        "ip[ip[8] & 31] > 99",
        "ether[ether[0] & 63] > 128",
        "ether[len - 1] > 128",
        "ether[0:4] = 1 or ether[ether[0:4]] > 128",
        "ether[0xffffff] = 1 or ether[0] > 7"};
    struct rng rng = test_rng(__func__);
    pcap_t *pc = pcap_open_dead(DLT_EN10MB, 262144);
    for (unsigned e = 0; e < ARRAY_LEN(expressions); e++) {
        struct bpf_program b;
        struct err err = {.text = ""};
        if (pcap_compile(pc, &b, expressions[e], 1, PCAP_NETMASK_UNKNOWN) != 0)
            fail_msg("%s: %s", expressions[e], pcap_geterr(pc));
        struct capture_filter *f = capture_filter_new(text_of(&b), &err);
        if (f == NULL)
            fail_msg("%s: %s", expressions[e], err.text);
        unsigned yes = 0;
        // Few packets match some of them: until one did.
        const bool rare = strstr(expressions[e], "ether[0") != NULL;
        for (unsigned i = 0; i < 3000 || (yes == 0 && !rare && i < 300000); i++) {
            struct pkt *p = pkt_of(pool, 0, 128), *chain[2];
            const uint32_t n = some_packet(&rng, pkt_data(p));
            pkt_set_len(p, n);
            const uint32_t expected = bpf_filter(b.bf_insns, pkt_data(p), n, n);
            if (capture_filter_run(f, p) != expected)
                fail_msg("%s: packet %u of %u bytes: %u, libpcap says %u", expressions[e], i, n,
                         capture_filter_run(f, p), expected);
            yes += expected != 0;
            if (n > 20) {  // the same in two pieces
                const uint32_t cut = 1 + (uint32_t)rng_u64(&rng) % (n - 1);
                chain[0] = p;
                chain[1] = pkt_of(pool, 0, n - cut);
                memcpy(pkt_data(chain[1]), pkt_data(p) + cut, n - cut);
                pkt_set_len(p, cut);
                pkt_chain(chain, 2);
                if (capture_filter_run(f, p) != expected)
                    fail_msg("%s: packet %u of %u bytes in pieces of %u", expressions[e], i, n,
                             cut);
            }
            pkt_free(p);
        }
        if ((yes == 0 && !rare) || (yes == 3000 && e != 0))
            fail_msg("%s: says the same of all packets", expressions[e]);
        capture_filter_free(f);
        pcap_freecode(&b);
    }
    pcap_close(pc);
}

static void a_filter_of_a_dump_counts_what_it_refuses(void **state)
{
    // ldh [12]; jeq #0x0806; ret #262144 or #0
    struct capture_reader *d =
        attached(CAPTURE_SNAP_MAX, CAPTURE_IN, "4,40 0 0 12,21 0 1 2054,6 0 0 42,6 0 0 0");
    struct pkt *arp = frame_of(60, 1), *other = frame_of(60, 1);
    store_be16(pkt_data(arp) + 12, 0x0806);
    copy_one(other, CAPTURE_IN);
    copy_one(arp, CAPTURE_IN);
    const struct capture_ring_counts c = capture_reader_counts(d, 0);
    assert_int_equal(c.seen, 2);
    assert_int_equal(c.matched, 1);
    struct capture_frame f;
    assert_true(capture_reader_peek(d, &f));
    assert_int_equal(f.bytes, 42);  // as the program says
    capture_reader_take(d, NULL);
    capture_reader_free(d);
}

static void a_program_that_is_none_is_refused_with_a_reason(void **state)
{
    static const char *const bad[] = {
        "",
        "0",
        "1",
        "x",
        "1 6 0 0",
        "1 6 0 0 0 7",
        "1 6 0 0 4294967296",
        "1 65536 0 0 0",
        "1 6 256 0 0",
        "2 6 0 0 0",
        "1025 6 0 0 0",
        "-1 6 0 0 0",
        "1 40 0 0 12",                 // no end
        "2 21 5 0 1,6 0 0 0",          // jump outside
        "2 5 0 0 4294967295,6 0 0 0",  // jump back
        "2 52 0 0 0,6 0 0 0",          // division by the constant 0
        "2 96 0 0 3,6 0 0 0",          // a memory word that was never written
        "2 48 0 0 4294967295,6 0 0 1",
        "2 80 0 0 16777216,6 0 0 1",  // reads far away
        "2 65535 0 0 0,6 0 0 0",      // no such instruction
    };
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        struct err err = {.text = ""};
        if (capture_filter_new(bad[i], &err) != NULL)
            fail_msg("\"%s\" was accepted", bad[i]);
        assert_true(strncmp(err.text, "filter: ", 8) == 0);
    }
}

// branches: a program with n branches after each other, which meet again; with `stores` the
// verifier knows something else behind each.
static struct capture_filter *branches(unsigned n, bool stores, struct err *err)
{
    struct text t;
    text_init(&t, 1 << 16);
    text_printf(&t, "%u%s", 4 * n + (stores ? 3 : 1), stores ? ",0 0 0 0,2 0 0 0" : "");
    for (unsigned i = 0; i < n; i++)
        text_printf(&t, ",48 0 0 %u,21 0 2 %u,0 0 0 %u,%s", i, i, 1000 + i,
                    stores ? "2 0 0 0" : "48 0 0 1");
    text_printf(&t, ",6 0 0 65535");
    struct capture_filter *f = capture_filter_new(text_str(&t), err);
    text_free(&t);
    return f;
}

static void a_program_of_many_ways_does_not_hold_the_control_thread(void **state)
{
    struct err err;
    for (unsigned stores = 0; stores < 2; stores++) {
        struct capture_filter *f = branches(stores ? 12 : 60, stores, &err);
        assert_non_null(f);
        capture_filter_free(f);
    }
    assert_null(branches(60, true, &err));
    assert_string_equal(err.text, "filter: too many branches for a program that computes");
}

static void the_time_of_a_frame_is_the_clocks(void **state)
{
    struct capture_reader *d = attached(60, CAPTURE_IN, NULL);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    const uint64_t tsc = tsc_read(), hz = worker_tsc_hz(w);
    assert_true(llabs((long long)(capture_reader_ns(d, tsc) - ns)) < 1000000000);
    const uint64_t a_second = capture_reader_ns(d, tsc) - capture_reader_ns(d, tsc - hz);
    assert_true(llabs((long long)a_second - 1000000000) < 100000000);
    capture_reader_free(d);
}

int main(void)
{
    pkt_env_start(1);
    pool = pkt_pool_create("frames", 1024, -1);
#define HERE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HERE(frames_come_in_order_with_their_bytes),
        HERE(a_frame_of_a_vlan_has_its_tag_where_its_parent_is_captured),
        HERE(only_so_many_bytes_are_copied_as_were_asked_for),
        HERE(a_ring_wraps_at_every_place),
        HERE(a_full_ring_drops_and_counts_and_goes_on),
        HERE(a_chain_is_copied_whole),
        HERE(only_the_way_and_the_port_that_were_asked_for_are_copied),
        HERE(two_dumps_get_their_own_copies),
        HERE(memory_stays_until_the_worker_has_let_go),
        HERE(a_worker_may_be_about_to_follow_what_is_over),
        HERE(what_was_copied_can_be_taken_after_the_end),
        HERE(there_are_so_many_dumps_and_no_more),
        HERE(a_worker_that_has_stopped_holds_nothing),
        HERE(what_every_worker_receives_is_copied_by_one),
        HERE(what_waits_for_the_port_is_copied_once),
        HERE(a_real_handshake_is_seen_both_ways),
        HERE(a_filter_decides_as_libpcap_does),
        HERE(a_filter_of_a_dump_counts_what_it_refuses),
        HERE(a_program_that_is_none_is_refused_with_a_reason),
        HERE(a_program_of_many_ways_does_not_hold_the_control_thread),
        HERE(the_time_of_a_frame_is_the_clocks),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
