// SPDX-License-Identifier: BSD-3-Clause
// Records of workers, from the ring to the file. With an argument: writes the three files of a
// small trace there, for the tools that read them.
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "stat/trace_points.h"
#include "stat/trace_stages.h"
#include "trace/trace_file.h"
#include "trace/trace_reader.h"

enum { RECORDS = TRACE_RING_MIN, HZ = 1000000000, START = 1000000, LOG_BYTES = 1 << 26 };

static struct shared_u32 stage;

static struct trace_ring *ring_of(uint32_t records)
{
    void *mem = aligned_alloc(CACHE_LINE, trace_ring_footprint(records));
    assert_non_null(mem);
    memset(mem, 0, trace_ring_footprint(records));
    return trace_ring_init(mem, records, &stage);
}

static struct trace_ring *ring_new(void)
{
    return ring_of(RECORDS);
}

static struct trace_about about_of(unsigned cores)
{
    struct trace_about a = {.version = "1.0", .n_cores = cores, .start_tsc = START, .tsc_hz = HZ};
    for (unsigned i = 0; i < TRACE_POOLS; i++) {
        a.pools[i].entry_bytes = 256;
        a.pools[i].entries = 1000;
    }
    snprintf(a.services[1].name, TRACE_NAME_BYTES, "web");
    snprintf(a.services[1].events[0], TRACE_NAME_BYTES, "tile \"drawn\"");
    return a;
}

static struct trace_log *log_of(unsigned cores, struct trace_ring *const *rings,
                                enum trace_full full, uint64_t bytes)
{
    static struct trace_ring *const none[TRACE_CORES_MAX];
    const struct trace_about a = about_of(cores);
    struct trace_log *l = trace_log_new(&a, rings == NULL ? none : rings, full, bytes);
    assert_non_null(l);
    return l;
}

static void put(struct trace_log *l, unsigned core, uint64_t when, enum trace_kind kind,
                unsigned small, unsigned mid, uint32_t id)
{
    const struct trace_record r = {when, (uint8_t)kind, (uint8_t)small, (uint16_t)mid, id};
    assert_true(trace_log_put(l, core, &r));
}

// put_turn: stages of `each` ns from `at` on.
static void put_turn(struct trace_log *l, unsigned core, uint64_t at, unsigned each)
{
    put(l, core, START + at, TRACE_turn, 3, 2, trace_turn_pack((struct trace_turn_id){1, 0, 0}));
    uint64_t marks[STAGE_housekeeping + 1];
    struct trace_record stages, end = {START + at + 10ull * each, TRACE_stage, 0, 0, 0};
    for (unsigned s = 0; s <= STAGE_housekeeping; s++)
        marks[s] = START + at + s * each;
    trace_pack_stages(marks, &stages, &end);
    assert_true(trace_log_put(l, core, &stages) && trace_log_put(l, core, &end));
}

static void put_untimed_turn(struct trace_log *l, unsigned core, uint64_t at, unsigned ns)
{
    put(l, core, START + at, TRACE_turn, 1, 0, 0);
    put(l, core, START + at + ns, TRACE_stage, STAGE_COUNT, 0, 0);
}

static void write_turn(struct trace_ring *r, uint64_t at, uint64_t cycles)
{
    trace_write(r, &(struct trace_record){START + at, TRACE_turn, 1, 1, 0});
    trace_write(r, &(struct trace_record){START + at + cycles, TRACE_stage, STAGE_COUNT, 0, 0});
}

static struct trace_event *read_all(const struct trace_log *l, int64_t from, unsigned *n)
{
    enum { MAX_EVENTS = 1 << 20 };
    struct trace_event *e = calloc(MAX_EVENTS, sizeof(*e));
    struct trace_reader *r = trace_reader_new(l, from);
    assert_non_null(e);
    assert_non_null(r);
    for (*n = 0; *n < MAX_EVENTS && trace_reader_next(r, &e[*n]); ++*n)
        assert_true(*n == 0 || e[*n].ns >= e[*n - 1].ns);
    trace_reader_free(r);
    return e;
}

static const struct trace_event *nth(const struct trace_event *e, unsigned n, unsigned kind,
                                     unsigned which)
{
    for (unsigned i = 0; i < n; i++)
        if (e[i].kind == kind && which-- == 0)
            return &e[i];
    return NULL;
}

static unsigned count(const struct trace_event *e, unsigned n, unsigned kind)
{
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++)
        found += e[i].kind == kind;
    return found;
}

static void records_come_out_in_their_order(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_record out[8];
    uint64_t taken = 0, lost = 0;
    for (unsigned i = 0; i < 5; i++)
        trace_write(r, &(struct trace_record){.id = i});
    assert_int_equal(trace_take(r, &taken, out, 3, &lost), 3);
    assert_int_equal(out[2].id, 2);
    assert_int_equal(trace_take(r, &taken, out, 8, &lost), 2);
    assert_int_equal(out[0].id, 3);
    assert_int_equal(trace_take(r, &taken, out, 8, &lost), 0);
    assert_int_equal(lost, 0);
    free(r);
}

static void overwritten_records_are_counted_as_lost(void **state)
{
    struct trace_ring *r = ring_new();
    static struct trace_record out[RECORDS];
    uint64_t taken = 0, lost = 0;
    for (unsigned i = 0; i < RECORDS + 100; i++)
        trace_write(r, &(struct trace_record){.id = i});
    const unsigned got = trace_take(r, &taken, out, RECORDS, &lost);
    assert_int_equal(got + lost, RECORDS + 100);
    assert_int_equal(lost, 101);  // the oldest one may be being overwritten
    assert_int_equal(out[0].id, lost);
    assert_int_equal(out[got - 1].id, RECORDS + 99);
    free(r);
}

// ---- a ring that is read while it is written

enum { OVERWRITTEN = 100, BEFORE = RECORDS + OVERWRITTEN, TAKES = 300 };

static struct trace_record numbered(uint32_t i)
{
    return (struct trace_record){.when = ~(uint64_t)i, .mid = (uint16_t)i, .id = i};
}

static void write_numbered(struct trace_ring *r)
{
    const struct trace_record next = numbered((uint32_t)shared_u64_load(&r->n));
    trace_write(r, &next);
}

// taker: reads up to `max` records, TAKES times when `behind` are there, and then the rest. wrong:
// records that are not what was written, and wrong sums.
struct taker {
    const struct trace_ring *ring;
    unsigned max, behind;
    uint64_t taken, got, lost, wrong;
    struct shared_bool done;  // TAKES times. Set by its thread, for the writer
};

static void take_some(struct taker *t)
{
    static _Thread_local struct trace_record out[RECORDS];
    uint64_t lost = 0, before = t->taken;
    const unsigned n = trace_take(t->ring, &t->taken, out, t->max, &lost);
    for (unsigned i = 0; i < n; i++) {
        const struct trace_record is = numbered((uint32_t)(before + lost + i));
        t->wrong += memcmp(&out[i], &is, sizeof(is)) != 0;
    }
    t->wrong += t->taken != before + lost + n;
    t->got += n;
    t->lost += lost;
}

static void *take_often(void *taker)
{
    struct taker *t = taker;
    for (unsigned i = 0; i < TAKES; i++) {
        while (shared_u64_load(&t->ring->n) - t->taken < t->behind)
            sched_yield();
        take_some(t);
    }
    shared_bool_store(&t->done, true);
    return NULL;
}

static void
two_readers_of_a_ring_that_is_overwritten_get_whole_records_and_count_the_rest(void **state)
{
    struct trace_ring *r = ring_new();
    struct taker takers[] = {{.ring = r, .max = 7}, {.ring = r, .max = RECORDS, .behind = RECORDS}};
    pthread_t threads[ARRAY_LEN(takers)];
    while (shared_u64_load(&r->n) < BEFORE)
        write_numbered(r);
    for (unsigned i = 0; i < ARRAY_LEN(takers); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_often, &takers[i]), 0);
    while (!shared_bool_load(&takers[0].done) || !shared_bool_load(&takers[1].done))
        write_numbered(r);
    for (unsigned i = 0; i < ARRAY_LEN(takers); i++) {
        pthread_join(threads[i], NULL);
        while (takers[i].taken < shared_u64_load(&r->n))
            take_some(&takers[i]);
        assert_int_equal(takers[i].wrong, 0);
        assert_int_equal(takers[i].got + takers[i].lost, shared_u64_load(&r->n));
        assert_true(takers[i].got > 0 && takers[i].lost >= OVERWRITTEN);
    }
    free(r);
}

static void a_turn_writes_no_more_than_its_bound(void **state)
{
    struct trace_ring *r = ring_new();
    const struct trace_conn c = {7, 1, 1};
    for (unsigned i = 0; i < TRACE_TURN_MAX + 3; i++)
        point_retransmit(r, c);
    assert_int_equal(shared_u64_load(&r->n), TRACE_TURN_MAX);
    assert_int_equal(r->skipped, 3);
    free(r);
}

static void requests_of_a_turn_are_bounded_and_pair_with_answers(void **state)
{
    struct trace_ring *r = ring_new();
    for (uint32_t i = 0; i < TRACE_REQUESTS_MAX + 2; i++)
        point_request(r, (struct trace_conn){i, 1, 1});
    assert_int_equal(shared_u64_load(&r->n), TRACE_REQUESTS_MAX);
    for (uint32_t i = 0; i < TRACE_REQUESTS_MAX + 2; i++)
        point_answer(r, (struct trace_conn){i, 1, 1});
    assert_int_equal(shared_u64_load(&r->n), 2 * TRACE_REQUESTS_MAX);
    point_answer(r, (struct trace_conn){0, 1, 1});  // answered already
    point_answer(r, (struct trace_conn){1, 2, 1});  // another life of the block
    assert_int_equal(shared_u64_load(&r->n), 2 * TRACE_REQUESTS_MAX);
    free(r);
}

static void the_end_of_a_connection_ends_its_request(void **state)
{
    struct trace_ring *r = ring_new();
    const struct trace_conn c = {7, 3, 1};
    point_request(r, c);
    point_close(r, c, 1);
    assert_int_equal(r->at[1].kind, TRACE_answer);
    assert_int_equal(r->at[1].small, 1 | 1 << 5);  // closed
    assert_int_equal(r->at[2].kind, TRACE_close);
    assert_int_equal(r->at[2].small, 1 | 1 << TRACE_WHY_SHIFT);
    assert_int_equal(r->open_bits, 0);
    free(r);
}

static void request(struct trace_ring *r, uint32_t block)
{
    r->begun = 0;
    assert_non_null(trace_begin(r, (struct trace_conn){block, 1, 1}));
}

// answers: whether the request of the block was followed until now.
static bool answers(struct trace_ring *r, uint32_t block)
{
    const uint64_t n = shared_u64_load(&r->n);
    trace_end(r, (struct trace_conn){block, 1, 1});
    return shared_u64_load(&r->n) == n + 1;
}

static void of_too_many_open_requests_the_oldest_is_forgotten(void **state)
{
    enum { ENDED = 3 };  // its entry has a young request then
    struct trace_ring *r = ring_new();
    for (uint32_t i = 0; i < TRACE_OPEN_MAX; i++)
        request(r, i);
    assert_true(answers(r, ENDED));
    for (uint32_t i = 0; i < ENDED + 2; i++)
        request(r, TRACE_OPEN_MAX + i);
    for (uint32_t i = 0; i <= ENDED + 1; i++)
        assert_false(answers(r, i));
    assert_true(answers(r, ENDED + 2));
    assert_true(answers(r, TRACE_OPEN_MAX));
    free(r);
}

static void a_datagram_is_a_request_and_its_end_or_counted(void **state)
{
    struct trace_ring *r = ring_new();
    trace_datagram(r, 1, true);
    trace_datagram(r, 1, true);  // of the same turn
    assert_int_equal(shared_u64_load(&r->n), 2);
    assert_int_equal(r->unfollowed, 1);
    assert_true(r->at[0].kind == TRACE_request && r->at[1].kind == TRACE_answer);
    assert_true(r->at[0].id == TRACE_DATAGRAM && r->at[1].id == TRACE_DATAGRAM);
    assert_int_equal(r->at[0].mid, r->at[1].mid);
    assert_true(r->at[0].small == 1 && r->at[1].small == 1);
    r->begun = 0;
    trace_datagram(r, 1, false);
    assert_int_equal(r->at[3].small, 1 | TRACE_CLOSED);
    assert_int_not_equal(r->at[3].mid, r->at[1].mid);
    free(r);
}

static void a_datagram_forgets_no_open_request(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_log *l = log_of(1, &r, TRACE_KEEP_FIRST, LOG_BYTES);
    write_turn(r, 0, 10);
    for (uint32_t i = 0; i < TRACE_OPEN_MAX; i++) {
        request(r, i);
        write_turn(r, 1000 * (i + 1), 10);
    }
    r->begun = 0;
    trace_datagram(r, 1, true);
    write_turn(r, 100000, 10);
    for (uint32_t i = 0; i < TRACE_OPEN_MAX; i++)
        assert_true(answers(r, i));
    r->begun = 0;
    trace_datagram(r, 1, false);
    write_turn(r, 200000, 10);
    trace_log_stop(l);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(count(e, n, TRACE_request), TRACE_OPEN_MAX + 2);
    assert_int_equal(count(e, n, TRACE_answer), TRACE_OPEN_MAX + 2);
    for (unsigned i = 0; i < TRACE_OPEN_MAX + 2; i++) {
        const struct trace_event *a = nth(e, n, TRACE_answer, i);
        assert_false(a->forgotten);
        assert_int_equal(a->closed, i == TRACE_OPEN_MAX + 1);
        assert_true(a->request != 0 && a->slot < TRACE_SLOTS);
    }
    assert_int_equal(nth(e, n, TRACE_answer, 0)->ns, 100010);  // with its turn
    free(e);
    trace_log_free(l);
    free(r);
}

static void requests_and_answers_are_written_in_a_full_turn(void **state)
{
    struct trace_ring *r = ring_new();
    r->left = 0;
    request(r, 1);
    assert_true(answers(r, 1));
    assert_int_equal(r->skipped, 0);
    free(r);
}

static void a_ring_is_asked_by_each_log_and_released(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_log *a = log_of(1, &r, TRACE_KEEP_FIRST, LOG_BYTES);
    struct trace_log *b = log_of(1, &r, TRACE_KEEP_FIRST, LOG_BYTES);
    assert_int_equal(shared_u32_load(&r->asked), 2);
    trace_log_stop(a);
    trace_log_free(a);
    assert_int_equal(shared_u32_load(&r->asked), 1);
    trace_log_free(b);
    assert_int_equal(shared_u32_load(&r->asked), 0);
    free(r);
}

static void stages_and_what_happened_in_them_are_in_order_of_time(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);  // believed from its end on
    put(l, 0, STAGE_app, TRACE_open, 1, 1, 7);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put(l, 0, STAGE_app, TRACE_answer, 1, 1, 7);
    put_turn(l, 0, 1000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    const struct trace_event *open = nth(e, n, TRACE_open, 0);
    assert_int_equal(count(e, n, TRACE_turn), 2);
    assert_int_equal(count(e, n, TRACE_stage), 2 * (STAGE_housekeeping + 1));
    assert_int_equal(nth(e, n, TRACE_request, 0)->ns, 1000);  // received at the begin of its turn
    assert_int_equal(nth(e, n, TRACE_answer, 0)->ns, 1000 + (STAGE_tx + 1) * 10);
    assert_int_equal(nth(e, n, TRACE_answer, 0)->request, nth(e, n, TRACE_request, 0)->request);
    assert_int_equal(open->ns, 1000 + STAGE_app * 10);
    assert_true(open[-1].kind == TRACE_stage && open[-1].small == STAGE_app && !open[-1].end);
    free(e);
    trace_log_free(l);
}

// has_pairs: two requests, received at begins[], with answers at ends[].
static void has_pairs(const struct trace_event *e, unsigned n, const int64_t *begins,
                      const int64_t *ends)
{
    assert_int_equal(count(e, n, TRACE_request), 2);
    assert_int_equal(count(e, n, TRACE_answer), 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct trace_event *b = nth(e, n, TRACE_request, i), *a = nth(e, n, TRACE_answer, i);
        assert_true(b->ns == begins[i] && a->ns == ends[i] && !a->forgotten);
        assert_true(a->request == b->request && a->slot == b->slot);
    }
    assert_true(nth(e, n, TRACE_request, 0)->slot != nth(e, n, TRACE_request, 1)->slot);
}

static void requests_of_a_connection_that_a_turn_answers_one_by_one_are_two(void **state)
{
    static const enum trace_kind kinds[] = {TRACE_request, TRACE_answer, TRACE_request,
                                            TRACE_answer};
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++)
        put(l, 0, STAGE_app, kinds[i], 1, 1, 7);
    put_turn(l, 0, 1000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    has_pairs(e, n, (int64_t[]){1000, 1000}, (int64_t[]){1090, 1090});
    free(e);
    trace_log_free(l);
}

static void
an_answer_belongs_to_the_request_before_it_though_its_turn_receives_another(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put_turn(l, 0, 1000, 10);
    put(l, 0, STAGE_app, TRACE_answer, 1, 1, 7);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put_turn(l, 0, 2000, 10);
    put(l, 0, STAGE_app, TRACE_answer, 1, 1, 7);
    put_turn(l, 0, 3000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    has_pairs(e, n, (int64_t[]){1000, 2000}, (int64_t[]){2090, 3090});
    free(e);
    trace_log_free(l);
}

// With TRACE_OPEN_MAX open, a turn answers some and receives as many.
static void requests_that_replace_answered_ones_have_slots_of_their_own(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    for (uint32_t i = 0; i < TRACE_OPEN_MAX; i++)
        put(l, 0, STAGE_app, TRACE_request, 1, 1, i);
    put_turn(l, 0, 1000, 10);
    for (uint32_t i = 0; i < TRACE_REQUESTS_MAX; i++) {
        put(l, 0, STAGE_app, TRACE_answer, 1, 1, i);
        put(l, 0, STAGE_app, TRACE_request, 1, 1, TRACE_OPEN_MAX + i);
    }
    put_turn(l, 0, 2000, 10);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 2 * TRACE_OPEN_MAX);
    put_turn(l, 0, 3000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(count(e, n, TRACE_answer), TRACE_REQUESTS_MAX + 1);
    for (unsigned i = 0; i < TRACE_REQUESTS_MAX; i++) {
        assert_int_equal(nth(e, n, TRACE_answer, i)->id, i);
        assert_false(nth(e, n, TRACE_answer, i)->forgotten);
    }
    assert_true(nth(e, n, TRACE_answer, TRACE_REQUESTS_MAX)->forgotten);  // the oldest
    assert_int_equal(nth(e, n, TRACE_answer, TRACE_REQUESTS_MAX)->id, TRACE_REQUESTS_MAX);
    free(e);
    trace_log_free(l);
}

static void of_a_turn_whose_stages_were_not_timed_all_is_known_but_their_times(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_untimed_turn(l, 0, 0, 10);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put(l, 0, STAGE_timers, TRACE_timer, 0, 1, 7);
    put(l, 0, STAGE_app, TRACE_answer, 1, 1, 7);
    put_untimed_turn(l, 0, 100, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(nth(e, n, TRACE_request, 0)->ns, 100);
    assert_int_equal(nth(e, n, TRACE_timer, 0)->ns, 100);
    assert_int_equal(nth(e, n, TRACE_answer, 0)->ns, 110);
    assert_int_equal(nth(e, n, TRACE_stage, 0)->small, STAGE_COUNT);
    free(e);
    trace_log_free(l);
}

static void cores_are_merged_by_time(void **state)
{
    struct trace_log *l = log_of(3, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    for (unsigned core = 0; core < 3; core++)
        for (unsigned i = 0; i < 100; i++)
            put_turn(l, core, i * 1000 + core * 7, 3 + core);
    unsigned n, turns[3] = {0};
    struct trace_event *e = read_all(l, 0, &n);  // asserts the order
    for (unsigned i = 0; i < n; i++)
        turns[e[i].core] += e[i].kind == TRACE_turn && !e[i].end;
    assert_true(turns[0] == 99 && turns[1] == 99 && turns[2] == 99);
    free(e);
    trace_log_free(l);
}

static void after_a_loss_nothing_is_believed_until_the_next_whole_turn(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    put(l, 0, START + 1000, TRACE_turn, 1, 1, 0);
    put(l, 0, 5, TRACE_stages, 0, 0, 0);
    put(l, 0, 0, TRACE_KINDS, 0, 0, 0);  // a gap
    put(l, 0, 5, TRACE_stages, 0, 0, 0);
    put(l, 0, START + 2020, TRACE_stage, STAGE_housekeeping, 0, 0);
    put_turn(l, 0, 3000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(count(e, n, TRACE_turn), 2);
    assert_int_equal(nth(e, n, TRACE_turn, 0)->ns, 3000);
    free(e);
    trace_log_free(l);
}

static struct text written(const struct trace_log *l, enum trace_format f)
{
    struct text out;
    text_init(&out, 1 << 24);
    assert_int_equal(trace_file_write(l, 0, f, &out), 0);
    return out;
}

static struct text one_request(enum trace_format f, unsigned answer_small)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put(l, 0, STAGE_app, TRACE_answer, answer_small, 1, 7);
    put_turn(l, 0, 1000, 10);
    struct text out = written(l, f);
    trace_log_free(l);
    return out;
}

// ends_are_near: of a turn whose stages lasted lens[], what is read is exact, or early by less than
// 1/32,768 of the turn.
static void ends_are_near(const uint64_t *lens)
{
    uint64_t marks[STAGE_housekeeping + 1] = {START};
    struct trace_record stages, end = {0};
    for (unsigned s = 0; s < STAGE_housekeeping; s++)
        marks[s + 1] = marks[s] + lens[s];
    const uint64_t all = marks[STAGE_housekeeping] - START;
    trace_pack_stages(marks, &stages, &end);
    assert_false(trace_is_timed(&stages));
    for (unsigned s = 0; s < STAGE_housekeeping; s++) {
        const uint64_t at = START + trace_unpack_stage(&stages, &end, s);
        assert_true(at <= marks[s + 1] && marks[s + 1] - at <= all / 32768);
        assert_true(all >= 65536 || at == marks[s + 1]);
    }
}

static void ends_of_stages_are_exact_or_as_near_as_a_fraction_of_the_turn(void **state)
{
    uint64_t x = 88172645463325252u;
    for (unsigned bits = 0; bits < 60; bits++) {
        uint64_t lens[STAGE_housekeeping];
        for (unsigned s = 0; s < STAGE_housekeeping; s++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            lens[s] = x & ((1ull << bits) - 1);
        }
        ends_are_near(lens);
        memset(lens, 0, sizeof(lens));
        lens[bits % STAGE_housekeeping] = 1ull << bits;
        ends_are_near(lens);
        lens[bits % STAGE_housekeeping]--;
        ends_are_near(lens);
    }
}

static void a_request_whose_connection_ends_first_was_not_answered(void **state)
{
    enum { CLOSED = 1 << 5, TASK_END_BYTES = 5 };  // type, time of two bytes, request, stack
    static const char *const says[] = {
        [TRACE_FORMAT_PERFETTO] = "closed", [TRACE_FORMAT_CHROME] = "\"end\":\"closed\""};
    for (enum trace_format f = 0; f < TRACE_FORMATS; f++) {
        struct text answered = one_request(f, 1), closed = one_request(f, 1 | CLOSED);
        if (says[f] == NULL) {
            assert_true(closed.len < answered.len && answered.len <= closed.len + TASK_END_BYTES);
        } else {
            assert_null(memmem(answered.data, answered.len, says[f], strlen(says[f])));
            assert_non_null(memmem(closed.data, closed.len, says[f], strlen(says[f])));
        }
        text_free(&answered);
        text_free(&closed);
    }
}

static void a_loss_is_told_where_it_is_and_ends_open_requests(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 7);
    put(l, 0, STAGE_app, TRACE_request, 1, 1, 8);
    put_turn(l, 0, 1000, 10);
    put(l, 0, 0, TRACE_KINDS, 0, 0, 42);
    put_turn(l, 0, 2000, 10);
    put(l, 0, STAGE_app, TRACE_answer, 1, 1, 7);
    put_turn(l, 0, 3000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(count(e, n, TRACE_answer), 2);
    for (unsigned i = 0; i < 2; i++) {
        const struct trace_event *a = nth(e, n, TRACE_answer, i);
        assert_true(a->forgotten && a->ns == 1100 && a->id == 7 + i);
        assert_int_equal(a->request, nth(e, n, TRACE_request, i)->request);
    }
    assert_int_equal(count(e, n, TRACE_LOST), 1);
    assert_int_equal(nth(e, n, TRACE_LOST, 0)->ns, 1100);
    assert_int_equal(nth(e, n, TRACE_LOST, 0)->id, 42);
    assert_false(nth(e, n, TRACE_LOST, 0)->end);
    free(e);
    e = read_all(l, 1500, &n);  // it reaches into what is wanted
    assert_int_equal(nth(e, n, TRACE_LOST, 0)->ns, 1500);
    free(e);
    e = read_all(l, 2500, &n);
    assert_int_equal(count(e, n, TRACE_LOST), 0);
    free(e);
    trace_log_free(l);
}

// The levels of pools are the first records of a worker, and may not change for long.
static void what_has_a_time_of_its_own_needs_no_whole_turn(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put(l, 0, START + 5, TRACE_pool, TRACE_POOL_blocks, 0, 70);
    put(l, 0, STAGE_app, TRACE_open, 1, 1, 7);
    put_turn(l, 0, 10, 10);
    put(l, 0, 0, TRACE_KINDS, 0, 0, 0);  // a gap
    put(l, 0, STAGE_app, TRACE_open, 1, 1, 8);
    put(l, 0, START + 1000, TRACE_pool, TRACE_POOL_buffers, 0, 80);
    put(l, 0, START + 1000, TRACE_drop, DROP_tcp_checksum, 0, 3);
    put_turn(l, 0, 1000, 10);
    put(l, 0, START + 1200, TRACE_stall, STAGE_idle, 0, 300);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(count(e, n, TRACE_pool), 2);
    assert_int_equal(nth(e, n, TRACE_pool, 0)->ns, 5);
    assert_int_equal(nth(e, n, TRACE_pool, 0)->id, 70);
    assert_int_equal(nth(e, n, TRACE_pool, 1)->ns, 1000);
    assert_int_equal(nth(e, n, TRACE_drop, 0)->ns, 1000);
    assert_int_equal(nth(e, n, TRACE_stall, 0)->ns, 1200);
    assert_int_equal(count(e, n, TRACE_turn), 0);
    assert_int_equal(count(e, n, TRACE_open), 0);
    free(e);
    trace_log_free(l);
}

static void an_idle_core_still_tells_levels_losses_and_stalls(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    for (unsigned i = 0; i < 1000; i++)
        put(l, 0, START + i * 10, TRACE_pool, TRACE_POOL_blocks, 0, i);
    put(l, 0, START + 20000, TRACE_stall, STAGE_idle, 0, 300);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_int_equal(n, 1001);
    assert_int_equal(e[999].ns, 9990);
    free(e);
    trace_log_free(l);
}

static void only_the_time_that_is_wanted_is_read(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    for (unsigned i = 0; i < 10; i++)
        put_turn(l, 0, i * 1000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 5500, &n);
    assert_int_equal(nth(e, n, TRACE_turn, 0)->ns, 6000);
    assert_int_equal(count(e, n, TRACE_turn), 8);
    free(e);
    trace_log_free(l);
}

static void the_levels_when_the_time_begins_are_told_first(void **state)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put(l, 0, START + 5, TRACE_pool, TRACE_POOL_blocks, 0, 70);
    put(l, 0, START + 1000, TRACE_pool, TRACE_POOL_blocks, 0, 71);
    put(l, 0, START + 1000, TRACE_pool, TRACE_POOL_buffers, 0, 80);
    put(l, 1, START + 5, TRACE_pool, TRACE_POOL_time_wait, 0, 90);
    for (unsigned i = 2; i < 9; i++)
        put_turn(l, 0, i * 1000, 10);
    put(l, 0, START + 9000, TRACE_pool, TRACE_POOL_blocks, 0, 72);
    put_turn(l, 0, 9000, 10);
    unsigned n;
    struct trace_event *e = read_all(l, 7500, &n);
    assert_true(e[0].kind == TRACE_pool && e[0].id == 71 && e[0].ns == 7500);
    assert_true(e[1].kind == TRACE_pool && e[1].id == 80 && e[1].ns == 7500);
    assert_true(e[2].kind == TRACE_pool && e[2].id == 90 && e[2].core == 1);
    assert_int_equal(nth(e, n, TRACE_pool, 3)->ns, 9000);
    assert_int_equal(count(e, n, TRACE_pool), 4);
    free(e);
    e = read_all(l, 7050, &n);  // within a turn, which is whole
    assert_int_equal(nth(e, n, TRACE_turn, 0)->ns, 7000);
    assert_int_equal(count(e, n, TRACE_pool), 4);
    free(e);
    trace_log_free(l);
}

static void levels_outlive_the_chunks_that_had_them(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_LAST, 2 * sizeof(struct trace_chunk));
    put(l, 0, START + 5, TRACE_pool, TRACE_POOL_blocks, 0, 70);
    for (unsigned i = 0; i < 3 * TRACE_CHUNK_RECORDS; i++)
        put(l, 0, START + 10 + i, TRACE_stall, STAGE_idle, 0, 300);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_true(l->cores[0].thrown != 0);
    assert_int_equal(count(e, n, TRACE_pool), 1);
    assert_true(e[0].kind == TRACE_pool && e[0].id == 70 && e[0].ns == 5);
    free(e);
    trace_log_free(l);
}

// slots_are_alone: no slot has two requests at a time, and each ends at most once, after its begin.
static void slots_are_alone(const struct trace_log *l)
{
    uint64_t has[2][TRACE_SLOTS] = {{0}};
    unsigned pairs = 0;
    struct trace_event e;
    struct trace_reader *r = trace_reader_new(l, 0);
    assert_non_null(r);
    while (trace_reader_next(r, &e)) {
        if (e.kind != TRACE_request && e.kind != TRACE_answer)
            continue;
        uint64_t *slot = &has[e.core][e.slot];
        assert_int_equal(*slot, e.kind == TRACE_request ? 0 : e.request);
        *slot = e.kind == TRACE_request ? e.request : 0;
        pairs += e.kind == TRACE_answer;
    }
    assert_true(pairs > 100);
    trace_reader_free(r);
}

static void records_of_any_content_are_read_and_written(void **state)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    uint64_t x = 88172645463325252u;
    for (unsigned i = 0; i < 100000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        put(l, x >> 60 & 1, (x >> 8 & 3) == 0 ? x % 12 : START + i * 5,
            (enum trace_kind)(x % (TRACE_KINDS + 2)), (unsigned)(x >> 16),
            (unsigned)(x >> 32) & ((x >> 9 & 1) != 0 ? 1 : 0xffff), (uint32_t)(x >> 24) & 0xff);
    }
    slots_are_alone(l);
    for (enum trace_format f = 0; f < TRACE_FORMATS; f++) {
        struct text out;
        text_init(&out, 1 << 28);
        assert_int_equal(trace_file_write(l, 0, f, &out), 0);
        assert_true(out.len > 1000);
        text_free(&out);
    }
    trace_log_free(l);
}

static void a_full_log_keeps_the_first_or_the_last_records(void **state)
{
    enum { CHUNKS = 3, N = 10 * TRACE_CHUNK_RECORDS };
    const uint64_t bytes = CHUNKS * sizeof(struct trace_chunk);
    struct trace_log *first = log_of(1, NULL, TRACE_KEEP_FIRST, bytes);
    struct trace_log *last = log_of(1, NULL, TRACE_KEEP_LAST, bytes);
    for (uint32_t i = 0; i < N; i++) {
        const struct trace_record r = {.when = START + i, .kind = TRACE_stall, .id = i};
        trace_log_put(first, 0, &r);
        assert_true(trace_log_put(last, 0, &r));
    }
    assert_int_equal(trace_log_lost(first), N - CHUNKS * TRACE_CHUNK_RECORDS);
    assert_int_equal(first->cores[0].last->at[0].id, (CHUNKS - 1) * TRACE_CHUNK_RECORDS);
    assert_int_equal(trace_log_lost(last), 0);
    assert_true(last->bytes <= bytes);
    assert_int_equal(last->cores[0].first->at[0].id, N - CHUNKS * TRACE_CHUNK_RECORDS);
    assert_int_equal(last->cores[0].last->at[TRACE_CHUNK_RECORDS - 1].id, N - 1);
    trace_log_free(first);
    trace_log_free(last);
}

static void a_gap_in_the_ring_is_marked_in_the_log(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_log *l = log_of(1, &r, TRACE_KEEP_FIRST, LOG_BYTES);
    trace_write(r, &(struct trace_record){.id = 1});
    trace_log_collect(l);
    for (unsigned i = 0; i < RECORDS + 10; i++)
        trace_write(r, &(struct trace_record){.id = 100 + i});
    trace_log_stop(l);
    const struct trace_chunk *c = l->cores[0].first;
    assert_int_equal(c->at[0].id, 1);
    assert_int_equal(c->at[1].kind, TRACE_KINDS);
    assert_int_equal(c->at[1].id, trace_log_lost(l));
    assert_int_equal(c->at[2].id, 100 + trace_log_lost(l));
    assert_int_equal(trace_log_lost(l), 11);
    trace_log_free(l);
    free(r);
}

static void a_gap_for_lack_of_memory_is_marked_when_there_is_some_again(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_log *l = log_of(1, &r, TRACE_KEEP_LAST, LOG_BYTES);
    const struct trace_record put = {.when = START, .kind = TRACE_stall, .id = 9};
    for (uint32_t i = 0; i < 40; i++) {
        l->bytes_max = i < 30 ? 0 : LOG_BYTES;
        trace_write(r, &(struct trace_record){.when = START, .kind = TRACE_stall, .id = i});
        trace_log_collect(l);
    }
    const struct trace_chunk *c = l->cores[0].first;
    assert_int_equal(trace_log_lost(l), 30);
    assert_true(c->at[0].kind == TRACE_KINDS && c->at[0].id == 30);
    assert_int_equal(c->at[1].id, 30);
    assert_int_equal(c->n, 11);
    for (unsigned i = 0; i < TRACE_CHUNK_RECORDS; i++) {  // the chunk is full meanwhile
        l->bytes_max = c->n < TRACE_CHUNK_RECORDS ? LOG_BYTES : 0;
        trace_log_put(l, 0, &put);
    }
    l->bytes_max = LOG_BYTES;
    assert_true(trace_log_put(l, 0, &put));
    assert_true(c->next->at[0].kind == TRACE_KINDS && c->next->at[0].id == 11);
    assert_true(c->next->n == 2 && c->next->at[1].id == 9);
    trace_log_free(l);
    free(r);
}

static void a_log_that_ends_has_all_that_a_large_ring_has(void **state)
{
    enum { N = 3 * TRACE_COLLECT_RECORDS };
    struct trace_ring *r = ring_of(4 * TRACE_COLLECT_RECORDS);
    struct trace_log *all = log_of(1, &r, TRACE_KEEP_FIRST, LOG_BYTES);
    struct trace_log *some = log_of(1, &r, TRACE_KEEP_FIRST, sizeof(struct trace_chunk));
    for (uint32_t i = 0; i < N; i++)
        trace_write(r, &(struct trace_record){.when = START + i, .kind = TRACE_stall, .id = i});
    trace_log_collect(all);
    assert_int_equal(all->cores[0].taken, TRACE_COLLECT_RECORDS);
    trace_log_stop(all);
    const struct trace_chunk *last = all->cores[0].last;
    assert_int_equal(last->at[last->n - 1].id, N - 1);
    assert_int_equal(trace_log_lost(all), 0);
    trace_log_stop(some);
    assert_true(some->ended && some->end_tsc == START + TRACE_CHUNK_RECORDS - 1);
    trace_log_free(all);
    trace_log_free(some);
    free(r);
}

// Core 0 has four turns where core 1 has one, and core 2 is idle after its first.
static void a_full_log_ends_at_one_time_for_all_cores_and_says_so(void **state)
{
    enum { TURNS = 1 << 16, CYCLES = 10 };
    struct trace_ring *rings[3];
    for (unsigned i = 0; i < 3; i++)
        rings[i] = ring_of(1 << 18);
    struct trace_log *l = log_of(3, rings, TRACE_KEEP_FIRST, 5 * sizeof(struct trace_chunk));
    write_turn(rings[2], 0, CYCLES);
    for (uint64_t i = 0; i < TURNS; i++) {
        write_turn(rings[0], i * CYCLES, CYCLES);
        if (i % 4 == 0)
            write_turn(rings[1], i * CYCLES, 4 * CYCLES);
        if (i % 100 == 0)
            trace_log_collect(l);
    }
    assert_true(l->ended);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(shared_u32_load(&rings[i]->asked), 0);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    int64_t last[3] = {0};
    for (unsigned i = 0; i < n; i++)
        last[e[i].core] = e[i].kind == TRACE_turn && e[i].end ? e[i].ns : last[e[i].core];
    assert_true(last[0] > 100000 && last[0] == (int64_t)(l->end_tsc - START));
    assert_true(last[1] <= last[0] && last[0] - last[1] < 4 * CYCLES);
    assert_true(e[n - 1].kind == TRACE_LOST && e[n - 1].mid == TRACE_LOG_FULL);
    assert_int_equal(trace_log_lost(l), 0);
    free(e);
    trace_log_free(l);
    for (unsigned i = 0; i < 3; i++)
        free(rings[i]);
}

static void a_log_without_room_for_a_record_says_so(void **state)
{
    struct trace_ring *r = ring_new();
    struct trace_log *l = log_of(1, &r, TRACE_KEEP_FIRST, 0);
    write_turn(r, 1000, 10);
    trace_log_collect(l);
    trace_log_stop(l);
    unsigned n;
    struct trace_event *e = read_all(l, 0, &n);
    assert_true(n == 1 && e[0].kind == TRACE_LOST && e[0].mid == TRACE_LOG_FULL && e[0].ns == 0);
    free(e);
    trace_log_free(l);
    free(r);
}

// Records without a time have the number of a stage in its place.
static void the_oldest_chunk_is_thrown_though_it_begins_with_an_untimed_record(void **state)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_LAST, 4 * sizeof(struct trace_chunk));
    put(l, 0, START + 1, TRACE_stall, STAGE_idle, 0, 300);
    put(l, 1, STAGE_app, TRACE_open, 1, 1, 7);
    for (uint32_t i = 1; i < 2 * TRACE_CHUNK_RECORDS; i++) {
        put(l, 0, START + i, TRACE_stall, STAGE_idle, 0, 300);
        put(l, 1, START + 1000000 + i, TRACE_stall, STAGE_idle, 0, 300);
    }
    put(l, 1, START + 2000000, TRACE_stall, STAGE_idle, 0, 300);
    assert_int_equal(l->cores[0].thrown, TRACE_CHUNK_RECORDS);
    assert_int_equal(l->cores[1].thrown, 0);
    trace_log_free(l);
}

static void a_trace_says_how_many_requests_it_does_not_have(void **state)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    put_turn(l, 0, 0, 10);
    put(l, 0, START + 1000, TRACE_unfollowed, 0, 0, 30);
    put(l, 1, START + 1000, TRACE_unfollowed, 0, 0, 12);
    for (enum trace_format f = 0; f < TRACE_FORMATS; f++) {
        static const char says[] = "a sample: up to 42 more were not followed";
        struct text out = written(l, f);
        assert_non_null(memmem(out.data, out.len, says, sizeof(says) - 1));
        text_free(&out);
    }
    trace_log_free(l);
}

// small_trace: two cores, every kind of event.
static struct trace_log *small_trace(void)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    for (unsigned i = 0; i < 200; i++) {
        const unsigned core = i % 2;
        put(l, core, START + i * 1000, TRACE_pool, TRACE_POOL_blocks, 0, i);
        put(l, core, STAGE_app, TRACE_open, 1, 1, i);
        put(l, core, STAGE_app, TRACE_request, 1, 1, i);
        put(l, core, START + i * 1000 + 55, TRACE_user, 1, 0, i);
        put(l, core, STAGE_tcp_output, TRACE_retransmit, TRACE_NO_SERVICE, 0, i);
        put(l, core, STAGE_timers, TRACE_timer, 0, 1, i);
        put(l, core, START + i * 1000, TRACE_drop, DROP_tcp_checksum, 0, 3);
        if (i % 5 != 0)
            put(l, core, STAGE_app, TRACE_answer, i % 7 == 0 ? 1 | TRACE_CLOSED : 1, 1, i);
        put(l, core, STAGE_app, TRACE_close, 1 | 2 << TRACE_WHY_SHIFT, 1, i);
        if (i % 3 == 0)
            put_untimed_turn(l, core, i * 1000, 200);
        else
            put_turn(l, core, i * 1000, 10);
        put(l, core, START + i * 1000 + 400, TRACE_stall, STAGE_idle, 0, 300);
        if (i == 100)
            put(l, core, 0, TRACE_KINDS, 0, 0, 42);  // a gap
    }
    return l;
}

// opened: what has begun and not ended on two cores, among events that were given.
struct opened {
    int turns[2], stages[2];
    uint64_t slots[2][TRACE_SLOTS];
};

static void note(struct opened *o, const struct trace_event *e)
{
    uint64_t *slot = &o->slots[e->core][e->slot];
    o->turns[e->core] += e->kind != TRACE_turn ? 0 : e->end ? -1 : 1;
    o->stages[e->core] += e->kind != TRACE_stage ? 0 : e->end ? -1 : 1;
    assert_true(o->turns[e->core] >= o->stages[e->core] && o->stages[e->core] >= 0);
    if (e->kind == TRACE_request || e->kind == TRACE_answer) {
        assert_int_equal(*slot, e->kind == TRACE_request ? 0 : e->request);
        *slot = e->kind == TRACE_request ? e->request : 0;
    }
}

// cut_after: the events of l are cut off after the first `n`. False: there are fewer.
static bool cut_after(const struct trace_log *l, unsigned n)
{
    static const struct opened none;
    struct opened o = none;
    struct trace_reader *r = trace_reader_new(l, 0);
    struct trace_event e = {.ns = 0};
    bool more = true;
    assert_non_null(r);
    for (unsigned i = 0; i < n && (more = trace_reader_next(r, &e)); i++)
        note(&o, &e);
    const int64_t at = e.ns;
    unsigned ends = 0, told = 0;
    trace_reader_cut(r);
    for (; trace_reader_next(r, &e);
         ends++, told += e.kind == TRACE_LOST && e.end && e.mid == TRACE_FILE_FULL) {
        note(&o, &e);
        assert_int_equal(e.ns, at);
        assert_true(e.kind == TRACE_LOST || e.end || e.forgotten);
    }
    assert_memory_equal(&o, &none, sizeof(o));
    assert_int_equal(told, more);
    assert_true(ends <= trace_reader_ends(r));
    trace_reader_free(r);
    return more;
}

static void wherever_a_trace_is_cut_off_all_that_is_open_ends_at_one_time(void **state)
{
    struct trace_log *l = small_trace();
    unsigned n = 0;
    while (cut_after(l, n))
        n++;
    assert_true(n > 1000);
    trace_log_free(l);
}

static void a_turn_and_its_stages_begin_with_their_ends(void **state)
{
    struct trace_log *l = small_trace();
    unsigned n, whole = 0;
    struct trace_event *e = read_all(l, 0, &n);
    for (unsigned i = 0; i < n; i++) {
        if ((e[i].kind != TRACE_turn && e[i].kind != TRACE_stage) || e[i].end)
            continue;
        unsigned k = i;
        while (e[k].kind != e[i].kind || e[k].core != e[i].core || !e[k].end)
            assert_true(++k < n);
        assert_int_equal(e[i].until_ns, e[k].ns);
        whole++;
    }
    assert_true(whole > 1000);
    free(e);
    trace_log_free(l);
}

static void chrome_has_each_event_once_and_escapes_names(void **state)
{
    struct trace_log *l = small_trace();
    struct text out;
    unsigned slices = 0, turns = 0, n;
    struct trace_event *e = read_all(l, 0, &n);
    text_init(&out, 1 << 24);
    assert_int_equal(trace_file_write(l, 0, TRACE_FORMAT_CHROME, &out), 0);
    for (const char *p = out.data; (p = strstr(p, "\"ph\":\"")) != NULL; p++) {
        slices += p[6] == 'X';
        assert_true(p[6] != 'B' && p[6] != 'E');
    }
    for (const char *p = out.data; (p = strstr(p, "\"name\":\"turn\"")) != NULL; p++)
        turns++;
    assert_int_equal(turns, count(e, n, TRACE_turn) / 2);
    for (unsigned i = 0; i < n; i++)
        turns += e[i].kind == TRACE_stage && e[i].small != STAGE_COUNT && !e[i].end;
    assert_int_equal(slices, turns);
    assert_non_null(strstr(out.data, "\"tile \\\"drawn\\\"\""));
    assert_non_null(strstr(out.data, "3 tcp_checksum"));
    text_free(&out);
    free(e);
    trace_log_free(l);
}

static void a_trace_without_events_is_a_trace(void **state)
{
    struct trace_log *l = log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    struct text out;
    text_init(&out, 1 << 20);
    assert_int_equal(trace_file_write(l, 0, TRACE_FORMAT_GO, &out), 0);
    assert_memory_equal(out.data, "go 1.22 trace\0\0\0", 16);
    text_free(&out);
    trace_log_free(l);
}

static void a_trace_that_reaches_the_limit_ends_and_says_so(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    for (unsigned i = 0; i < 50000; i++)
        put_turn(l, 0, i * 1000, 10);
    for (enum trace_format f = 0; f < TRACE_FORMATS; f++) {
        struct text out;
        text_init(&out, 1 << 20);
        assert_int_equal(trace_file_write(l, 0, f, &out), 0);
        assert_true(out.len > 3 << 18);
        assert_non_null(memmem(out.data, out.len, "the rest: the file is full", 26));
        text_free(&out);
    }
    trace_log_free(l);
}

static void a_trace_says_how_many_records_were_lost(void **state)
{
    struct trace_log *l = log_of(1, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
    unsigned n;
    put_turn(l, 0, 0, 10);
    l->cores[0].lost = 42;
    struct trace_event *e = read_all(l, 0, &n);
    assert_true(e[n - 1].kind == TRACE_LOST && e[n - 1].mid == TRACE_LOST_IN_ALL);
    assert_int_equal(e[n - 1].id, 42);
    free(e);
    trace_log_free(l);
}

static void formats_have_names(void **state)
{
    assert_int_equal(trace_format_find(NULL), TRACE_FORMAT_GO);
    assert_int_equal(trace_format_find("perfetto"), TRACE_FORMAT_PERFETTO);
    assert_int_equal(trace_format_find("chrome"), TRACE_FORMAT_CHROME);
    assert_int_equal(trace_format_find("svg"), -1);
}

static int write_files(const char *folder)
{
    static const char *const names[] = {"go", "perfetto", "chrome", "empty"};
    for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
        char path[4096];
        struct text out;
        struct trace_log *l =
            i < TRACE_FORMATS ? small_trace() : log_of(2, NULL, TRACE_KEEP_FIRST, LOG_BYTES);
        snprintf(path, sizeof(path), "%s/%s.trace", folder, names[i]);
        FILE *f = fopen(path, "w");
        text_init(&out, 1 << 24);
        if (f == NULL || trace_file_write(l, 0, i % TRACE_FORMATS, &out) != 0 ||
            fwrite(out.data, out.len, 1, f) != 1 || fclose(f) != 0)
            return 1;
        text_free(&out);
        trace_log_free(l);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_out_in_their_order),
        cmocka_unit_test(overwritten_records_are_counted_as_lost),
        cmocka_unit_test(
            two_readers_of_a_ring_that_is_overwritten_get_whole_records_and_count_the_rest),
        cmocka_unit_test(a_turn_writes_no_more_than_its_bound),
        cmocka_unit_test(requests_of_a_turn_are_bounded_and_pair_with_answers),
        cmocka_unit_test(the_end_of_a_connection_ends_its_request),
        cmocka_unit_test(of_too_many_open_requests_the_oldest_is_forgotten),
        cmocka_unit_test(a_datagram_is_a_request_and_its_end_or_counted),
        cmocka_unit_test(a_datagram_forgets_no_open_request),
        cmocka_unit_test(requests_and_answers_are_written_in_a_full_turn),
        cmocka_unit_test(a_ring_is_asked_by_each_log_and_released),
        cmocka_unit_test(stages_and_what_happened_in_them_are_in_order_of_time),
        cmocka_unit_test(requests_of_a_connection_that_a_turn_answers_one_by_one_are_two),
        cmocka_unit_test(
            an_answer_belongs_to_the_request_before_it_though_its_turn_receives_another),
        cmocka_unit_test(requests_that_replace_answered_ones_have_slots_of_their_own),
        cmocka_unit_test(of_a_turn_whose_stages_were_not_timed_all_is_known_but_their_times),
        cmocka_unit_test(ends_of_stages_are_exact_or_as_near_as_a_fraction_of_the_turn),
        cmocka_unit_test(cores_are_merged_by_time),
        cmocka_unit_test(after_a_loss_nothing_is_believed_until_the_next_whole_turn),
        cmocka_unit_test(a_request_whose_connection_ends_first_was_not_answered),
        cmocka_unit_test(a_loss_is_told_where_it_is_and_ends_open_requests),
        cmocka_unit_test(what_has_a_time_of_its_own_needs_no_whole_turn),
        cmocka_unit_test(an_idle_core_still_tells_levels_losses_and_stalls),
        cmocka_unit_test(only_the_time_that_is_wanted_is_read),
        cmocka_unit_test(the_levels_when_the_time_begins_are_told_first),
        cmocka_unit_test(levels_outlive_the_chunks_that_had_them),
        cmocka_unit_test(records_of_any_content_are_read_and_written),
        cmocka_unit_test(a_full_log_keeps_the_first_or_the_last_records),
        cmocka_unit_test(a_gap_in_the_ring_is_marked_in_the_log),
        cmocka_unit_test(a_gap_for_lack_of_memory_is_marked_when_there_is_some_again),
        cmocka_unit_test(a_log_that_ends_has_all_that_a_large_ring_has),
        cmocka_unit_test(wherever_a_trace_is_cut_off_all_that_is_open_ends_at_one_time),
        cmocka_unit_test(a_turn_and_its_stages_begin_with_their_ends),
        cmocka_unit_test(a_full_log_ends_at_one_time_for_all_cores_and_says_so),
        cmocka_unit_test(a_log_without_room_for_a_record_says_so),
        cmocka_unit_test(the_oldest_chunk_is_thrown_though_it_begins_with_an_untimed_record),
        cmocka_unit_test(a_trace_says_how_many_requests_it_does_not_have),
        cmocka_unit_test(chrome_has_each_event_once_and_escapes_names),
        cmocka_unit_test(a_trace_without_events_is_a_trace),
        cmocka_unit_test(a_trace_that_reaches_the_limit_ends_and_says_so),
        cmocka_unit_test(a_trace_says_how_many_records_were_lost),
        cmocka_unit_test(formats_have_names),
    };
    return argc == 2 ? write_files(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
