// SPDX-License-Identifier: BSD-3-Clause
// What `c10m load` takes and refuses.
#include <string.h>

#include "load/load_options.h"
#include "tests/unit/check.h"

enum { ARGS_MAX = 24 };

// Parses a line of words. As load_options_parse().
static int parse(const char *line, struct load_options *o, struct err *err)
{
    char copy[256], *argv[ARGS_MAX + 1];
    int argc = 0;
    snprintf(copy, sizeof(copy), "load %s", line);
    for (char *rest = copy, *word; (word = strsep(&rest, " ")) != NULL;)
        if (*word != '\0' && argc < ARGS_MAX)
            argv[argc++] = word;
    argv[argc] = NULL;
    err->text[0] = '\0';
    return load_options_parse(argc, argv, o, err);
}

static void refused(const char *line, const char *why)
{
    struct load_options o;
    struct err err;
    assert_int_equal(parse(line, &o, &err), -1);
    assert_string_equal(err.text, why);
}

static struct load_options good(const char *line)
{
    struct load_options o;
    struct err err;
    if (parse(line, &o, &err) != 0)
        fail_msg("%s: %s", line, err.text);
    return o;
}

static void each_load_has_its_defaults(void **state)
{
    (void)state;
    struct load_options o = good("hold");
    assert_int_equal(o.kind, LOAD_HOLD);
    assert_int_equal(o.connections, 1000000);
    assert_int_equal(o.rounds, 3);
    assert_int_equal(o.window, 1024);
    assert_int_equal(o.payload, 64);
    assert_int_equal(o.seed, 1);
    assert_int_equal(o.order, LOAD_RANDOM);
    assert_int_equal(o.client_cpu, 0);
    assert_int_equal(o.server_cpu, 1);
    assert_true(o.timestamps && !o.close && !o.json && !o.quiet);
    assert_false(load_faults_on(&o.faults));
    o = good("request");
    assert_int_equal(o.kind, LOAD_REQUEST);
    assert_int_equal(o.connections, 1000);
    assert_true(o.seconds == 5);
}

static void every_option_says_what_it_says(void **state)
{
    (void)state;
    struct load_options o = good("hold --connections 10M --rounds=2 --order turn --payload 1400 "
                                 "--window 2k --close --no-timestamps --json --quiet --seed 77");
    assert_int_equal(o.connections, 10000000);
    assert_int_equal(o.rounds, 2);
    assert_int_equal(o.order, LOAD_IN_TURN);
    assert_int_equal(o.payload, 1400);
    assert_int_equal(o.window, 2000);
    assert_int_equal(o.seed, 77);
    assert_true(o.close && !o.timestamps && o.json && o.quiet);
    o = good("request --seconds 0.25 --hugepage 2M --cpus 1,0");
    assert_true(o.seconds == 0.25);
    assert_int_equal(o.pages, PAGES_2M);
    assert_int_equal(o.client_cpu, 1);
    assert_int_equal(o.server_cpu, 0);
    assert_int_equal(good("hold --connections 200M").connections, 200000000);
}

static void faults_are_percentages_in_any_order(void **state)
{
    (void)state;
    struct load_faults f =
        good("hold --fault loss=2,reorder=2.5,duplicate=1,corrupt=0.01,delay=3,falsify=100").faults;
    assert_int_equal(f.loss_ppm, 20000);
    assert_int_equal(f.reorder_ppm, 25000);
    assert_int_equal(f.duplicate_ppm, 10000);
    assert_int_equal(f.corrupt_ppm, 100);
    assert_int_equal(f.delay_ms, 3);
    assert_int_equal(f.falsify_ppm, 1000000);
    assert_true(load_faults_on(&f));
    f = good("hold --fault falsify=1").faults;
    assert_false(load_faults_on(&f));  // the wire is clean: it is the server that lies
    f = good("hold --fault delay=1 --fault loss=0").faults;
    assert_true(load_faults_on(&f));
}

#define FAULT_EXPECTED                                                                             \
    ": expected loss, reorder, duplicate, corrupt, falsify (percent, 0 to 100) or delay (ms, 0 "   \
    "to "                                                                                          \
    "10000), each as NAME=NUMBER, separated by commas"

static void faults_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "los=1",     "loss",        "loss=",   "loss=x",  "loss=-1",
        "loss=101",  "loss=nan",    "loss=1,", ",loss=1", "loss=1,,x=2",
        "delay=1.5", "delay=10001", "=1",      "loss=1%", "loss=1;reorder=2",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char line[128], why[512];
        snprintf(line, sizeof(line), "hold --fault %s", bad[i]);
        snprintf(why, sizeof(why), "--fault %s" FAULT_EXPECTED, bad[i]);
        refused(line, why);
    }
}

static void a_number_out_of_range_or_with_a_tail_is_refused_with_the_range(void **state)
{
    (void)state;
    refused("hold --connections 0", "--connections 0: expected 1 to 200M");
    refused("hold --connections 201M", "--connections 201M: expected 1 to 200M");
    refused("hold --connections -1", "--connections -1: expected 1 to 200M");
    refused("hold --connections 1kk", "--connections 1kk: expected 1 to 200M");
    refused("hold --connections 18446744073709551617",
            "--connections 18446744073709551617: expected 1 to 200M");
    refused("hold --connections 18446744073709552k",
            "--connections 18446744073709552k: expected 1 to 200M");
    refused("rate --rate 1k --life 0", "--life 0: expected 1 to 3600");
    refused("rate --give-up 100", "--give-up requires --rate and cannot be used with --life");
    refused("request --rate 1k --give-up 0", "--give-up 0: expected 1 to 60000");
    refused("hold --give-up 1", "--give-up cannot be used with hold");
    refused("hold --life 1", "--life cannot be used with hold");
    refused("rate --life 1", "--life requires --rate and --closed-by client");
    refused("rate --rate 1k --life 1 --closed-by server",
            "--life requires --rate and --closed-by client");
    refused("hold --rounds x", "--rounds x: expected 1 to 1M");
    refused("hold --rounds 0", "--rounds 0: expected 1 to 1M");
    refused("hold --payload 7", "--payload 7: expected 8 to 1400");
    refused("hold --payload 1401", "--payload 1401: expected 8 to 1400");
    refused("hold --window 2049", "--window 2049: expected 1 to 2048");
    refused("hold --seed 1x", "--seed 1x: expected a number");
    refused("request --seconds 0", "--seconds 0: expected more than 0, at most 86400");
    refused("request --seconds inf", "--seconds inf: expected more than 0, at most 86400");
    refused("hold --order up", "--order up: expected random or turn");
    refused("hold --hugepage 4K", "--hugepage 4K: expected auto, 2M, 1G or none");
}

static void a_stream_has_a_direction_a_window_and_the_ports_of_inetd(void **state)
{
    (void)state;
    struct load_options o = good("stream");
    assert_int_equal(o.kind, LOAD_STREAM);
    assert_int_equal(o.connections, 8);
    assert_int_equal(o.direction, LOAD_DOWN);
    assert_int_equal(o.receive_window, 0);
    assert_int_equal(o.server_port, 19);
    o = good("stream --direction up --receive-window 64k --seconds 2 --connections 64");
    assert_int_equal(o.direction, LOAD_UP);
    assert_int_equal(o.receive_window, 64000);
    assert_int_equal(o.server_port, 9);
    assert_int_equal(good("stream -c f --server 10.0.0.1:80").server_port, 80);
    assert_int_equal(good("stream -c f --server 10.0.0.1").server_port, 19);
    assert_false(o.reopen);
    assert_true(good("stream --reopen").reopen);
    refused("request --reopen", "--reopen cannot be used with request");
    o = good("stream --direction both -c f --server 10.0.0.1");
    assert_int_equal(o.direction, LOAD_BOTH);
    assert_int_equal(o.server_port, 7);
    refused("stream --direction sideways", "--direction sideways: expected down, up or both");
    refused("stream --receive-window 2919", "--receive-window 2919: expected 2920 to 8M");
    refused("stream --receive-window 9M", "--receive-window 9M: expected 2920 to 8M");
    refused("stream --payload 64", "--payload cannot be used with stream");
    refused("stream --rounds 3", "--rounds cannot be used with stream");
    refused("request --direction up", "--direction cannot be used with request");
}

static void datagrams_have_frames_of_64_bytes_and_a_rate(void **state)
{
    (void)state;
    struct load_options o = good("udp");
    assert_int_equal(o.kind, LOAD_UDP);
    assert_int_equal(o.payload, 18);
    assert_int_equal(o.connections, 1000);
    assert_int_equal(o.rate, 0);
    assert_int_equal(o.server_port, 7);
    o = good("udp --rate 2M --payload 1400 --seconds 2 --connections 64 --window 256");
    assert_int_equal(o.rate, 2000000);
    assert_int_equal(o.payload, 1400);
    assert_int_equal(good("request --rate 100k").rate, 100000);
    refused("udp --close", "--close cannot be used with udp");
    refused("udp --no-timestamps", "--no-timestamps cannot be used with udp");
    refused("udp --rounds 3", "--rounds cannot be used with udp");
    refused("request --rate 0", "--rate 0: expected 1 to 10M");
    refused("hold --rate 5", "--rate cannot be used with hold");
    refused("stream --rate 5", "--rate cannot be used with stream");
}

static void http_has_a_path_a_root_here_and_a_port_of_its_own(void **state)
{
    (void)state;
    struct load_options o = good("request --protocol http --path /x --root /srv");
    assert_true(o.http);
    assert_string_equal(o.path, "/x");
    assert_string_equal(o.root, "/srv");
    assert_int_equal(o.server_port, 80);
    o = good("hold --protocol http -c f --server 10.0.0.1:8080");
    assert_string_equal(o.path, "/");
    assert_int_equal(o.server_port, 8080);
    assert_false(good("hold --protocol echo").http);
    refused("hold --protocol gopher", "--protocol gopher: expected echo or http");
    refused("hold --protocol http", "--protocol http requires --root DIR or --config FILE");
    refused("hold --path /x", "--path requires --protocol http");
    refused("hold --root /x", "--root requires --protocol http");
    refused("hold --protocol http --root / --path x",
            "--path x: expected a slash and at most 399 printable characters");
    refused("hold --protocol http --root / --payload 9",
            "--protocol http cannot be used with --payload or falsify");
    refused("stream --protocol http", "--protocol cannot be used with stream");
}

static void two_different_cpus_of_the_machine_are_wanted(void **state)
{
    (void)state;
    static const char *const bad[] = {"0", "0,0", "0,", ",1", "0,1,2", "0,9999", "a,b", "0;1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char line[64], why[256];
        snprintf(line, sizeof(line), "hold --cpus %s", bad[i]);
        snprintf(why, sizeof(why),
                 "--cpus %s: expected two different CPUs of this machine, as in 0,1", bad[i]);
        refused(line, why);
    }
}

static void an_option_of_the_other_load_is_refused(void **state)
{
    (void)state;
    refused("request --rounds 3", "--rounds cannot be used with request");
    refused("hold --seconds 3", "--seconds cannot be used with hold");
}

static void a_server_elsewhere_is_named_with_a_configuration(void **state)
{
    (void)state;
    struct load_options o = good("hold -c client.conf --server 10.0.0.1:70 -s cpu.workers=0 --set "
                                 "port.m.id=3 --clients 10.64.0.1");
    assert_string_equal(o.config, "client.conf");
    assert_int_equal(o.n_sets, 2);
    assert_string_equal(o.sets[0], "cpu.workers=0");
    assert_string_equal(o.sets[1], "port.m.id=3");
    assert_true(ip_is_v4(&o.server));
    assert_int_equal(ip_to_v4(&o.server), 0x0a000001);
    assert_false(o.v6);
    assert_int_equal(o.server_port, 70);
    assert_int_equal(ip_to_v4(&o.clients), 0x0a400001);
    assert_true(o.close);  // nothing is left open there
    assert_int_equal(o.connections, 1000);
    o = good("request --config=f --server 10.0.0.1");
    assert_int_equal(o.server_port, 7);
    assert_true(ip_is_zero(&o.clients));
}

static void a_server_over_ipv6_is_named_with_or_without_its_port(void **state)
{
    (void)state;
    static const struct ip_addr want = {{0xfd, 0x99, [15] = 1}};
    static const struct {
        const char *line;
        uint16_t port;
    } good_ones[] = {{"hold -c f --server [fd99::1]:70", 70},
                     {"hold -c f --server fd99::1", 7},
                     {"hold -c f --server [fd99::1] --clients fd99::2", 7}};
    for (size_t i = 0; i < ARRAY_LEN(good_ones); i++) {
        const struct load_options o = good(good_ones[i].line);
        assert_true(o.v6);
        assert_true(ip_equal(&o.server, &want));
        assert_int_equal(o.server_port, good_ones[i].port);
    }
    refused("hold -c f --server fd99::1 --clients 10.0.0.1",
            "--clients: expected an address of the server's family");
    refused("hold -c f --server fd99::1 --family 6", "--family cannot be used with --config");
    refused("hold --family 5", "--family 5: expected 4 or 6");
    assert_true(good("hold --family 6").v6);
    assert_false(good("hold --family 4").v6);
}

static void what_belongs_to_a_server_elsewhere_or_here_is_refused_with_the_other(void **state)
{
    (void)state;
    refused("hold -c f", "--config requires --server ADDRESS");
    refused("hold --server 10.0.0.1", "--server requires --config");
    refused("hold --clients 10.0.0.1", "--clients requires --config");
    refused("hold -s a.b=c", "--set requires --config");
    refused("hold -c f --server 10.0.0.1 --fault loss=1", "--fault cannot be used with --config");
    refused("hold -c f --server 10.0.0.1 --cpus 0,1", "--cpus cannot be used with --config");
    refused("hold -c f --server 10.0.0.1 --workers 1", "--workers cannot be used with --config");
    refused("hold -c f --server 10.0.0.1 --hugepage none",
            "--hugepage cannot be used with --config");
    static const char *const bad[] = {
        "10.0.0",   "10.0.0.1:",   "10.0.0.1:0",   "10.0.0.1:65536",
        ":7",       "0.0.0.0",     "10.0.0.1:7:7", "255.255.255.255:65535:65535:65535",
        "[]",       "[",           "::",           "[::]:7",
        "[fd99::1", "[fd99::1]:0", "0.0.0.0:7",    "fd99:1:2:3:4:5:6:7:8"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        char line[128], why[256];
        snprintf(line, sizeof(line), "hold -c f --server %s", bad[i]);
        snprintf(
            why, sizeof(why),
            "--server %s: expected an address with a port from 1 to 65535, as in 10.0.0.1:7 or "
            "[fd99::1]:7",
            bad[i]);
        refused(line, why);
    }
    refused("hold -c f --clients x", "--clients x: expected an address");
    refused("hold -c", "-c: expected a value");
}

static void what_is_no_load_or_no_option_is_named(void **state)
{
    (void)state;
    refused("", "expected a load: hold, request, stream, rate, syn or udp; see --help");
    refused("held", "held: expected hold, request, stream, rate, syn or udp; see --help");
    refused("hold --conections 3", "--conections: no such option; see --help");
    refused("hold -x", "-x: no such option; see --help");
    refused("hold 10k", "10k: unexpected argument; see --help");
    refused("hold --connections", "--connections: expected a value");
    refused("hold --json=yes", "--json=yes: no such option; see --help");
}

static void help_is_found_and_lists_every_option_and_load(void **state)
{
    (void)state;
    static const char *const words[] = {
        "hold ",
        "request ",
        "--connections N",
        "--rounds N",
        "--seconds S",
        "--order ORDER",
        "--payload",
        "--window",
        "--close",
        "--no-timestamps",
        "--hugepage",
        "--seed",
        "--cpus",
        "--json",
        "--quiet",
        "--fault LIST",
        "loss",
        "falsify",
        "hold: ",
        "request: ",
        "Exit status",
        "--config FILE",
        "--server A[:PORT]",
        "--clients",
        "--set S.KEY=V",
    };
    struct load_options o;
    struct err err;
    assert_int_equal(parse("--help", &o, &err), 1);
    assert_int_equal(parse("-h", &o, &err), 1);
    assert_int_equal(parse("hold --connections 5 --help", &o, &err), 1);
    struct text help;
    text_init(&help, 1 << 14);
    load_options_help(&help);
    assert_int_equal(help.error, 0);
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        assert_non_null(strstr(text_str(&help), words[i]));
    text_free(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_load_has_its_defaults),
        cmocka_unit_test(every_option_says_what_it_says),
        cmocka_unit_test(faults_are_percentages_in_any_order),
        cmocka_unit_test(faults_that_make_no_sense_are_refused),
        cmocka_unit_test(a_number_out_of_range_or_with_a_tail_is_refused_with_the_range),
        cmocka_unit_test(a_stream_has_a_direction_a_window_and_the_ports_of_inetd),
        cmocka_unit_test(datagrams_have_frames_of_64_bytes_and_a_rate),
        cmocka_unit_test(http_has_a_path_a_root_here_and_a_port_of_its_own),
        cmocka_unit_test(two_different_cpus_of_the_machine_are_wanted),
        cmocka_unit_test(an_option_of_the_other_load_is_refused),
        cmocka_unit_test(a_server_elsewhere_is_named_with_a_configuration),
        cmocka_unit_test(a_server_over_ipv6_is_named_with_or_without_its_port),
        cmocka_unit_test(what_belongs_to_a_server_elsewhere_or_here_is_refused_with_the_other),
        cmocka_unit_test(what_is_no_load_or_no_option_is_named),
        cmocka_unit_test(help_is_found_and_lists_every_option_and_load),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
