// SPDX-License-Identifier: BSD-3-Clause
// Claims about tcp/tcp_view.h: a thread that looks on never sees two connections in one copy, while
// the worker's own functions give each place to one connection after the other.
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>

#include "tcp/tcp_view.h"
#include "tcp_pair.h"
#include "unit/check.h"

enum {
    RUN_MS = 1500,       // of each race, at least
    RUN_MAX_MS = 30000,  // on a machine that has no time for both threads
    SEEN_MIN = 1000,     // copies that a race must have had, or it proves nothing
    LIVES_MIN = 10000,   // connections that the place must have had meanwhile
};

static struct end end;
static uint64_t lives;  // of the place so far; the writer's
static bool stop;

// Everything that a copy tells follows from one number, the connection's port.
static uint32_t number_of(uint16_t port)
{
    return port * 2654435761u;
}

static struct flow_key key_of(uint16_t port)
{
    struct flow_key key = {ip_from_v4(number_of(port)), 0, 0, port, PAIR_PORT};
    return key;
}

static uint16_t next_port(void)
{
    return (uint16_t)(1 + lives++ % 60000);
}

static bool running(void)
{
    return !__atomic_load_n(&stop, __ATOMIC_RELAXED);
}

// ---- blocks

static void *blocks_writer(void *arg)
{
    struct tcp *t = &end.tcp;
    while (running()) {
        const uint16_t port = next_port();
        const struct flow_key key = key_of(port);
        const uint32_t ix = tcp_block_new(t, &key, 0, FLOW_NONE), n = number_of(port);
        CHECK(ix == 0);
        struct block *b = &t->blocks[ix];
        b->rcv_nxt = b->rcv_adv = b->snd_una = b->snd_nxt = b->snd_wnd = b->ts_recent = n;
        b->snd_end = b->snd_max = b->snd_wl1 = b->cwnd = b->srtt_us = b->rtt_seq = n;
        b->ssthresh = b->last_progress = b->recover = n;
        tcp_set_state(b, STEP_PASSIVE_DONE);
        tcp_set_state(b, STEP_PEER_FIN);
        tcp_set_state(b, STEP_END);
        tcp_free(t, ix);
        index_pool_turn_end(t->block_pool);
    }
    return NULL;
}

static bool block_is_whole(const struct block *b)
{
    const uint32_t n = number_of(b->key.remote_port);
    const uint32_t odd = (b->rcv_nxt ^ n) | (b->rcv_adv ^ n) | (b->snd_una ^ n) | (b->snd_nxt ^ n) |
                         (b->snd_wnd ^ n) | (b->ts_recent ^ n) | (b->snd_end ^ n) |
                         (b->snd_max ^ n) | (b->snd_wl1 ^ n) | (b->cwnd ^ n) | (b->srtt_us ^ n) |
                         (b->rtt_seq ^ n) | (b->ssthresh ^ n) | (b->last_progress ^ n) |
                         (b->recover ^ n) | (ip_to_v4(&b->key.remote) ^ n);
    return odd == 0 && b->state != TCP_FREE;
}

static int view_block(void)
{
    struct block copy;
    return !tcp_view_block(&end.tcp, 0, &copy) ? 0 : block_is_whole(&copy) ? 1 : -1;
}

// ---- half-open connections

static void *syns_writer(void *arg)
{
    struct tcp *t = &end.tcp;
    while (running()) {
        const uint16_t port = next_port();
        struct tcp_verdict v;
        struct seg_in s = {.key = key_of(port), .flags = SEG_SYN, .opts = SEG_OPT_TS | SEG_OPT_MSS};
        s.seq = s.ts_val = number_of(port);
        s.wnd = s.mss = (uint16_t)number_of(port);
        t->n_out = 0;
        t->out_room = TCP_OUT_MAX;
        tcp_input(t, &s, NULL, FLOW_NONE, &v);
        CHECK(v.drop == DROP_NONE && t->syn_pool->n_free == 0);
        s.flags = SEG_RST;
        s.seq++;
        tcp_input(t, &s, NULL, flow_index(FLOW_SYN, 0), &v);
        CHECK(v.drop == DROP_NONE);
        index_pool_turn_end(t->syn_pool);
    }
    return NULL;
}

static int view_syn(void)
{
    struct syn_record r;
    if (!tcp_view_syn(&end.tcp, 0, &r))
        return 0;
    const uint32_t n = number_of(r.key.remote_port);
    const bool whole = r.irs == n && r.ts_recent == n && r.wnd == (uint16_t)n &&
                       r.mss == (uint16_t)n && ip_to_v4(&r.key.remote) == n && r.live;
    return whole ? 1 : -1;
}

// ---- TIME-WAIT

static void *tw_writer(void *arg)
{
    struct tcp *t = &end.tcp;
    struct block b = {.mss = 1};
    while (running()) {
        const uint16_t port = next_port();
        const struct flow_key key = key_of(port);
        const uint32_t handle = flow_index(FLOW_BLOCK, 7);
        b.snd_nxt = b.rcv_nxt = b.rcv_adv = b.ts_recent = number_of(port);
        CHECK(flow_insert(t->table, flow_hash(t->table, &key), handle));
        t->now = clock_at_us(t->now.us + 1000);
        tcp_time_wait_enter(t, &key, &b, handle);  // the record before it goes: the ring has one
    }
    return NULL;
}

static int view_tw(void)
{
    struct time_wait6 copy;
    const struct time_wait *w = &copy.w;
    if (!tcp_view_time_wait(&end.tcp.tw4, 0, &copy))
        return 0;
    const uint32_t n = number_of(w->remote_port);
    return w->snd_nxt == n && w->rcv_nxt == n && w->ts_recent == n && w->remote_v4 == n && w->live
               ? 1
               : -1;
}

// ----

static uint64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

// race: looks at place 0 with view() while the writer runs: 1: whole, 0: nothing there, -1: mixed.
static void race(void *(*writer)(void *), int (*view)(void))
{
    static const struct pair_sizes one = {.blocks = 1, .syns = 1, .tw = 1};
    uint64_t seen = 0, none = 0, mixed = 0;
    pthread_t thread;
    end_init(&end, 1, &one);
    lives = 0;
    stop = false;
    assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
    const uint64_t from = now_ms();
    while (now_ms() - from < RUN_MS ||
           (now_ms() - from < RUN_MAX_MS &&
            (seen < SEEN_MIN || __atomic_load_n(&lives, __ATOMIC_RELAXED) < LIVES_MIN)))
        for (unsigned i = 0; i < 1000; i++) {
            const int got = view();
            seen += got == 1;
            none += got == 0;
            mixed += got < 0;
        }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    end_fini(&end, false);
    print_message("%lu lives; %lu copies, %lu times nothing\n", lives, seen, none);
    assert_int_equal(mixed, 0);
    assert_in_range(seen, SEEN_MIN, UINT64_MAX);
    assert_in_range(lives, LIVES_MIN, UINT64_MAX);
}

static void a_copy_of_a_block_is_never_of_two_connections(void **state)
{
    race(blocks_writer, view_block);
}

static void a_copy_of_a_half_open_connection_is_never_of_two(void **state)
{
    race(syns_writer, view_syn);
}

static void a_copy_of_a_time_wait_record_is_never_of_two(void **state)
{
    race(tw_writer, view_tw);
}

static void a_free_place_is_nothing(void **state)
{
    struct block b;
    struct syn_record r;
    struct time_wait6 w;
    end_init(&end, 1, NULL);
    assert_false(tcp_view_block(&end.tcp, 0, &b));
    assert_false(tcp_view_syn(&end.tcp, 0, &r));
    assert_false(tcp_view_time_wait(&end.tcp.tw4, 0, &w));
    assert_false(tcp_view_time_wait(&end.tcp.tw6, 0, &w));
    end_fini(&end, true);
}

static void what_was_never_used_is_known(void **state)
{
    static const struct pair_sizes sizes = {.blocks = 100};
    uint32_t ix[3];
    end_init(&end, 1, &sizes);
    struct index_pool *p = end.tcp.block_pool;
    assert_int_equal(tcp_view_used(p), 0);
    for (unsigned i = 0; i < 3; i++) {
        ix[i] = index_pool_get(p);
        assert_in_range(ix[i], 0, tcp_view_used(p) - 1);
    }
    for (unsigned i = 0; i < 3; i++) {  // with places held back, others are given out
        index_pool_put_deferred(p, ix[i]);
        ix[i] = index_pool_get(p);
        assert_in_range(ix[i], 0, tcp_view_used(p) - 1);
        if (i == 1)
            index_pool_turn_end(p);
    }
    assert_in_range(tcp_view_used(p), 3, 6);
    end_fini(&end, false);
}

static void the_time_wait_ring_is_walked_where_it_has_records(void **state)
{
    struct time_wait_ring g = {.capacity = 10, .head = 7, .used = 5};  // 7, 8, 9, 0, 1
    static const uint32_t next[] = {0, 1, 7, 7, 7, 7, 7, 7, 8, 9};
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(tcp_view_tw_next(&g, i), next[i]);
    g.head = 2;  // 2..6
    static const uint32_t whole[] = {2, 2, 2, 3, 4, 5, 6, 10, 10, 10};
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(tcp_view_tw_next(&g, i), whole[i]);
    g.used = 0;
    assert_int_equal(tcp_view_tw_next(&g, 0), 10);
    g.used = 10;
    for (uint32_t i = 0; i < 10; i++)
        assert_int_equal(tcp_view_tw_next(&g, i), i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_place_is_nothing),
        cmocka_unit_test(what_was_never_used_is_known),
        cmocka_unit_test(the_time_wait_ring_is_walked_where_it_has_records),
        cmocka_unit_test(a_copy_of_a_block_is_never_of_two_connections),
        cmocka_unit_test(a_copy_of_a_half_open_connection_is_never_of_two),
        cmocka_unit_test(a_copy_of_a_time_wait_record_is_never_of_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
