// SPDX-License-Identifier: BSD-3-Clause
// test_wheel.c: the claims of flow/wheel.h, against a list of deadlines.
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "flow/wheel.h"
#include "seed.h"

enum { OUT_MAX = 64, HOUR_MS = 3600 * 1000, L1_MS = 1 << 12, L2_MS = 1 << 22 };

// make: a wheel whose memory ends at a line that must stay untouched.
static struct wheel *make(uint32_t entries, uint32_t now_ms)
{
    const size_t bytes = wheel_footprint(entries);
    uint8_t *mem = aligned_alloc(CACHE_LINE, bytes + CACHE_LINE);
    memset(mem, 0x5a, bytes + CACHE_LINE);
    return wheel_init(mem, entries, now_ms);
}

static void drop(struct wheel *w, uint32_t entries)
{
    const uint8_t *end = (const uint8_t *)w + wheel_footprint(entries);
    for (unsigned i = 0; i < CACHE_LINE; i++)
        assert_int_equal(end[i], 0x5a);
    free(w);
}

// expire_all: calls until the wheel has done its work up to now_ms; returns how many came out.
static uint32_t expire_all(struct wheel *w, uint32_t now_ms)
{
    uint32_t out[OUT_MAX], n = wheel_expire(w, now_ms, out, OUT_MAX);
    for (unsigned calls = 0; !time_before(now_ms, wheel_next_ms(w)); calls++) {
        assert_true(calls < 100000);
        n += wheel_expire(w, now_ms, out, OUT_MAX);
    }
    return n;
}

// Deadlines of each level, ahead of a start at the edges of each level.
static const uint32_t ahead_ms[] = {
    1,         2,         4095,          4096,         4097,
    8191,      8192,      65535,         L2_MS - 1,    L2_MS,
    L2_MS + 1, 2 * L2_MS, 2 * L2_MS + 1, 24 * HOUR_MS, INT32_MAX - L2_MS,
    INT32_MAX,
};
static const uint32_t start_ms[] = {0,          1,          4095,       4096,
                                    4097,       L2_MS - 1,  L2_MS,      0x7fffffff,
                                    0x80000000, 0xffc00000, 0xffffffff, 0xfffff000};

static void entry_comes_out_when_add_said_and_near_ones_at_their_deadline(void **state)
{
    for (unsigned s = 0; s < ARRAY_LEN(start_ms); s++)
        for (unsigned i = 0; i < ARRAY_LEN(ahead_ms); i++) {
            struct wheel *w = make(1, start_ms[s]);
            const uint32_t deadline = start_ms[s] + ahead_ms[i];
            const uint32_t at = wheel_add(w, deadline, 0xc0ffee);
            assert_int_not_equal(at, 0);
            assert_false(time_before(deadline, at));
            if (ahead_ms[i] < WHEEL_L0_SLOTS)
                assert_true(at == deadline || deadline == 0);
            assert_int_equal(expire_all(w, at - 1), 0);
            const uint32_t n = expire_all(w, at) + expire_all(w, at + (at == UINT32_MAX));
            assert_int_equal(n, 1);
            assert_int_equal(w->entries, 0);
            drop(w, 1);
        }
}

static void owner_that_adds_again_meets_its_deadline_to_the_ms(void **state)
{
    for (unsigned s = 0; s < ARRAY_LEN(start_ms); s++)
        for (unsigned i = 0; i < ARRAY_LEN(ahead_ms); i++) {
            struct wheel *w = make(1, start_ms[s]);
            const uint32_t deadline = start_ms[s] + ahead_ms[i];
            uint32_t now = start_ms[s], out, adds = 1;
            assert_int_not_equal(wheel_add(w, deadline, 7), 0);
            for (unsigned calls = 0; calls < 2000000; calls++) {
                now = wheel_next_ms(w);
                assert_false(time_before(deadline, now));
                if (wheel_expire(w, now, &out, 1) == 0)
                    continue;
                assert_int_equal(out, 7);
                if (now == deadline)
                    break;
                assert_int_not_equal(wheel_add(w, deadline, 7), 0);
                adds++;
            }
            assert_int_equal(now, deadline);
            assert_true(adds <= WHEEL_LEVELS);
            drop(w, 1);
        }
}

static void deadline_that_has_passed_comes_out_at_the_next_tick(void **state)
{
    struct wheel *w = make(3, 1000);
    assert_int_equal(expire_all(w, 1000), 0);
    assert_int_equal(wheel_add(w, 1000, 1), 1001);
    assert_int_equal(wheel_add(w, 10, 2), 1001);
    assert_int_equal(wheel_add(w, 1001u - INT32_MAX, 3), 1001);
    assert_int_equal(expire_all(w, 1000), 0);
    assert_int_equal(expire_all(w, 1001), 3);
    drop(w, 3);
}

static void the_deadline_added_last_is_forgotten_when_its_slot_begins(void **state)
{
    struct wheel *w = make(300, 1000);
    for (uint32_t i = 0; i < 100; i++)  // more than a chunk
        assert_int_equal(wheel_add(w, 1010, i), 1010);
    uint32_t out[10];
    assert_int_equal(wheel_expire(w, 1010, out, ARRAY_LEN(out)), 10);
    assert_int_equal(wheel_add(w, 1010, 100), 1011);  // begun, and not yet all given out
    assert_int_equal(expire_all(w, 1010), 90);
    assert_int_equal(expire_all(w, 1011), 1);
    assert_int_equal(wheel_add(w, 1010 + WHEEL_L0_SLOTS, 1), 1010 + WHEEL_L0_SLOTS);
    assert_int_equal(wheel_add(w, 1010, 2), 1012);  // the same slot, another time
    assert_int_equal(expire_all(w, 1012), 1);
    assert_int_equal(expire_all(w, 1010 + WHEEL_L0_SLOTS), 1);
    drop(w, 300);
}

static void time_that_goes_back_gives_out_nothing_new(void **state)
{
    struct wheel *w = make(3, 1000);
    assert_int_equal(wheel_add(w, 1010, 1), 1010);
    assert_int_equal(expire_all(w, 1005), 0);
    assert_int_equal(expire_all(w, 900), 0);
    assert_int_equal(expire_all(w, 1009), 0);
    assert_int_equal(expire_all(w, 1010), 1);
    drop(w, 3);
}

static void no_chunk_left_is_refused_and_counted(void **state)
{
    struct wheel *w = make(1, 0);
    uint32_t n = 0;
    while (wheel_add(w, 50, n) != 0)
        n++;
    assert_int_equal(w->refused, 1);
    assert_int_equal(w->entries, n);
    assert_int_equal(expire_all(w, 50), n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(wheel_add(w, 60, i), 60);
    assert_int_equal(wheel_add(w, 60, n), 0);
    assert_int_equal(expire_all(w, 60), n);
    drop(w, 1);
}

static void footprint_holds_its_entries_in_the_worst_distribution(void **state)
{
    // One entry in every slot of every level that can be reached, the rest in one; then again while
    // what began last is half given out, a few handles a call.
    enum { ENTRIES = 100000 };
    struct wheel *w = make(ENTRIES, 0);
    uint32_t out[13];
    for (unsigned round = 0; round < 5; round++) {
        const uint32_t now = w->at_ms;
        for (uint32_t i = 1; i < WHEEL_L0_SLOTS; i++)
            assert_int_not_equal(wheel_add(w, now + i, i), 0);
        for (uint32_t i = 1; i < WHEEL_L1_SLOTS; i++)
            assert_int_not_equal(wheel_add(w, now + i * L1_MS, i), 0);
        for (uint32_t i = 1; i < WHEEL_L2_SLOTS / 2; i++)
            assert_int_not_equal(wheel_add(w, now + i * L2_MS, i), 0);
        while (w->entries < ENTRIES)
            assert_int_not_equal(wheel_add(w, now + (round % 2 ? L1_MS : L2_MS), 7), 0);
        assert_int_equal(w->refused, 0);
        while (w->entries > ENTRIES / 2)
            wheel_expire(w, now + L2_MS, out, ARRAY_LEN(out));
    }
    drop(w, ENTRIES);
}

static void call_is_bounded_by_max_and_goes_on_in_the_next(void **state)
{
    struct wheel *w = make(1000, 0);
    uint32_t out[OUT_MAX], got = 0;
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(wheel_add(w, 5, i), 5);
    bool seen[1000] = {false};
    for (unsigned calls = 0; calls < 143; calls++) {
        const uint32_t n = wheel_expire(w, 100, out, 7);
        assert_int_equal(n, MIN(7u, 1000 - got));
        for (uint32_t i = 0; i < n; i++) {
            assert_false(seen[out[i]]);
            seen[out[i]] = true;
        }
        got += n;
    }
    assert_int_equal(got, 1000);
    assert_int_equal(wheel_expire(w, 100, out, 0), 0);
    drop(w, 1000);
}

static void exact_entries_do_not_wait_for_a_full_early_slot(void **state)
{
    enum { MANY = 100000, EXACT = 7 };
    for (unsigned level = 1; level <= 2; level++) {
        const uint32_t begin = level == 1 ? L1_MS : L2_MS;
        struct wheel *w = make(MANY + 2000, 0);
        uint32_t out[OUT_MAX], calls = 0, early = 0, exact = 0;
        for (uint32_t i = 0; i < MANY; i++)
            assert_int_equal(wheel_add(w, 2 * begin - 1, 0), begin);
        expire_all(w, begin - 1);
        for (uint32_t t = 1; t <= 1000; t++)
            assert_int_equal(wheel_add(w, begin + t, EXACT), begin + t);
        // One call a ms: what is due in a ms comes in it, and the early ones use the rest.
        for (uint32_t now = begin; exact < 1000; now++, calls++) {
            const uint32_t n = wheel_expire(w, now, out, OUT_MAX);
            assert_int_equal(n, OUT_MAX);
            for (uint32_t i = 0; i < n; i++) {
                exact += out[i] == EXACT;
                early += out[i] == 0;
            }
            assert_int_equal(exact, now - begin);
        }
        assert_int_equal(early, calls * OUT_MAX - exact);
        assert_int_equal(expire_all(w, 2 * begin - 1), MANY - early);
        drop(w, MANY + 2000);
    }
}

static void early_slot_gets_a_quarter_of_each_call_when_ticks_are_full(void **state)
{
    struct wheel *w = make(4000, 0);
    uint32_t out[16];
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(wheel_add(w, L1_MS + 4000, 1), L1_MS);
    expire_all(w, L1_MS - 1);
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(wheel_add(w, L1_MS, 0), L1_MS);
    for (unsigned call = 0; call < 50; call++) {
        uint32_t early = 0;
        assert_int_equal(wheel_expire(w, L1_MS + 10, out, 16), 16);
        for (unsigned i = 0; i < 16; i++)
            early += out[i];
        assert_int_equal(early, 4);
    }
    drop(w, 4000);
}

static void time_waits_for_an_early_slot_before_the_next_of_its_level(void **state)
{
    struct wheel *w = make(4000, 0);
    uint32_t out[8], n = 0;
    for (uint32_t i = 0; i < 1000; i++)
        assert_int_equal(wheel_add(w, L1_MS + 4000, 1), L1_MS);
    assert_int_equal(wheel_add(w, 2 * L1_MS + 1, 2), 2 * L1_MS);
    // Far behind: nothing is lost, nothing comes twice.
    for (unsigned call = 0; call < 200; call++)
        n += wheel_expire(w, 10 * L1_MS, out, 8);
    assert_int_equal(n, 1001);
    assert_int_equal(w->entries, 0);
    drop(w, 4000);
}

static void entry_added_again_as_it_fires_does_not_stop_time(void **state)
{
    struct wheel *w = make(10, 0);
    uint32_t out[OUT_MAX], fired_late = 0;
    assert_int_equal(wheel_add(w, 1, 1), 1);
    assert_int_equal(wheel_add(w, 50, 2), 50);
    for (uint32_t now = 1; now <= 60; now++) {
        const uint32_t n = wheel_expire(w, now, out, OUT_MAX);
        for (uint32_t i = 0; i < n; i++) {
            if (out[i] == 1)
                assert_int_equal(wheel_add(w, now - 1, 1), now + 1);
            else
                fired_late = now;
        }
    }
    assert_int_equal(fired_late, 50);
    drop(w, 10);
}

static void jump_of_weeks_takes_a_step_per_level_1_slot_at_most(void **state)
{
    struct wheel *w = make(4, 77);
    uint32_t out[OUT_MAX], calls = 0;
    const uint32_t days20 = 20u * 24 * HOUR_MS;
    assert_int_not_equal(wheel_add(w, 77 + days20, 1), 0);
    for (uint32_t got = 0; got < 1; calls++)
        got += wheel_expire(w, 77 + days20, out, OUT_MAX);
    assert_true(calls <= days20 / L1_MS / WHEEL_STEPS_MAX + 1);
    drop(w, 4);
}

// Handles whose place is known are taken out of any slot of any level, begun or not: the others
// come out as they would, and the chunks stay full but for the first.
static void entries_that_are_taken_out_leave_the_others_where_they_are(void **state)
{
    enum { MANY = 4000 };
    struct rng r = test_rng(__func__);
    for (unsigned round = 0; round < 20; round++) {
        static uint32_t place[MANY], at[MANY], out[OUT_MAX];
        static bool in[MANY];
        struct wheel *w = make(MANY, 77 * round);
        uint32_t now = 77 * round, left = 0, moved;
        for (uint32_t i = 0; i < MANY; i++) {
            place[i] = wheel_place(w, now + ahead_ms[rng_below(&r, round % 2 ? 9 : 2)], i);
            assert_int_not_equal(place[i], WHEEL_EMPTY);
            at[i] = wheel_place_ms(w, place[i]);
            in[i] = true;
            left++;
        }
        while (left != 0) {
            const uint32_t i = rng_below(&r, MANY), was = place[i];
            const bool took = wheel_remove(w, was, i, &moved);
            assert_int_equal(took, in[i]);
            left -= took;
            in[i] = false;
            if (moved != WHEEL_EMPTY) {
                assert_true(in[moved] && at[moved] == at[i]);
                place[moved] = was;
            }
            assert_int_equal(w->entries, left);
            if (rng_below(&r, 64) != 0)
                continue;
            now = rng_below(&r, 2) == 0 ? wheel_next_ms(w) : now;
            const uint32_t n = wheel_expire(w, now, out, 1 + rng_below(&r, 20));
            for (uint32_t k = 0; k < n; k++) {
                assert_true(in[out[k]] && !time_before(now, at[out[k]]));
                in[out[k]] = false;
                left--;
            }
        }
        assert_int_equal(w->refused, 0);
        assert_int_equal(expire_all(w, now + 2 * L2_MS), 0);
        drop(w, MANY);
    }
}

// Adding and taking out, whatever the order, never needs more chunks than the footprint has.
static void entries_taken_out_give_their_chunks_back(void **state)
{
    enum { MANY = 2000 };
    struct rng r = test_rng(__func__);
    static uint32_t place[MANY];
    struct wheel *w = make(MANY, 0);
    for (uint32_t i = 0; i < MANY; i++)
        place[i] = wheel_place(w, 1 + rng_below(&r, 4000), i);
    for (unsigned step = 0; step < 300000; step++) {
        const uint32_t i = rng_below(&r, MANY), was = place[i];
        uint32_t moved;
        assert_true(wheel_remove(w, was, i, &moved));
        if (moved != WHEEL_EMPTY)
            place[moved] = was;
        place[i] = wheel_place(w, 1 + rng_below(&r, 4000), i);
    }
    assert_int_equal(w->refused, 0);
    assert_int_equal(w->entries, MANY);
    assert_int_equal(expire_all(w, 4000), MANY);
    drop(w, MANY);
}

static void an_entry_may_be_held_until_it_has_come_out_and_no_longer(void **state)
{
    for (unsigned s = 0; s < ARRAY_LEN(start_ms); s++)
        for (unsigned i = 0; i < ARRAY_LEN(ahead_ms); i++) {
            struct wheel *w = make(2, start_ms[s]);
            uint32_t out, now = start_ms[s];
            const uint32_t at = wheel_add(w, start_ms[s] + ahead_ms[i], 1);
            wheel_add(w, start_ms[s] + ahead_ms[i], 2);
            for (uint32_t n = 0; n < 2; now = n < 2 ? wheel_next_ms(w) : now) {
                assert_true(wheel_may_hold(w, at));
                n += wheel_expire(w, now, &out, 1);
            }
            expire_all(w, now + 2);
            assert_false(wheel_may_hold(w, at));
            drop(w, 2);
        }
}

// The model: handle i comes out at out_ms[i], or is not in the wheel.
enum { MODEL_MAX = 3000 };

struct model {
    uint32_t deadline[MODEL_MAX], out_ms[MODEL_MAX];
    bool in[MODEL_MAX];
    uint32_t count;
};

static uint32_t random_ahead(struct rng *r)
{
    const uint32_t bits = rng_below(r, 31);
    return bits == 0 ? 0 : (uint32_t)rng_u64(r) >> (32 - bits);
}

static void check_none_is_overdue(const struct wheel *w, const struct model *m, uint32_t now)
{
    const uint32_t next = wheel_next_ms(w);
    assert_true(time_before(now, next));
    for (uint32_t i = 0; i < MODEL_MAX; i++)
        if (m->in[i])
            assert_false(time_before(m->out_ms[i] + (m->out_ms[i] == UINT32_MAX), next));
}

static void run_model(struct rng *r, uint32_t max)
{
    static struct model m;
    memset(&m, 0, sizeof(m));
    uint32_t now = (uint32_t)rng_u64(r), out[OUT_MAX];
    struct wheel *w = make(MODEL_MAX, now);
    for (unsigned step = 0; step < 20000; step++) {
        for (uint32_t k = rng_below(r, 12); k > 0; k--) {
            const uint32_t h = rng_below(r, MODEL_MAX), d = now + random_ahead(r) - rng_below(r, 3);
            if (m.in[h])
                continue;
            m.deadline[h] = d;
            m.out_ms[h] = wheel_add(w, d, h);
            assert_int_not_equal(m.out_ms[h], 0);
            m.in[h] = true;
            m.count++;
        }
        const bool behind = !time_before(now, wheel_next_ms(w));
        if (!behind)
            now += rng_below(r, 10) < 8 ? rng_below(r, 4) : random_ahead(r) >> rng_below(r, 20);
        const uint32_t n = wheel_expire(w, now, out, max);
        assert_true(n <= max);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(out[i] < MODEL_MAX && m.in[out[i]]);
            assert_false(time_before(now, m.out_ms[out[i]]));
            m.in[out[i]] = false;
            m.count--;
        }
        assert_int_equal(w->entries, m.count);
        if (time_before(now, wheel_next_ms(w)))
            check_none_is_overdue(w, &m, now);
    }
    drop(w, MODEL_MAX);
}

static void random_use_gives_each_entry_out_once_in_time(void **state)
{
    struct rng r = test_rng(__func__);
    run_model(&r, OUT_MAX);
    run_model(&r, 3);
    run_model(&r, 1);
}

static void footprint_is_under_5_bytes_an_entry_at_ten_million(void **state)
{
    assert_true(wheel_footprint(10000000) < 47000000);
    assert_true(wheel_footprint(1) < 1700000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entry_comes_out_when_add_said_and_near_ones_at_their_deadline),
        cmocka_unit_test(owner_that_adds_again_meets_its_deadline_to_the_ms),
        cmocka_unit_test(deadline_that_has_passed_comes_out_at_the_next_tick),
        cmocka_unit_test(the_deadline_added_last_is_forgotten_when_its_slot_begins),
        cmocka_unit_test(time_that_goes_back_gives_out_nothing_new),
        cmocka_unit_test(no_chunk_left_is_refused_and_counted),
        cmocka_unit_test(footprint_holds_its_entries_in_the_worst_distribution),
        cmocka_unit_test(call_is_bounded_by_max_and_goes_on_in_the_next),
        cmocka_unit_test(exact_entries_do_not_wait_for_a_full_early_slot),
        cmocka_unit_test(early_slot_gets_a_quarter_of_each_call_when_ticks_are_full),
        cmocka_unit_test(time_waits_for_an_early_slot_before_the_next_of_its_level),
        cmocka_unit_test(entry_added_again_as_it_fires_does_not_stop_time),
        cmocka_unit_test(jump_of_weeks_takes_a_step_per_level_1_slot_at_most),
        cmocka_unit_test(entries_that_are_taken_out_leave_the_others_where_they_are),
        cmocka_unit_test(entries_taken_out_give_their_chunks_back),
        cmocka_unit_test(an_entry_may_be_held_until_it_has_come_out_and_no_longer),
        cmocka_unit_test(random_use_gives_each_entry_out_once_in_time),
        cmocka_unit_test(footprint_is_under_5_bytes_an_entry_at_ten_million),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
