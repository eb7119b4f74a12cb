// SPDX-License-Identifier: BSD-3-Clause
// CUBIC's integers against the equations of RFC 9438 in floating point, and HyStart++'s state
// machine against RFC 9406's text.
#include <math.h>

#include "check.h"
#include "seed.h"
#include "tcp/tcp_cubic.h"
#include "tcp/tcp_hystart.h"

static void the_root_is_the_integer_part(void **state)
{
    for (uint64_t n = 0; n < 3000; n++) {  // every number next to a cube
        const uint64_t cube = n * n * n;
        assert_int_equal(cubic_root(cube), n);
        if (n != 0)
            assert_int_equal(cubic_root(cube - 1), n - 1);
        assert_int_equal(cubic_root(cube + 1), n == 0 ? 1 : n);
    }
    for (uint64_t x = 0; x < 100000; x++) {
        const uint64_t n = cubic_root(x);
        assert_true(n * n * n <= x && (n + 1) * (n + 1) * (n + 1) > x);
    }
    struct rng r = test_rng(__func__);
    for (int i = 0; i < 100000; i++) {
        const uint64_t x = rng_u64(&r) >> rng_below(&r, 64), n = cubic_root(x);
        const unsigned __int128 next = (unsigned __int128)(n + 1) * (n + 1) * (n + 1);
        assert_true(n * n * n <= x && next > x);
    }
    assert_int_equal(cubic_root(UINT64_MAX), 2642245);
}

static void k_is_that_of_the_equation_to_a_millisecond(void **state)
{
    struct rng r = test_rng(__func__);
    for (int i = 0; i < 50000; i++) {
        const uint32_t mss = 64 + rng_below(&r, 9000);
        const uint32_t w_max = 2 + rng_below(&r, 1u << (1 + rng_below(&r, 30)));
        const uint32_t cwnd = 1 + rng_below(&r, w_max - 1);
        const double k = cbrt((double)(w_max - cwnd) / mss / 0.4) * 1000;
        assert_true(fabs(cubic_k_ms(w_max, cwnd, mss) - k) <= 1.001);
    }
}

static void the_curve_is_that_of_the_equation_to_a_segment_in_a_thousand(void **state)
{
    struct rng r = test_rng(__func__);
    for (int i = 0; i < 50000; i++) {
        const uint32_t mss = 64 + rng_below(&r, 9000);
        struct cubic q = {.w_max = 2 * mss + rng_below(&r, (1u << (14 + rng_below(&r, 16))))};
        q.k_ms = cubic_k_ms(q.w_max, q.w_max * 7ull / 10, mss);
        const uint32_t t_ms = rng_below(&r, 1u << (4 + rng_below(&r, 16)));
        const double d = ((double)t_ms - q.k_ms) / 1000;
        const double w = fmin(fmax(0.4 * d * d * d * mss + q.w_max, 0), 1 << 30);
        const double got = cubic_window(&q, mss, t_ms);
        assert_true(fabs(got - w) <= 1 + mss / 1000.0);
    }
}

static void the_curve_begins_at_the_window_left_and_passes_w_max_at_k(void **state)
{
    struct cubic q = {.w_max = 1000 * 1460};
    q.k_ms = cubic_k_ms(q.w_max, 700 * 1460, 1460);
    assert_in_range(q.k_ms, 9085, 9086);  // cbrt(300 / 0.4) s
    assert_in_range(cubic_window(&q, 1460, 0), 699 * 1460, 701 * 1460);
    assert_int_equal(cubic_window(&q, 1460, q.k_ms), q.w_max);
    for (uint32_t t = 1; t < 100000; t += 7)
        assert_true(cubic_window(&q, 1460, t) >= cubic_window(&q, 1460, t - 1));
    assert_int_equal(cubic_window(&q, 1460, UINT32_MAX), 1 << 30);
}

// Acknowledgments of two segments each, a window of them a round trip.
static void an_epoch_follows_the_equations(void **state)
{
    struct rng r = test_rng(__func__);
    for (int run = 0; run < 20; run++) {
        const uint32_t mss = 500 + rng_below(&r, 1000), rtt_ms = 5 + rng_below(&r, 200);
        const uint32_t prior = mss * (10 + rng_below(&r, 5000)), start = cubic_beta(prior);
        struct cubic q = {.w_max = 0};
        cubic_event(&q, prior);
        uint32_t cwnd = start, now_ms = rng_below(&r, 2) ? 0 : UINT32_MAX - 3000;
        const uint32_t begin_ms = now_ms | (now_ms == 0);
        double w = cwnd, est = cwnd;
        const double k = cbrt((double)(prior - start) / mss / 0.4);
        for (int round = 0; round < 300 && cwnd < 1u << 29; round++) {
            const uint32_t acks = cwnd / (2 * mss) + 1;
            for (uint32_t i = 0; i < acks; i++) {
                cwnd = cubic_acked(&q, cwnd, mss, 2 * mss, now_ms, rtt_ms, prior);
                const double t = MAX((int32_t)(now_ms - begin_ms), 0) / 1000.0,
                             rtt = rtt_ms / 1000.0;
                est += (est < prior ? 9.0 / 17 : 1) * mss * 2 * mss / w;
                if (0.4 * pow(t - k, 3) * mss + prior < est) {
                    w = fmax(w, est);
                } else {
                    const double curve = 0.4 * pow(t + rtt - k, 3) * mss + prior;
                    w += (fmin(fmax(curve, w), 1.5 * w) - w) * 2 * mss / w;
                }
            }
            now_ms += rtt_ms;
            // Where both regions touch, K's fraction of a millisecond decides between them.
            assert_true(fabs(cwnd - w) <= w / 64 + mss);
        }
    }
}

static void fast_convergence_gives_way_to_others(void **state)
{
    struct cubic q = {.w_max = 0};
    cubic_event(&q, 100000);
    assert_int_equal(q.w_max, 100000);
    cubic_event(&q, 80000);  // less than the last time: somebody else has come
    assert_int_equal(q.w_max, 68000);
    cubic_event(&q, 90000);
    assert_int_equal(q.w_max, 90000);
    cubic_undo(&q);
    assert_int_equal(q.w_max, 68000);
    assert_int_equal(q.epoch_ms, 0);
}

static void in_small_windows_it_is_as_fast_as_reno(void **state)
{
    struct cubic q = {.w_max = 0};
    cubic_event(&q, 20 * 1000);
    uint32_t cwnd = 14 * 1000, now_ms = 1;
    for (int round = 0; round < 20; round++, now_ms += 10)  // 200 ms: the curve has hardly begun
        for (int i = 0; i < 14; i++)
            cwnd = cubic_acked(&q, cwnd, 1000, 1000, now_ms, 10, 20 * 1000);
    assert_in_range(cwnd, 21 * 1000, 24 * 1000);
}

// RFC 9438 4.3: beside the first flow that had the whole window before, alpha is Reno's 1 again.
static void from_the_window_before_the_event_on_it_grows_by_a_segment_a_round_trip(void **state)
{
    struct cubic q = {.w_max = 0};
    uint32_t cwnd = 20 * 1000;
    for (int i = 0; i < 20; i++)
        cwnd = cubic_acked(&q, cwnd, 1000, 1000, 1, 10, 20 * 1000);
    assert_in_range(cwnd, 20960, 21000);
}

static void after_a_timeout_the_curve_begins_at_the_window_that_slow_start_left(void **state)
{
    struct cubic q = {.w_max = 0};
    cubic_event(&q, 1000 * 1000);
    cubic_timeout(&q);
    const uint32_t cwnd = cubic_acked(&q, 500 * 1000, 1000, 1000, 77, 20, 1000 * 1000);
    assert_int_equal(q.k_ms, 0);
    assert_int_equal(q.w_max, 500 * 1000);
    assert_in_range(cwnd, 500 * 1000, 500 * 1000 + 10);
}

static void time_in_which_the_application_was_the_limit_does_not_count(void **state)
{
    struct cubic a = {.w_max = 0}, b = {.w_max = 0};
    cubic_event(&a, 1000 * 1000);
    cubic_event(&b, 1000 * 1000);
    uint32_t x = cubic_acked(&a, 700 * 1000, 1000, 1000, 1000, 20, 0);
    uint32_t y = cubic_acked(&b, 700 * 1000, 1000, 1000, 1000, 20, 0);
    cubic_rest(&b, 50000);
    for (uint32_t i = 0; i < 100; i++) {
        x = cubic_acked(&a, x, 1000, 1000, 1000 + 20 * i, 20, 0);
        y = cubic_acked(&b, y, 1000, 1000, 51000 + 20 * i, 20, 0);
        assert_int_equal(x, y);
    }
}

static void one_acknowledgment_adds_no_more_than_half_of_itself(void **state)
{
    struct rng r = test_rng(__func__);
    for (int i = 0; i < 100000; i++) {
        struct cubic q = {.w_max = rng_below(&r, 1 << 30)};
        const uint32_t mss = 64 + rng_below(&r, 9000), now_ms = (uint32_t)rng_u64(&r);
        uint32_t cwnd = mss + rng_below(&r, (1 << 30) - mss);
        cubic_acked(&q, cwnd, mss, mss, now_ms, 20, 0);
        q.w_est = 0;
        const uint32_t acked = 1 + rng_below(&r, 1 << 20);
        const uint32_t grown =
            cubic_acked(&q, cwnd, mss, acked, now_ms + rng_below(&r, 1 << 30), 60000, 0);
        assert_true(grown >= cwnd && grown <= 1u << 30);
        assert_true(grown - cwnd <= MIN(acked, cwnd) / 2 + 1);
    }
}

// ---- HyStart++

// A round of n acknowledgments with these round trips. Returns what the last of them said.
static enum hystart_says rounds(struct hystart *h, bool *css, uint32_t *at, int n, uint32_t rtt_us)
{
    enum hystart_says says = HYSTART_GROW;
    for (int i = 0; i < n; i++) {
        *at += 1000;
        says = hystart_acked(h, css, *at, *at + (uint32_t)n * 1000, rtt_us);
    }
    return says;
}

static void slow_start_goes_on_while_the_round_trip_stays(void **state)
{
    struct hystart h;
    uint32_t at = UINT32_MAX - 50000;  // past the end of the numbers
    bool css = false;
    hystart_begin(&h, at + 10000);
    for (int i = 0; i < 100; i++)
        assert_int_equal(rounds(&h, &css, &at, 10, 50000 + i % 5 * 1000), HYSTART_GROW);
    assert_false(css);
}

static void a_round_trip_longer_by_an_eighth_slows_it_and_five_rounds_end_it(void **state)
{
    struct hystart h;
    uint32_t at = 0;
    bool css = false;
    hystart_begin(&h, 10000);
    rounds(&h, &css, &at, 10, 50000);
    rounds(&h, &css, &at, 10, 56000);  // less than an eighth
    assert_false(css);
    assert_int_equal(rounds(&h, &css, &at, 10, 64000), HYSTART_SLOW);
    assert_true(css);
    int n = 0;
    while (rounds(&h, &css, &at, 10, 70000) != HYSTART_LEAVE)
        assert_true(++n < 10);
    assert_in_range(n, 3, 5);
}

static void the_threshold_lies_between_4_and_16_ms(void **state)
{
    const struct {
        uint32_t first_us, next_us;
        bool css;
    } cases[] = {
        {1000, 4999, false}, {1000, 5000, true}, {400000, 415999, false}, {400000, 416000, true}};
    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        struct hystart h;
        uint32_t at = 0;
        bool css = false;
        hystart_begin(&h, 10000);
        rounds(&h, &css, &at, 10, cases[i].first_us);
        rounds(&h, &css, &at, 8, cases[i].next_us);
        assert_int_equal(css, cases[i].css);
    }
}

static void jitter_lets_it_resume(void **state)
{
    struct hystart h;
    uint32_t at = 0;
    bool css = false;
    hystart_begin(&h, 10000);
    rounds(&h, &css, &at, 10, 50000);
    rounds(&h, &css, &at, 10, 60000);
    assert_true(css);
    assert_int_equal(rounds(&h, &css, &at, 10, 50000), HYSTART_GROW);
    assert_false(css);
}

static void it_resumes_by_eight_measurements_and_counts_its_rounds_anew(void **state)
{
    struct hystart h;
    uint32_t at = 0;
    bool css = false;
    hystart_begin(&h, 10000);
    rounds(&h, &css, &at, 10, 50000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(rounds(&h, &css, &at, 10, 60000), HYSTART_SLOW);
    for (int i = 1; i <= 10; i++) {
        at += 1000;
        hystart_acked(&h, &css, at, at + 10000, 50000);
        assert_int_equal(css, i < 8);
    }
    for (int i = 0; i < 4; i++)
        assert_int_equal(rounds(&h, &css, &at, 10, 60000), HYSTART_SLOW);
}

static void fewer_than_eight_measurements_say_nothing(void **state)
{
    struct hystart h;
    uint32_t at = 0;
    bool css = false;
    hystart_begin(&h, 7000);
    for (int i = 0; i < 50; i++)
        assert_int_equal(rounds(&h, &css, &at, 7, 10000 * (uint32_t)i + 10000), HYSTART_GROW);
    for (int i = 0; i < 50; i++)
        assert_int_equal(rounds(&h, &css, &at, 20, 0), HYSTART_GROW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_root_is_the_integer_part),
        cmocka_unit_test(k_is_that_of_the_equation_to_a_millisecond),
        cmocka_unit_test(the_curve_is_that_of_the_equation_to_a_segment_in_a_thousand),
        cmocka_unit_test(the_curve_begins_at_the_window_left_and_passes_w_max_at_k),
        cmocka_unit_test(an_epoch_follows_the_equations),
        cmocka_unit_test(fast_convergence_gives_way_to_others),
        cmocka_unit_test(in_small_windows_it_is_as_fast_as_reno),
        cmocka_unit_test(from_the_window_before_the_event_on_it_grows_by_a_segment_a_round_trip),
        cmocka_unit_test(after_a_timeout_the_curve_begins_at_the_window_that_slow_start_left),
        cmocka_unit_test(time_in_which_the_application_was_the_limit_does_not_count),
        cmocka_unit_test(one_acknowledgment_adds_no_more_than_half_of_itself),
        cmocka_unit_test(slow_start_goes_on_while_the_round_trip_stays),
        cmocka_unit_test(a_round_trip_longer_by_an_eighth_slows_it_and_five_rounds_end_it),
        cmocka_unit_test(the_threshold_lies_between_4_and_16_ms),
        cmocka_unit_test(jitter_lets_it_resume),
        cmocka_unit_test(it_resumes_by_eight_measurements_and_counts_its_rounds_anew),
        cmocka_unit_test(fewer_than_eight_measurements_say_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
