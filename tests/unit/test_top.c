// SPDX-License-Identifier: BSD-3-Clause
// The live view without a terminal: what is read, what two readings say, how it is laid out, what
// keys do.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"
#include "top/top_options.h"
#include "top/top_view.h"

enum { FILES = 32 };

// fake: a tree of a few files; `failure` is what every call answers with, if set.
struct fake {
    struct top_source source;
    struct {
        const char *path, *text;
    } files[FILES];
    const char *cores, *apps, *ports;
    int failure;
};

static int fake_read(struct top_source *s, const char *path, struct text *out)
{
    struct fake *f = (struct fake *)s;
    if (f->failure != 0)
        return f->failure;
    for (unsigned i = 0; i < FILES && f->files[i].path != NULL; i++)
        if (strcmp(f->files[i].path, path) == 0)
            return text_printf(out, "%s", f->files[i].text);
    return -ENOENT;
}

static int fake_list(struct top_source *s, const char *path, struct text *out)
{
    struct fake *f = (struct fake *)s;
    if (f->failure != 0)
        return f->failure;
    if (strcmp(path, "cores") == 0)
        return text_printf(out, "%s", f->cores);
    if (strcmp(path, "apps") == 0 && f->apps != NULL)
        return text_printf(out, "%s", f->apps);
    if (strcmp(path, "ports") == 0 && f->ports != NULL)
        return text_printf(out, "%s", f->ports);
    return -ENOENT;
}

static void set(struct fake *f, const char *path, const char *text)
{
    for (unsigned i = 0; i < FILES; i++)
        if (f->files[i].path == NULL || strcmp(f->files[i].path, path) == 0) {
            f->files[i].path = path;
            f->files[i].text = text;
            return;
        }
    fail();
}

// A server of two cores ten seconds after its start, and one second later.
static struct fake begin(void)
{
    struct fake f = {.source = {fake_read, fake_list, NULL, "fake"}, .cores = "10\n2\n"};
    set(&f, "version", "c10m 0.1.0\n");
    set(&f, "uptime", "10.00\n");
    set(&f, "cores/2/state", "state running\ncpu 2\n");
    set(&f, "cores/2/counters",
        "rx_packets 1000\nrx_bytes 100000\ntx_packets 500\ntx_bytes 50000\n"
        "conns_opened_passive 10\nconns_opened_active 1\nconnections_now 7\ndropped 5\n"
        "dropped_tx 1\nbalance 0\n");
    set(&f, "cores/2/drops", "ip_short 5\ntx_full 1\ntcp_short 0\n");
    set(&f, "cores/2/cycles",
        "rx_cycles 100\napp_cycles 100\nidle_cycles 800\ntotal_cycles 1000\n"
        "rx_share_percent 10.00\npackets_per_s 500\nheadroom_packets 90\n");
    set(&f, "cores/2/latency",
        "packets 3\np50_ns 10\nbucket_le_10 2\nbucket_le_100 1\n"
        "idle_turns 9\nidle_bucket_le_7 9\n");
    set(&f, "cores/10/counters", "rx_packets 100\nrx_bytes 6000\nconnections_now 1\n");
    set(&f, "mem/arenas", "total_reserved_bytes 1048576\narena_page_bytes 4096\nconnections 16\n");
    set(&f, "mem/pools",
        "packets_size 1000\npackets_used_now 62\npackets_used_high 99\nblocks_size 16\n"
        "blocks_used_now 16\nbuffers_size 50\nbuffers_used_now 0\ntime_wait6_size 0\n"
        "time_wait6_used_now 0\ntimers_size 10\ntimers_used_now 3\n");
    return f;
}

static void a_second_later(struct fake *f)
{
    set(f, "uptime", "11.00\n");
    set(f, "cores/2/counters",
        "rx_packets 3000\nrx_bytes 300000\ntx_packets 1500\ntx_bytes 150000\n"
        "conns_opened_passive 13\nconns_opened_active 2\nconnections_now 4\ndropped 8\n"
        "dropped_tx 2\nbalance 0\n");
    set(f, "cores/2/drops", "ip_short 8\ntx_full 2\ntcp_short 0\n");
    set(f, "cores/2/cycles",
        "rx_cycles 6100\napp_cycles 2100\nidle_cycles 2800\ntotal_cycles 11000\n"
        "rx_share_percent 9.00\npackets_per_s 400\nheadroom_packets 80\n");
    set(f, "cores/2/latency",
        "bucket_le_10 2\nbucket_le_50 990\nbucket_le_100 10\n"
        "bucket_le_900 1\n");
}

// Two readings and their figures.
struct pair {
    struct fake f;
    struct top_sample before, now;
    struct top_figures figures;
};

static void compare(struct pair *p)
{
    assert_int_equal(top_sample_take(&p->now, &p->f.source), 0);
    assert_int_equal(top_compute(&p->figures, &p->now, &p->before), 0);
}

static struct pair two_readings(void)
{
    struct pair p = {.f = begin()};
    assert_int_equal(top_sample_take(&p.before, &p.f.source), 0);
    a_second_later(&p.f);
    return p;
}

static void end(struct pair *p)
{
    top_sample_free(&p->before);
    top_sample_free(&p->now);
    top_figures_free(&p->figures);
}

static void near(double a, double b)
{
    if (!(fabs(a - b) < 1e-6))
        fail_msg("%g is not %g", a, b);
}

static void lines_that_are_no_number_are_left_out(void **state)
{
    struct top_list l = {0};
    assert_int_equal(top_list_parse(&l, "a 1\nb 2.5\nc\n 3\nd -1\ne 18446744073709551615\n"
                                        "f 18446744073709551616\ng  7\nh 1 2\n\ni 9"),
                     0);
    assert_int_equal(l.n, 4);
    assert_true(top_list_get(&l, "a") == 1 && top_list_get(&l, "g") == 7);
    assert_true(top_list_get(&l, "e") == UINT64_MAX && top_list_get(&l, "i") == 9);
    uint64_t value;
    assert_false(top_list_find(&l, "b", &value));
    top_list_free(&l);
}

static void a_long_name_is_cut_and_a_long_file_too(void **state)
{
    struct top_list l = {0};
    char line[200];
    memset(line, 'x', sizeof(line));
    strcpy(line + 100, " 5\n");
    assert_int_equal(top_list_parse(&l, line), 0);
    assert_int_equal(l.n, 1);
    assert_int_equal(strlen(l.pairs[0].name), TOP_NAME_BYTES - 1);
    char *many = malloc(4 * (TOP_PAIRS_MAX + 10) + 1);
    for (unsigned i = 0; i < TOP_PAIRS_MAX + 10; i++)
        memcpy(many + 4 * i, "x 1\n", 5);
    assert_int_equal(top_list_parse(&l, many), 0);
    assert_int_equal(l.n, TOP_PAIRS_MAX);
    free(many);
    top_list_free(&l);
}

static void cores_are_in_the_order_of_their_numbers(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    assert_int_equal(p.now.n_cores, 2);
    assert_string_equal(p.now.cores[0].name, "2");
    assert_string_equal(p.now.cores[1].name, "10");
    assert_string_equal(p.now.cores[0].state, "running");
    assert_string_equal(p.now.cores[1].state, "-");
    assert_string_equal(p.now.version, "c10m 0.1.0");
    end(&p);
}

static void rates_are_by_the_servers_clock(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    const double *fig = p.figures.rows[0].fig;
    assert_false(p.figures.since_start);
    near(fig[TOP_rx_pps], 2000);
    near(fig[TOP_tx_pps], 1000);
    near(fig[TOP_rx_bps], 1600000);
    near(fig[TOP_tx_bps], 800000);
    near(fig[TOP_conns], 4);
    near(fig[TOP_cps], 4);
    near(fig[TOP_drops], 4);
    near(fig[TOP_busy], 80);  // 8,000 of 10,000 cycles
    near(fig[TOP_cpp], 3);    // 6,000 for 2,000 packets
    near(fig[TOP_app], 1);
    near(p.figures.total.fig[TOP_rx_pps], 2000);
    near(p.figures.total.fig[TOP_conns], 5);
    near(p.figures.connections_max, 16);
    end(&p);
}

static void latency_is_of_the_interval(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    near(p.figures.rows[0].fig[TOP_p50], 50);
    near(p.figures.rows[0].fig[TOP_p99_9], 100);  // 990 of 50 ns, 9 of 100, 1 of 900
    assert_true(isnan(p.figures.rows[1].fig[TOP_p50]));
    near(p.figures.total.fig[TOP_p99_9], 100);
    end(&p);
}

static void without_a_reading_before_it_is_the_mean_since_start(void **state)
{
    struct pair p = two_readings();
    assert_int_equal(top_compute(&p.figures, &p.before, NULL), 0);
    assert_true(p.figures.since_start);
    near(p.figures.rows[0].fig[TOP_rx_pps], 100);
    near(p.figures.rows[0].fig[TOP_p50], 10);
    end(&p);
}

static void a_core_that_was_reset_counts_from_zero(void **state)
{
    struct pair p = two_readings();
    set(&p.f, "cores/2/counters", "rx_packets 50\nrx_bytes 200000\nconnections_now 9\n");
    compare(&p);
    near(p.figures.rows[0].fig[TOP_rx_pps], 50);
    near(p.figures.rows[0].fig[TOP_rx_bps], 1600000);  // all of it, not what it grew
    end(&p);
}

static void a_gauge_that_falls_is_no_reset(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    assert_non_null(p.figures.rows[0].before);
    end(&p);
}

static void another_server_counts_from_its_start(void **state)
{
    struct pair p = two_readings();
    set(&p.f, "uptime", "2.00\n");
    compare(&p);
    assert_true(p.figures.since_start);
    near(p.figures.rows[0].fig[TOP_rx_pps], 1500);
    end(&p);
}

static void no_time_between_two_readings_gives_no_rate(void **state)
{
    struct pair p = two_readings();
    set(&p.f, "uptime", "10.00\n");
    compare(&p);
    assert_true(isnan(p.figures.rows[0].fig[TOP_rx_pps]));
    end(&p);
}

static void cores_may_come_and_go(void **state)
{
    struct pair p = two_readings();
    p.f.cores = "2\n3\n";
    set(&p.f, "cores/3/counters", "rx_packets 77\n");
    compare(&p);
    assert_int_equal(p.figures.n_rows, 2);
    near(p.figures.rows[1].fig[TOP_rx_pps], 77);
    end(&p);
}

static void what_is_no_server_is_refused(void **state)
{
    struct fake f = begin();
    struct top_sample s = {0};
    f.failure = -ECONNREFUSED;
    assert_int_equal(top_sample_take(&s, &f.source), -ECONNREFUSED);
    f.failure = 0;
    set(&f, "uptime", "soon\n");
    assert_int_equal(top_sample_take(&s, &f.source), -EPROTO);
    set(&f, "uptime", "nan\n");
    assert_int_equal(top_sample_take(&s, &f.source), -EPROTO);
    top_sample_free(&s);
}

static void rows_sort_by_any_column_both_ways(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    struct top_row *rows = p.figures.rows;
    top_sort(&p.figures, TOP_core, true);
    assert_string_equal(rows[0].now->name, "10");
    top_sort(&p.figures, TOP_core, false);
    assert_string_equal(rows[0].now->name, "2");
    top_sort(&p.figures, TOP_conns, false);
    assert_string_equal(rows[0].now->name, "2");
    top_sort(&p.figures, TOP_conns, true);
    assert_string_equal(rows[0].now->name, "10");
    top_sort(&p.figures, TOP_p50, true);  // unknown: last either way
    assert_string_equal(rows[0].now->name, "2");
    top_sort(&p.figures, TOP_state, false);
    assert_string_equal(rows[0].now->name, "10");
    end(&p);
}

static void figures_fit_five_characters(void **state)
{
    static const struct {
        double value;
        const char *text, *time;
    } cases[] = {{0, "0", "0n"},
                 {0.34, "0.3", "0n"},
                 {9.97, "10", "10n"},
                 {999.4, "999", "999n"},
                 {999.6, "1000", "1.00u"},
                 {9999, "9999", "10.0u"},
                 {12345, "12.3k", "12.3u"},
                 {999600, "1.00M", "1.00m"},
                 {123456789, "123M", "123m"},
                 {1e9, "1.00G", "1.00s"},
                 {9.9951e12, "10.0T", "9995s"},
                 {1e30, "huge", "huge"},
                 {NAN, "-", "-"}};
    char out[TOP_SHORT_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(cases); i++) {
        assert_string_equal(top_short(out, cases[i].value), cases[i].text);
        assert_string_equal(top_short_ns(out, cases[i].value), cases[i].time);
    }
    for (double v = 1e-3; v < 1e21; v *= 1.07)
        assert_true(strlen(top_short(out, v)) <= 5 && strlen(top_short_ns(out, v)) <= 5);
}

static void columns_go_by_rank_where_it_is_narrow(void **state)
{
    enum top_column fit[TOP_COLUMNS];
    assert_int_equal(top_fit(top_width(), fit), TOP_COLUMNS);
    assert_int_equal(top_fit(1, fit), 3);  // core, packets received, busy: they stay
    assert_true(fit[0] == TOP_core && fit[1] == TOP_rx_pps && fit[2] == TOP_busy);
    unsigned n = top_fit(80, fit), width = 0, before = 0;
    for (unsigned i = 0; i < n; i++)
        width += top_columns[fit[i]].width;
    assert_true(width <= 80 && n == 13);
    for (unsigned cols = 0; cols < 200; cols++, before = n) {
        n = top_fit(cols, fit);
        assert_true(cols == 0 || n >= before);
    }
}

static struct top_grid grid;

static const char *line(unsigned y)
{
    static char out[TOP_COLS_MAX + 1];
    top_line(&grid, y, out);
    return out;
}

static void draw(const struct top_figures *f, struct top_ui *ui, unsigned rows, unsigned cols)
{
    top_grid_clear(&grid, rows, cols);
    top_draw(&grid, f, ui);
}

static void the_table_fits_80_by_24(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.sort = TOP_core, .interval_s = 1};
    compare(&p);
    top_sort(&p.figures, ui.sort, false);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(0), "");  // a server without a verdict
    assert_string_equal(line(1), "c10m 0.1.0   up 00:00:11   2 cores   every 1 s");
    assert_string_equal(line(2),
                        "packets/s in 2000 out 1000   bits/s in 1.60M out 800k   drops/s 4");
    assert_string_equal(line(3), "connections 5 of 16   new/s 4   busy 80 %   latency p50 50n "
                                 "p99.9 100n");
    assert_string_equal(line(4), "memory 1 MiB, 4 KiB pages   fullest: blocks 100%, timers 30%, "
                                 "packets 6.2%");
    assert_int_equal(grid.look[4][40], TOP_ALARM);  // blocks: no room
    assert_string_equal(line(5), "                packets/s      bits/s connections cyc/p busy "
                                 "drops     latency");
    assert_string_equal(line(6), "core state       in   out    in   out  open new/s stack    %    "
                                 "/s   p50 p99.9");
    assert_string_equal(line(7), "2    running   2000  1000 1.60M  800k     4     4     3   80     "
                                 "4   50n  100n");
    assert_string_equal(line(8), "10   -            0     0     0     0     1     0     -    -     "
                                 "0     -     -");
    assert_non_null(strstr(line(23), "q quit"));
    assert_int_equal(grid.look[6][0], TOP_PICK);    // sorted by core
    assert_int_equal(grid.look[7][65], TOP_ALARM);  // drops
    end(&p);
}

static void what_is_wrong_comes_first_as_far_as_it_fits(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.sort = TOP_core, .interval_s = 1};
    set(&p.f, "verdict", "ok\n");
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(0), "ok");
    set(&p.f, "verdict",
        "alarm 2026-01-01T00:00:00Z link c10m0 down for 12 s\n"
        "warning 2026-01-01T00:00:00Z core 2 preempted 40 % for 3 s\n"
        "note 2026-01-01T00:00:00Z draining: 7 connections left for 1 s\n");
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(0), "link c10m0 down for 12 s; core 2 preempted 40 % for 3 s; 1 more");
    assert_int_equal(grid.look[0][0], TOP_ALARM);
    draw(&p.figures, &ui, 24, 200);
    assert_string_equal(line(0), "link c10m0 down for 12 s; core 2 preempted 40 % for 3 s; "
                                 "draining: 7 connections left for 1 s");
    draw(&p.figures, &ui, 24, 30);
    assert_string_equal(line(0), "link c10m0 down for 12 s; 2 mo");
    set(&p.f, "verdict", "\n\nalarm\nalarm x\n x y z\n");  // of another version
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    end(&p);
}

static void pages_show_services_ports_and_drops_with_help(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.interval_s = 1};
    p.f.apps = "web\n";
    p.f.ports = "p0\n";
    set(&p.f, "apps/web/state",
        "application http\nstate draining\nports 80\nconnections_now 60\nconnections_max 60\n");
    set(&p.f, "apps/web/counters", "requests 5000\nfailed 0\nopen_now 9\n");
    set(&p.f, "ports/p0/driver", "driver af_packet\ndevice va\n");
    set(&p.f, "ports/p0/link", "status down\nspeed_mbps 0\n");
    set(&p.f, "ports/p0/counters", "rx_packets 90\nrx_bytes 1000\nrx_missed 7\ntx_errors 0\n");
    set(&p.f, "net/drop_reasons",
        "ip_short rx peer a help text that is longer than what stands beside the number at 80\n");
    compare(&p);
    ui.shows = TOP_PAGE_SERVICES;
    draw(&p.figures, &ui, 24, 80);
    assert_non_null(strstr(line(6), "web              draining      60     60"));
    assert_non_null(strstr(line(6), "requests"));
    assert_null(strstr(line(6), "open_now"));
    assert_int_equal(grid.look[6][17], TOP_ALARM);
    ui.shows = TOP_PAGE_PORTS;
    draw(&p.figures, &ui, 24, 80);
    assert_non_null(strstr(line(6), "p0       af_packet down"));
    assert_int_equal(grid.look[6][19], TOP_ALARM);
    assert_true(strlen(line(5)) <= 80);
    assert_non_null(strstr(line(5), "tx err"));
    ui.shows = TOP_PAGE_DROPS;
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(
        line(6), "ip_short                    3      8  a help text that is longer than what");
    assert_string_equal(line(7),
                        "                                      stands beside the number at 80");
    assert_non_null(strstr(line(8), "tx_full                     1      2"));
    for (unsigned rows = 0; rows < 30; rows++)
        for (unsigned cols = 1; cols < 210; cols += 11)
            for (ui.shows = 0; ui.shows < TOP_PAGES; ui.shows++)
                draw(&p.figures, &ui, rows, cols);
    ui.shows = TOP_PAGE_CORES;
    top_ui_key(&ui, '4', &p.figures);
    assert_int_equal(ui.shows, TOP_PAGE_DROPS);
    top_ui_key(&ui, 'q', &p.figures);
    assert_true(ui.shows == TOP_PAGE_CORES && !ui.quit);
    end(&p);
}

static void drop_reasons_have_their_help(void **state)
{
    struct pair p = two_readings();
    set(&p.f, "net/drop_reasons",
        "ip_short rx peer frame ends inside the IPv4 header\nbad\ntx_full tx lack port is full\n");
    compare(&p);
    assert_string_equal(top_help(&p.now, "ip_short"), "frame ends inside the IPv4 header");
    assert_string_equal(top_help(&p.now, "tx_full"), "port is full");
    assert_string_equal(top_help(&p.now, "none"), "");
    end(&p);
}

static void every_size_of_screen_can_be_drawn(void **state)
{
    struct pair p = two_readings();
    compare(&p);
    for (unsigned rows = 0; rows < 60; rows += 3)
        for (unsigned cols = 1; cols < 300; cols += 7)
            for (unsigned k = 0; k < 8; k++) {
                struct top_ui ui = {.interval_s = 1, .help = k & 1, .zoom = k & 2};
                ui.stale = k & 4;
                draw(k == 7 ? NULL : &p.figures, &ui, rows, cols);
            }
    top_grid_clear(&grid, 9999, 9999);
    assert_true(grid.rows == TOP_ROWS_MAX && grid.cols == TOP_COLS_MAX);
    end(&p);
}

static void zoom_shows_stages_drops_and_queues(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.interval_s = 1, .zoom = true};
    set(&p.f, "cores/2/queues", "rx_depth 17\nhandoff_depth 3\n");
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(5), "core 2  running  cpu 2");
    assert_non_null(strstr(line(9), "stage"));
    assert_non_null(strstr(line(10), "rx             60.0%      3 #######"));
    assert_non_null(strstr(line(10), "ip_short                    3      8"));
    assert_non_null(strstr(line(11), "tx_full                     1      2"));
    assert_null(strstr(line(12), "tcp_short"));  // never happened
    assert_non_null(strstr(line(13), "rx_depth"));
    assert_non_null(strstr(line(20), "idle           20.0%"));
    draw(&p.figures, &ui, 40, 60);  // drops below the stages
    assert_non_null(strstr(line(22), "ip_short"));
    end(&p);
}

static void zoom_shows_the_highest_use_of_pools_the_fullest_first(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.interval_s = 1, .zoom = true};
    set(&p.f, "cores/2/pools",
        "blocks_size 100\nblocks_free_now 99\nblocks_used_now 1\nblocks_used_high 25\n"
        "packets_size 1000\npackets_free_now 500\npackets_used_now 500\npackets_used_high 900\n"
        "time_wait6_size 0\ntime_wait6_used_high 0\n");
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_non_null(strstr(line(21), "pools, highest use"));
    assert_non_null(strstr(line(22), "packets 90.0%  blocks 25.0%"));
    assert_null(strstr(line(22), "time_wait6"));  // there is none
    end(&p);
}

static void trouble_is_said_and_old_figures_stay(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.interval_s = 1, .stale = true, .trouble = "no server at x\x1b: gone"};
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(0), "no server at x?: gone; trying again");  // no control character
    assert_non_null(strstr(line(7), "2000"));
    assert_int_equal(grid.look[7][0], TOP_DIM);
    ui.zoom = true;
    set(&p.f, "cores/2/state",
        "state stalled\nfor_ms 7\nstalled for 7 ms in stage app of application bad\nturn 1\n");
    compare(&p);
    draw(&p.figures, &ui, 24, 80);
    assert_string_equal(line(5), "core 2  stalled for 7 ms in stage app of application bad");
    draw(NULL, &ui, 24, 80);
    assert_string_equal(line(0), "no server at x?: gone; trying again");
    end(&p);
}

static void keys_choose_column_row_and_core(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.sort = TOP_core, .interval_s = 1};
    compare(&p);
    top_ui_key(&ui, 's', &p.figures);
    assert_int_equal(ui.sort, TOP_state);
    top_ui_key(&ui, 'd', &p.figures);
    assert_true(ui.sort == TOP_drops && !ui.reverse);
    top_ui_key(&ui, 'd', &p.figures);
    assert_true(ui.sort == TOP_drops && ui.reverse);
    top_ui_key(&ui, 'r', &p.figures);
    assert_false(ui.reverse);
    top_ui_key(&ui, TOP_KEY_DOWN, &p.figures);
    assert_string_equal(ui.selected, "10");
    top_ui_key(&ui, TOP_KEY_DOWN, &p.figures);
    assert_string_equal(ui.selected, "10");
    top_ui_key(&ui, TOP_KEY_PAGE_UP, &p.figures);
    assert_string_equal(ui.selected, "2");
    top_ui_key(&ui, '\n', &p.figures);
    assert_true(ui.zoom);
    top_ui_key(&ui, 'q', &p.figures);
    assert_true(!ui.zoom && !ui.quit);
    top_ui_key(&ui, 'q', &p.figures);
    assert_true(ui.quit);
    end(&p);
}

static void no_two_keys_are_the_same(void **state)
{
    for (unsigned c = 0; c < TOP_COLUMNS; c++) {
        assert_null(strchr("qhzsSrpkj+-? ", top_columns[c].key));
        for (unsigned d = 0; d < c; d++)
            assert_int_not_equal(top_columns[c].key, top_columns[d].key);
    }
}

static void the_interval_moves_in_steps_within_bounds(void **state)
{
    static const struct top_figures none;
    struct top_ui ui = {.interval_s = 1};
    assert_true(top_ui_key(&ui, '+', &none));
    near(ui.interval_s, 2);
    for (unsigned i = 0; i < 20; i++)
        top_ui_key(&ui, '+', &none);
    near(ui.interval_s, TOP_INTERVAL_S_MAX);
    for (unsigned i = 0; i < 20; i++)
        top_ui_key(&ui, '-', &none);
    near(ui.interval_s, TOP_INTERVAL_S_MIN);
    for (int key = -5; key < 600; key++)  // no key does harm without a server
        top_ui_key(&ui, key, &none);
}

static void the_selected_row_stays_on_the_screen(void **state)
{
    struct pair p = two_readings();
    struct top_ui ui = {.sort = TOP_core, .interval_s = 1};
    compare(&p);
    draw(&p.figures, &ui, TOP_HEAD_ROWS + TOP_FOOT_ROWS + 1, 80);  // room for one core
    assert_memory_equal(line(7), "2 ", 2);
    top_ui_key(&ui, TOP_KEY_DOWN, &p.figures);
    draw(&p.figures, &ui, TOP_HEAD_ROWS + TOP_FOOT_ROWS + 1, 80);
    assert_memory_equal(line(7), "10", 2);
    end(&p);
}

static int parse(const char *words, struct top_options *o)
{
    static char copy[200];
    char *argv[16] = {"top"}, *rest = copy;
    int argc = 1;
    strcpy(copy, words);
    for (char *w; (w = strsep(&rest, " ")) != NULL;)
        argv[argc++] = w;
    return top_options_parse(argc, argv, o);
}

static void options_are_checked(void **state)
{
    struct top_options o;
    assert_int_equal(parse("-b -n 3 -d 0.5 -w 100 -s /x", &o), 0);
    assert_true(o.batch && o.iterations == 3 && o.cols == 100 && o.interval_s == 0.5);
    static const char *const bad[] = {"-d 0",  "-d x",    "-d nan",      "-n 0",  "-n -1",
                                      "-n 1x", "-w 9999", "-s /x -m /y", "extra", "--nonsense"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(parse(bad[i], &o), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_that_are_no_number_are_left_out),
        cmocka_unit_test(a_long_name_is_cut_and_a_long_file_too),
        cmocka_unit_test(cores_are_in_the_order_of_their_numbers),
        cmocka_unit_test(rates_are_by_the_servers_clock),
        cmocka_unit_test(latency_is_of_the_interval),
        cmocka_unit_test(without_a_reading_before_it_is_the_mean_since_start),
        cmocka_unit_test(a_core_that_was_reset_counts_from_zero),
        cmocka_unit_test(a_gauge_that_falls_is_no_reset),
        cmocka_unit_test(another_server_counts_from_its_start),
        cmocka_unit_test(no_time_between_two_readings_gives_no_rate),
        cmocka_unit_test(cores_may_come_and_go),
        cmocka_unit_test(what_is_no_server_is_refused),
        cmocka_unit_test(rows_sort_by_any_column_both_ways),
        cmocka_unit_test(figures_fit_five_characters),
        cmocka_unit_test(columns_go_by_rank_where_it_is_narrow),
        cmocka_unit_test(the_table_fits_80_by_24),
        cmocka_unit_test(what_is_wrong_comes_first_as_far_as_it_fits),
        cmocka_unit_test(pages_show_services_ports_and_drops_with_help),
        cmocka_unit_test(drop_reasons_have_their_help),
        cmocka_unit_test(every_size_of_screen_can_be_drawn),
        cmocka_unit_test(zoom_shows_stages_drops_and_queues),
        cmocka_unit_test(zoom_shows_the_highest_use_of_pools_the_fullest_first),
        cmocka_unit_test(trouble_is_said_and_old_figures_stay),
        cmocka_unit_test(keys_choose_column_row_and_core),
        cmocka_unit_test(no_two_keys_are_the_same),
        cmocka_unit_test(the_interval_moves_in_steps_within_bounds),
        cmocka_unit_test(the_selected_row_stays_on_the_screen),
        cmocka_unit_test(options_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
