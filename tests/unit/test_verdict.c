// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a server, judged from made-up states: each sentence, their order, how they
// begin and end, and their bound. A running server's: tests/e2e/verdict.sh.
#include <stdio.h>
#include <string.h>

#include "server/verdict.h"
#include "unit/check.h"

static struct verdict v;
static struct verdict_look now;
static struct text said;
static unsigned n_changes;
static char last_change[VERDICT_SENTENCE_BYTES + 16];

static void on_change(void *arg, const struct verdict_item *it, uint64_t now_ns)
{
    n_changes++;
    snprintf(last_change, sizeof(last_change), "%s %s", it->active ? "on" : "off", it->sentence);
}

// Two cores, one port, one service; all is well, and was looked at once.
static int setup(void **state)
{
    memset(&v, 0, sizeof(v));
    memset(&now, 0, sizeof(now));
    v.changed = on_change;
    n_changes = 0;
    text_init(&said, 1 << 20);
    now.now_ns = 1000000000000;
    now.n_ports = now.n_services = 1;
    now.n_cores = 2;
    now.ports[0] = (struct verdict_port){.name = "c10m0", .link_known = true, .link_up = true};
    now.services[0] = (struct verdict_service){
        .name = "web", .state = TCP_SERVICE_OPEN, .connections_max = 60, .shares = 1};
    for (unsigned i = 0; i < now.n_cores; i++) {
        struct verdict_core *c = &now.cores[i];
        snprintf(c->name, sizeof(c->name), "%u", i + 1);
        c->stage = "app";
        c->host_ns = now.now_ns;
        c->cycles = 1000;
        c->n_pools = 4;
        c->pools[0] = (struct fill_pool){"packets", 100, 10, 10, 0};
        c->pools[1] = (struct fill_pool){"blocks", 100, 10, 10, 0};
        c->pools[2] = (struct fill_pool){"syn_records", 100, 10, 10, 0};
        c->pools[3] = (struct fill_pool){"time_wait", 100, 100, 100, 0};
    }
    verdict_judge(&v, &now);
    return 0;
}

static int teardown(void **state)
{
    text_free(&said);
    return 0;
}

// look: one second later.
static void look(void)
{
    now.now_ns += 1000000000;
    for (unsigned i = 0; i < now.n_cores; i++) {
        now.cores[i].host_ns = now.now_ns;
        now.cores[i].cycles += 1000;
    }
    verdict_judge(&v, &now);
}

static void looks(unsigned n)
{
    while (n-- > 0)
        look();
}

static const char *verdict_now(void)
{
    text_free(&said);
    verdict_render(&v, now.now_ns, 1764100000000000, &said);
    return text_str(&said);
}

static void expect_says(const char *sentence)
{
    if (strstr(verdict_now(), sentence) == NULL)
        fail_msg("expected %s in:\n%s", sentence, verdict_now());
}

static void expect_ok(void)
{
    assert_string_equal(verdict_now(), "ok\n");
}

static void before_the_first_look_nothing_is_said_to_be_ok(void **state)
{
    memset(&v, 0, sizeof(v));
    assert_string_equal(verdict_now(), "starting\n");
}

static void a_server_without_trouble_is_ok(void **state)
{
    looks(10);
    expect_ok();
    assert_int_equal(n_changes, 0);
}

static void a_bond_without_a_member_is_told_while_its_link_is_up(void **state)
{
    now.ports[0].members = now.ports[0].members_usable = 2;
    looks(3);
    expect_ok();
    now.ports[0].members_usable = 1;
    look();
    expect_says("c10m0 runs on 1 of 2 members");
    now.ports[0].members_usable = 0;
    now.ports[0].link_up = false;  // then that is said
    looks(3);
    assert_null(strstr(verdict_now(), "members"));
    expect_says("link c10m0 down");
    now.ports[0].members_usable = 2;
    now.ports[0].link_up = true;
    looks(3);
    expect_ok();
}

static void the_table_goes_from_alarms_to_notes_and_off_is_never_above_on(void **state)
{
    for (unsigned k = 0; k < VERDICT_KINDS; k++) {
        assert_true(k == 0 || verdict_kinds[k].severity >= verdict_kinds[k - 1].severity);
        assert_true(verdict_kinds[k].off <= verdict_kinds[k].on && verdict_kinds[k].off > 0);
        assert_in_range(verdict_kinds[k].on_looks, 1, 10);
        assert_in_range(verdict_kinds[k].off_looks, 1, 60);
        assert_true(strlen(verdict_kinds[k].help) > 10);
    }
}

static void a_link_that_is_down_is_said_at_once_with_its_time(void **state)
{
    now.ports[0].link_up = false;
    look();
    assert_string_equal(verdict_now(), "alarm 2025-11-25T19:46:40Z link c10m0 down for 0 s\n");
    looks(7);
    assert_string_equal(verdict_now(), "alarm 2025-11-25T19:46:33Z link c10m0 down for 7 s\n");
    assert_string_equal(last_change, "on link c10m0 down");
    now.ports[0].link_reason = "no_carrier";
    look();
    expect_says("link c10m0 down (no_carrier) for 8 s\n");
    now.ports[0].link_up = true;
    look();
    expect_says("link c10m0 down");  // it may flap
    look();
    expect_ok();
    assert_string_equal(last_change, "off link c10m0 down (no_carrier)");
    assert_int_equal(n_changes, 2);
}

static void a_link_of_which_nothing_is_known_is_not_down(void **state)
{
    now.ports[0] = (struct verdict_port){.name = "c10m0"};
    looks(3);
    expect_ok();
}

static void a_service_at_its_limit_says_so_and_does_not_flicker_just_below(void **state)
{
    now.services[0].connections = 60;
    now.services[0].shares_full = 1;
    look();
    expect_says("alarm 2025-11-25T19:46:40Z web at its limit 60 of 60 for 0 s\n");
    for (int i = 0; i < 20; i++) {
        now.services[0].connections = i % 2 == 0 ? 59 : 60;
        now.services[0].shares_full = i % 2;
        look();
        expect_says("web at its limit");
    }
    assert_int_equal(n_changes, 1);
    now.services[0].connections = 50;
    now.services[0].shares_full = 0;
    looks(2);
    expect_says("web at its limit");
    look();
    expect_ok();
}

static void just_below_its_limit_a_service_is_well(void **state)
{
    now.services[0].connections = 59;
    looks(5);
    expect_ok();
}

static void a_share_of_one_core_may_be_at_its_limit_alone(void **state)
{
    now.services[0].shares = 2;
    now.services[0].shares_full = 1;
    now.services[0].connections = 40;
    look();
    expect_says("web at its limit on 1 of 2 cores: 40 of 60 for");
}

static void an_empty_pool_is_said_after_two_looks(void **state)
{
    now.cores[0].pools[0].used = 100;
    look();
    expect_ok();
    now.cores[0].pools[0].used = 10;  // a burst
    look();
    now.cores[0].pools[0].used = 100;
    looks(4);
    expect_says("alarm 2025-11-25T19:46:37Z pool packets of core 1 empty for 3 s\n");
    now.cores[0].pools[0].used = 99;
    looks(5);
    expect_says("pool packets of core 1 empty");
    now.cores[0].pools[0].used = 97;
    looks(3);
    expect_ok();
}

static void of_one_core_the_pool_is_named_alone(void **state)
{
    now.n_cores = 1;
    now.cores[0].pools[0].used = 100;
    looks(2);
    expect_says(" pool packets empty for 1 s\n");
}

static void blocks_and_half_open_records_are_limits_of_connections(void **state)
{
    now.cores[1].pools[1].used = 100;
    now.cores[1].pools[2].used = 100;
    looks(2);
    expect_says("alarm 2025-11-25T19:46:39Z connections of core 2 at their limit 100 of 100 for 1");
    expect_says("warning 2025-11-25T19:46:39Z half-open connections of core 2 at their limit 100 "
                "of 100: SYN cookies for 1");
}

static void a_full_ring_of_time_wait_is_well_until_it_evicts(void **state)
{
    looks(3);
    expect_ok();
    now.time_wait_evicted += 1234;
    look();
    expect_says("TIME-WAIT evicts 1,234 records/s: [memory] time_wait is too small for 0 s");
    looks(5);
    expect_ok();
}

static void a_stalled_core_counts_from_when_it_stood_still(void **state)
{
    now.cores[1].stalled_ms = VERDICT_STALLED_MS - 1;
    look();
    expect_ok();
    now.cores[1].stalled_ms = 5000;
    look();
    expect_says("alarm 2025-11-25T19:46:35Z core 2 stalled in stage app for 5 s\n");
    now.cores[1].app = "http";
    now.cores[1].service = "web";
    now.cores[1].function = "-";
    now.cores[1].stalled_ms = 6000;
    look();
    expect_says("core 2 stalled in stage app of application http, service web for 6 s\n");
    now.cores[1].function = "choose";
    now.cores[1].stalled_ms = 7000;
    look();
    expect_says("of application http, service web, function choose for 7 s\n");
    now.cores[1].app = NULL;
    now.cores[1].function = "rx_burst";
    now.cores[1].stalled_ms = 8000;
    look();
    expect_says("core 2 stalled in stage app, function rx_burst for 8 s\n");
    now.cores[1].stalled_ms = 0;
    look();
    expect_ok();
}

static void lost_packets_of_a_port_are_named_with_their_rate(void **state)
{
    now.ports[0].rx_missed += 1200;
    now.ports[0].tx_errors += 1;
    look();
    expect_says("port c10m0 loses packets: rx_missed 1,200/s for 0 s\n");
    expect_says("port c10m0 loses packets: tx_errors 1/s for 0 s\n");
    looks(4);
    expect_says("rx_missed 1,200/s for 4 s");
    look();
    expect_ok();
    now.ports[0].rx_nombuf += 1234567;
    now.ports[0].rx_errors += 7;
    look();
    expect_says("rx_nombuf 1,234,567/s");
    expect_says("rx_errors 7/s");
}

static void what_was_lost_before_the_first_look_is_no_rate(void **state)
{
    memset(&v, 0, sizeof(v));
    now.ports[0].rx_missed = 1000000;
    now.drops[DROP_tx_full] = 1000000;
    looks(5);
    expect_ok();
}

static void a_counter_that_falls_is_no_loss(void **state)
{
    now.ports[0].rx_missed = 500;
    look();
    looks(5);
    now.ports[0].rx_missed = 100;
    look();
    expect_ok();
}

static void full_rings_between_workers_are_said_by_port(void **state)
{
    now.ports[0].handoff_lost += 10;
    now.drops[DROP_handoff_full] += 10;
    look();
    expect_says("handoff rings of port c10m0 full: 10 packets lost/s for 0 s\n");
    assert_int_equal(verdict_count(&v, VERDICT_ALARM), 1);
    assert_int_equal(verdict_count(&v, VERDICT_WARNING), 0);
}

static void a_port_that_spreads_wrongly_is_said_with_the_file_that_shows_it(void **state)
{
    now.ports[0].rss = RSS_RIGHT;
    look();
    expect_ok();
    now.ports[0].rss = RSS_SUSPECT;
    look();
    expect_says("warning ");
    expect_says("port c10m0 brings packets to wrong workers, being checked: ports/c10m0/rss for 0");
    now.ports[0].rss = RSS_SOFTWARE;
    looks(4);
    assert_int_equal(verdict_count_kind(&v, VERDICT_rss_suspect), 0);
    expect_says("port c10m0 does not spread packets as set, software does: ports/c10m0/rss for 3");
    now.ports[0].rss = RSS_NONE;
    looks(3);
    expect_ok();
}

static void drops_are_said_where_this_side_lacked_something(void **state)
{
    now.drops[DROP_tx_full] += 12;
    now.drops[DROP_tcp_checksum] += 1000;  // whatever a peer may send
    now.drops[DROP_udp_no_port] += 1000;
    look();
    expect_says("warning 2025-11-25T19:46:40Z drops of reason tx_full: 12/s for 0 s\n");
    assert_int_equal(verdict_count_kind(&v, VERDICT_drops), 1);
}

static void scarce_buffers_are_said(void **state)
{
    now.conns_shed += 3;
    look();
    expect_says("buffers scarce: 3 slow connections reset/s");
}

static void time_taken_from_a_core_is_said_by_who_took_it(void **state)
{
    for (int i = 0; i < 2; i++) {
        expect_ok();
        now.cores[1].wait_ns += 400000000;
        now.cores[1].steal_ns += 250000000;
        now.cores[1].interrupts += 6000;
        look();
    }
    expect_says("core 2 preempted 40 % for 1 s");
    expect_says("core 2 loses 25 % to the hypervisor for 1 s");
    expect_says("core 2 interrupted 6,000 times/s for 1 s");
    for (int i = 0; i < 5; i++) {
        now.cores[1].wait_ns += 70000000;  // between the two thresholds
        look();
    }
    expect_says("core 2 preempted 7 % for 6 s");
    looks(3);
    expect_ok();
}

static void without_news_from_the_host_its_last_word_counts(void **state)
{
    const uint64_t told = now.now_ns + 2000000000;
    for (int i = 0; i < 2; i++) {
        now.cores[0].wait_ns += 500000000;
        look();
    }
    expect_says("core 1 preempted 50 %");
    for (int i = 0; i < 10; i++) {
        now.now_ns += 1000000000;
        now.cores[0].host_ns = told;
        verdict_judge(&v, &now);
    }
    expect_says("core 1 preempted 50 %");
}

// look_without_news: one second later, and nobody has read the host's figures of core 1.
static void look_without_news(void)
{
    const uint64_t read_ns = now.cores[0].host_ns;
    now.now_ns += 1000000000;
    now.cores[0].host_ns = read_ns;
    now.cores[1].host_ns = now.now_ns;
    verdict_judge(&v, &now);
}

static void one_reading_of_the_host_counts_as_one_look(void **state)
{
    now.cores[0].wait_ns += 500000000;
    look();
    for (int i = 0; i < 5; i++)
        look_without_news();
    expect_ok();
    now.cores[0].wait_ns += 2500000000;  // in five seconds
    look();
    expect_says("core 1 preempted");
    for (int i = 0; i < 2; i++) {
        look();  // good readings, with looks between them
        look_without_news();
        look_without_news();
    }
    expect_says("core 1 preempted");
    look();
    expect_ok();
}

static void cores_that_are_shared_by_configuration_are_not_preempted(void **state)
{
    now.cores_shared = true;
    for (int i = 0; i < 5; i++) {
        now.cores[0].wait_ns += 500000000;
        look();
    }
    expect_ok();
}

static void a_busy_core_is_said_after_three_looks(void **state)
{
    for (int i = 0; i < 3; i++) {
        expect_ok();
        now.cores[0].busy_cycles += 980;
        look();
    }
    expect_says("warning 2025-11-25T19:46:38Z core 1 busy 98 % for 2 s\n");
    for (int i = 0; i < 5; i++) {
        now.cores[0].busy_cycles += 920;
        look();
    }
    expect_says("core 1 busy 92 %");
    for (int i = 0; i < 3; i++) {
        now.cores[0].busy_cycles += 890;
        look();
    }
    expect_ok();
}

static void lost_lines_of_a_log_are_said(void **state)
{
    now.services[0].log_lost += 7;
    look();
    expect_says("access log of web loses 7 lines/s");
}

static void draining_and_closed_are_notes_and_end_at_once(void **state)
{
    now.n_services = 2;
    now.services[1] = (struct verdict_service){.name = "echo", .connections_max = 9, .shares = 1};
    now.services[0].state = TCP_SERVICE_DRAINING;
    now.services[0].connections = 3;
    look();
    assert_string_equal(verdict_now(),
                        "note 2025-11-25T19:46:40Z web draining: 3 connections left for 0 s\n");
    now.services[1].state = TCP_SERVICE_DRAINING;
    now.services[1].connections = 4;
    look();
    assert_string_equal(verdict_now(),
                        "note 2025-11-25T19:46:40Z draining: 7 connections left for 0 s\n");
    now.services[0].state = now.services[1].state = TCP_SERVICE_CLOSED;
    look();
    assert_string_equal(verdict_now(), "note 2025-11-25T19:46:40Z all services closed for 0 s\n");
    now.services[1].state = TCP_SERVICE_OPEN;
    look();
    assert_string_equal(verdict_now(), "note 2025-11-25T19:46:40Z web closed for 0 s\n");
    now.services[0].state = TCP_SERVICE_OPEN;
    look();
    expect_ok();
}

static void the_control_thread_and_the_clock_of_the_host(void **state)
{
    now.clock_offset_us += 400000;
    look();
    expect_ok();
    now.clock_offset_us -= 3600000000;
    now.now_ns += 5200000000;
    look();
    expect_says("control thread came 5.2 s late");
    expect_says("clock of the host stepped by -3600.0 s");
    looks(10);
    assert_int_equal(verdict_count(&v, VERDICT_WARNING), 1);
    looks(50);
    expect_ok();
}

static void the_most_severe_comes_first(void **state)
{
    now.services[0].state = TCP_SERVICE_DRAINING;
    now.drops[DROP_tx_full] += 12;
    now.ports[0].rx_missed += 5;
    look();
    now.ports[0].link_up = false;
    now.cores[1].stalled_ms = 2000;
    look();
    const char *order[] = {"core 2 stalled", "link c10m0 down", "rx_missed", "tx_full", "draining"};
    const char *at = verdict_now();
    for (unsigned i = 0; i < ARRAY_LEN(order); i++) {
        const char *next = strstr(at, order[i]);
        assert_non_null(next);
        at = next;
    }
    assert_int_equal(verdict_count(&v, VERDICT_ALARM), 3);
    assert_int_equal(verdict_count(&v, VERDICT_WARNING), 1);
    assert_int_equal(verdict_count(&v, VERDICT_NOTE), 1);
}

enum { ITEMS_OF_A_CORE = 18 };  // in_trouble()

// in_trouble: as many cores as there may be, with 14 empty pools each, and neither time nor calm.
static void in_trouble(void)
{
    static char pools[14][8];
    now.n_cores = SERVER_WORKERS_MAX;
    for (unsigned i = 0; i < now.n_cores; i++) {
        struct verdict_core *c = &now.cores[i];
        *c = now.cores[0];
        snprintf(c->name, sizeof(c->name), "%u", i);
        c->n_pools = ARRAY_LEN(pools);
        for (unsigned k = 0; k < c->n_pools; k++) {
            snprintf(pools[k], sizeof(pools[k]), "p%u", k);
            c->pools[k] = (struct fill_pool){pools[k], 100, 100, 100, 0};
        }
    }
}

static void troubled_look(void)
{
    for (unsigned i = 0; i < now.n_cores; i++) {
        now.cores[i].wait_ns += 500000000;
        now.cores[i].steal_ns += 500000000;
        now.cores[i].interrupts += 100000;
        now.cores[i].busy_cycles += 1000;
    }
    look();
}

// More than there are places: the severe ones stay.
static void there_are_so_many_and_no_more_and_alarms_find_room(void **state)
{
    enum { ALL = SERVER_WORKERS_MAX * ITEMS_OF_A_CORE };
    static_assert((int)ALL > (int)VERDICT_ITEMS_MAX, "not all of them find a place");
    char line[64];
    in_trouble();
    for (int n = 0; n < 5; n++)
        troubled_look();
    static const struct verdict_item *list[VERDICT_ITEMS_MAX];
    assert_int_equal(verdict_list(&v, list), VERDICT_ITEMS_MAX);
    snprintf(line, sizeof(line), "\nnote - %d more, of lower rank: 1024 are kept\n",
             ALL - (int)VERDICT_ITEMS_MAX);
    expect_says(line);
    assert_int_equal(v.n_missed, ALL - (int)VERDICT_ITEMS_MAX);
    now.ports[0].link_up = false;
    troubled_look();
    assert_int_equal(v.n_missed, ALL + 1 - (int)VERDICT_ITEMS_MAX);
    assert_int_equal(strncmp(verdict_now(), "alarm ", 6), 0);
    expect_says("link c10m0 down");
    assert_true(verdict_list(&v, list) <= VERDICT_ITEMS_MAX);
    assert_true(said.len < VERDICT_ITEMS_MAX * (VERDICT_SENTENCE_BYTES + 64));
}

static void names_of_any_length_are_cut_and_nothing_is_overrun(void **state)
{
    static char name[400];
    memset(name, 'x', sizeof(name) - 1);
    now.ports[0] = (struct verdict_port){.name = name, .link_known = true};
    now.services[0].name = name;
    now.services[0].state = TCP_SERVICE_CLOSED;
    looks(3);
    assert_int_equal(verdict_count(&v, VERDICT_ALARM), 1);
    assert_int_equal(verdict_count(&v, VERDICT_NOTE), 1);
}

int main(void)
{
#define S(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        S(before_the_first_look_nothing_is_said_to_be_ok),
        S(a_server_without_trouble_is_ok),
        S(a_bond_without_a_member_is_told_while_its_link_is_up),
        S(the_table_goes_from_alarms_to_notes_and_off_is_never_above_on),
        S(a_link_that_is_down_is_said_at_once_with_its_time),
        S(a_link_of_which_nothing_is_known_is_not_down),
        S(a_service_at_its_limit_says_so_and_does_not_flicker_just_below),
        S(just_below_its_limit_a_service_is_well),
        S(a_share_of_one_core_may_be_at_its_limit_alone),
        S(an_empty_pool_is_said_after_two_looks),
        S(of_one_core_the_pool_is_named_alone),
        S(blocks_and_half_open_records_are_limits_of_connections),
        S(a_full_ring_of_time_wait_is_well_until_it_evicts),
        S(a_stalled_core_counts_from_when_it_stood_still),
        S(lost_packets_of_a_port_are_named_with_their_rate),
        S(what_was_lost_before_the_first_look_is_no_rate),
        S(a_counter_that_falls_is_no_loss),
        S(full_rings_between_workers_are_said_by_port),
        S(a_port_that_spreads_wrongly_is_said_with_the_file_that_shows_it),
        S(drops_are_said_where_this_side_lacked_something),
        S(scarce_buffers_are_said),
        S(time_taken_from_a_core_is_said_by_who_took_it),
        S(without_news_from_the_host_its_last_word_counts),
        S(one_reading_of_the_host_counts_as_one_look),
        S(cores_that_are_shared_by_configuration_are_not_preempted),
        S(a_busy_core_is_said_after_three_looks),
        S(lost_lines_of_a_log_are_said),
        S(draining_and_closed_are_notes_and_end_at_once),
        S(the_control_thread_and_the_clock_of_the_host),
        S(the_most_severe_comes_first),
        S(there_are_so_many_and_no_more_and_alarms_find_room),
        S(names_of_any_length_are_cut_and_nothing_is_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
