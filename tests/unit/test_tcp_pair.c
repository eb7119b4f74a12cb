// SPDX-License-Identifier: BSD-3-Clause
// Two TCPs back to back in virtual time, through a link that loses, repeats and reorders.
#include "check.h"
#include "seed.h"
#include "tcp_pair.h"

enum { A, B };

static struct pair *sourced(uint64_t seed, uint64_t bytes)
{
    struct pair *p = pair_new(seed);
    p->e[A].role = (struct role){.source = bytes, .shut = true};
    p->e[B].role.shut_on_end = true;
    end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
    return p;
}

static void finish(struct pair *p, enum c10m_close why)
{
    pair_run(p, 4000 * 1000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(p->e[i].role.opened, 1);
        assert_int_equal(p->e[i].role.closed, 1);
        assert_int_equal(p->e[i].role.why, why);
        assert_false(p->e[i].role.wrong);
    }
    pair_free(p, true);
}

static void a_stream_arrives_whole_over_a_clean_link(void **state)
{
    struct pair *p = sourced(1, 1000000);
    pair_run_for(p, 20000);
    assert_int_equal(p->e[B].role.received, 1000000);
    assert_int_equal(p->e[A].stats.c.tx_retransmits_segs, 0);
    finish(p, C10M_CLOSED);
}

static void streams_both_ways_survive_loss_reorder_and_duplicates(void **state)
{
    struct rng rng = test_rng(__func__);
    for (int i = 0; i < 50; i++) {
        const uint64_t seed = rng_u64(&rng);
        struct pair *p = pair_new(seed);
        p->loss_pm = rng_below(&rng, 80);
        p->reorder_pm = rng_below(&rng, 300);
        p->dup_pm = rng_below(&rng, 100);
        for (int k = 0; k < 2; k++) {
            p->e[k].role = (struct role){.source = 100000, .shut = true};
            p->e[k].tcp.cfg.timestamps = i % 2;
            p->e[k].tcp.cfg.ack_merge = i % 3;
            p->e[k].tcp.cfg.large = i % 4 < 2;
            p->e[k].tcp.cfg.window_scale = (uint8_t)(i % 15);
            p->e[k].role.pause_ms = i % 5 == 4 ? 20 : 0;
        }
        end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
        pair_run(p, 4000 * 1000);
        for (int k = 0; k < 2; k++) {
            if (p->e[k].role.received != 100000 || p->e[k].role.wrong ||
                end_leaks(&p->e[k]) != NULL)
                fail_msg("round %d seed %llu loss %u reorder %u dup %u: end %d received %llu, "
                         "closed %u why %d, leaks %s",
                         i, (unsigned long long)seed, p->loss_pm, p->reorder_pm, p->dup_pm, k,
                         (unsigned long long)p->e[k].role.received, p->e[k].role.closed,
                         p->e[k].role.why, end_leaks(&p->e[k]));
        }
        pair_free(p, true);
    }
}

static void a_stream_in_large_segments_arrives_whole(void **state)
{
    struct pair *p = sourced(1, 1000000);
    p->e[A].tcp.cfg.large = true;
    pair_run_for(p, 20000);
    assert_int_equal(p->e[B].role.received, 1000000);
    assert_int_equal(p->e[A].stats.c.tx_retransmits_segs, 0);
    assert_true(p->e[A].stats.c.tx_large > 10);
    assert_int_equal(p->e[A].stats.c.bytes_sent, 1000000);
    finish(p, C10M_CLOSED);
}

static void an_echo_returns_every_byte_under_loss(void **state)
{
    struct rng rng = test_rng(__func__);
    for (int i = 0; i < 10; i++) {
        struct pair *p = pair_new(rng_u64(&rng));
        p->loss_pm = 30;
        p->e[A].role = (struct role){.source = 50000, .shut = true};
        p->e[B].role = (struct role){.echo = true, .shut_on_end = true};
        end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
        pair_run(p, 1000 * 1000);
        assert_int_equal(p->e[A].role.received, 50000);
        finish(p, C10M_CLOSED);
    }
}

static void simultaneous_open_makes_one_connection(void **state)
{
    struct pair *p = pair_new(3);
    for (int k = 0; k < 2; k++) {
        p->e[k].role = (struct role){.source = 5000, .shut = true};
        end_connect_from(&p->e[k], 32868, p->e[!k].v4, 32868);
    }
    finish(p, C10M_CLOSED);
}

static void simultaneous_close_ends_both_in_time_wait(void **state)
{
    struct pair *p = pair_new(4);
    p->e[A].role.shut = p->e[B].role.shut = true;
    end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
    finish(p, C10M_CLOSED);
}

static void half_close_lets_the_other_side_send(void **state)
{
    struct pair *p = pair_new(5);
    p->e[A].role.shut = true;
    p->e[B].role = (struct role){.source = 300000, .shut = true};
    end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
    pair_run_for(p, 20000);
    assert_int_equal(p->e[A].role.received, 300000);
    finish(p, C10M_CLOSED);
}

static void an_abort_is_a_reset_for_the_peer(void **state)
{
    struct pair *p = pair_new(6);
    p->e[A].role = (struct role){.timer_ms = 50, .abort_on_timer = true};
    end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
    pair_run(p, 10000);
    assert_int_equal(p->e[A].role.why, C10M_ABORTED);
    assert_int_equal(p->e[B].role.why, C10M_RESET);
    pair_free(p, true);
}

static void nobody_listening_refuses(void **state)
{
    struct pair *p = pair_new(7);
    end_connect(&p->e[A], p->e[B].v4, 9999);
    pair_run(p, 1000);
    assert_int_equal(p->e[A].role.why, C10M_REFUSED);
    pair_free(p, true);
}

static void a_dead_link_ends_an_active_open(void **state)
{
    struct pair *p = pair_new(8);
    p->loss_pm = 1000;
    end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
    pair_run(p, 1000 * 1000);
    assert_int_equal(p->e[A].role.why, C10M_UNREACHABLE);
    pair_free(p, true);
}

static void a_slow_reader_gets_everything(void **state)
{
    struct pair *p = sourced(9, 500000);
    p->e[B].role.pause_ms = 300;
    pair_run(p, 4000 * 1000);
    assert_int_equal(p->e[B].role.received, 500000);
    finish(p, C10M_CLOSED);
}

// Both ends lose everything for a while with much in flight: neither's acknowledgments may be old.
static void both_ends_recover_after_an_outage(void **state)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct pair *p = pair_new(seed);
        for (int k = 0; k < 2; k++)
            p->e[k].role = (struct role){.source = 200000, .shut = true};
        end_connect(&p->e[A], p->e[B].v4, PAIR_PORT);
        pair_run_for(p, 2 + seed);
        p->loss_pm = 1000;
        pair_run_for(p, 400);
        p->loss_pm = 0;
        pair_run_for(p, 20000);
        assert_int_equal(p->e[A].role.received, 200000);
        assert_int_equal(p->e[B].role.received, 200000);
        finish(p, C10M_CLOSED);
    }
}

static void the_advertised_edge_never_moves_left(void **state)
{
    struct pair *p = sourced(10, 200000);
    p->e[B].role.pause_ms = 30;
    uint32_t edge = 0;
    bool known = false;
    for (int i = 0; i < 5000; i++) {
        pair_run_for(p, 1);
        for (uint32_t k = 0; k < p->n_flight; k++) {
            const struct seg_in *s = &p->flight[k].s;
            if (p->flight[k].to != A || !(s->flags & SEG_ACK) || (s->flags & (SEG_SYN | SEG_RST)))
                continue;
            const uint32_t now = s->ack + ((uint32_t)s->wnd << 7);
            assert_false(known && seq_lt(now, edge) && p->flight[k].order == p->order - 1);
            edge = known && seq_lt(now, edge) ? edge : now;
            known = true;
        }
    }
    assert_true(known);
    finish(p, C10M_CLOSED);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_stream_arrives_whole_over_a_clean_link),
        T(a_stream_in_large_segments_arrives_whole),
        T(streams_both_ways_survive_loss_reorder_and_duplicates),
        T(an_echo_returns_every_byte_under_loss),
        T(simultaneous_open_makes_one_connection),
        T(simultaneous_close_ends_both_in_time_wait),
        T(half_close_lets_the_other_side_send),
        T(an_abort_is_a_reset_for_the_peer),
        T(nobody_listening_refuses),
        T(a_dead_link_ends_an_active_open),
        T(a_slow_reader_gets_everything),
        T(both_ends_recover_after_an_outage),
        T(the_advertised_edge_never_moves_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
