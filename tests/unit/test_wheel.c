// test_wheel.c: the claims of flow/wheel.h, against a list of deadlines.
#include <string.h>

#include "base/clock.h"
#include "check.h"
#include "flow/wheel.h"
#include "seed.h"

enum { OUT_MAX = 64, HOUR_MS = 3600 * 1000 };

static struct wheel make(uint32_t capacity, uint32_t now_ms)
{
    struct wheel w;
    size_t bytes = wheel_footprint(capacity);
    uint8_t *mem = aligned_alloc(CACHE_LINE, bytes + CACHE_LINE);
    memset(mem, 0x5a, bytes + CACHE_LINE);
    wheel_init(&w, mem, capacity, now_ms);
    return w;
}

static void drop(struct wheel *w)
{
    const uint8_t *end = (const uint8_t *)w->slots + wheel_footprint(w->capacity);
    for (unsigned i = 0; i < CACHE_LINE; i++)
        assert_int_equal(end[i], 0x5a);
    free(w->slots);
}

// expire_all: calls until a call is not cut short; returns the handles that came out (one kept).
static uint32_t expire_all(struct wheel *w, uint32_t now_ms, uint32_t *last)
{
    uint32_t out[OUT_MAX], n = 0;
    for (unsigned calls = 0;; calls++) {
        assert_true(calls < 1000000);
        uint64_t cut = w->cut_short;
        uint32_t k = wheel_expire(w, now_ms, out, OUT_MAX);
        assert_true(k <= OUT_MAX);
        if (k != 0)
            *last = out[k - 1];
        n += k;
        if (w->cut_short == cut)
            return n;
    }
}

static void fires_at_its_tick_and_not_one_before(void **state)
{
    static const uint32_t ahead[] = {
        1,          2,          255,       256,    257,      511,      512,     65535,
        65536,      65537,      131071,    131072, 16777215, 16777216, HOUR_MS, 24 * HOUR_MS,
        2147418111, 2147418112, 2147483647};
    static const uint32_t start[] = {0,     1,          255,        256,       65535,
                                     65536, 0x7fffffff, 0x80000000, 0xffffffff};
    for (unsigned s = 0; s < ARRAY_LEN(start); s++)
        for (unsigned i = 0; i < ARRAY_LEN(ahead); i++) {
            struct wheel w = make(1, start[s]);
            uint32_t last = 0, at;
            assert_true(wheel_add(&w, start[s] + ahead[i], 0xc0ffee));
            assert_int_equal(expire_all(&w, start[s] + ahead[i] - 1, &last), 0);
            assert_true(wheel_next_deadline(&w, &at));
            assert_int_equal(at, start[s] + ahead[i]);
            assert_int_equal(expire_all(&w, start[s] + ahead[i], &last), 1);
            assert_int_equal(last, 0xc0ffee);
            assert_false(wheel_next_deadline(&w, &at));
            drop(&w);
        }
}

static void deadline_that_has_passed_is_the_next_tick(void **state)
{
    struct wheel w = make(3, 1000);
    uint32_t last;
    assert_true(wheel_add(&w, 1000, 1));
    assert_true(wheel_add(&w, 10, 2));
    assert_true(wheel_add(&w, 1000u - INT32_MAX, 3));
    assert_int_equal(expire_all(&w, 1000, &last), 0);
    assert_int_equal(expire_all(&w, 1001, &last), 3);
    drop(&w);
}

static void time_that_goes_back_changes_nothing(void **state)
{
    struct wheel w = make(3, 1000);
    uint32_t last;
    assert_true(wheel_add(&w, 1010, 1));
    assert_int_equal(expire_all(&w, 900, &last), 0);
    assert_int_equal(expire_all(&w, 1009, &last), 0);
    assert_int_equal(expire_all(&w, 1010, &last), 1);
    drop(&w);
}

static void full_wheel_refuses_and_counts(void **state)
{
    struct wheel w = make(100, 0);
    uint32_t last;
    for (uint32_t i = 0; i < 100; i++)
        assert_true(wheel_add(&w, 50 + i % 3, i));
    assert_false(wheel_add(&w, 10, 100));
    assert_false(wheel_add(&w, 10, 101));
    assert_int_equal(w.refused, 2);
    assert_int_equal(w.count_max, 100);
    assert_int_equal(expire_all(&w, 50, &last), 34);
    assert_true(wheel_add(&w, 60, 102));
    assert_int_equal(expire_all(&w, 60, &last), 67);
    assert_int_equal(w.count, 0);
    drop(&w);
}

static void worst_distribution_has_chunks_enough(void **state)
{
    // One entry in every slot of every level, then the rest in one; twice, so that chunks are
    // reused.
    enum { CAPACITY = WHEEL_SLOTS + 5000 };
    struct wheel w = make(CAPACITY, 0);
    uint32_t last, now = 0;
    for (unsigned round = 0; round < 2; round++) {
        for (uint32_t i = 1; i < WHEEL_SLOTS_0; i++)
            assert_true(wheel_add(&w, now + i, i));
        for (uint32_t i = 1; i < WHEEL_SLOTS_1; i++)
            assert_true(wheel_add(&w, now + i * 256, i));
        for (uint32_t i = 1; i < WHEEL_SLOTS_2; i++)
            assert_true(wheel_add(&w, now + i * 65536, i));
        while (w.count < CAPACITY)
            assert_true(wheel_add(&w, now + 70000, 7));
        now += (uint32_t)INT32_MAX;
        assert_int_equal(expire_all(&w, now, &last), CAPACITY);
        now = ALIGN_UP(now, 65536u);
        assert_int_equal(expire_all(&w, now, &last), 0);
    }
    drop(&w);
}

static void call_is_bounded_by_max_and_goes_on_in_the_next(void **state)
{
    struct wheel w = make(1000, 0);
    uint32_t out[OUT_MAX], got = 0;
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(wheel_add(&w, 5, i));
    bool seen[1000] = {false};
    for (unsigned calls = 0; calls < 143; calls++) {
        uint32_t n = wheel_expire(&w, 100, out, 7);
        assert_int_equal(n, MIN(7u, 1000 - got));
        for (uint32_t i = 0; i < n; i++) {
            assert_false(seen[out[i]]);
            seen[out[i]] = true;
        }
        got += n;
        assert_int_equal(wheel_behind_ms(&w, 100), got == 1000 ? 0 : 95);
    }
    assert_int_equal(got, 1000);
    assert_int_equal(wheel_expire(&w, 100, out, 0), 0);
    drop(&w);
}

static void moving_down_is_bounded_and_goes_on_in_the_next_call(void **state)
{
    enum { N = 1000 };
    struct wheel w = make(N, 0);
    uint32_t out[OUT_MAX], last;
    for (uint32_t i = 0; i < N; i++)
        assert_true(wheel_add(&w, 65536 + 100, i));
    for (unsigned calls = 1; calls <= N / WHEEL_MOVES_MAX; calls++) {
        assert_int_equal(wheel_expire(&w, 65536 + 100, out, OUT_MAX), 0);
        assert_int_equal(w.moved, calls * WHEEL_MOVES_MAX);
        assert_true(wheel_add(&w, 65536 + 100, 5) == false);
        assert_int_equal(wheel_behind_ms(&w, 65536 + 100), 100);
    }
    assert_int_equal(expire_all(&w, 65536 + 100, &last), N);
    drop(&w);
}

static void entry_re_added_as_it_fires_does_not_stop_time(void **state)
{
    struct wheel w = make(10, 0);
    uint32_t out[OUT_MAX], fired_late = 0;
    assert_true(wheel_add(&w, 1, 1));
    assert_true(wheel_add(&w, 50, 2));
    for (uint32_t now = 1; now <= 60; now++) {
        uint32_t n = wheel_expire(&w, now, out, OUT_MAX);
        for (uint32_t i = 0; i < n; i++) {
            if (out[i] == 1)
                assert_true(wheel_add(&w, now - 1, 1));
            else
                fired_late = now;
        }
    }
    assert_int_equal(fired_late, 50);
    drop(&w);
}

static void jump_of_weeks_costs_no_more_than_its_entries(void **state)
{
    struct wheel w = make(4, 77);
    uint32_t out[OUT_MAX], calls = 0, got = 0, now = 77 + 20u * 24 * HOUR_MS;
    assert_true(wheel_add(&w, 77 + 10 * 60 * 1000, 1));
    assert_true(wheel_add(&w, 77 + HOUR_MS, 2));
    assert_true(wheel_add(&w, 77 + 48 * HOUR_MS, 3));
    assert_true(wheel_add(&w, now, 4));
    for (; got < 4; calls++)
        got += wheel_expire(&w, now, out + got, OUT_MAX - got);
    assert_int_equal(calls, 1);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(out[i], i + 1);
    drop(&w);
}

// The model: handle i is at due[i], or not in the wheel.
enum { MODEL_MAX = 4000 };

struct model {
    uint32_t due[MODEL_MAX];
    bool in[MODEL_MAX];
    uint32_t count;
};

static uint32_t random_ahead(struct rng *r)
{
    uint32_t bits = rng_below(r, 32);
    return bits == 0 ? 0 : (uint32_t)rng_u64(r) >> (32 - bits);
}

// check_none_due: after a call that was not cut short; also that no entry lies before the bound.
static void check_none_due(const struct wheel *w, const struct model *m, uint32_t now)
{
    uint32_t at = now;
    bool any = wheel_next_deadline(w, &at);
    assert_true(any == (m->count != 0));
    assert_false(time_before(at, now));
    for (uint32_t i = 0; i < MODEL_MAX; i++)
        if (m->in[i]) {
            assert_true(time_before(now, m->due[i]));
            assert_false(time_before(m->due[i], at));
        }
}

static void run_model(struct rng *r, uint32_t capacity, uint32_t max)
{
    static struct model m;
    memset(&m, 0, sizeof(m));
    uint32_t now = (uint32_t)rng_u64(r), out[OUT_MAX];
    struct wheel w = make(capacity, now);
    for (unsigned step = 0; step < 20000; step++) {
        for (uint32_t k = rng_below(r, 12); k > 0; k--) {
            uint32_t h = rng_below(r, MODEL_MAX), d = now + random_ahead(r) - rng_below(r, 3);
            if (m.in[h])
                continue;
            bool ok = wheel_add(&w, d, h);
            assert_true(ok == (m.count < capacity));
            if (!ok)
                continue;
            m.in[h] = true;
            m.due[h] = time_before(w.now_ms, d) ? d : w.now_ms + 1;
            m.count++;
        }
        uint32_t jump =
            rng_below(r, 10) < 8 ? rng_below(r, 4) : random_ahead(r) >> rng_below(r, 20);
        // The wheel's range counts from its own time: it must not be left further behind.
        if (wheel_behind_ms(&w, now) == 0)
            now += jump & INT32_MAX;
        uint64_t cut = w.cut_short, moved = w.moved;
        uint32_t n = wheel_expire(&w, now, out, max);
        assert_true(n <= max && w.moved - moved <= WHEEL_MOVES_MAX);
        for (uint32_t i = 0; i < n; i++) {
            assert_true(out[i] < MODEL_MAX && m.in[out[i]]);
            assert_false(time_before(now, m.due[out[i]]));
            if (i != 0)
                assert_false(time_before(m.due[out[i]], m.due[out[i - 1]]));
            m.in[out[i]] = false;
            m.count--;
        }
        assert_int_equal(w.count, m.count);
        if (w.cut_short == cut)
            check_none_due(&w, &m, now);
        else
            assert_true(n == max || w.moved - moved == WHEEL_MOVES_MAX);
    }
    drop(&w);
}

static void random_use_fires_each_entry_once_in_time(void **state)
{
    struct rng r = test_rng(__func__);
    run_model(&r, MODEL_MAX, OUT_MAX);
    run_model(&r, MODEL_MAX, 3);
    run_model(&r, 200, OUT_MAX);
    run_model(&r, 1, 1);
}

static void virtual_time_reaches_every_deadline_by_next_deadline_alone(void **state)
{
    struct rng r = test_rng(__func__);
    enum { N = 2000 };
    uint32_t start = 0xfff00000u, now = start, got = 0, steps = 0;
    struct wheel w = make(N, now);
    uint32_t due[N], out[OUT_MAX];
    for (uint32_t i = 0; i < N; i++) {
        due[i] = now + 1 + (random_ahead(&r) >> 1);
        assert_true(wheel_add(&w, due[i], i));
    }
    for (; wheel_next_deadline(&w, &now); steps++) {
        assert_true(steps < 10 * N);
        uint32_t n = wheel_expire(&w, now, out, OUT_MAX);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(due[out[i]], now);
        got += n;
    }
    assert_int_equal(got, N);
    drop(&w);
}

static void footprint_is_under_7_bytes_an_entry_at_ten_million(void **state)
{
    assert_true(wheel_footprint(10000000) < 70000000);
    assert_true(wheel_footprint(1) < 300000);
    assert_true(wheel_footprint(UINT32_MAX) > 6ULL * UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_at_its_tick_and_not_one_before),
        cmocka_unit_test(deadline_that_has_passed_is_the_next_tick),
        cmocka_unit_test(time_that_goes_back_changes_nothing),
        cmocka_unit_test(full_wheel_refuses_and_counts),
        cmocka_unit_test(worst_distribution_has_chunks_enough),
        cmocka_unit_test(call_is_bounded_by_max_and_goes_on_in_the_next),
        cmocka_unit_test(moving_down_is_bounded_and_goes_on_in_the_next_call),
        cmocka_unit_test(entry_re_added_as_it_fires_does_not_stop_time),
        cmocka_unit_test(jump_of_weeks_costs_no_more_than_its_entries),
        cmocka_unit_test(random_use_fires_each_entry_once_in_time),
        cmocka_unit_test(virtual_time_reaches_every_deadline_by_next_deadline_alone),
        cmocka_unit_test(footprint_is_under_7_bytes_an_entry_at_ten_million),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
