// SPDX-License-Identifier: BSD-3-Clause
// What the tree shows of counters that were reset.
#include "app/apps.h"
#include "ctl/files/baseline.h"
#include "hosts.h"
#include "pkt_env.h"

static const struct c10m_app *const echoes[2][3] = {{&app_echo}, {&app_echo}};

static struct hosts *h;
static struct ctl_baseline *base;
static struct core_stats seen;

static int begin(void **state)
{
    h = hosts_new(echoes, NULL);
    base = ctl_baseline_new(&h->e[0].server);
    assert_non_null(base);
    return 0;
}

static int end(void **state)
{
    ctl_baseline_free(base);
    hosts_free(h);
    return 0;
}

static const struct core_stats *look(void)
{
    stat_snapshot(&seen, h->e[0].w->stats);
    ctl_baseline_core(base, 0, &seen);
    return &seen;
}

static void connect_some(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        hosts_connect(h, 1, HOSTS_PORT);
    hosts_run(h, 20);
}

static void before_a_reset_all_is_shown(void **state)
{
    connect_some(3);
    assert_int_equal(look()->c.conns_opened_passive, 3);
    ctl_baseline_core(NULL, 0, &seen);
    assert_int_equal(seen.c.conns_opened_passive, 3);
}

static void after_it_what_was_added_and_present_values_stay(void **state)
{
    connect_some(3);
    ctl_baseline_reset_core(base, 0);
    look();
    assert_int_equal(seen.c.conns_opened_passive, 0);
    assert_int_equal(seen.c.rx_packets, 0);
    assert_int_equal(seen.c.connections_now, 3);
    assert_int_equal(seen.cycles[STAGE_rx] | seen.drops[DROP_tcp_no_owner], 0);
    connect_some(2);
    look();
    assert_int_equal(seen.c.conns_opened_passive, 2);
    assert_int_equal(seen.c.connections_now, 5);
    assert_int_equal(stat_balance(&seen), 0);
    assert_int_equal(h->e[0].w->stats->c.conns_opened_passive, 5);  // the worker counts on
}

// A reset in the middle of a turn: its packets are received, and not yet accounted for.
static void the_balance_is_zero_whenever_it_was_reset(void **state)
{
    struct core_stats *s = h->e[0].w->stats;
    connect_some(1);
    s->c.rx_packets += 7;
    s->c.answered += 2;
    ctl_baseline_reset_core(base, 0);
    s->c.delivered += 4;
    s->drops[DROP_tcp_no_owner] += 1;
    look();
    assert_int_equal(stat_balance(&seen), 0);
    assert_int_equal(seen.c.rx_packets, 5);
}

static void latency_begins_anew_with_its_maximum(void **state)
{
    struct worker *w = h->e[0].w;
    static struct latency l;
    latency_add(&w->busy, 100000, 5);
    w->busy.max_cycles = 100000;
    ctl_baseline_reset_latency(base, 0);
    latency_add(&w->busy, 1000, 2);
    latency_snapshot(&l, &w->busy);
    ctl_baseline_latency(base, 0, false, &l);
    assert_int_equal(latency_count(&l), 2);
    assert_in_range(l.max_cycles, 1000, 1100);
}

static void count_frames(struct port *p, struct port_stats *out)
{
    static uint64_t n;
    n += 10;
    *out = (struct port_stats){.rx_packets = n, .tx_errors = 2 * n};
}

static void ports_are_reset_one_by_one(void **state)
{
    static const struct port_ops counting = {.driver = "counting", .stats = count_frames};
    struct port other = {.ops = &counting, .name = "other"};
    struct port *was = h->e[0].server.ports[0];
    struct port_stats s;
    h->e[0].server.ports[0] = &other;
    ctl_baseline_reset_port(base, 0);
    other.ops->stats(&other, &s);
    ctl_baseline_port(base, 0, &s);
    assert_int_equal(s.rx_packets, 10);
    assert_int_equal(s.tx_errors, 20);
    other.ops->stats(&other, &s);
    ctl_baseline_port(base, 1, &s);
    assert_int_equal(s.rx_packets, 30);
    h->e[0].server.ports[0] = was;
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, begin, end)
    const struct CMUnitTest tests[] = {
        WITH(before_a_reset_all_is_shown),
        WITH(after_it_what_was_added_and_present_values_stay),
        WITH(the_balance_is_zero_whenever_it_was_reset),
        WITH(latency_begins_anew_with_its_maximum),
        WITH(ports_are_reset_one_by_one),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
