// SPDX-License-Identifier: BSD-3-Clause
// SACK: what is agreed on, what we report, what the peer's reports make us send, and recovery over
// a link that loses.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "sock/sock_internal.h"
#include "tcp/tcp_sack.h"
#include "tcp_pair.h"

#define OUT(r, i) ((r)->e.out[i])

enum { MSS = 1460 };

static void reset_and_free(struct raw *r)
{
    r->n = 0;
    raw_turn(r, 1);
    struct block *b = raw_block(r);
    if (b != NULL) {
        raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0);
        raw_turn(r, 0);
    }
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

// A connection with SACK whose peer's first number is seq and whose end sends `source` bytes.
// Without a log of what is in flight (test_tcp_rack): the scoreboard repairs what is lost.
static struct raw *opened_at(uint32_t seq, uint64_t source)
{
    struct raw *r = raw_new(&(struct pair_sizes){.no_flights = 1});
    r->sack = true;
    r->seq = seq;
    r->e.role.source = source;
    raw_open(r);
    return r;
}

static struct raw *opened(uint64_t source)
{
    return opened_at(1000, source);
}

// ---- the handshake

static void sack_is_agreed_on_if_both_sides_offer_it(void **state)
{
    for (int ours = 0; ours < 2; ours++)
        for (int theirs = 0; theirs < 2; theirs++) {
            struct raw *r = raw_new(NULL);
            r->e.tcp.cfg.sack = ours;
            r->sack = theirs;
            struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
            s->opts = theirs ? SEG_OPT_MSS | SEG_OPT_SACK_PERM : SEG_OPT_MSS;
            s->mss = 1460;
            raw_turn(r, 1);
            assert_int_equal((OUT(r, 0).opts & SEG_OPT_SACK_PERM) != 0, ours && theirs);
            r->ack = OUT(r, 0).seq + 1;
            raw_send(r, SEG_ACK, 0, 0);
            assert_int_equal(raw_block(r)->agreed & BA_SACK, ours && theirs ? BA_SACK : 0);
            reset_and_free(r);
        }
}

static void an_active_open_offers_sack_and_takes_the_answer(void **state)
{
    for (int ours = 0; ours < 2; ours++)
        for (int theirs = 0; theirs < 2; theirs++) {
            struct raw *r = raw_new(NULL);
            r->e.tcp.cfg.sack = ours;
            const uint32_t ix = end_connect(&r->e, 0x0a000002, 80);
            struct block *b = &r->e.tcp.blocks[ix];
            raw_turn(r, 1);
            assert_int_equal((OUT(r, 0).opts & SEG_OPT_SACK_PERM) != 0, ours);
            struct seg_in *s = raw_seg(r, SEG_SYN | SEG_ACK, r->seq++, OUT(r, 0).seq + 1, 0, 0);
            s->key = b->key;
            s->opts = theirs ? SEG_OPT_SACK_PERM : 0;
            raw_turn(r, 1);
            assert_int_equal(b->state, TCP_ESTABLISHED);
            assert_int_equal(b->agreed & BA_SACK, ours && theirs ? BA_SACK : 0);
            raw_seg(r, SEG_RST, r->seq, 0, 0, 0)->key = b->key;
            raw_turn(r, 1);
            raw_free(r, true);
        }
}

static void a_simultaneous_open_agrees_on_sack(void **state)
{
    for (int other = 0; other < 2; other++) {
        struct pair *p = pair_new(3);
        for (int k = 0; k < 2; k++) {
            p->e[k].tcp.cfg.sack = k == 0 || other;
            end_connect_from(&p->e[k], 32868, p->e[!k].v4, 32868);
        }
        pair_run_for(p, 500);
        for (int k = 0; k < 2; k++)
            for (uint32_t i = 0; i < p->e[k].sizes.blocks; i++)
                if (p->e[k].tcp.blocks[i].state != TCP_FREE)
                    assert_int_equal(p->e[k].tcp.blocks[i].agreed & BA_SACK, other ? BA_SACK : 0);
        pair_free(p, false);
    }
}

// ---- what we report

// Data at `at` behind what came in order, then a turn.
static void data_at(struct raw *r, uint32_t at, uint16_t len)
{
    raw_seg(r, SEG_ACK, r->seq + at, r->ack, at, len);
    raw_turn(r, 0);
}

static void assert_blocks(const struct raw *r, uint32_t out, uint32_t n, const uint32_t (*want)[2])
{
    const struct seg_out *o = &OUT(r, out);
    assert_int_equal((o->opts & SEG_OPT_SACK) != 0, n != 0);
    if (n == 0)
        return;
    assert_int_equal(o->n_sack, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_int_equal(o->sack[i].start - r->seq, want[i][0]);
        assert_int_equal(o->sack[i].end - r->seq, want[i][1]);
    }
}

#define BLOCKS(r, ...)                                                                             \
    do {                                                                                           \
        const uint32_t want_[][2] = {__VA_ARGS__};                                                 \
        assert_int_equal((r)->e.tcp.n_out, 1);                                                     \
        assert_blocks(r, 0, ARRAY_LEN(want_), want_);                                              \
    } while (0)

static void the_block_that_changed_last_is_reported_first(void **state)
{
    for (int wrap = 0; wrap < 2; wrap++) {
        struct raw *r = opened_at(wrap ? 0xfffff000 : 1000, 0);
        data_at(r, 1000, 500);
        BLOCKS(r, {1000, 1500});
        data_at(r, 3000, 500);
        BLOCKS(r, {3000, 3500}, {1000, 1500});
        data_at(r, 5000, 500);
        BLOCKS(r, {5000, 5500}, {3000, 3500}, {1000, 1500});
        data_at(r, 3500, 100);  // grows
        BLOCKS(r, {3000, 3600}, {5000, 5500}, {1000, 1500});
        data_at(r, 7000, 100);
        BLOCKS(r, {7000, 7100}, {3000, 3600}, {5000, 5500}, {1000, 1500});
        data_at(r, 9000, 100);  // four fit
        BLOCKS(r, {9000, 9100}, {7000, 7100}, {3000, 3600}, {5000, 5500});
        data_at(r, 1500, 1500);  // two become one, of which one half was no longer reported
        BLOCKS(r, {1000, 3600}, {9000, 9100}, {7000, 7100}, {5000, 5500});
        data_at(r, 0, 1000);  // what is in order is not reported
        BLOCKS(r, {9000, 9100}, {7000, 7100}, {5000, 5500});
        for (uint32_t at = 3600; at < 9200; at += 1400)
            data_at(r, at, 1400);
        assert_int_equal(r->e.stats.c.ext_records_now, 0);
        assert_false(r->e.role.wrong);
        reset_and_free(r);
    }
}

static void with_timestamps_three_blocks_fit(void **state)
{
    struct raw *r = raw_new(NULL);
    r->sack = r->ts = true;
    r->ts_val = 1;
    raw_open(r);
    for (uint32_t i = 1; i <= 5; i++)
        data_at(r, i * 1000, 100);
    BLOCKS(r, {5000, 5100}, {4000, 4100}, {3000, 3100});
    reset_and_free(r);
}

static void without_agreement_nothing_is_reported(void **state)
{
    struct raw *r = raw_new(NULL);
    raw_open(r);
    data_at(r, 1000, 500);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_blocks(r, 0, 0, NULL);
    data_at(r, 1000, 500);
    assert_blocks(r, 0, 0, NULL);
    data_at(r, 0, 1500);
    data_at(r, 0, 500);
    assert_blocks(r, 0, 0, NULL);
    assert_int_equal(r->e.stats.c.dsack_sent_old + r->e.stats.c.dsack_sent_ooo, 0);
    reset_and_free(r);
}

static void data_that_came_twice_is_reported_first_and_once(void **state)
{
    struct raw *r = opened(0);
    data_at(r, 0, 1000);
    data_at(r, 0, 1000);  // below rcv_nxt
    BLOCKS(r, {0, 1000});
    data_at(r, 500, 1000);  // its front
    BLOCKS(r, {500, 1000});
    assert_int_equal(r->e.stats.c.dsack_sent_old, 2);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    data_at(r, 3000, 1000);
    data_at(r, 6000, 1000);
    data_at(r, 3000, 1000);  // RFC 2883 4: then the block it lies in
    BLOCKS(r, {3000, 4000}, {3000, 4000}, {6000, 7000});
    data_at(r, 6200, 100);
    BLOCKS(r, {6200, 6300}, {6000, 7000}, {3000, 4000});
    data_at(r, 3500, 1000);  // the front of it
    BLOCKS(r, {3500, 4000}, {3000, 4500}, {6000, 7000});
    data_at(r, 5500, 1000);  // the end of it
    BLOCKS(r, {6000, 6500}, {5500, 7000}, {3000, 4500});
    assert_int_equal(r->e.stats.c.dsack_sent_ooo, 4);
    data_at(r, 8000, 100);
    BLOCKS(r, {8000, 8100}, {5500, 7000}, {3000, 4500});
    data_at(r, 0, 100);
    BLOCKS(r, {0, 100}, {8000, 8100}, {5500, 7000}, {3000, 4500});
    assert_false(r->e.role.wrong);
    reset_and_free(r);
}

static void a_fin_behind_a_run_is_reported_with_it(void **state)
{
    struct raw *r = opened(0);
    r->e.role.shut_on_end = true;
    raw_seg(r, SEG_ACK | SEG_FIN, r->seq + 1000, r->ack, 1000, 500);
    raw_turn(r, 0);
    data_at(r, 400, 100);
    BLOCKS(r, {400, 500}, {1000, 1501});
    data_at(r, 0, 400);
    data_at(r, 500, 500);
    assert_int_equal(OUT(r, 0).ack, r->seq + 1501);
    assert_blocks(r, 0, 0, NULL);
    assert_int_equal(r->e.role.ended, 1);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    reset_and_free(r);
}

static void data_reports_only_in_the_room_that_it_leaves(void **state)
{
    for (int small = 0; small < 2; small++) {
        struct raw *r = opened(small ? 100 : MSS);
        data_at(r, 1000, 10);
        r->e.role.source *= 2;
        r->ack += (uint32_t)r->e.role.sent;
        struct block *b = raw_block(r);
        struct c10m_conn c = {&r->e.sock, b, (uint32_t)(b - r->e.tcp.blocks), false};
        static const uint8_t zeros[MSS];
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_turn(r, 1);
        assert_int_equal(c10m_send(&c, zeros, small ? 100 : MSS), small ? 100 : MSS);
        raw_turn(r, 0);
        assert_int_equal(r->e.tcp.n_out, 1);
        assert_int_equal(OUT(r, 0).data_len[0], small ? 100 : MSS);
        assert_int_equal((OUT(r, 0).opts & SEG_OPT_SACK) != 0, small);
        reset_and_free(r);
    }
}

// ---- the scoreboard beside one bit for each number

enum { NUMBERS = 4000 };

// All that a scoreboard of ranges has to know, number by number.
struct naive {
    bool has[NUMBERS];
};

// For each number that the peer has not: RFC 6675 4, IsLost().
static void naive_find_lost(const struct naive *n, uint32_t mss, bool lost[NUMBERS])
{
    uint32_t runs = 0, bytes = 0;
    for (uint32_t i = NUMBERS; i-- > 0;) {
        lost[i] = runs >= 3 || bytes > 2 * mss;
        bytes += n->has[i];
        runs += n->has[i] && (i == 0 || !n->has[i - 1]);
    }
}

static uint32_t naive_pipe(const struct naive *n, const bool *lost, uint32_t una, uint32_t max,
                           uint32_t high_rxt)
{
    uint32_t pipe = 0;
    for (uint32_t i = una; i < max; i++)
        pipe += n->has[i] ? 0u : (uint32_t)!lost[i] + (i < high_rxt);
    return pipe;
}

static void assert_same(const struct ext *e, const struct naive *n, uint32_t base, uint32_t una,
                        uint32_t max, uint32_t mss)
{
    bool is_lost[NUMBERS];
    uint32_t below = 0;
    naive_find_lost(n, mss, is_lost);
    for (uint32_t i = una; i < max; i++) {
        if (i % 37 == 0)
            assert_int_equal(sack_below(e, base + i), below);
        below += n->has[i];
    }
    assert_int_equal(sack_pipe(e, base + una, base + max, mss),
                     naive_pipe(n, is_lost, una, max, e->high_rxt - base));
    uint32_t at = e->high_rxt - base, end, top = max;
    while (top > una && !n->has[top - 1])
        top--;
    while (at < top && n->has[at])
        at++;
    for (end = at; end < top && !n->has[end]; end++)
        ;
    struct seq_range gap;
    bool lost;
    assert_int_equal(sack_gap(e, base + una, e->high_rxt, mss, &gap, &lost), at < top);
    if (at < top) {
        assert_int_equal(gap.start - base, at);
        assert_int_equal(gap.end - base, end);
        assert_int_equal(lost, is_lost[at]);
    }
    gap = sack_last_gap(e, base + una, base + max);
    for (end = max; end > una && n->has[end - 1]; end--)
        ;
    for (at = end; at > una && !n->has[at - 1]; at--)
        ;
    assert_int_equal(gap.end - gap.start, end - at);
    if (at != end)
        assert_int_equal(gap.start - base, at);
}

static void the_scoreboard_equals_one_bit_for_each_number(void **state)
{
    struct rng rng = test_rng(__func__);
    uint32_t forgotten = 0, reneged = 0;
    for (int round = 0; round < 300; round++) {
        static const uint32_t bases[] = {0, 0xfffff800, 0x7ffff800};
        const uint32_t base = round % 4 == 3 ? (uint32_t)rng_u64(&rng) : bases[round % 4];
        const uint32_t mss = 50 + rng_below(&rng, 200);
        struct ext e = {.n_sacked = 0};
        struct naive n = {.has = {false}};
        uint32_t una = 0;
        e.high_rxt = base;
        for (int step = 0; step < 30 && una < NUMBERS - 300; step++) {
            const uint32_t start = una + 1 + rng_below(&rng, NUMBERS - una - 200);
            const uint32_t len = 1 + rng_below(&rng, 199);
            const struct seq_range highest = e.sacked[EXT_SACKED_MAX - 1];
            uint32_t fresh = 0;
            bool forgot;
            for (uint32_t i = start; i < start + len; i++)
                fresh += !n.has[i];
            memset(&n.has[start], true, len);
            const uint32_t added =
                sack_add(&e, (struct seq_range){base + start, base + start + len}, &forgot);
            assert_int_equal(added, fresh);
            if (forgot) {  // the highest run
                forgotten++;
                uint32_t end = NUMBERS;
                while (!n.has[end - 1])
                    end--;
                while (n.has[--end])
                    n.has[end] = false;
                assert_int_equal(e.n_sacked, EXT_SACKED_MAX);
                assert_true(seq_leq(e.sacked[EXT_SACKED_MAX - 1].start, highest.start));
            }
            if (rng_below(&rng, 3) == 0) {  // acknowledged; what the peer has there goes with it
                una += rng_below(&rng, 300);
                if (n.has[una]) {
                    reneged++;
                    assert_true(sack_pop(&e, base + una));
                    while (n.has[una])
                        una++;
                }
                assert_false(sack_pop(&e, base + una));
                memset(n.has, false, una);
            }
            e.high_rxt = base + una + rng_below(&rng, 500);
            assert_same(&e, &n, base, una, NUMBERS, mss);
        }
    }
    assert_true(forgotten > 100 && reneged > 20);
}

// ---- recovery

// Acknowledges nothing new, with blocks at segments [from, to) of what was sent.
static void sacked(struct raw *r, uint32_t from, uint32_t to)
{
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + from * MSS, r->ack + to * MSS);
    raw_turn(r, 1);
}

static const struct ext *record_of(struct raw *r)
{
    const struct block *b = raw_block(r);
    assert_true(b->flags & BF_EXT);
    return &r->e.tcp.exts[b->ext];
}

static void three_reports_of_new_data_begin_recovery(void **state)
{
    struct raw *r = opened(100000);
    assert_int_equal(r->e.tcp.n_out, 10);
    sacked(r, 1, 2);
    assert_int_equal(r->e.tcp.n_out, 1);  // limited transmit
    assert_int_equal(OUT(r, 0).seq, r->ack + 10 * MSS);
    sacked(r, 1, 2);  // the same again: no news
    assert_int_equal(r->e.tcp.n_out, 0);
    sacked(r, 1, 3);
    assert_int_equal(OUT(r, 0).seq, r->ack + 11 * MSS);
    assert_int_equal(r->e.stats.c.fast_retransmits, 0);
    sacked(r, 1, 4);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(r->e.stats.c.sack_recoveries, 1);
    assert_int_equal(raw_block(r)->ssthresh, 5 * MSS);  // without what limited transmit sent
    assert_int_equal(raw_block(r)->cwnd, 5 * MSS);
    r->ack += 12 * MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(record_of(r)->recovery, RECOVERY_NONE);
    assert_int_equal(r->e.tcp.n_out, 5);
    reset_and_free(r);
}

static void a_lost_segment_far_below_what_is_reported_leaves_at_once(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 4);  // IsLost(): more than two segments beyond it
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(r->e.stats.c.sack_recoveries, 1);
    reset_and_free(r);
}

static void each_gap_leaves_again_once_as_pipe_lets_it(void **state)
{
    struct raw *r = opened(100000);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + 5 * MSS, r->ack + 10 * MSS);
    raw_sack(r, r->ack + 3 * MSS, r->ack + 4 * MSS);
    raw_sack(r, r->ack + 1 * MSS, r->ack + 2 * MSS);
    raw_turn(r, 1);  // 0, 2 and 4 are lost; cwnd is 5, and then nothing is believed in the network
    assert_int_equal(raw_block(r)->cwnd, 5 * MSS);
    assert_int_equal(r->e.tcp.n_out, 5);
    const uint32_t want[] = {0, 2, 4, 10, 11};
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(OUT(r, i).seq - r->ack, want[i] * MSS);
        assert_int_equal(OUT(r, i).data_len[0] + OUT(r, i).data_len[1], MSS);
    }
    assert_int_equal(r->e.stats.c.tx_retransmits_segs, 3);
    assert_int_equal(r->e.stats.c.fast_retransmit_segs, 3);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);  // the same again
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 0);
    r->ack += 2 * MSS;  // one of the three came
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq - r->ack, 10 * MSS);
    r->ack += 8 * MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(record_of(r)->recovery, RECOVERY_NONE);
    assert_int_equal(raw_block(r)->cwnd, 5 * MSS);
    reset_and_free(r);
}

static void an_acknowledgment_up_to_a_gap_has_it_sent_again(void **state)
{
    struct raw *r = opened(10 * MSS);
    sacked(r, 1, 5);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    r->ack += 5 * MSS;  // and nothing beyond it
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(r->e.stats.c.tx_retransmits_segs, 2);
    reset_and_free(r);
}

static void without_new_data_what_may_be_lost_and_the_end_leave_again(void **state)
{
    struct raw *r = opened(10 * MSS);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + 1 * MSS, r->ack + 6 * MSS);
    raw_sack(r, r->ack + 7 * MSS, r->ack + 8 * MSS);
    raw_turn(r, 1);
    // 0 is lost; 6 is not yet (NextSeg() 3); 8 and 9, the end, may be in the network
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(OUT(r, 0).seq - r->ack, 0);
    assert_int_equal(OUT(r, 1).seq - r->ack, 6 * MSS);
    r->ack += 6 * MSS;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + MSS, r->ack + 2 * MSS);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 1);  // NextSeg() 4, the rescue
    assert_int_equal(OUT(r, 0).seq - r->ack, 3 * MSS);
    assert_true(OUT(r, 0).flags & SEG_PSH);
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + MSS, r->ack + 3 * MSS);
    raw_turn(r, 1);  // once a recovery
    assert_int_equal(r->e.tcp.n_out, 0);
    reset_and_free(r);
}

static void a_timeout_forgets_the_scoreboard_and_new_reports_are_not_sent_again(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 4);
    assert_int_equal(r->e.stats.c.ext_records_now, 1);
    assert_true(raw_wait(r, 5000) != UINT32_MAX);
    assert_int_equal(r->e.stats.c.rto_fired, 1);
    assert_int_equal(r->e.stats.c.recovery_failures, 1);
    assert_int_equal(r->e.stats.c.sack_recovery_failures, 1);
    assert_int_equal(record_of(r)->n_sacked, 0);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    r->ack += MSS;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + 1 * MSS, r->ack + 3 * MSS);
    raw_turn(r, 1);  // slow start over the gaps only: 0, then 3
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(OUT(r, 0).seq - r->ack, 0);
    assert_int_equal(OUT(r, 1).seq - r->ack, 3 * MSS);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);  // no new recovery below `recover`
    reset_and_free(r);
}

static void a_peer_that_reneges_gets_everything_again_slowly(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 3);
    r->ack += MSS;  // and not what it had SACKed
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.c.sack_reneges, 1);
    assert_int_equal(record_of(r)->n_sacked, 0);
    assert_int_equal(raw_block(r)->cwnd, MSS);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    for (uint32_t i = 0; i < 9; i++) {
        r->ack += MSS;
        raw_send(r, SEG_ACK, 0, 0);
        assert_true(r->e.tcp.n_out != 0);
        assert_true(seq_leq(r->ack, OUT(r, 0).seq));
    }
    assert_int_equal(r->e.stats.c.sack_reneges, 1);
    reset_and_free(r);
}

static void blocks_of_what_was_never_sent_or_makes_no_sense_are_ignored(void **state)
{
    struct raw *r = opened(100000);
    const uint32_t una = r->ack, max = una + 10 * MSS;
    const uint32_t bad[][2] = {
        {una + MSS, max + 1},          {max, max + 1},      {una + MSS, una + MSS},
        {una + 2 * MSS, una + MSS},    {una, una + MSS},    {una - 1, una + MSS},
        {una + MSS, una + (1u << 31)}, {una - 5, una - 10}, {una + (1u << 31), una + MSS},
    };
    for (uint32_t i = 0; i < ARRAY_LEN(bad); i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_sack(r, bad[i][0], bad[i][1]);
        raw_turn(r, 1);
        assert_int_equal(r->e.stats.c.sack_discarded, i + 1);
        assert_int_equal(r->e.stats.c.ext_records_now, 0);
        assert_int_equal(r->e.tcp.n_out, 0);
    }
    assert_int_equal(raw_block(r)->dupacks, 0);
    sacked(r, 9, 10);  // the last one that was sent
    assert_int_equal(r->e.stats.c.sack_discarded, ARRAY_LEN(bad));
    assert_int_equal(r->e.stats.c.ext_records_now, 1);
    reset_and_free(r);
}

static void dsacks_are_counted_and_are_no_duplicates(void **state)
{
    struct raw *r = opened(100000);
    for (int i = 0; i < 5; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_sack(r, r->ack - 100, r->ack);  // below
        raw_turn(r, 1);
    }
    assert_int_equal(r->e.stats.c.dsack_received, 5);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    assert_int_equal(raw_block(r)->dupacks, 0);
    for (int i = 0; i < 5; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_sack(r, r->ack + 2 * MSS, r->ack + 3 * MSS);  // in the second
        raw_sack(r, r->ack + 1 * MSS, r->ack + 3 * MSS);
        raw_turn(r, 1);
    }
    assert_int_equal(r->e.stats.c.dsack_received_ooo, 5);
    assert_int_equal(raw_block(r)->dupacks, 1);  // the second was new once
    assert_int_equal(r->e.stats.c.sack_discarded, 0);
    assert_int_equal(r->e.stats.c.fast_retransmits, 0);
    reset_and_free(r);
}

static void without_a_record_one_segment_leaves_again_and_the_timer_does_the_rest(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.exts = 1, .no_flights = 1});
    r->sack = true;
    raw_open(r);
    data_at(r, 1000, 100);  // the only record
    struct raw first = {.seq = r->seq, .ack = r->ack, .port = r->port};
    r->e.role.source = 100000;
    r->port++;
    r->seq = 77000;
    struct seg_in *s = raw_seg(r, SEG_SYN, r->seq++, 0, 0, 0);
    s->opts = SEG_OPT_MSS | SEG_OPT_SACK_PERM;
    s->mss = 1460;
    raw_turn(r, 1);
    r->ack = OUT(r, 0).seq + 1;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 10);
    for (uint32_t i = 1; i <= 3; i++)
        sacked(r, i, i + 1);
    assert_int_equal(r->e.stats.c.fast_retransmits, 1);
    assert_int_equal(r->e.stats.c.sack_recoveries, 0);
    assert_true(r->e.stats.c.ext_records_missed >= 3);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_true(raw_wait(r, 5000) != UINT32_MAX);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    raw_seg(r, SEG_RST, r->seq, 0, 0, 0);
    raw_turn(r, 0);
    r->port = first.port;
    raw_seg(r, SEG_RST, first.seq, 0, 0, 0);
    raw_turn(r, 0);
    raw_free(r, true);
}

static void a_smaller_segment_size_keeps_what_the_peer_has(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 3);
    const struct icmp_event e = {
        .key = raw_block(r)->key, .seq = r->ack, .mtu = 1040, .kind = ICMP_TOO_BIG};
    struct tcp_verdict v;
    tcp_icmp(&r->e.tcp, &e, &v);
    assert_int_equal(raw_block(r)->mss, 1000);
    raw_turn(r, 1);
    const uint32_t want[][2] = {{0, 1000}, {1000, 460}, {3 * MSS, 1000}};
    for (uint32_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_int_equal(OUT(r, i).seq - r->ack, want[i][0]);
        assert_int_equal(OUT(r, i).data_len[0] + OUT(r, i).data_len[1], want[i][1]);
    }
    reset_and_free(r);
}

static void what_a_shrunken_window_excludes_is_not_sent_again(void **state)
{
    struct raw *r = opened(100000);
    r->wnd = 3 * MSS;
    r->ack += MSS;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + 7 * MSS, r->ack + 9 * MSS);
    raw_sack(r, r->ack + 5 * MSS, r->ack + 6 * MSS);
    raw_sack(r, r->ack + 1 * MSS, r->ack + 2 * MSS);
    raw_turn(r, 1);  // lost are 0, 2 to 4 and 6; behind 2 the window ends
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_int_equal(OUT(r, 1).seq - r->ack, 2 * MSS);
    assert_int_equal(r->e.stats.c.tx_retransmits_segs, 2);
    reset_and_free(r);
}

static void a_fin_that_was_lost_leaves_again_in_recovery(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.no_flights = 1});
    r->sack = true;
    r->e.role = (struct role){.source = 5 * MSS, .shut = true};
    raw_open(r);
    assert_true(OUT(r, r->e.tcp.n_out - 1).flags & SEG_FIN);
    sacked(r, 1, 4);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    r->ack += 4 * MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    assert_true(OUT(r, 0).flags & SEG_FIN);
    r->ack += MSS + 1;
    raw_send(r, SEG_ACK, 0, 0);
    raw_wait(r, 1000);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    reset_and_free(r);
}

static void late_data_below_what_is_reported_counts_as_reordered(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 3, 4);
    sacked(r, 1, 2);
    assert_int_equal(r->e.stats.c.sack_reorders, 1);
    sacked(r, 1, 2);  // once more
    assert_int_equal(r->e.stats.c.sack_reorders, 1);
    r->ack += 4 * MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    assert_int_equal(r->e.stats.c.fast_retransmits, 0);
    reset_and_free(r);
}

// RFC 2883 4.1, 4.2, written down once more.
static bool is_dsack(const struct seg_in *s, const int64_t r[2][2])
{
    if (r[0][0] >= r[0][1])
        return false;
    if (r[0][1] <= 0 && -r[0][0] <= TCP_WINDOW_MAX)  // below the acknowledgment
        return true;
    return s->sack_count >= 2 && r[1][0] > 0 && r[1][0] <= r[0][0] && r[0][1] <= r[1][1];
}

static void
a_first_block_tells_what_came_twice_below_the_acknowledgment_or_in_the_second(void **state)
{
    static const int64_t at[] = {-TCP_WINDOW_MAX - 1, -TCP_WINDOW_MAX, -2, -1, 0, 1, 2, 3, 4};
    struct raw *r = raw_new(NULL);
    struct tcp *t = &r->e.tcp;
    unsigned below = 0, inside = 0;
    for (unsigned i = 0; i < ARRAY_LEN(at) * ARRAY_LEN(at) * ARRAY_LEN(at) * ARRAY_LEN(at); i++)
        for (uint8_t count = 1; count <= 2; count++) {
            const unsigned n = ARRAY_LEN(at);
            const int64_t in[2][2] = {{at[i % n], at[i / n % n]},
                                      {at[i / n / n % n], at[i / n / n / n]}};
            const struct seg_in s = {.ack = 0x80000000, .sack_count = count};
            const struct seq_range blocks[2] = {
                {s.ack + (uint32_t)in[0][0], s.ack + (uint32_t)in[0][1]},
                {s.ack + (uint32_t)in[1][0], s.ack + (uint32_t)in[1][1]}};
            const bool want = is_dsack(&s, in);
            assert_int_equal(sack_is_dsack(t, &s, blocks), want);
            below += want && in[0][1] <= 0;
            inside += want && in[0][1] > 0;
            assert_int_equal(t->stats->c.dsack_received, below);
            assert_int_equal(t->stats->c.dsack_received_ooo, inside);
        }
    assert_true(below > 500 && inside > 10);
    raw_free(r, true);
}

static void a_block_is_of_what_was_sent_and_lies_beyond_what_is_acknowledged(void **state)
{
    const struct block b = {.snd_una = 0xfffffffe, .snd_max = 2};
    for (int from = -3; from < 8; from++)
        for (int to = -3; to < 8; to++) {
            const struct seq_range r = {b.snd_una + (uint32_t)from, b.snd_una + (uint32_t)to};
            assert_int_equal(sack_is_valid(&b, r), from > 0 && from < to && to <= 4);
        }
}

// What left again in this recovery was lost: that it comes late now says nothing of the path.
static void what_left_again_and_arrives_below_others_is_no_reordering(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 3, 10);
    for (int i = 0; i < 3 && seq_lt(record_of(r)->high_rxt, r->ack + 2 * MSS); i++)
        raw_turn(r, 0);
    assert_true(seq_leq(r->ack + 2 * MSS, record_of(r)->high_rxt));
    sacked(r, 1, 2);
    assert_int_equal(r->e.stats.c.sack_reorders, 0);
    reset_and_free(r);
}

// RFC 6675 5, (1): though it tells of a few bytes only.
static void the_third_report_begins_a_recovery(void **state)
{
    struct raw *r = opened(100000);
    for (uint32_t i = 1; i < 4; i++) {
        raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
        raw_sack(r, r->ack + MSS, r->ack + MSS + 10 * i);
        raw_turn(r, 0);
        assert_int_equal(tcp_recovering(&r->e.tcp, raw_block(r)), i == 3);
    }
    reset_and_free(r);
}

static void what_comes_in_its_order_is_no_reordering(void **state)
{
    struct raw *r = opened(100000);
    sacked(r, 1, 2);
    sacked(r, 3, 4);
    sacked(r, 5, 6);
    assert_int_equal(r->e.stats.c.sack_reorders, 0);
    reset_and_free(r);
}

// All has been sent, and the window was taken back: its update alone lets what is lost leave.
static void a_window_update_lets_a_recovery_go_on(void **state)
{
    struct raw *r = opened(10 * MSS);
    r->wnd = 0;
    sacked(r, 1, 10);
    assert_true(tcp_recovering(&r->e.tcp, raw_block(r)));
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(raw_block(r)->snd_nxt, raw_block(r)->snd_end);
    r->wnd = UINT16_MAX;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_int_equal(OUT(r, 0).seq, r->ack);
    reset_and_free(r);
}

static void reports_of_what_is_dropped_are_dropped_and_no_others(void **state)
{
    struct ext e = {.n_held = 4, .held = {{50, 60}, {10, 20}, {20, 30}, {40, 45}}};
    tcp_sack_dropped(&e, (struct seq_range){20, 50});
    assert_int_equal(e.n_held, 2);
    assert_int_equal(e.held[0].start, 50);
    assert_int_equal(e.held[1].start, 10);
}

// NextSeg() (4) is for what has not left again: the peer has the end, and all that it lacks has.
static void what_has_left_again_is_not_rescued(void **state)
{
    struct raw *r = opened(10 * MSS);
    sacked(r, 5, 10);
    const struct ext *e = record_of(r);
    const uint32_t end = r->ack + 5 * MSS;
    for (int i = 0; i < 5 && e->high_rxt != end; i++) {
        r->ack += i < 2 ? 0 : MSS;
        raw_send(r, SEG_ACK, 0, 0);
    }
    assert_int_equal(e->high_rxt, end);
    assert_int_equal(r->e.stats.c.tx_retransmits_segs, 5);
    while (seq_lt(r->ack + MSS, end)) {
        r->ack += MSS;
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(r->e.tcp.n_out, 0);
    }
    assert_int_equal(e->recovery, RECOVERY_SACK);
    reset_and_free(r);
}

// The wait for what was lost before it would be measured.
static void what_is_new_in_a_recovery_is_not_timed(void **state)
{
    for (int sack = 0; sack < 2; sack++) {
        struct raw *r = raw_new(&(struct pair_sizes){.no_flights = 1});
        r->sack = sack;
        r->e.role.source = 100000;
        raw_open(r);
        struct block *b = raw_block(r);
        const uint32_t max = b->snd_max;
        for (uint32_t i = 0; i < 9; i++)
            if (sack) {
                sacked(r, 1, 2 + i);
            } else {
                raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
                raw_turn(r, 0);
            }
        assert_true(tcp_recovering(&r->e.tcp, b));
        assert_true(seq_lt(max, b->snd_max));
        assert_false(b->flags & BF_TIMED);
        reset_and_free(r);
    }
}

// After a timeout no recovery begins, and each report of something new counts.
static void duplicates_are_counted_up_to_their_most(void **state)
{
    struct raw *r = opened(100000);
    struct block *b = raw_block(r);
    b->recover = b->snd_max;
    b->dupacks = DUPACKS_MAX - 1;
    for (uint32_t i = 1; i < 4; i++) {
        sacked(r, 2 * i, 2 * i + 1);
        assert_int_equal(b->dupacks, DUPACKS_MAX);
    }
    reset_and_free(r);
    r = raw_new(NULL);  // without SACK
    r->e.role.source = 100000;
    raw_open(r);
    b = raw_block(r);
    b->recover = b->snd_max;
    b->dupacks = DUPACKS_MAX - 1;
    for (uint32_t i = 0; i < 3; i++) {
        raw_send(r, SEG_ACK, 0, 0);
        assert_int_equal(b->dupacks, DUPACKS_MAX);
    }
    reset_and_free(r);
}

// All data has left again after a timeout, and the FIN waits for room: what the peer reports makes
// it.
static void a_report_lets_a_fin_leave_again_that_waits_for_the_window(void **state)
{
    struct raw *r = raw_new(&(struct pair_sizes){.no_flights = 1});
    r->sack = true;
    r->e.role.source = 4 * MSS;
    r->e.role.shut = true;
    raw_open(r);
    assert_true(raw_wait(r, 2000) != UINT32_MAX);
    assert_int_equal(r->e.stats.c.rto_fired, 1);
    r->ack += MSS;
    raw_send(r, SEG_ACK, 0, 0);
    assert_int_equal(r->e.tcp.n_out, 2);
    sacked(r, 2, 3);
    assert_int_equal(r->e.tcp.n_out, 0);
    assert_int_equal(raw_block(r)->snd_nxt, raw_block(r)->snd_end);
    sacked(r, 1, 3);
    assert_int_equal(r->e.tcp.n_out, 1);
    assert_true(OUT(r, 0).flags & SEG_FIN);
    assert_int_equal(OUT(r, 0).data_len[0], 0);
    reset_and_free(r);
}

static void recovery_sends_no_more_than_one_connection_may_in_a_turn(void **state)
{
    struct raw *r = opened(200000);
    r->e.tcp.services[0].snd_limit = 200000;
    r->e.out_room = 3;
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + 5 * MSS, r->ack + 10 * MSS);
    raw_sack(r, r->ack + 3 * MSS, r->ack + 4 * MSS);
    raw_sack(r, r->ack + 1 * MSS, r->ack + 2 * MSS);
    raw_turn(r, 1);
    assert_int_equal(r->e.tcp.n_out, 3);
    raw_turn(r, 0);  // the rest, in the next
    assert_int_equal(r->e.tcp.n_out, 2);
    assert_int_equal(OUT(r, 0).seq - r->ack, 10 * MSS);
    reset_and_free(r);
}

// ---- two stacks over a link that loses

struct run {
    uint64_t ms, rto, resent, recoveries;
};

enum { LINK_BYTES = 4 << 20, LINK_DELAY_US = 10000, LINK_LIMIT = 256 << 10 };

static struct pair *link_of(uint64_t seed, bool sack)
{
    struct pair *p = pair_new(seed);
    p->delay_us = LINK_DELAY_US;
    for (int k = 0; k < 2; k++) {
        p->e[k].tcp.cfg.sack = sack;
        // The link has no rate: a flight arrives at once, and its one ACK would be lost as often as
        // any segment.
        p->e[k].tcp.cfg.ack_merge = false;
        p->e[k].tcp.services[0].rcv_limit = p->e[k].tcp.services[0].snd_limit = LINK_LIMIT;
    }
    p->e[0].role = (struct role){.source = LINK_BYTES, .shut = true};
    p->e[1].role.shut_on_end = true;
    end_connect(&p->e[0], p->e[1].v4, PAIR_PORT);
    return p;
}

// Until all has arrived; then to the end of both.
static struct run finish(struct pair *p)
{
    const uint64_t from_us = p->now_us;
    while (p->e[1].role.received < LINK_BYTES && p->now_us - from_us < 3600ull * 1000 * 1000)
        pair_run_for(p, 10);
    const struct core_counters *c = &p->e[0].stats.c;
    const struct run result = {p->now_us / 1000, c->rto_fired, c->tx_retransmits_segs,
                               c->fast_retransmits};
    pair_run(p, 4000 * 1000);
    for (int k = 0; k < 2; k++) {
        assert_false(p->e[k].role.wrong);
        assert_int_equal(p->e[k].role.received, p->e[!k].role.source);
        assert_int_equal(p->e[k].stats.c.sack_discarded, 0);
        assert_int_equal(p->e[k].stats.c.sack_reneges, 0);
    }
    pair_free(p, true);
    return result;
}

static void add(struct run *sum, const struct run *one)
{
    sum->ms += one->ms;
    sum->rto += one->rto;
    sum->resent += one->resent;
    sum->recoveries += one->recoveries;
}

enum { RUNS = 4 };

static void show(const char *what, bool sack, const struct run *sum)
{
    printf("%s, 20 ms, SACK %s: %llu ms a run; of %d runs: %llu timeouts, %llu recoveries, %llu "
           "segments sent again\n",
           what, sack ? "on" : "off", (unsigned long long)sum->ms / RUNS, RUNS,
           (unsigned long long)sum->rto, (unsigned long long)sum->recoveries,
           (unsigned long long)sum->resent);
}

static struct run under_loss(uint32_t loss_pm, bool sack, bool both_ways)
{
    struct run sum = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct pair *p = link_of(seed, sack);
        p->loss_pm = loss_pm;
        if (both_ways)
            p->e[1].role = (struct role){.source = LINK_BYTES, .shut = true};
        const struct run one = finish(p);
        add(&sum, &one);
    }
    char what[64];
    snprintf(what, sizeof(what), "%u %% loss, %s", loss_pm / 10,
             both_ways ? "both ways" : "one way");
    show(what, sack, &sum);
    return sum;
}

static void a_stream_survives_loss_and_with_sack_it_has_fewer_timeouts(void **state)
{
    uint64_t rto[2] = {0};
    for (unsigned i = 0; i < 4; i++)
        for (unsigned sack = 0; sack < 2; sack++)
            rto[sack] += under_loss(i < 2 ? 10 : 50, sack, i % 2).rto;
    assert_true(rto[1] < rto[0]);
}

// The whole window of the slow start is in flight when some of it is lost.
static struct run after_a_burst_of_loss(bool sack)
{
    struct run sum = {0};
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        struct pair *p = link_of(seed, sack);
        pair_run_for(p, 150);
        p->loss_pm = 100;
        pair_run_for(p, 20);
        p->loss_pm = 0;
        const struct run one = finish(p);
        add(&sum, &one);
    }
    show("10 % loss for 20 ms", sack, &sum);
    return sum;
}

static void sack_repairs_many_losses_of_a_window_faster_and_without_timeouts(void **state)
{
    const struct run off = after_a_burst_of_loss(false), on = after_a_burst_of_loss(true);
    assert_int_equal(on.rto, 0);
    assert_true(on.ms < off.ms);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(sack_is_agreed_on_if_both_sides_offer_it),
        T(an_active_open_offers_sack_and_takes_the_answer),
        T(a_simultaneous_open_agrees_on_sack),
        T(the_block_that_changed_last_is_reported_first),
        T(with_timestamps_three_blocks_fit),
        T(without_agreement_nothing_is_reported),
        T(data_that_came_twice_is_reported_first_and_once),
        T(a_fin_behind_a_run_is_reported_with_it),
        T(data_reports_only_in_the_room_that_it_leaves),
        T(the_scoreboard_equals_one_bit_for_each_number),
        T(three_reports_of_new_data_begin_recovery),
        T(a_lost_segment_far_below_what_is_reported_leaves_at_once),
        T(each_gap_leaves_again_once_as_pipe_lets_it),
        T(an_acknowledgment_up_to_a_gap_has_it_sent_again),
        T(without_new_data_what_may_be_lost_and_the_end_leave_again),
        T(a_timeout_forgets_the_scoreboard_and_new_reports_are_not_sent_again),
        T(a_peer_that_reneges_gets_everything_again_slowly),
        T(blocks_of_what_was_never_sent_or_makes_no_sense_are_ignored),
        T(dsacks_are_counted_and_are_no_duplicates),
        T(without_a_record_one_segment_leaves_again_and_the_timer_does_the_rest),
        T(a_smaller_segment_size_keeps_what_the_peer_has),
        T(what_a_shrunken_window_excludes_is_not_sent_again),
        T(a_fin_that_was_lost_leaves_again_in_recovery),
        T(late_data_below_what_is_reported_counts_as_reordered),
        T(a_first_block_tells_what_came_twice_below_the_acknowledgment_or_in_the_second),
        T(a_block_is_of_what_was_sent_and_lies_beyond_what_is_acknowledged),
        T(what_left_again_and_arrives_below_others_is_no_reordering),
        T(what_has_left_again_is_not_rescued),
        T(the_third_report_begins_a_recovery),
        T(what_comes_in_its_order_is_no_reordering),
        T(a_window_update_lets_a_recovery_go_on),
        T(reports_of_what_is_dropped_are_dropped_and_no_others),
        T(what_is_new_in_a_recovery_is_not_timed),
        T(duplicates_are_counted_up_to_their_most),
        T(a_report_lets_a_fin_leave_again_that_waits_for_the_window),
        T(recovery_sends_no_more_than_one_connection_may_in_a_turn),
        T(a_stream_survives_loss_and_with_sack_it_has_fewer_timeouts),
        T(sack_repairs_many_losses_of_a_window_faster_and_without_timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
