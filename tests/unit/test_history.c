// SPDX-License-Identifier: BSD-3-Clause
// The hour that the server keeps: what a point says, how the rings turn over, and that they are
// bounded. Over HTTP and on the page: tests/e2e/page.sh.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "server/history.h"
#include "unit/check.h"

static struct history *h;
static struct history_core cores[2];
static uint64_t now_ns;
static struct text said;
static const char names[2][24] = {"1", "2.1"};

static int setup(void **state)
{
    h = history_new(2);
    memset(cores, 0, sizeof(cores));
    cores[0].tsc_hz = cores[1].tsc_hz = 1000000000;
    now_ns = 5000000000;
    text_init(&said, 8 << 20);
    history_take(h, now_ns, cores);
    return h == NULL ? -1 : 0;
}

static int teardown(void **state)
{
    history_free(h);
    text_free(&said);
    return 0;
}

static void second(uint64_t packets)
{
    now_ns += 1000000000;
    cores[1].rx_packets += packets;
    cores[1].rx_bytes += 100 * packets;
    cores[1].cycles += 1000000;
    cores[1].idle_cycles += 250000;
    cores[1].app_cycles += 500000;
    cores[1].connections = 7;
    cores[1].latency.max_cycles = 1000;
    latency_add(&cores[1].latency, 1000, packets);
    history_take(h, now_ns, cores);
}

static void a_point_says_what_happened_in_its_second(void **state)
{
    second(1000);
    assert_int_equal(history_points(h, false), 1);
    assert_int_equal(history_points(h, true), 0);
    assert_true(history_at(h, false, 0, 1, HISTORY_rx_pps) == 1000);
    assert_true(history_at(h, false, 0, 1, HISTORY_rx_bps) == 800000);
    assert_true(history_at(h, false, 0, 1, HISTORY_connections) == 7);
    assert_true(history_at(h, false, 0, 1, HISTORY_busy_percent) == 75);
    assert_true(history_at(h, false, 0, 1, HISTORY_stack_cycles) == 250);
    assert_true(history_at(h, false, 0, 1, HISTORY_app_cycles) == 500);
    const double p50 = history_at(h, false, 0, 1, HISTORY_p50_s);
    assert_true(p50 > 0.9e-6 && p50 < 1.1e-6);
    assert_true(history_at(h, false, 0, 0, HISTORY_rx_pps) == 0);
    assert_true(isnan(history_at(h, false, 0, 0, HISTORY_p50_s)));
    assert_int_equal(history_age_ms(h, false, 0, now_ns + 2500000000), 2500);
}

static void a_coarse_point_is_the_mean_of_five_seconds(void **state)
{
    for (unsigned i = 1; i <= 5; i++)
        second(i * 100);
    assert_int_equal(history_points(h, true), 1);
    assert_true(history_at(h, true, 0, 1, HISTORY_rx_pps) == 300);
}

static void the_rings_hold_so_many_points_and_the_oldest_go(void **state)
{
    for (unsigned i = 1; i <= 5000; i++)
        second(i);
    assert_int_equal(history_points(h, false), HISTORY_FINE_POINTS);
    assert_int_equal(history_points(h, true), HISTORY_COARSE_POINTS);
    assert_true(history_at(h, false, HISTORY_FINE_POINTS - 1, 1, HISTORY_rx_pps) == 5000);
    assert_true(history_at(h, false, 0, 1, HISTORY_rx_pps) == 5000 - HISTORY_FINE_POINTS + 1);
    assert_int_equal(history_age_ms(h, false, 0, now_ns), (HISTORY_FINE_POINTS - 1) * 1000);
    assert_int_equal(history_age_ms(h, true, 0, now_ns), 3595000);
}

static void counters_that_fall_give_no_figure(void **state)
{
    second(1000);
    cores[1].rx_packets = 0;
    cores[1].rx_bytes = 0;
    second(5);
    assert_true(isnan(history_at(h, false, 1, 1, HISTORY_rx_pps)));
}

static struct verdict_item item(const char *sentence, bool on)
{
    struct verdict_item it = {.kind = VERDICT_link_down, .active = on, .subject = "p\"0"};
    snprintf(it.sentence, sizeof(it.sentence), "%s", sentence);
    return it;
}

static void changes_of_the_verdict_are_kept_with_their_time(void **state)
{
    struct verdict_item it = item("link \"p0\" down", true);
    history_change(h, &it, now_ns, 1764100000);
    it.active = false;
    history_change(h, &it, now_ns + 3000000000, 1764100003);
    history_changes_render(h, &said);
    assert_string_equal(text_str(&said), "2025-11-25T19:46:40Z alarm begins link \"p0\" down\n"
                                         "2025-11-25T19:46:43Z alarm ended link \"p0\" down\n");
    text_free(&said);
    history_json(h, names, now_ns + 4000000000, &said);
    assert_non_null(strstr(text_str(&said), "{\"age_ms\":4000,\"unix_s\":1764100000,\"on\":true,"
                                            "\"kind\":\"link_down\",\"subject\":\"p\\\"0\","
                                            "\"severity\":\"alarm\",\"sentence\":\"link \\\"p0\\\" "
                                            "down\"}"));
    for (unsigned i = 0; i < 3 * HISTORY_CHANGES; i++)
        history_change(h, &it, now_ns, 1764100000 + i);
    text_free(&said);
    history_changes_render(h, &said);
    unsigned lines = 0;
    for (const char *at = text_str(&said); (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    assert_int_equal(lines, HISTORY_CHANGES);
}

static void json_is_bounded_and_has_null_where_there_is_nothing(void **state)
{
    for (unsigned i = 0; i < 5000; i++)
        second(4000000000u);
    history_json(h, names, now_ns, &said);
    assert_int_equal(said.error, 0);
    assert_non_null(strstr(text_str(&said), "{\"figures\":[\"rx_pps\",\"tx_pps\","));
    assert_non_null(strstr(text_str(&said), "\"cores\":[\"1\",\"2.1\"]"));
    assert_non_null(strstr(text_str(&said), ",null,null]"));
    assert_null(strstr(text_str(&said), "nan"));
    assert_null(strstr(text_str(&said), "inf"));
}

// Two cores that have the longest figures, of as many points as there may be.
static void longest(void)
{
    for (unsigned i = 0; i < HISTORY_COARSE_POINTS * HISTORY_COARSE_LOOKS; i++) {
        now_ns += 1000000000;
        for (unsigned c = 0; c < 2; c++) {
            cores[c].rx_packets += 11234567890;
            cores[c].tx_packets += 11234567890;
            cores[c].rx_bytes += 1123456789012;
            cores[c].tx_bytes += 1123456789012;
            cores[c].cycles += 30001;
            cores[c].idle_cycles += 10000;
            cores[c].app_cycles += 10000;
            cores[c].opened += 11234567890;
            cores[c].dropped += 11234567890;
            cores[c].connections = 11234567890;
            cores[c].latency.max_cycles = 123456;
            latency_add(&cores[c].latency, 12345, 1000);
        }
        history_take(h, now_ns, cores);
    }
}

static void the_longest_texts_are_no_longer_than_said(void **state)
{
    struct verdict_item it = {.kind = VERDICT_core_interrupted, .active = false};
    static const char longest_names[2][24] = {"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"",
                                              "\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\"\""};
    memset(it.subject, '"', sizeof(it.subject) - 1);
    memset(it.sentence, '"', sizeof(it.sentence) - 1);
    longest();
    history_json(h, longest_names, now_ns, &said);
    const size_t without = said.len;
    assert_true(without <=
                1024 + 2 * 56 + HISTORY_POINTS * (HISTORY_COUNT_CHARS + 2 * HISTORY_POINT_CHARS));
    for (unsigned i = 0; i < HISTORY_CHANGES; i++)
        history_change(h, &it, now_ns, UINT64_MAX);
    text_free(&said);
    history_json(h, longest_names, now_ns + UINT64_MAX / 2, &said);
    assert_true(said.len <= without + HISTORY_POINTS * HISTORY_COUNT_CHARS +
                                HISTORY_CHANGES * HISTORY_CHANGE_CHARS);
    text_free(&said);
    history_figures_render(h, names, now_ns, &said);
    assert_true(said.len <= 1024 + 2 * HISTORY_POINTS * HISTORY_LINE_CHARS);
}

static void those_who_ask_at_the_same_time_share_a_rendering(void **state)
{
    struct history_shared shared = {.render = history_figures_render, .limit_bytes = 1 << 20};
    struct text first, second_text;
    text_init(&first, 1 << 20);
    text_init(&second_text, 1 << 20);
    second(1000);
    assert_int_equal(history_shared_put(&shared, h, names, now_ns, &first), 0);
    second(2000);
    assert_int_equal(history_shared_put(&shared, h, names, now_ns, &second_text), 0);
    assert_string_equal(text_str(&second_text), text_str(&first));
    second(3000);
    second(4000);
    text_free(&second_text);
    assert_int_equal(history_shared_put(&shared, h, names, now_ns, &second_text), 0);
    assert_true(second_text.len > first.len);
    text_free(&second_text);
    second_text.limit_bytes = 10;  // a reader without room says nothing about the others
    assert_int_not_equal(history_shared_put(&shared, h, names, now_ns, &second_text), 0);
    text_free(&first);
    assert_int_equal(history_shared_put(&shared, h, names, now_ns, &first), 0);
    history_shared_free(&shared);
    text_free(&first);
    text_free(&second_text);
}

static void lines_have_coarse_points_before_fine_ones(void **state)
{
    for (unsigned i = 1; i <= 400; i++)
        second(i);
    history_figures_render(h, names, now_ns, &said);
    const char *head = "age_s core rx_pps tx_pps rx_bps";
    assert_int_equal(strncmp(text_str(&said), head, strlen(head)), 0);
    double last = 1e9;
    unsigned lines = 0;
    for (const char *at = text_str(&said); (at = strchr(at, '\n')) != NULL && *++at != '\0';) {
        const double age = strtod(at, NULL);
        assert_true(age <= last);
        last = age;
        lines++;
    }
    assert_int_equal(lines, 2 * (300 + 20));
}

int main(void)
{
#define S(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        S(a_point_says_what_happened_in_its_second),
        S(a_coarse_point_is_the_mean_of_five_seconds),
        S(the_rings_hold_so_many_points_and_the_oldest_go),
        S(counters_that_fall_give_no_figure),
        S(changes_of_the_verdict_are_kept_with_their_time),
        S(json_is_bounded_and_has_null_where_there_is_nothing),
        S(the_longest_texts_are_no_longer_than_said),
        S(those_who_ask_at_the_same_time_share_a_rendering),
        S(lines_have_coarse_points_before_fine_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
