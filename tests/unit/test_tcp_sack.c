// SACK: what is agreed on, what we report, what the peer's reports make us send, and recovery over
// a link that loses.
#include "check.h"
#include "seed.h"
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
static struct raw *opened_at(uint32_t seq, uint64_t source)
{
    struct raw *r = raw_new(NULL);
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
            p->e[k].tcp.next_port = 100;
            end_connect(&p->e[k], p->e[!k].v4, 32868);
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

// ---- recovery

// Acknowledges nothing new, with blocks at segments [from, to) of what was sent.
static void sacked(struct raw *r, uint32_t from, uint32_t to)
{
    raw_seg(r, SEG_ACK, r->seq, r->ack, 0, 0);
    raw_sack(r, r->ack + from * MSS, r->ack + to * MSS);
    raw_turn(r, 1);
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
    assert_int_equal(r->e.stats.c.ext_records_now, 0);
    assert_int_equal(r->e.tcp.n_out, 5);
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

enum { RUNS = 10 };

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

static void a_stream_survives_loss_with_and_without_sack(void **state)
{
    for (unsigned i = 0; i < 4; i++)
        for (unsigned sack = 0; sack < 2; sack++)
            under_loss(i < 2 ? 10 : 50, sack, i % 2);
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
    assert_true(on.rto < off.rto);
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
        T(three_reports_of_new_data_begin_recovery),
        T(a_stream_survives_loss_with_and_without_sack),
        T(sack_repairs_many_losses_of_a_window_faster_and_without_timeouts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
