// SPDX-License-Identifier: BSD-3-Clause
// load_env.h: the load generator's client against a scripted server, in virtual time, on a port of
// the test's own.
#pragma once
#include "load/load.h"
#include "tests/unit/pkt_env.h"
#include "tests/unit/seed.h"
#include "wire/build6.h"

enum {
    POOL = 4095,
    QUEUE = 4096,
    SERVER_V4 = 0x0a000001,
    CLIENT_V4 = 0x0a400000,
    SERVER_PORT = 7,
    ISN = 0xfffffff0,  // the server's: its numbers wrap within the first answer
    PAYLOAD = 64,
};

static const struct ip_addr server_v6 = {{0xfd, 0x99, [15] = 1}};
static const struct ip_addr client_v6 = {{0xfd, 0x99, [7] = 1, [12] = 0xff, [15] = 0xfe}};
static const struct mac_addr client_mac = {{2, 0, 0, 0, 0, 9}}, server_mac = {{2, 0, 0, 0, 0, 1}};
static struct pkt_pool *pool;
static bool v6;  // the family of the present test

// What the client sent: the segment as the server's border reads it, and its bytes.
struct sent {
    uint32_t conn;
    uint64_t at_us;
    struct seg_in seg;
    uint8_t data[LOAD_PAYLOAD_MAX];
};

// The server's end of the wire.
struct wire_end {
    struct port port;
    struct pkt *in[QUEUE];  // for the client
    uint32_t in_head, in_tail;
    struct sent sent[QUEUE];
    uint32_t n_sent, seen;
    struct wire_arp arp[8];
    struct mac_addr arp_to[8];
    uint32_t n_arp;
    struct wire_nd nd[8];  // the same over IPv6
    struct wire_ip6 nd_ip[8];
    struct mac_addr nd_to[8];
    uint32_t n_nd;
    uint64_t now_us;
    bool full;  // takes nothing
};

static struct wire_end end;
static struct load *load;

static inline uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    uint16_t got = 0;
    while (got < n && end.in_head != end.in_tail)
        pkts[got++] = end.in[end.in_head++ % QUEUE];
    return got;
}

static inline struct ip_addr server_addr(void)
{
    return v6 ? server_v6 : ip_from_v4(SERVER_V4);
}

static inline uint32_t client_low(void)
{
    return v6 ? ip_to_v4(&client_v6) : (uint32_t)CLIENT_V4;
}

static inline struct ip_addr client_addr(uint32_t host)
{
    struct ip_addr a = v6 ? client_v6 : ip_from_v4(CLIENT_V4);
    store_be32(a.b + 12, client_low() + host);
    return a;
}

static inline void keep_nd(const uint8_t *frame, const struct wire_ip6 *ip)
{
    struct wire_icmp6 m;
    assert_true(end.n_nd < ARRAY_LEN(end.nd));
    assert_int_equal(wire_parse_icmp6(frame, ip, &m), DROP_NONE);
    end.nd_ip[end.n_nd] = *ip;
    memcpy(end.nd_to[end.n_nd].b, frame, 6);
    assert_int_equal(wire_parse_nd(frame, ip, &end.nd[end.n_nd++]), DROP_NONE);
}

static inline void parse4(const uint8_t *frame, uint32_t len, struct seg_in *s)
{
    struct wire_ip4 ip;
    assert_int_equal(wire_parse_ip4(frame, len, true, &ip), DROP_NONE);
    assert_int_equal(ip.dst_raw, raw32(SERVER_V4));
    assert_int_equal(wire_parse_tcp(frame, &ip, true, s), DROP_NONE);
}

// False: it was no segment, and is dealt with.
static inline bool parse6(const uint8_t *frame, uint32_t len, struct seg_in *s)
{
    struct wire_ip6 ip;
    assert_int_equal(wire_parse_ip6(frame, len, &ip), DROP_NONE);
    if (ip.proto == IP_PROTO_ICMP6) {
        keep_nd(frame, &ip);
        return false;
    }
    assert_true(ip_equal(&ip.dst, &server_v6));
    assert_memory_equal(&ip.src, &client_v6, 12);
    assert_int_equal(wire_parse_tcp6(frame, &ip, true, s), DROP_NONE);
    return true;
}

static inline void keep(const struct pkt *p)
{
    const uint8_t *frame = pkt_data(p);
    assert_memory_equal(frame + 6, client_mac.b, 6);
    if (load_be16(frame + 12) == ETH_TYPE_ARP) {
        assert_true(end.n_arp < ARRAY_LEN(end.arp));
        memcpy(end.arp_to[end.n_arp].b, frame, 6);
        assert_int_equal(wire_parse_arp(frame, pkt_len(p), &end.arp[end.n_arp++]), DROP_NONE);
        return;
    }
    struct sent *s = &end.sent[end.n_sent % QUEUE];
    assert_int_equal(load_be16(frame + 12), v6 ? ETH_TYPE_IP6 : ETH_TYPE_IP4);
    if (!v6)
        parse4(frame, pkt_len(p), &s->seg);
    else if (!parse6(frame, pkt_len(p), &s->seg))
        return;
    end.n_sent++;
    assert_memory_equal(frame, server_mac.b, 6);
    assert_int_equal(s->seg.key.local_port, SERVER_PORT);
    s->conn = load_index(ip_to_v4(&s->seg.key.remote) - client_low(), s->seg.key.remote_port,
                         LOAD_CONNECTIONS_MAX);
    s->at_us = end.now_us;
    memcpy(s->data, frame + s->seg.data_off, s->seg.data_len);
}

static inline uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    (void)p, (void)q;
    if (end.full)
        return 0;
    for (uint16_t i = 0; i < n; i++)
        keep(pkts[i]);
    pkt_free_bulk(pkts, n);
    return n;
}

static const struct port_ops ops = {.driver = "test", .rx_burst = rx_burst, .tx_burst = tx_burst};

static inline struct load_params params(uint32_t connections)
{
    return (struct load_params){
        .port = &end.port,
        .pool = pool,
        .hop_mac = server_mac,
        .server = server_addr(),
        .first = client_addr(0),
        .server_port = SERVER_PORT,
        .connections = connections,
        .window = 256,
        .payload = PAYLOAD,
        .rounds = 1,
        .order = LOAD_IN_TURN,
        .seed = 1,
        .timestamps = true,
        .close = false,
    };
}

static inline void begin(const struct load_params *p)
{
    struct err err = {.text = ""};
    memset(&end, 0, sizeof(end));
    end.port = (struct port){.ops = &ops, .name = "test", .mac = client_mac, .mtu = 1500};
    load = load_new(p, &err);
    assert_non_null(load);
}

// Every test leaves all packets in their pool.
static inline int teardown(void **state)
{
    (void)state;
    while (end.in_head != end.in_tail)
        pkt_free(end.in[end.in_head++ % QUEUE]);
    load_free(load);
    load = NULL;
    v6 = false;
    assert_int_equal(pkt_pool_free_count(pool), POOL);
    return 0;
}

static inline enum load_phase turn(void)
{
    end.now_us += 100;
    return load_turn(load, end.now_us * 1000);
}

static inline void pass_ms(uint32_t ms)
{
    for (uint32_t i = 0; i < ms; i++) {
        end.now_us += 900;
        turn();
    }
}

// The next segment that the client sent.
static const struct sent *next_sent(void)
{
    assert_int_not_equal(end.seen, end.n_sent);
    return &end.sent[end.seen++ % QUEUE];
}

static inline void assert_nothing_sent(void)
{
    assert_int_equal(end.seen, end.n_sent);
}

static inline struct pkt *frame_of(uint32_t conn, uint8_t flags, uint32_t seq, uint32_t ack,
                                   const uint8_t *data, uint32_t len)
{
    struct wire_from from;
    struct wire_from6 from6;
    const struct seg_out s = {
        .key = {client_addr(load_host(conn)), 0, 0, load_port(conn), SERVER_PORT},
        .seq = seq,
        .ack = ack,
        .ts_val = (uint32_t)(end.now_us / 1000),
        .data = {data},
        .data_len = {(uint16_t)len},
        .wnd = 65535,
        .mss = 1460,
        .flags = flags,
        .opts = SEG_OPT_TS | (flags & SEG_SYN ? SEG_OPT_MSS | SEG_OPT_WSCALE : 0),
    };
    struct pkt *p;
    assert_true(pkt_alloc_bulk(pool, &p, 1));
    wire_from_init(&from, &server_mac, SERVER_V4);
    wire_from6_init(&from6, &server_mac, &server_v6);
    const uint64_t to = wire_mac_word(&client_mac);
    const uint32_t head = wire_tcp_head_bytes(&s);
    const enum wire_options options = wire_options_of(&s);
    pkt_set_len(p, v6 ? wire_build_tcp6(pkt_data(p), &from6, to, &s, head, options, false)
                      : wire_build_tcp4(pkt_data(p), &from, to, &s, head, options, false));
    return p;
}

static inline void deliver(struct pkt *p)
{
    end.in[end.in_tail++ % QUEUE] = p;
}

// From the server to connection conn, delivered in a turn of its own.
static inline void say(uint32_t conn, uint8_t flags, uint32_t seq, uint32_t ack,
                       const uint8_t *data, uint32_t len)
{
    deliver(frame_of(conn, flags, seq, ack, data, len));
    turn();
}

// The client's SYN of connection conn, answered; its ACK is taken off the wire.
static inline void shake_hands(uint32_t conn)
{
    const struct sent syn = *next_sent();
    assert_int_equal(syn.conn, conn);
    assert_int_equal(syn.seg.flags, SEG_SYN);
    say(conn, SEG_SYN | SEG_ACK, ISN, syn.seg.seq + 1, NULL, 0);
    const struct sent *ack = next_sent();
    assert_int_equal(ack->seg.flags, SEG_ACK);
    assert_int_equal(ack->seg.seq, syn.seg.seq + 1);
    assert_int_equal(ack->seg.ack, ISN + 1);
}

// One connection, open; its request.
static inline struct sent open_and_ask(const struct load_params *p)
{
    begin(p);
    turn();
    shake_hands(0);
    turn();
    const struct sent request = *next_sent();
    assert_int_equal(request.seg.flags, SEG_ACK | SEG_PSH);
    assert_int_equal(request.seg.data_len, p->payload);
    return request;
}

static inline void answer(const struct sent *request)
{
    const struct seg_in *s = &request->seg;
    say(request->conn, SEG_ACK | SEG_PSH, s->ack, s->seq + s->data_len, request->data, s->data_len);
}

// A server without memory: all it needs is in the segment. Each frame of both directions is lost or
// doubled by chance.
static inline void serve(struct rng *rng, uint32_t loss_percent, uint32_t double_percent)
{
    while (end.seen != end.n_sent) {
        const struct sent *s = next_sent();
        const struct seg_in *g = &s->seg;
        if (rng_below(rng, 100) < loss_percent)
            continue;
        struct pkt *f = NULL;
        for (int copies = 1 + (rng_below(rng, 100) < double_percent); copies != 0; copies--) {
            if (g->flags & SEG_SYN)
                f = frame_of(s->conn, SEG_SYN | SEG_ACK, s->conn * 7919, g->seq + 1, NULL, 0);
            else if (g->flags & SEG_FIN)
                f = frame_of(s->conn, SEG_FIN | SEG_ACK, g->ack, g->seq + 1, NULL, 0);
            else if (g->data_len != 0)
                f = frame_of(s->conn, SEG_ACK, g->ack, g->seq + g->data_len, s->data, g->data_len);
            else
                break;
            if (rng_below(rng, 100) < loss_percent)
                pkt_free(f);
            else
                deliver(f);
        }
    }
}

static inline void run_all(const struct load_params *p, struct rng *rng, uint32_t loss,
                           uint32_t doubled)
{
    begin(p);
    for (uint32_t n = 0; n < 200000 && turn() != LOAD_END; n++) {
        end.now_us += 900;
        serve(rng, loss, doubled);
    }
    assert_int_equal(turn(), LOAD_END);
}

static inline int group_setup(void **state)
{
    (void)state;
    pkt_env_start(0);
    pool = pkt_pool_create("load", POOL, -1);
    return pool == NULL;
}

static inline int group_teardown(void **state)
{
    (void)state;
    pkt_pool_destroy(pool);
    eal_stop();
    return 0;
}
