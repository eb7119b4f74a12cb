// SPDX-License-Identifier: BSD-3-Clause
// test_limits.c: how many connections a service and one source address may have open, and who goes
// when buffers are scarce.
#include <stdlib.h>

#include "check.h"
#include "tcp/tcp_shed.h"
#include "tcp_pair.h"

enum { ATTACKER = 0x0a000002, OTHER = 0x0a000003, SYNS_MAX = 16 };

// shake: opens as far as `from`'s SYN gets an answer; *ack is what the handshake's end
// acknowledges.
static bool half_open(struct raw *r, uint32_t from, uint16_t port, uint32_t *ack)
{
    raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key =
        (struct flow_key){ip_from_v4(from), 0, 0, port, PAIR_PORT};
    raw_turn(r, 1);
    if (r->e.tcp.n_out == 0)
        return false;
    assert_int_equal(r->e.out[0].flags, SEG_SYN | SEG_ACK);
    *ack = r->e.out[0].seq + 1;
    return true;
}

static void send_from(struct raw *r, uint32_t from, uint16_t port, uint8_t flags, uint32_t ack)
{
    raw_seg(r, flags, 101, ack, 0, 0)->key =
        (struct flow_key){ip_from_v4(from), 0, 0, port, PAIR_PORT};
    raw_turn(r, 1);
}

static bool open_from(struct raw *r, uint32_t from, uint16_t port)
{
    uint32_t ack = 0;
    const unsigned opened = r->e.role.opened;
    if (!half_open(r, from, port, &ack))
        return false;
    send_from(r, from, port, SEG_ACK, ack);
    return r->e.role.opened > opened;
}

static struct raw *limited(uint32_t service_max, uint32_t source_max)
{
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    t->services[0].connections_max = service_max;
    t->services[0].source_max = source_max;
    if (source_max != 0)
        t->sources = sources_init(aligned_alloc(CACHE_LINE, sources_footprint(r->e.sizes.blocks)),
                                  r->e.sizes.blocks, (struct siphash_key){1, 2});
    return r;
}

static uint64_t drops(const struct raw *r, enum drop_reason reason)
{
    return r->e.stats.drops[reason];
}

// done: every connection is reset, every half-open one ends in time; nothing is left.
static void done(struct raw *r)
{
    struct tcp *t = &r->e.tcp;
    for (uint32_t i = 0; i < r->e.sizes.blocks; i++) {
        if (t->blocks[i].state == TCP_FREE)
            continue;
        raw_seg(r, SEG_RST, 101, 0, 0, 0)->key = t->blocks[i].key;
        raw_turn(r, 1);
    }
    for (int i = 0; i < 200000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.sources_now, 0);
    free(t->sources);
    raw_free(r, true);
}

static void an_address_at_its_limit_opens_no_more_and_others_do(void **state)
{
    struct raw *r = limited(16, 3);
    for (uint16_t i = 0; i < 3; i++)
        assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + i)));
    for (uint16_t i = 0; i < 5; i++)
        assert_false(open_from(r, ATTACKER, (uint16_t)(2000 + i)));
    assert_int_equal(drops(r, DROP_source_connections), 5);
    assert_true(open_from(r, OTHER, 1000));
    assert_int_equal(r->e.stats.c.sources_now, 2);
    done(r);
}

static void a_place_is_free_again_when_a_connection_ends(void **state)
{
    struct raw *r = limited(16, 1);
    for (uint16_t i = 0; i < 50; i++) {
        assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + i)));
        assert_false(open_from(r, ATTACKER, 5000));
        send_from(r, ATTACKER, (uint16_t)(1000 + i), SEG_RST, 0);
    }
    assert_int_equal(drops(r, DROP_source_connections), 50);
    done(r);
}

// Handshakes that began below the limit end above it: those are reset, and leave no record.
static void handshakes_that_end_above_the_limit_are_reset(void **state)
{
    struct raw *r = limited(16, 2);
    uint32_t ack[5];
    for (uint16_t i = 0; i < 5; i++)
        assert_true(half_open(r, ATTACKER, (uint16_t)(1000 + i), &ack[i]));
    for (uint16_t i = 0; i < 5; i++) {
        send_from(r, ATTACKER, (uint16_t)(1000 + i), SEG_ACK, ack[i]);
        if (i < 2)
            continue;
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(r->e.out[0].flags & SEG_RST, SEG_RST);
        assert_int_equal(r->e.out[0].seq, ack[i]);
    }
    assert_int_equal(r->e.role.opened, 2);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    assert_int_equal(drops(r, DROP_source_connections), 3);
    done(r);
}

// The record goes with the first of them: what follows in the same burst finds nobody, and neither
// a second end of the record nor a block.
static void a_burst_that_ends_a_handshake_above_the_limit_ends_it_once(void **state)
{
    struct raw *r = limited(16, 1);
    const struct flow_key key = {ip_from_v4(ATTACKER), 0, 0, 1001, PAIR_PORT};
    uint32_t ack = 0;
    assert_true(half_open(r, ATTACKER, key.remote_port, &ack));
    assert_true(open_from(r, ATTACKER, 1000));
    const uint32_t free_before = r->e.tcp.syn_pool->n_free;
    for (int i = 0; i < 3; i++)
        raw_seg(r, SEG_ACK, 101, ack, 0, i == 0 ? 0 : 10)->key = key;
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 3);  // a reset each
    for (int i = 0; i < 3; i++)
        assert_int_equal(r->e.out[i].flags & SEG_RST, SEG_RST);
    assert_int_equal(drops(r, DROP_source_connections), 1);
    assert_int_equal(r->e.stats.c.syn_records_now, 0);
    assert_int_equal(r->e.tcp.syn_pool->n_free, free_before + 1);
    assert_int_equal(r->e.role.opened, 1);
    done(r);
}

// SYNs can be sent in anyone's name: they take nothing from his share.
static void half_open_connections_do_not_count(void **state)
{
    struct raw *r = limited(16, 1);
    uint32_t ack = 0;
    for (uint16_t i = 0; i < SYNS_MAX - 1; i++)
        assert_true(half_open(r, OTHER, (uint16_t)(1000 + i), &ack));
    assert_true(open_from(r, OTHER, 999));
    done(r);
}

static void one_services_limit_does_not_count_anothers_connections(void **state)
{
    struct raw *r = limited(16, 1);
    struct tcp *t = &r->e.tcp;
    t->n_services = 2;
    t->services[1] = t->services[0];
    t->services[1].ports[0] = PAIR_PORT + 1;
    r->e.services[1] = r->e.services[0];
    assert_true(open_from(r, ATTACKER, 1000));
    assert_int_equal(sources_count(t->sources, ATTACKER, 0), 1);
    assert_int_equal(sources_count(t->sources, ATTACKER, 1), 0);
    raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key =
        (struct flow_key){ip_from_v4(ATTACKER), 0, 0, 1001, PAIR_PORT + 1};
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
    done(r);
}

static void a_service_at_its_limit_answers_no_syn_and_counts(void **state)
{
    struct raw *r = limited(2, 0);
    assert_true(open_from(r, ATTACKER, 1000));
    assert_true(open_from(r, OTHER, 1000));
    assert_false(open_from(r, OTHER, 1001));
    assert_int_equal(drops(r, DROP_service_connections), 1);
    send_from(r, ATTACKER, 1000, SEG_RST, 0);
    assert_true(open_from(r, OTHER, 1001));
    done(r);
}

static void a_handshake_that_ends_above_the_services_limit_waits_for_room(void **state)
{
    struct raw *r = limited(1, 0);
    uint32_t a = 0, b = 0;
    assert_true(half_open(r, ATTACKER, 1000, &a));
    assert_true(half_open(r, OTHER, 1000, &b));
    send_from(r, ATTACKER, 1000, SEG_ACK, a);
    send_from(r, OTHER, 1000, SEG_ACK, b);
    assert_int_equal(r->e.role.opened, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(drops(r, DROP_service_connections), 1);
    send_from(r, ATTACKER, 1000, SEG_RST, 0);
    send_from(r, OTHER, 1000, SEG_ACK, b);
    assert_int_equal(r->e.role.opened, 2);
    done(r);
}

// ---- shares of the last eighth of the blocks

enum {
    BLOCKS = 64,
    EIGHTH = BLOCKS / 8,
    SIXTEENTH = BLOCKS / 16,
    HALF_PPM = 500000,
    FAR = 0x0a000102
};

static struct raw *shared(uint32_t prefix_ppm)
{
    struct raw *r = raw_new(&(struct pair_sizes){.blocks = BLOCKS, .syns = 256});
    r->e.tcp.cfg.prefix_share_ppm = prefix_ppm;
    return r;
}

static uint32_t blocks_free(const struct raw *r)
{
    return r->e.tcp.block_pool->n_free + r->e.tcp.block_pool->n_deferred;
}

// open_all: opens from hosts of the /24 until no more open. Returns how many did.
static unsigned open_all(struct raw *r, uint32_t from)
{
    unsigned n = 0;
    while (n < BLOCKS && open_from(r, from + n % 4, (uint16_t)(1000 + n)))
        n++;
    return n;
}

static void one_prefix_can_use_an_idle_server_up_to_the_last_eighth(void **state)
{
    struct raw *r = shared(HALF_PPM);
    assert_int_equal(open_all(r, ATTACKER), BLOCKS - EIGHTH + 1);
    assert_int_equal(blocks_free(r), EIGHTH - 1);
    assert_int_equal(drops(r, DROP_prefix_share), 1);
    assert_false(open_from(r, OTHER, 1));  // its neighbor
    assert_true(open_from(r, FAR, 1));
    done(r);
}

static void without_a_share_one_prefix_can_have_all_blocks(void **state)
{
    struct raw *r = shared(0);
    assert_int_equal(open_all(r, ATTACKER), BLOCKS);
    assert_int_equal(drops(r, DROP_prefix_share), 0);
    done(r);
}

// Eight prefixes that take what they get: what is left is for those who hold nothing.
static void many_greedy_prefixes_leave_blocks_to_the_next_one(void **state)
{
    struct raw *r = shared(HALF_PPM);
    bool any = true;
    for (uint16_t i = 0; any; i++) {
        any = false;
        for (uint32_t k = 0; k < 8; k++)
            any |= open_from(r, ATTACKER + k * 256, (uint16_t)(1000 + i));
    }
    assert_true(blocks_free(r) != 0);
    assert_true(open_from(r, ATTACKER + 8 * 256, 1));
    done(r);
}

static void a_prefix_over_its_share_gets_in_again_when_it_has_less(void **state)
{
    struct raw *r = shared(HALF_PPM);
    const unsigned n = open_all(r, ATTACKER);
    for (uint16_t i = 0; i < 2; i++)
        send_from(r, ATTACKER + i % 4, (uint16_t)(1000 + i), SEG_RST, 0);
    assert_true(blocks_free(r) >= EIGHTH);
    assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + n)));
    done(r);
}

// As with a source at its limit: the handshake is reset, and leaves no record; in the general way
// (an ECE makes it that) as in the fast one.
static void a_handshake_that_ends_over_the_share_is_reset(void **state)
{
    static const uint8_t flags[] = {SEG_ACK, SEG_ACK | SEG_ECE};
    for (unsigned i = 0; i < ARRAY_LEN(flags); i++) {
        struct raw *r = shared(HALF_PPM);
        uint32_t ack = 0;
        assert_true(half_open(r, OTHER, 999, &ack));
        open_all(r, ATTACKER);
        const uint64_t before = drops(r, DROP_prefix_share);
        send_from(r, OTHER, 999, flags[i], ack);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(r->e.out[0].flags & SEG_RST, SEG_RST);
        assert_int_equal(drops(r, DROP_prefix_share), before + 1);
        assert_int_equal(r->e.stats.c.syn_records_now, 0);
        done(r);
    }
}

static void by_cookies_a_prefix_gets_no_more_than_by_records(void **state)
{
    struct raw *r = shared(HALF_PPM);
    r->e.tcp.cfg.syn_cookies = TCP_COOKIES_ALWAYS;
    assert_int_equal(open_all(r, ATTACKER), BLOCKS - EIGHTH + 1);
    assert_true(open_from(r, FAR, 1));
    done(r);
}

// SYNs can be sent in anyone's name.
static void half_open_connections_do_not_count_for_a_prefix(void **state)
{
    struct raw *r = shared(HALF_PPM);
    uint32_t ack = 0;
    for (uint16_t i = 0; i < 2 * BLOCKS; i++)
        assert_true(half_open(r, FAR, (uint16_t)(1000 + i), &ack));
    open_all(r, ATTACKER);
    assert_true(open_from(r, FAR, 1));
    done(r);
}

// A second service, and a share for each.
static struct raw *two_services(uint32_t prefix_ppm)
{
    struct raw *r = shared(prefix_ppm);
    struct tcp *t = &r->e.tcp;
    t->cfg.service_share_ppm = HALF_PPM;
    t->n_services = 2;
    t->services[1] = t->services[0];
    t->services[1].ports[0] = PAIR_PORT + 1;
    r->e.services[1] = r->e.services[0];
    return r;
}

static void assert_second_answers(struct raw *r, uint32_t from)
{
    raw_seg(r, SEG_SYN, 100, 0, 0, 0)->key =
        (struct flow_key){ip_from_v4(from), 0, 0, 1, PAIR_PORT + 1};
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);
}

static void a_service_leaves_the_last_16th_to_another_one(void **state)
{
    struct raw *r = two_services(0);
    assert_int_equal(open_all(r, ATTACKER), BLOCKS - SIXTEENTH + 1);
    assert_int_equal(drops(r, DROP_service_share), 1);
    assert_second_answers(r, ATTACKER);
    done(r);
}

static void a_network_that_fills_a_service_leaves_a_16th_of_it_to_others(void **state)
{
    struct raw *r = two_services(HALF_PPM);
    assert_int_equal(open_all(r, ATTACKER), BLOCKS - EIGHTH + 1);
    assert_int_equal(drops(r, DROP_prefix_share), 1);
    unsigned others = 0;
    while (open_from(r, FAR + others * 256, 1))
        others++;
    assert_int_equal(others, EIGHTH - SIXTEENTH);
    assert_int_equal(drops(r, DROP_service_share), 1);
    assert_second_answers(r, FAR + 8 * 256);
    done(r);
}

static void a_lone_service_can_have_all_blocks(void **state)
{
    struct raw *r = shared(0);
    r->e.tcp.cfg.service_share_ppm = HALF_PPM;
    assert_int_equal(open_all(r, ATTACKER), BLOCKS);
    done(r);
}

// ---- accepting while the worker is behind

static void nobody_new_is_accepted_while_the_worker_is_behind_and_others_go_on(void **state)
{
    struct raw *r = limited(16, 0);
    struct tcp *t = &r->e.tcp;
    uint32_t ack = 0;
    t->cfg.accept_wait_us = 1000;
    assert_true(half_open(r, OTHER, 1000, &ack));
    t->behind_us = t->full_us = 1001;
    assert_false(open_from(r, ATTACKER, 1000));
    assert_int_equal(drops(r, DROP_accept_wait), 1);
    send_from(r, OTHER, 1000, SEG_ACK, ack);  // what has begun is not lost
    assert_int_equal(r->e.role.opened, 1);
    t->behind_us = 1000;
    assert_true(open_from(r, ATTACKER, 1000));
    done(r);
}

static void without_the_key_syns_are_accepted_however_late_it_is(void **state)
{
    struct raw *r = limited(16, 0);
    r->e.tcp.behind_us = r->e.tcp.full_us = UINT32_MAX - 1;
    assert_true(open_from(r, ATTACKER, 1000));
    done(r);
}

// hoarder: a peer that takes nothing of what waits for it, with n_free buffers left for others.
static struct raw *hoarder(uint32_t n_free, uint32_t held[1024], uint32_t *n)
{
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 1024});
    r->wnd = 0;
    r->e.role.source = 1000;
    raw_open(r);
    while (r->e.tcp.bufs.n_free_data > n_free)
        held[(*n)++] = buf_get(&r->e.tcp.bufs);
    return r;
}

static void release(struct raw *r, const uint32_t held[1024], uint32_t n)
{
    while (n != 0)
        buf_put(&r->e.tcp.bufs, held[--n]);
}

enum { SCARCE = TCP_BUFS_RESERVE + 1024 / TCP_SCARCE_SHARE };

enum { TIMEOUTS = 6 };  // the last of them after half a minute: longer than anybody is watched

// It holds no data: its end would give nobody anything.
static void who_has_only_its_fin_unacknowledged_stays(void **state)
{
    uint32_t held[1024], n = 0;
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 1024});
    r->e.role.shut = true;
    raw_open(r);
    while (r->e.tcp.bufs.n_free_data >= SCARCE)
        held[n++] = buf_get(&r->e.tcp.bufs);
    for (unsigned i = 0; i < TIMEOUTS; i++) {
        assert_true(raw_wait(r, 100000) != UINT32_MAX);
        assert_true(r->e.out[0].flags & SEG_FIN);
    }
    assert_int_equal(r->e.stats.c.conns_shed, 0);
    release(r, held, n);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_free(r, false);
}

static void with_one_buffer_more_it_stays(void **state)
{
    uint32_t held[1024], n = 0;
    struct raw *r = hoarder(SCARCE, held, &n);
    for (unsigned i = 0; i < TIMEOUTS; i++) {
        assert_true(raw_wait(r, 100000) != UINT32_MAX);
        assert_false(r->e.out[0].flags & SEG_RST);
    }
    assert_int_equal(r->e.stats.c.conns_shed, 0);
    release(r, held, n);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_free(r, false);
}

static void who_takes_nothing_is_reset_while_buffers_are_scarce(void **state)
{
    for (unsigned answers = 0; answers < 2; answers++) {  // probes, or is not there at all
        uint32_t held[1024], n = 0, ms = 0;
        struct raw *r = hoarder(SCARCE - 1, held, &n);
        for (;;) {
            ms += raw_wait(r, 10000);
            if (r->e.out[0].flags & SEG_RST)
                break;
            if (answers)
                raw_send(r, SEG_ACK, 0, 0);
        }
        assert_in_range(ms, TCP_SHED_WATCH_MS, TCP_SHED_WATCH_MS + 10);
        assert_int_equal(r->e.stats.c.conns_shed, 1);
        assert_int_equal(r->e.role.closed, 1);
        assert_int_equal(r->e.role.why, C10M_TIMED_OUT);
        release(r, held, n);
        raw_turn(r, 1);
        raw_free(r, true);
    }
}

// With timestamps each byte measures a long round trip, so that no timeout is ever backed off.
static void who_takes_a_byte_now_and_then_is_reset_while_buffers_are_scarce(void **state)
{
    uint32_t held[1024], n = 0, sent_ts = 0, sent_ms = 0, ms = 0;
    struct raw *r = raw_new(&(struct pair_sizes){.bufs = 1024});
    r->ts = true;
    r->ts_val = 1000;
    r->wnd = 1;
    r->e.role.source = 60000;
    raw_open(r);
    const struct block *b = raw_block(r);
    while (r->e.tcp.bufs.n_free_data > SCARCE - 1)
        held[n++] = buf_get(&r->e.tcp.bufs);
    for (; ms < 60000 && r->e.role.closed == 0; ms++) {
        raw_turn(r, 1);
        if (sent_ts == 0 && r->e.tcp.n_out != 0 && r->e.out[0].data_len[0] != 0) {
            sent_ts = r->e.out[0].ts_val;
            sent_ms = ms;
        }
        if (sent_ts == 0 || ms - sent_ms < 300 || b->snd_max == b->snd_una)
            continue;
        r->ack = b->snd_una + 1;
        r->ts_ecr = sent_ts;
        r->ts_val++;
        sent_ts = 0;
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    }
    assert_in_range(ms, TCP_SHED_WATCH_MS, TCP_SHED_WATCH_MS + 10);
    assert_int_equal(r->e.stats.c.conns_shed, 1);
    release(r, held, n);
    raw_free(r, false);
}

// filled: a worker with a connection of each taker, whose answer takes so many buffers; and `most`
// buffers are free.
struct taker {
    uint32_t from;
    uint16_t port;
    uint16_t bufs;
    uint32_t block;
};

static struct raw *filled(struct taker *k, unsigned takers, uint32_t most, uint32_t held[1024],
                          uint32_t *n)
{
    struct raw *r =
        raw_new(&(struct pair_sizes){.bufs = 1024, .blocks = 256, .syns = 256, .flights = 256});
    for (unsigned i = 0; i < takers; i++) {
        r->e.role.source = k[i].bufs * (uint64_t)BUF_BYTES;
        assert_true(open_from(r, k[i].from, k[i].port));
        for (k[i].block = 0; r->e.tcp.blocks[k[i].block].key.remote_port != k[i].port;)
            k[i].block++;
    }
    while (r->e.tcp.bufs.n_free_data > most)
        held[(*n)++] = buf_get(&r->e.tcp.bufs);
    return r;
}

// The first taker takes a segment every half second; nobody else takes anything.
static void one_takes_for(struct raw *r, const struct taker *k, uint32_t ms)
{
    const struct block *b = &r->e.tcp.blocks[k->block];
    for (uint32_t i = 0; i < ms; i++)
        if (i % 500 == 0)
            send_from(r, k->from, k->port, SEG_ACK, b->snd_una + b->mss);
        else
            raw_turn(r, 1);
}

static bool lives(const struct raw *r, const struct taker *k)
{
    const struct block *b = &r->e.tcp.blocks[k->block];
    return b->state == TCP_ESTABLISHED && b->key.remote_port == k->port;
}

static void given_back(struct raw *r, const uint32_t held[1024], uint32_t n)
{
    release(r, held, n);
    done(r);
}

// Two of three that take nothing are enough. A bystander whose link is dead for the moment stays.
static void of_the_source_that_holds_most_who_takes_least_is_reset(void **state)
{
    struct taker k[] = {{ATTACKER, 1000, 20, 0},
                        {OTHER, 2000, 8, 0},
                        {ATTACKER, 1001, 20, 0},
                        {ATTACKER, 1002, 20, 0},
                        {ATTACKER, 1003, 20, 0}};
    uint32_t held[1024], n = 0;
    struct raw *r = filled(k, ARRAY_LEN(k), SCARCE - 30, held, &n);
    one_takes_for(r, &k[0], 10000);
    assert_int_equal(r->e.stats.c.conns_shed, 2);
    assert_true(lives(r, &k[0]));
    assert_true(lives(r, &k[1]));
    given_back(r, held, n);
}

// Each takes a byte in 150 ms, so that no timeout comes at all.
static void one_source_cannot_keep_the_buffers_by_a_byte_now_and_then(void **state)
{
    enum { TAKERS = 250, FREE_MIN = TCP_BUFS_RESERVE + 8192 / TCP_SCARCE_SHARE };
    struct raw *r = raw_new(&(struct pair_sizes){
        .bufs = 8192, .blocks = 256, .syns = 256, .flights = 256, .wheel = 4096});
    r->wnd = 1;
    r->e.role.source = 30 * BUF_BYTES;
    for (uint16_t i = 0; i < TAKERS; i++)
        assert_true(open_from(r, ATTACKER, (uint16_t)(1000 + i)));
    assert_true(r->e.tcp.bufs.n_free_data < FREE_MIN);
    for (uint32_t ms = 0; ms < TCP_SHED_WATCH_MS + 100; ms++) {
        for (uint32_t i = ms % 150; i < r->e.sizes.blocks; i += 150) {
            const struct block *b = &r->e.tcp.blocks[i];
            if (b->state == TCP_ESTABLISHED && b->snd_max != b->snd_una)
                raw_seg(r, SEG_ACK, 101, b->snd_una + 1, 0, 0)->key = b->key;
        }
        raw_turn(r, 1);
    }
    assert_in_range(r->e.tcp.bufs.n_free_data, FREE_MIN, FREE_MIN + 30);
    assert_int_equal(r->e.stats.c.conns_shed, r->e.role.closed);
    done(r);
}

static void many_connections_with_a_buffer_each_are_one_source(void **state)
{
    static struct taker k[201];
    uint32_t held[1024], n = 0;
    k[0] = (struct taker){OTHER, 2000, 20, 0};
    for (uint16_t i = 1; i < ARRAY_LEN(k); i++)
        k[i] = (struct taker){ATTACKER, (uint16_t)(3000 + i), 1, 0};
    struct raw *r = filled(k, ARRAY_LEN(k), SCARCE - 50, held, &n);
    for (uint32_t ms = 0; ms < 10000; ms++)
        raw_turn(r, 1);
    assert_int_equal(r->e.stats.c.conns_shed, 50);
    assert_true(lives(r, &k[0]));
    given_back(r, held, n);
}

static void nobody_hides_behind_a_larger_source_that_takes_its_data(void **state)
{
    struct taker k[] = {{OTHER, 2000, 30, 0}, {ATTACKER, 1000, 12, 0}};
    uint32_t held[1024], n = 0;
    struct raw *r = filled(k, ARRAY_LEN(k), SCARCE - 10, held, &n);
    one_takes_for(r, &k[0], 4 * TCP_SHED_WATCH_MS);
    assert_int_equal(r->e.stats.c.conns_shed, 1);
    assert_true(lives(r, &k[0]));
    given_back(r, held, n);
}

// A source above its share has to take its data in less time than one below it.
static void a_source_above_its_share_has_less_time(void **state)
{
    for (unsigned above = 0; above < 2; above++) {
        static struct taker k[24];
        uint32_t held[1024], n = 0;
        for (uint16_t i = 0; i < ARRAY_LEN(k); i++)
            k[i] = (struct taker){above ? ATTACKER : ATTACKER + i, (uint16_t)(1000 + i), 20, 0};
        struct raw *r = filled(k, ARRAY_LEN(k), SCARCE - 10, held, &n);
        for (uint32_t ms = 0; ms < 5000; ms++) {
            for (unsigned i = 0; i < ARRAY_LEN(k) && ms % 1000 == 0; i++) {
                const struct block *b = &r->e.tcp.blocks[k[i].block];
                if (lives(r, &k[i]))
                    raw_seg(r, SEG_ACK, 101, b->snd_una + b->mss / 2, 0, 0)->key = b->key;
            }
            raw_turn(r, 1);
        }
        assert_int_equal(r->e.stats.c.conns_shed != 0, above);
        given_back(r, held, n);
    }
}

static void who_takes_nothing_stays_while_there_are_buffers(void **state)
{
    uint32_t held[1024], n = 0;
    struct raw *r = hoarder(SCARCE, held, &n);
    r->e.tcp.cfg.rto_max_ms = 1000;
    for (unsigned i = 0; i < 300; i++) {  // more than a count of 8 bits holds
        assert_true(raw_wait(r, 10000) != UINT32_MAX);
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(r->e.stats.c.conns_shed, 0);
    r->wnd = 5000;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.out[0].data_len[0], 1000);
    release(r, held, n);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 1);
    raw_free(r, true);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_address_at_its_limit_opens_no_more_and_others_do),
        T(a_place_is_free_again_when_a_connection_ends),
        T(handshakes_that_end_above_the_limit_are_reset),
        T(a_burst_that_ends_a_handshake_above_the_limit_ends_it_once),
        T(half_open_connections_do_not_count),
        T(one_services_limit_does_not_count_anothers_connections),
        T(a_service_at_its_limit_answers_no_syn_and_counts),
        T(a_handshake_that_ends_above_the_services_limit_waits_for_room),
        T(one_prefix_can_use_an_idle_server_up_to_the_last_eighth),
        T(without_a_share_one_prefix_can_have_all_blocks),
        T(many_greedy_prefixes_leave_blocks_to_the_next_one),
        T(a_prefix_over_its_share_gets_in_again_when_it_has_less),
        T(a_handshake_that_ends_over_the_share_is_reset),
        T(by_cookies_a_prefix_gets_no_more_than_by_records),
        T(half_open_connections_do_not_count_for_a_prefix),
        T(a_service_leaves_the_last_16th_to_another_one),
        T(a_network_that_fills_a_service_leaves_a_16th_of_it_to_others),
        T(a_lone_service_can_have_all_blocks),
        T(nobody_new_is_accepted_while_the_worker_is_behind_and_others_go_on),
        T(without_the_key_syns_are_accepted_however_late_it_is),
        T(who_takes_nothing_is_reset_while_buffers_are_scarce),
        T(with_one_buffer_more_it_stays),
        T(who_has_only_its_fin_unacknowledged_stays),
        T(who_takes_a_byte_now_and_then_is_reset_while_buffers_are_scarce),
        T(of_the_source_that_holds_most_who_takes_least_is_reset),
        T(one_source_cannot_keep_the_buffers_by_a_byte_now_and_then),
        T(many_connections_with_a_buffer_each_are_one_source),
        T(nobody_hides_behind_a_larger_source_that_takes_its_data),
        T(a_source_above_its_share_has_less_time),
        T(who_takes_nothing_stays_while_there_are_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
