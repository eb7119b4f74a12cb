// SPDX-License-Identifier: BSD-3-Clause
// Claims about the metrics: Prometheus' text, docs/metrics.md, what is pushed over StatsD. A
// running server's are looked at by tests/e2e/metrics.sh.
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/metrics/metrics.h"
#include "ctl/metrics/statsd.h"
#include "unit/check.h"

enum { DATAGRAM_BYTES = 65536 };

// ---- the page

// docs_rows: the table of docs/metrics.md. The counters of cores are there as a rule.
static void docs_rows(struct text *out)
{
    static const char *const types[] = {[METRIC_COUNTER] = "counter",
                                        [METRIC_GAUGE] = "gauge",
                                        [METRIC_PASSING] = "gauge",
                                        [METRIC_HISTOGRAM] = "histogram"};
    for (unsigned i = 0; i < metrics_own; i++) {
        const struct metric *m = metrics_family(i);
        text_printf(out, "| `%s` | %s | %s |\n", m->name, types[m->type], m->help);
    }
}

static bool is_family(const char *name, size_t n)
{
    for (unsigned i = 0; metrics_family(i) != NULL; i++)
        if (strlen(metrics_family(i)->name) == n && memcmp(metrics_family(i)->name, name, n) == 0)
            return true;
    return false;
}

// When this fails: build/tests/test_metrics --docs has the rows.
static void the_page_lists_what_there_is_and_nothing_else(void **state)
{
    static char page[1 << 18];
    struct text rows;
    FILE *f = fopen(DOCS_DIR "/metrics.md", "r");
    assert_non_null(f);
    page[fread(page, 1, sizeof(page) - 1, f)] = '\0';
    fclose(f);
    text_init(&rows, sizeof(page));
    docs_rows(&rows);
    assert_non_null(strstr(page, text_str(&rows)));
    unsigned n = 0;
    const char *table = strstr(page, "\n## The table\n");
    assert_non_null(table);
    for (const char *at = table; (at = strstr(at, "\n| `")) != NULL; at++)
        n++;
    assert_int_equal(n, metrics_own);
    text_free(&rows);
    for (const char *at = page; (at = strstr(at, "`c10m_core_")) != NULL; at++) {
        const size_t len = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
        if (at[1 + len] == '`' && !is_family(at + 1, len))
            fail_msg("docs/metrics.md: %.*s: there is none", (int)len, at + 1);
    }
}

static void names_are_as_prometheus_wants_them(void **state)
{
    const struct metric *m, *other;
    for (unsigned i = 0; (m = metrics_family(i)) != NULL; i++) {
        const size_t n = strlen(m->name);
        const bool total = n > 6 && strcmp(m->name + n - 6, "_total") == 0;
        if (total != (m->type == METRIC_COUNTER) || strstr(m->name, "_now") != NULL)
            fail_msg("%s", m->name);
        assert_int_equal(
            strspn(m->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), n);
        assert_true(m->help[0] != '\0');
        for (unsigned k = 0; k < i && (other = metrics_family(k)) != NULL; k++)
            assert_string_not_equal(m->name, other->name);
    }
}

static void every_counter_of_a_core_has_a_family(void **state)
{
    char name[METRIC_NAME_BYTES];
    for (unsigned c = 0; c < CORE_COUNTER_COUNT; c++) {
        const char *from = stat_counter_names[c].name;
        const int n = (int)strlen(from);
        if (n > 4 && strcmp(from + n - 4, "_now") == 0)
            snprintf(name, sizeof(name), "c10m_core_%.*s", n - 4, from);
        else
            snprintf(name, sizeof(name), "c10m_core_%s_total", from);
        unsigned found = 0;
        for (unsigned i = 0; metrics_family(i) != NULL; i++)
            found += strcmp(metrics_family(i)->name, name) == 0;
        assert_int_equal(found, 1);
    }
}

// ---- the text

static const struct metric a_counter = {"c10m_a_total", METRIC_COUNTER, "of\nlines \\ and \"q\""};
static const struct metric a_gauge = {"c10m_g_seconds", METRIC_GAUGE, "g"};
static const struct metric a_passing = {"c10m_v_seconds", METRIC_PASSING, "v"};
static const struct metric a_histogram = {"c10m_h_seconds", METRIC_HISTOGRAM, "h"};

static void text_is_escaped_as_the_format_says(void **state)
{
    struct text t;
    text_init(&t, 4096);
    struct metrics_text_sink to = metrics_text_sink(&t);
    const struct metric_sample c = {&a_counter, "", 2, {{"x", "a\"b\\c\nd"}, {"y", ""}}, {.n = 7}};
    const struct metric_sample g = {&a_gauge, "", 0, {{0}}, {.is_real = true, .real = 0.25}};
    const struct metric_sample h = {
        &a_histogram, "_bucket", 1, {{"le", "+Inf"}}, {.n = UINT64_MAX}};
    to.sink.family(&to.sink, &a_counter);
    to.sink.sample(&to.sink, &c);
    to.sink.family(&to.sink, &a_gauge);
    to.sink.sample(&to.sink, &g);
    to.sink.sample(&to.sink, &h);
    assert_string_equal(text_str(&t), "# HELP c10m_a_total of\\nlines \\\\ and \"q\"\n"
                                      "# TYPE c10m_a_total counter\n"
                                      "c10m_a_total{x=\"a\\\"b\\\\c\\nd\",y=\"\"} 7\n"
                                      "# HELP c10m_g_seconds g\n# TYPE c10m_g_seconds gauge\n"
                                      "c10m_g_seconds 0.25\n"
                                      "c10m_h_seconds_bucket{le=\"+Inf\"} 18446744073709551615\n");
    text_free(&t);
}

// ---- StatsD

static struct ctl_loop loop;
static struct err e;
static int server = -1;
static struct statsd_params params;
static char got[DATAGRAM_BYTES];
static uint64_t counter_now, gauge_now;
static unsigned n_counters;

// visit_few: one counter and one gauge. visit_many: n_counters of them.
static void visit_few(const struct ctl_shown *s, struct metric_sink *to)
{
    const struct metric_sample c = {
        &a_counter, "", 2, {{"core", "1.2"}, {"why", "a b:c|d@e\n"}}, {.n = counter_now}};
    const struct metric_sample g = {
        &a_gauge, "", 0, {{0}}, {.is_real = true, .real = (double)gauge_now}};
    const struct metric_sample h = {&a_histogram, "_count", 0, {{0}}, {.n = 3}};
    to->sample(to, &c);
    to->sample(to, &g);
    to->sample(to, &h);
}

// visit_passing: what is there now, of "a" and "b".
static const char *there;

static void visit_passing(const struct ctl_shown *s, struct metric_sink *to)
{
    static const char *const subjects[] = {"a", "b"};
    for (unsigned i = 0; i < ARRAY_LEN(subjects); i++) {
        const struct metric_sample v = {
            &a_passing, "", 1, {{"subject", subjects[i]}}, {.is_real = true, .real = 7}};
        if (strstr(there, subjects[i]) != NULL)
            to->sample(to, &v);
    }
}

static void visit_many(const struct ctl_shown *s, struct metric_sink *to)
{
    char name[16];
    for (unsigned i = 0; i < n_counters; i++) {
        snprintf(name, sizeof(name), "%u", i);
        const struct metric_sample c = {&a_counter, "", 1, {{"i", name}}, {.n = counter_now}};
        to->sample(to, &c);
    }
}

static int setup(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    const int bytes = 8 << 20;
    counter_now = gauge_now = 0;
    server = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(server, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes));
    if (bind(server, (struct sockaddr *)&at, n) != 0 ||
        getsockname(server, (struct sockaddr *)&at, &n) != 0)
        return -1;
    params = (struct statsd_params){.to = {ip_from_v4(INADDR_LOOPBACK), ntohs(at.sin_port)},
                                    .prefix = "p.q",
                                    .interval_ms = 3600000,
                                    .rate_ppm = 1000000,
                                    .seed = 1,
                                    .visit = visit_few};
    return ctl_loop_init(&loop, &e);
}

static int teardown(void **state)
{
    if (server >= 0)
        close(server);
    ctl_loop_fini(&loop);
    return 0;
}

static struct statsd *start(void)
{
    struct statsd *s = statsd_start(&loop, &params, &e);
    assert_non_null(s);
    return s;
}

// receive: the next datagram. The kernel may bring it a while after it was sent.
static size_t receive(void)
{
    struct pollfd p = {.fd = server, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 20000), 1);
    const ssize_t n = recv(server, got, sizeof(got) - 1, 0);
    assert_true(n > 0);
    got[n] = '\0';
    return (size_t)n;
}

static void the_interval_changes_while_it_pushes(void **state)
{
    struct statsd *s = start();
    const uint64_t before = statsd_counts(s).datagrams;
    assert_int_equal(statsd_change(s, 20, 1000000, &e), 0);
    for (int i = 0; i < 200 && statsd_counts(s).datagrams < before + 3; i++)
        ctl_loop_turn(&loop, 100);
    assert_true(statsd_counts(s).datagrams >= before + 3);
    assert_int_equal(statsd_change(s, 3600000, 1000000, &e), 0);
    assert_int_equal(ctl_loop_turn(&loop, 100), 0);
    assert_int_equal(statsd_change(s, 0, 1000000, &e), -1);
    assert_int_equal(statsd_change(NULL, 1, 1, &e), 0);
    statsd_stop(s);
}

static void counters_go_as_differences_and_gauges_as_they_are(void **state)
{
    counter_now = 1000;
    struct statsd *s = start();
    assert_int_equal(statsd_counts(s).datagrams, 0);  // what was before the start is no news
    counter_now = 1007;
    gauge_now = 3;
    statsd_push(s);
    receive();
    assert_string_equal(got, "p.q.a.1_2.a_b_c_d_e_:7|c\np.q.g_seconds:3.000000|g");
    statsd_push(s);
    receive();
    assert_string_equal(got, "p.q.g_seconds:3.000000|g");
    counter_now = 5;  // it was reset
    statsd_push(s);
    receive();
    assert_string_equal(got, "p.q.a.1_2.a_b_c_d_e_:5|c\np.q.g_seconds:3.000000|g");
    assert_int_equal(statsd_counts(s).datagrams, 3);
    statsd_stop(s);
}

// pushed: what the next push sends while `now` is there.
static const char *pushed(struct statsd *s, const char *now)
{
    const uint64_t before = statsd_counts(s).datagrams;
    there = now;
    got[0] = '\0';
    statsd_push(s);
    if (statsd_counts(s).datagrams > before)
        receive();
    return got;
}

static void a_gauge_that_is_gone_is_sent_as_zero_and_then_forgotten(void **state)
{
    params.visit = visit_passing;
    there = "";
    struct statsd *s = start();
    assert_string_equal(pushed(s, ""), "");
    assert_string_equal(pushed(s, "ab"), "p.q.v_seconds.a:7.000000|g\np.q.v_seconds.b:7.000000|g");
    for (unsigned i = 0; i < 3; i++)  // a datagram may be lost
        assert_string_equal(pushed(s, "b"), "p.q.v_seconds.b:7.000000|g\np.q.v_seconds.a:0|g");
    assert_string_equal(pushed(s, "b"), "p.q.v_seconds.b:7.000000|g");
    assert_string_equal(pushed(s, ""), "p.q.v_seconds.b:0|g");
    assert_string_equal(pushed(s, "b"), "p.q.v_seconds.b:7.000000|g");
    for (unsigned i = 0; i < 3; i++)
        assert_string_equal(pushed(s, ""), "p.q.v_seconds.b:0|g");
    assert_string_equal(pushed(s, ""), "");
    statsd_stop(s);
}

static void the_interval_is_kept_by_the_loop(void **state)
{
    params.interval_ms = 100;
    struct statsd *s = start();
    counter_now = 1;
    while (statsd_counts(s).datagrams == 0)
        assert_true(ctl_loop_turn(&loop, 1000) >= 0);
    receive();
    assert_non_null(strstr(got, ":1|c"));
    statsd_stop(s);
}

static void datagrams_hold_whole_lines_and_no_more_than_they_may(void **state)
{
    params.visit = visit_many;
    n_counters = 3000;
    struct statsd *s = start();
    counter_now = 123456;
    statsd_push(s);
    unsigned lines = 0, datagrams = 0;
    for (; datagrams < statsd_counts(s).datagrams; datagrams++) {
        assert_true(receive() <= STATSD_DATAGRAM_BYTES);
        char *save = NULL;
        for (char *l = strtok_r(got, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
            char want[64];
            snprintf(want, sizeof(want), "p.q.a.%u:123456|c", lines++);
            assert_string_equal(l, want);
        }
    }
    assert_int_equal(lines, n_counters);
    assert_true(datagrams <= 3000 * 20 / 1400 + 10);
    assert_int_equal(statsd_counts(s).lines, lines);
    statsd_stop(s);
}

static void a_sample_is_marked_and_right_on_the_average(void **state)
{
    params.visit = visit_many;
    params.rate_ppm = 250000;
    n_counters = 1000;
    struct statsd *s = start();
    unsigned lines = 0, datagrams = 0;
    for (int i = 0; i < 10; i++) {
        counter_now++;
        statsd_push(s);
        for (; datagrams < statsd_counts(s).datagrams; datagrams++) {
            receive();
            char *save = NULL;
            for (char *l = strtok_r(got, "\n", &save); l != NULL; l = strtok_r(NULL, "\n", &save)) {
                assert_non_null(strstr(l, ":1|c|@0.25"));
                lines++;
            }
        }
    }
    assert_in_range(lines, 2200, 2800);  // of 10000
    statsd_stop(s);
}

// push_one: one more, counted; was it sent?
static bool push_one(struct statsd *s)
{
    const uint64_t before = statsd_counts(s).datagrams;
    counter_now++;
    statsd_push(s);
    return statsd_counts(s).datagrams > before;
}

// The kernel says in a later send that nobody took a datagram; that one is counted, and its
// counters go with the one after.
static void a_server_that_is_not_there_is_counted_and_nothing_more(void **state)
{
    struct statsd *s = start();
    struct sockaddr_in at;
    socklen_t n = sizeof(at);
    uint64_t sent = 0;
    char want[64];
    assert_int_equal(getsockname(server, (struct sockaddr *)&at, &n), 0);
    close(server);
    for (int i = 0; i < 20000 && statsd_counts(s).failed == 0; i++) {
        if (push_one(s))
            sent = counter_now;
        poll(NULL, 0, 1);
    }
    assert_int_equal(statsd_counts(s).failed, 1);
    server = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server, (struct sockaddr *)&at, sizeof(at)), 0);
    while (!push_one(s)) {
    }
    assert_true(counter_now - sent >= 2);
    snprintf(want, sizeof(want), ":%u|c\n", (unsigned)(counter_now - sent));
    do
        receive();
    while (strstr(got, want) == NULL);
    statsd_stop(s);
}

static void a_name_that_is_too_long_is_left_out_and_counted(void **state)
{
    static char prefix[400];
    memset(prefix, 'x', sizeof(prefix) - 1);
    params.prefix = prefix;
    struct statsd *s = start();
    counter_now = 1;
    statsd_push(s);
    assert_int_equal(statsd_counts(s).datagrams, 0);
    assert_int_equal(statsd_counts(s).too_long, 2);
    statsd_stop(s);
}

int main(int argc, char **argv)
{
#define S(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_lists_what_there_is_and_nothing_else),
        cmocka_unit_test(names_are_as_prometheus_wants_them),
        cmocka_unit_test(every_counter_of_a_core_has_a_family),
        cmocka_unit_test(text_is_escaped_as_the_format_says),
        S(the_interval_changes_while_it_pushes),
        S(counters_go_as_differences_and_gauges_as_they_are),
        S(a_gauge_that_is_gone_is_sent_as_zero_and_then_forgotten),
        S(the_interval_is_kept_by_the_loop),
        S(datagrams_hold_whole_lines_and_no_more_than_they_may),
        S(a_sample_is_marked_and_right_on_the_average),
        S(a_server_that_is_not_there_is_counted_and_nothing_more),
        S(a_name_that_is_too_long_is_left_out_and_counted),
    };
    if (argc > 1 && strcmp(argv[1], "--docs") == 0) {
        struct text rows;
        text_init(&rows, 1 << 20);
        docs_rows(&rows);
        fputs(text_str(&rows), stdout);
        text_free(&rows);
        return 0;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
