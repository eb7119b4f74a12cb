// SPDX-License-Identifier: BSD-3-Clause
// How long turns took: the histogram (stat/latency.h), and what real turns of a worker put into it.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hosts.h"
#include "pkt_env.h"

enum { HZ = 1000000000, TEXT_BYTES = 1 << 20 };  // at 1 GHz a cycle is a nanosecond

static struct latency l, other;

static void fresh(void)
{
    memset(&l, 0, sizeof(l));
    memset(&other, 0, sizeof(other));
}

static void put(struct latency *to, uint64_t cycles, uint64_t n)
{
    latency_add(to, cycles, n);
    to->max_cycles = MAX(to->max_cycles, cycles);
}

static void buckets_follow_each_other_without_gap_and_a_sixteenth_is_their_width(void **state)
{
    for (uint32_t i = 0; i < LATENCY_BUCKETS; i++) {
        const uint64_t top = latency_top(i), low = i == 0 ? 0 : latency_top(i - 1) + 1;
        assert_true(low <= top);
        assert_int_equal(latency_bucket(low), i);
        assert_int_equal(latency_bucket(top), i);
        assert_true(top - low <= low / 16);
    }
}

static void a_time_that_is_too_long_lies_in_the_last_bucket(void **state)
{
    assert_int_equal(latency_bucket((1ull << LATENCY_BITS) - 1), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_bucket(1ull << LATENCY_BITS), LATENCY_BUCKETS - 1);
    assert_int_equal(latency_bucket(UINT64_MAX), LATENCY_BUCKETS - 1);
}

static void quantiles_of_nothing_are_zero(void **state)
{
    fresh();
    assert_int_equal(latency_count(&l), 0);
    assert_int_equal(latency_at(&l, 0.5), 0);
    assert_int_equal(latency_at(&l, 1), 0);
}

static void a_quantile_is_where_so_many_are_at_or_below(void **state)
{
    fresh();
    put(&l, 10, 999);
    put(&l, 1000, 1);
    assert_int_equal(latency_at(&l, 0), 10);
    assert_int_equal(latency_at(&l, 0.5), 10);
    assert_int_equal(latency_at(&l, 0.999), 10);
    assert_int_equal(latency_at(&l, 0.9991), 1000);
    assert_int_equal(latency_at(&l, 1), 1000);
    put(&l, 1000, 1);
    assert_int_equal(latency_at(&l, 0.999), 1000);
}

static void a_quantile_is_never_below_the_true_one_nor_a_sixteenth_above(void **state)
{
    for (uint64_t v = 1; v < 1ull << 34; v = v * 21 / 20 + 1) {
        fresh();
        put(&l, v, 1);
        put(&l, 1ull << 35, 1);
        const uint64_t at = latency_at(&l, 0.5);
        assert_true(at >= v && at <= v + v / 16);
    }
}

static void a_maximum_is_exact(void **state)
{
    fresh();
    put(&l, 1000001, 5);
    assert_int_equal(latency_at(&l, 0.5), 1000001);
    assert_int_equal(latency_at(&l, 1), 1000001);
}

static void a_turn_without_packets_adds_nothing(void **state)
{
    fresh();
    latency_add(&l, 5000, 0);
    assert_int_equal(latency_count(&l), 0);
}

static void what_came_since_a_reading_is_the_difference(void **state)
{
    fresh();
    put(&l, 100000, 3);
    latency_snapshot(&other, &l);
    put(&l, 20, 7);
    latency_since(&l, &other);
    assert_int_equal(latency_count(&l), 7);
    assert_int_equal(latency_at(&l, 1), 20);
    assert_int_equal(l.max_cycles, 20);
    latency_snapshot(&other, &l);
    latency_since(&l, &other);
    assert_int_equal(latency_count(&l), 0);
    assert_int_equal(l.max_cycles, 0);
}

static void workers_add_up(void **state)
{
    fresh();
    put(&l, 10, 1);
    put(&other, 1000, 3);
    latency_sum(&l, &other);
    assert_int_equal(latency_count(&l), 4);
    assert_int_equal(l.max_cycles, 1000);
    assert_int_equal(latency_at(&l, 0.25), 10);
    assert_int_equal(latency_at(&l, 0.26), 1000);
}

static void the_text_names_every_quantile_and_only_buckets_in_use(void **state)
{
    struct text text;
    text_init(&text, TEXT_BYTES);
    fresh();
    put(&l, 10, 9990);
    put(&l, 1000, 10);
    latency_render(&text, &l, "idle_", "turns", HZ);
    assert_string_equal(text_str(&text), "idle_turns 10000\n"
                                         "idle_p50_ns 10\nidle_p90_ns 10\nidle_p99_ns 10\n"
                                         "idle_p99_9_ns 10\nidle_p99_99_ns 1000\n"
                                         "idle_max_ns 1000\n"
                                         "idle_bucket_le_10 9990\nidle_bucket_le_1023 10\n");
    text_free(&text);
}

static void cycles_become_nanoseconds_at_any_length(void **state)
{
    struct text text;
    text_init(&text, TEXT_BYTES);
    fresh();
    put(&l, 1ull << 35, 1);  // times 10^9 it is no 64-bit number
    latency_render(&text, &l, "", "packets", 2500000000);
    assert_non_null(strstr(text_str(&text), "max_ns 13743895347\n"));
    text_free(&text);
}

// ---- turns of a worker

static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return c10m_send(c, data, len);
}

static const struct c10m_app echo = {.name = "echo", .data = echo_data};
static struct hosts *h;

static struct worker *begin(void)
{
    static const struct c10m_app *const apps[2][3] = {{&echo}, {&echo}};
    h = hosts_new(apps, NULL);
    return h->e[0].w;
}

// A turn that began so many microseconds ago.
static void turn(struct worker *w, uint64_t us)
{
    worker_turn(w, clock_at_us(h->now_us), tsc_read() - us * worker_tsc_hz(w) / 1000000);
}

static uint64_t us_of(const struct worker *w, uint64_t cycles)
{
    return cycles * 1000000 / worker_tsc_hz(w);
}

static void a_turn_without_work_is_an_idle_one(void **state)
{
    struct worker *w = begin();
    hosts_run(h, 100);  // what a start sends is sent
    const uint64_t before = latency_count(&w->idle), packets = latency_count(&w->busy);
    turn(w, 5);
    assert_int_equal(latency_count(&w->idle), before + 1);
    assert_int_equal(latency_count(&w->busy), packets);
    hosts_free(h);
}

static void every_packet_of_a_turn_has_the_turns_length(void **state)
{
    struct worker *w = begin();
    hosts_run(h, 100);
    memset(&w->busy, 0, sizeof(w->busy));
    hosts_connect(h, 1, HOSTS_PORT);
    for (unsigned i = 0; i < 2000; i++, h->now_us += 200) {
        hosts_turn(h, 1);
        turn(w, 50);
    }
    assert_true(w->stats->c.rx_packets >= 2);
    assert_in_range(latency_count(&w->busy), 2, w->stats->c.rx_packets);
    assert_true(us_of(w, latency_at(&w->busy, 0)) >= 49);
    assert_true(w->busy.max_cycles >= latency_at(&w->busy, 0));
    hosts_free(h);
}

static void a_turn_over_100_us_is_counted_each_time_and_no_shorter_one(void **state)
{
    struct worker *w = begin();
    hosts_run(h, 100);
    memset(&w->idle, 0, sizeof(w->idle));
    const uint64_t before = w->stats->c.turns_over_100us;
    w->stall_cycles = worker_tsc_hz(w);  // a second: whatever stops this test is shorter
    turn(w, 900000);
    turn(w, 900000);
    assert_int_equal(w->stats->c.turns_over_100us, before);
    for (unsigned i = 0; i < 3; i++)
        turn(w, 1000000 + 1000 * (3 - i));  // each shorter than the one before
    assert_int_equal(w->stats->c.turns_over_100us, before + 3);
    assert_in_range(us_of(w, w->idle.max_cycles), 1003000, 1100000);
    hosts_free(h);
}

static void a_server_counts_from_100_us_on(void **state)
{
    struct worker *w = begin();
    assert_in_range(us_of(w, w->stall_cycles + worker_tsc_hz(w) / 2000000), 99, 100);
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buckets_follow_each_other_without_gap_and_a_sixteenth_is_their_width),
        cmocka_unit_test(a_time_that_is_too_long_lies_in_the_last_bucket),
        cmocka_unit_test(quantiles_of_nothing_are_zero),
        cmocka_unit_test(a_quantile_is_where_so_many_are_at_or_below),
        cmocka_unit_test(a_quantile_is_never_below_the_true_one_nor_a_sixteenth_above),
        cmocka_unit_test(a_maximum_is_exact),
        cmocka_unit_test(a_turn_without_packets_adds_nothing),
        cmocka_unit_test(what_came_since_a_reading_is_the_difference),
        cmocka_unit_test(workers_add_up),
        cmocka_unit_test(the_text_names_every_quantile_and_only_buckets_in_use),
        cmocka_unit_test(cycles_become_nanoseconds_at_any_length),
        cmocka_unit_test(a_turn_without_work_is_an_idle_one),
        cmocka_unit_test(every_packet_of_a_turn_has_the_turns_length),
        cmocka_unit_test(a_turn_over_100_us_is_counted_each_time_and_no_shorter_one),
        cmocka_unit_test(a_server_counts_from_100_us_on),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
