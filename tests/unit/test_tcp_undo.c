// SPDX-License-Identifier: BSD-3-Clause
// Undo without a log of what is in flight: each state that it can be asked in, against the rules of
// RFC 3522 3.2 and RFC 5682 2.1 written down once more.
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

enum { MSS = 1460, FLIGHT = 5 * MSS, UNA = 100000, PRIOR_CWND = 50000, AGAIN_MS = 5000 };

// One case; each counts from 0 to what `of` has.
struct given {
    unsigned step, has_ts, echo, nodelay, fin, cork, unsent, recover, wnd, kept;
};

static const struct given of = {4, 2, 4, 2, 2, 2, 4, 3, 3, 2};

static bool next(struct given *g)
{
    unsigned *at = (unsigned *)g;
    const unsigned *most = (const unsigned *)&of;
    for (unsigned i = 0; i < sizeof(of) / sizeof(unsigned); i++) {
        if (++at[i] < most[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static uint32_t unsent_of(const struct given *g)
{
    return (const uint32_t[]){0, MSS - 1, MSS, 3 * MSS}[g->unsent];
}

static uint32_t recover_of(const struct given *g)
{
    return UNA + (const uint32_t[]){0, 1, FLIGHT}[g->recover];
}

static uint32_t wnd_of(const struct given *g)
{
    return FLIGHT + MSS + g->wnd - 1;
}

static struct ext *ext_of(struct raw *r, const struct block *b)
{
    return &r->e.tcp.exts[b->ext];
}

// The block as it is when the oldest of FLIGHT bytes has left again.
static void put(struct raw *r, struct block *b, const struct given *g)
{
    struct ext *e = ext_of(r, b);
    b->snd_una = UNA;
    b->snd_nxt = UNA + MSS;
    b->snd_max = UNA + FLIGHT;
    b->snd_end = b->snd_max + unsent_of(g);
    b->recover = recover_of(g);
    b->cwnd = 2 * MSS;
    b->ssthresh = 3 * MSS;
    b->dupacks = 3;
    b->backoff = 2;
    b->retries = 2;
    b->flags = (uint16_t)(BF_EXT | (g->nodelay ? BF_NODELAY : 0) | (g->fin ? BF_FIN_QUEUED : 0));
    e->sockopts.set = g->cork ? 1u << SOCKOPT_CORK : 0;
    e->recovery = RECOVERY_NEWRENO;
    e->cc = (struct ext_cc){.flags = (uint16_t)(g->kept ? CC_LIVE | CC_UNDO : CC_LIVE),
                            .prior_cwnd = PRIOR_CWND,
                            .prior_ssthresh = PRIOR_CWND};
    e->undo = (struct ext_undo){.again_ms = AGAIN_MS, .step = (uint8_t)g->step};
}

// RFC 5682 2.1, step 2b: there is something new, all that is in flight was so at the timeout, the
// window has room for it, and no rule of ours holds it back.
static bool has_news(const struct given *g)
{
    const bool waits = g->cork || (!g->nodelay && !g->fin);
    return unsent_of(g) != 0 && g->recover != 0 && g->wnd != 0 && (!waits || unsent_of(g) >= MSS);
}

static enum undo_step after(const struct given *g, bool *undone)
{
    *undone = false;
    if (g->step == UNDO_NONE)
        return UNDO_NONE;
    if (g->has_ts && g->echo != 0) {
        *undone = g->echo == 1;
        return UNDO_NONE;
    }
    *undone = g->step == UNDO_NEW;
    return g->step == UNDO_FIRST && has_news(g) ? UNDO_NEW : UNDO_NONE;
}

static void expect_undone(struct raw *r, const struct block *b, const struct given *g)
{
    assert_int_equal(b->snd_nxt, b->snd_max);
    assert_int_equal(b->snd_cur, b->snd_head);
    assert_int_equal(b->cwnd, PRIOR_CWND);
    assert_int_equal(b->ssthresh, PRIOR_CWND);
    assert_int_equal(b->recover, UNA - 1);
    assert_int_equal(b->dupacks | b->backoff | b->retries, 0);
    assert_int_equal(ext_of(r, b)->recovery, RECOVERY_NONE);
    const struct core_counters *c = &r->e.stats.c;
    assert_int_equal(c->loss_undos, g->step != UNDO_FAST);
    assert_int_equal(c->spurious_rtos, g->step != UNDO_FAST);
    assert_int_equal(c->partial_undos, g->step == UNDO_FAST && g->recover != 0);
    assert_int_equal(c->full_undos, g->step == UNDO_FAST && g->recover == 0);
}

static struct raw *opened(struct block **b)
{
    struct raw *r = raw_new(&(struct pair_sizes){.no_flights = 1});
    raw_open(r);
    *b = raw_block(r);
    assert_non_null(tcp_ext_get(&r->e.tcp, *b));
    r->e.tcp.now = clock_at_us(10 * 1000 * 1000);
    return r;
}

// 0: none; before, at and after the moment in which the segment left again.
static uint32_t echo_of(const struct raw *r, const struct block *b, unsigned echo)
{
    const uint32_t age_ms = r->e.tcp.now.ms - (AGAIN_MS + echo - 2);
    return echo == 0 ? 0 : tcp_ts_now(&r->e.tcp, &b->key) - age_ms;
}

static void an_acknowledgment_undoes_what_it_shows_to_be_needless_and_no_more(void **state)
{
    struct block *b;
    struct raw *r = opened(&b);
    struct given g = {.step = 0};
    unsigned undos = 0, news = 0;
    do {
        bool undone;
        const enum undo_step step = after(&g, &undone);
        put(r, b, &g);
        r->e.stats.c = (struct core_counters){.spurious_rtos = 0};
        const bool got = tcp_undo_acked(&r->e.tcp, b, g.has_ts, echo_of(r, b, g.echo), wnd_of(&g));
        assert_int_equal(got, undone && g.kept);
        assert_int_equal(ext_of(r, b)->undo.step, step);
        if (got) {
            expect_undone(r, b, &g);
        } else {
            assert_int_equal(b->snd_nxt, step == UNDO_NEW ? UNA + FLIGHT : UNA + MSS);
            assert_int_equal(b->cwnd, step == UNDO_NEW ? FLIGHT + 2 * MSS : 2 * MSS);
        }
        undos += got;
        news += step == UNDO_NEW;
    } while (next(&g));
    assert_true(undos > 100 && news > 20);
    raw_free(r, false);
}

static void a_duplicate_after_new_data_sends_all_again(void **state)
{
    struct block *b;
    struct raw *r = opened(&b);
    for (unsigned step = 0; step < of.step; step++)
        for (unsigned cwnd = 1; cwnd < 5; cwnd++) {
            const struct given g = {.step = step, .recover = 2};
            put(r, b, &g);
            b->cwnd = cwnd * MSS;
            b->snd_nxt = b->snd_max;
            assert_int_equal(tcp_undo_duplicate(&r->e.tcp, b), step == UNDO_NEW);
            assert_int_equal(ext_of(r, b)->undo.step, step == UNDO_NEW ? UNDO_NONE : step);
            assert_int_equal(b->snd_nxt, step == UNDO_NEW ? UNA : UNA + FLIGHT);
            assert_int_equal(b->cwnd, step == UNDO_NEW ? MIN(cwnd, 3) * MSS : cwnd * MSS);
        }
    raw_free(r, false);
}

// With a log it is that which undoes; without a record, nothing.
static void with_a_log_or_without_a_record_nothing_is_undone_here(void **state)
{
    struct block *b;
    struct raw *r = opened(&b);
    struct tcp *t = &r->e.tcp;
    const struct given g = {.step = UNDO_NEW, .recover = 2, .kept = 1};
    for (unsigned how = 0; how < 2; how++) {
        put(r, b, &g);
        b->has_flight = how;
        b->flags &= how ? b->flags : (uint16_t)~BF_EXT;
        assert_false(tcp_undo_acked(t, b, false, 0, UINT16_MAX));
        assert_false(tcp_undo_duplicate(t, b));
        assert_int_equal(ext_of(r, b)->undo.step, UNDO_NEW);
        tcp_undo_begin(t, b, true);
        assert_int_equal(ext_of(r, b)->undo.step, UNDO_NEW);
        assert_int_equal(ext_of(r, b)->undo.again_ms, AGAIN_MS);
    }
    raw_free(r, false);
}

// Duplicates tell by timestamps only; a timeout without SACK by what arrives, too.
static void what_leaves_again_is_noted_where_something_can_tell_that_it_was_needless(void **state)
{
    struct block *b;
    struct raw *r = opened(&b);
    struct tcp *t = &r->e.tcp;
    for (unsigned i = 0; i < 8; i++) {
        const bool ts = i & 1, sack = i & 2, timeout = i & 4;
        const struct given g = {.step = UNDO_NONE};
        put(r, b, &g);
        b->flags |= ts ? BF_TS : 0;
        b->agreed = sack ? BA_SACK : 0;
        tcp_undo_begin(t, b, timeout);
        const enum undo_step want = timeout ? UNDO_FIRST : UNDO_FAST;
        assert_int_equal(ext_of(r, b)->undo.step, ts || (timeout && !sack) ? want : UNDO_NONE);
        assert_int_equal(ext_of(r, b)->undo.again_ms, t->now.ms);
    }
    raw_free(r, false);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_acknowledgment_undoes_what_it_shows_to_be_needless_and_no_more),
        T(a_duplicate_after_new_data_sends_all_again),
        T(with_a_log_or_without_a_record_nothing_is_undone_here),
        T(what_leaves_again_is_noted_where_something_can_tell_that_it_was_needless),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
