// SPDX-License-Identifier: BSD-3-Clause
// The configuration: every error with its exact text, every key from table to struct and back.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "conf/conf.h"
#include "conf/key_table.h"
#include "conf/live.h"
#include "conf/partial.h"
#include "conf/places.h"
#include "conf/spelling.h"
#include "conf/value.h"
#include "tables/driver_table.h"

#define PORT  "[port p]\ndriver=ring\naddress=10.0.0.2/24\n"            // lines 1 to 3
#define TAP   "[port t]\ndriver=tap\ndevice=c0\naddress=10.0.0.2/24\n"  // lines 1 to 4
#define ECHO_ "[service e]\napp=echo\nport=7\n"                         // 3 lines
#define WEB   "[service w]\napp=http\nport=80\nroot=/srv\n"             // 4 lines

static struct conf_host host_of(unsigned n_cpus)
{
    struct conf_host h;
    memset(&h, 0, sizeof(h));
    h.apps = "echo|discard|http|proxy";
    for (unsigned i = 0; i < n_cpus; i++)
        h.cpus.id[h.cpus.n++] = (uint16_t)i;
    return h;
}

// Loads text with up to four overrides on a machine of n_cpus; the error lines go to errors.
static int load_on(unsigned n_cpus, struct conf *c, const char *text, char *const *sets,
                   char errors[16384])
{
    struct conf_host host = host_of(n_cpus);
    struct conf_errors e;
    unsigned n_sets = 0;
    while (sets != NULL && sets[n_sets] != NULL)
        n_sets++;
    conf_errors_init(&e);
    int rc = conf_load_text(c, &host, "f", text, strlen(text), sets, n_sets, &e);
    assert_int_equal(rc, e.n == 0 ? 0 : -1);
    assert_true(e.lines.len < 16384);
    strcpy(errors, text_str(&e.lines));
    conf_errors_free(&e);
    return rc;
}

static struct conf conf_got;
static char errors_got[16384];

// put_drivers: the drivers that a port may have, as a message lists them: "ring, tap or fault".
static void put_drivers(struct text *to)
{
    static const struct {
        const char *name;
        enum driver_kind kind;
    } rows[] = {
#define ROW(name, kind, ...) {#name, DRIVER_##kind},
        DRIVER_TABLE(ROW)
#undef ROW
    };
    unsigned left = 0;
    for (unsigned i = 0; i < DRIVER_COUNT; i++)
        left += rows[i].kind != DRIVER_INTERNAL;
    for (unsigned i = 0; i < DRIVER_COUNT; i++)
        if (rows[i].kind != DRIVER_INTERNAL) {
            left--;
            text_printf(to, "%s%s", rows[i].name, left == 0 ? "" : left == 1 ? " or " : ", ");
        }
}

// DRIVERS in `errors` stands for the list of put_drivers(), so that a new driver is only a new row.
static void expect_on(unsigned n_cpus, const char *text, char *const *sets, const char *errors)
{
    static const char mark[] = "DRIVERS";
    const char *at = strstr(errors, mark);
    struct text expected;
    text_init(&expected, sizeof(errors_got));
    if (at != NULL) {
        text_put(&expected, errors, (size_t)(at - errors));
        put_drivers(&expected);
        errors = at + sizeof(mark) - 1;
    }
    text_printf(&expected, "%s", errors);
    load_on(n_cpus, &conf_got, text, sets, errors_got);
    assert_string_equal(errors_got, text_str(&expected));
    text_free(&expected);
}

static void expect(const char *text, const char *errors)
{
    expect_on(2, text, NULL, errors);
}

#define SETS(...) ((char *const[]){__VA_ARGS__, NULL})

static void expect_sets(const char *text, char *const *sets, const char *errors)
{
    expect_on(2, text, sets, errors);
}

// ---- lines and sections

static void lines_that_are_no_setting_are_told_with_their_number(void **state)
{
    expect("\nnonsense\n[tcp\n= 3\nre tries = 1\n",
           "f:2: expected [section], key = value or # comment, got \"nonsense\"\n"
           "f:3: expected [section], key = value or # comment, got \"[tcp\"\n"
           "f:4: expected [section], key = value or # comment, got \"= 3\"\n"
           "f:5: expected [section], key = value or # comment, got \"re tries = 1\"\n");
    expect("[tcp]\nretries 3\n",
           "f:2: expected [section], key = value or # comment, got \"retries 3\"\n");
}

static void a_key_before_any_section_is_told_once(void **state)
{
    expect("retries = 3\nmtu = 1\n", "f:1: retries: expected a [section] before the first key\n");
}

static void unknown_sections_are_told_with_the_closest_one(void **state)
{
    expect(
        "[prot a]\nx=1\n[udp]\n[]\n[tpc]\n[tcp x]\n[port]\n[port a b]\n[port a.b]\n"
        "[port 12345678901234567890123456789012]\n",
        "f:1: [prot a]: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service "
        "NAME]; did you mean [port NAME]?\n"
        "f:3: [udp]: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service NAME]\n"
        "f:4: []: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service NAME]\n"
        "f:5: [tpc]: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service NAME]; "
        "did you mean [tcp]?\n"
        "f:6: [tcp x]: expected [tcp]\n"
        "f:7: [port]: expected [port NAME], NAME being 1 to 31 letters, digits, - and _\n"
        "f:8: [port a b]: expected [port NAME], NAME being 1 to 31 letters, digits, - and _\n"
        "f:9: [port a.b]: expected [port NAME], NAME being 1 to 31 letters, digits, - and _\n"
        "f:10: [port 12345678901234567890123456789012]: expected [port NAME], NAME being 1 to 31 "
        "letters, digits, - and _\n");
}

static void unknown_keys_are_told_with_the_closest_one_or_their_section(void **state)
{
    expect("[tcp]\nretrys=1\nmtu=2\nwhatever=3\nsynack_retires=1\n",
           "f:2: retrys: expected a key of [tcp]; did you mean retries?\n"
           "f:3: mtu: expected a key of [tcp]; this one belongs to [port NAME]\n"
           "f:4: whatever: expected a key of [tcp]\n"
           "f:5: synack_retires: expected a key of [tcp]; did you mean synack_retries?\n");
    expect(PORT "mtuu=2\n", "f:4: mtuu: expected a key of [port NAME]; did you mean mtu?\n");
}

static void a_section_or_key_given_twice_is_told_with_the_first_line(void **state)
{
    expect("[tcp]\nretries=3\nretries=4\n[memory]\n[tcp]\n",
           "f:3: retries: expected once in a section, got it in line 2 already\n"
           "f:5: [tcp]: expected once, got it in line 1 already\n");
    expect(PORT "[port p]\n", "f:4: [port p]: expected once, got it in line 1 already\n");
}

static void too_many_ports_or_services_are_told(void **state)
{
    struct text t;
    text_init(&t, 1 << 16);
    for (int i = 0; i < CONF_PORTS_MAX + 1; i++)
        text_printf(&t, "[port p%d]\ndriver=memif\ndevice=/s%d\naddress=10.0.%d.1/24\n", i, i, i);
    expect(text_str(&t), "f:65: [port p16]: expected at most 16 of them\n");
    text_free(&t);
    text_printf(&t, PORT);
    for (int i = 0; i < CONF_SERVICES_MAX + 1; i++)
        text_printf(&t, "[service s%d]\napp=echo\nport=%d\n", i, i + 1);
    expect(text_str(&t), "f:100: [service s32]: expected at most 32 of them\n");
    text_free(&t);
}

static void comments_blanks_byte_order_mark_and_crlf_are_read_over(void **state)
{
    expect("\xef\xbb\xbf[tcp]\r\n; c\r\n  retries = 4  # four\r\nsyn_retries=5 ;five\n# x\n\t\n"
           "[control]\nrun_dir=/a#b;c",
           "");
    assert_int_equal(conf_got.tcp.retries, 4);
    assert_int_equal(conf_got.tcp.syn_retries, 5);
    assert_string_equal(conf_got.control.run_dir, "/a#b;c");
}

static void lines_that_are_too_long_or_hold_a_zero_byte_are_told(void **state)
{
    char line[CONF_LINE_BYTES + 16];
    memset(line, 'a', sizeof(line));
    line[CONF_LINE_BYTES] = '\0';
    expect(line, "f:1: expected a line of text of at most 4095 bytes\n");
    line[CONF_LINE_BYTES - 1] = '\0';
    line[0] = '#';
    expect(line, "");
    struct conf_host host = host_of(2);
    struct conf_errors e;
    conf_errors_init(&e);
    assert_int_equal(conf_load_text(&conf_got, &host, "f", "#a\n[tcp]\0\n", 10, NULL, 0, &e), -1);
    assert_string_equal(text_str(&e.lines), "f:2: expected a line of text of at most 4095 bytes\n");
    conf_errors_free(&e);
}

// ---- values

static void a_bad_value_tells_what_was_expected_for_every_type(void **state)
{
    expect(
        "[tcp]\nretries=0\nrto_min_ms=1m\nack_merge=yes\nrst_rate_per_s=-1\n"
        "[memory]\nhugepage=4K\nconnections=100000001\nimage_bytes=5T\npackets=1\n"
        "time_wait=\n[cpu]\nlinux=3-1\nworkers=0,,1\n[control]\nname=a b\nrun_dir=run\n",
        "f:2: retries: expected a whole number from 1 to 30, got \"0\"\n"
        "f:3: rto_min_ms: expected milliseconds from 1 to 60000 (or seconds, as 2s), got \"1m\"\n"
        "f:4: ack_merge: expected on or off, got \"yes\"\n"
        "f:5: rst_rate_per_s: expected a whole number from 0 to 100000000 (k: thousands, M: "
        "millions), got \"-1\"\n"
        "f:7: hugepage: expected auto, 1G, 2M or none, got \"4K\"\n"
        "f:8: connections: expected max or a whole number from 1 to 100000000 (k: thousands, M: "
        "millions), got \"100000001\"\n"
        "f:9: image_bytes: expected auto or bytes from 1 to 1024G (K, M, G: powers of 1024), got "
        "\"5T\"\n"
        "f:10: packets: expected a whole number from 1024 to 10000000 (k: thousands, M: millions), "
        "got \"1\"\n"
        "f:11: time_wait: expected auto or a whole number from 1 to 1000000000 (k: thousands, M: "
        "millions), got nothing\n"
        "f:13: linux: expected auto or a list of core numbers, as 0-1,4, got \"3-1\"\n"
        "f:14: workers: expected auto or a list of core numbers, as 0-1,4, got nothing\n"
        "f:16: name: expected a name of 1 to 31 letters, digits, - and _, got \"a b\"\n"
        "f:17: run_dir: expected an absolute path of at most 80 characters, got \"run\"\n");
}

static void a_bad_value_of_a_port_or_service_tells_what_was_expected(void **state)
{
    expect(
        "[port f]\ndriver=rnig\naddress=10.0.0.2/24,10.0.0/8\ngateway=10.0.0.256\n"
        "neighbor=10.0.0.1\nneighbor=10.0.0.1 01:00:00:00:00:01\nmac=02:00:00:00:00\n"
        "mtu=9001\nrx_ring=100\nloss=100.1\ncorrupt=0.00001\nhost_address=10.0.0.1/33\n"
        "device=a b\nqueues=17\n",
        "f:2: driver: expected DRIVERS, got \"rnig\"\n"
        "f:3: address: expected at most 16 addresses and prefixes, as 10.0.0.2/24, "
        "fd00::2/64, got \"10.0.0/8\"\n"
        "f:4: gateway: expected an IPv4 address, as 10.0.0.1, got \"10.0.0.256\"\n"
        "f:5: neighbor: expected at most 16 neighbors, ADDRESS MAC, as 10.0.0.1 "
        "02:00:00:00:00:01, got \"10.0.0.1\"\n"
        "f:6: neighbor: expected at most 16 neighbors, ADDRESS MAC, as 10.0.0.1 "
        "02:00:00:00:00:01, got \"10.0.0.1 01:00:00:00:00:01\"\n"
        "f:7: mac: expected a unicast MAC address, as 02:00:00:00:00:01, got "
        "\"02:00:00:00:00\"\n"
        "f:8: mtu: expected a whole number from 576 to 9000, got \"9001\"\n"
        "f:9: rx_ring: expected auto or a power of two from 64 to 32768, got \"100\"\n"
        "f:10: loss: expected a percentage from 0 to 100, as 0.5 (at most four decimals), got "
        "\"100.1\"\n"
        "f:11: corrupt: expected a percentage from 0 to 100, as 0.5 (at most four decimals), got "
        "\"0.00001\"\n"
        "f:12: host_address: expected at most 16 addresses and prefixes, as "
        "10.0.0.2/24, fd00::2/64, got \"10.0.0.1/33\"\n"
        "f:13: device: expected at most 255 characters without blanks, got \"a b\"\n"
        "f:14: queues: expected auto or a whole number from 1 to 16, got \"17\"\n");
    expect(PORT "[service e]\napp=echo\nport=7,65536\nkeepalive_ms=999\nsend_buffer=2G\n",
           "f:6: port: expected at most 8 TCP ports from 1 to 65535, as 80, 8080, got \"65536\"\n"
           "f:7: keepalive_ms: expected off or milliseconds from 1000 to 86400000 (or seconds, as "
           "2s), got \"999\"\n"
           "f:8: send_buffer: expected auto or bytes from 2K to 1G (K, M, G: powers of 1024), got "
           "\"2G\"\n");
}

static void numbers_are_refused_at_both_ends_of_every_range(void **state)
{
    char got[VALUE_GOT_BYTES], text[32];
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        uint64_t field = 0;
        if (k->max == 0 || k->type > KEY_MS)
            continue;
        sprintf(text, "%llu", (unsigned long long)k->min);
        assert_true(value_parse(k, &field, text, got));
        assert_int_equal(number_get(&field, k->width), k->min);
        sprintf(text, "%llu", (unsigned long long)k->max);
        assert_true(value_parse(k, &field, text, got));
        assert_true(number_get(&field, k->width) == k->max);
        sprintf(text, "%llu", (unsigned long long)k->max + 1);
        if (k->max < UINT64_MAX)
            assert_false(value_parse(k, &field, text, got));
        sprintf(text, "%llu", (unsigned long long)k->min - 1);
        if (k->min > 1 || (k->min == 1 && k->zero == NULL))
            assert_false(value_parse(k, &field, text, got));
        assert_true(number_get(&field, k->width) == k->max);
    }
}

static void numbers_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "+1",
                                      "-1",
                                      "0x10",
                                      "1e3",
                                      "1 0",
                                      "10 ms",
                                      "1.5",
                                      "١",
                                      "ms",
                                      "k",
                                      "10mss",
                                      "10kk",
                                      "18446744073709551616",
                                      "99999999999999999999999",
                                      "18446744073709551615k",
                                      "18446744073709551615s",
                                      "1\n"};
    static const char *const keys[] = {"retries", "rst_rate_per_s", "rto_min_ms"};
    char got[VALUE_GOT_BYTES];
    uint32_t field = 7;
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        for (unsigned j = 0; j < ARRAY_LEN(keys); j++)
            assert_false(value_parse(key_find(SECTION_tcp, keys[j]), &field, bad[i], got));
    assert_int_equal(field, 7);
}

static void suffixes_multiply_as_the_type_says(void **state)
{
    expect("[memory]\nconnections=10M\npackets=20k\nimage_bytes=2G\n[tcp]\nrto_max_ms=2s\n"
           "rto_min_ms=15ms\n[port p]\ndriver=ring\naddress=10.0.0.2/24\n[service e]\napp=echo\n"
           "port=7\nsend_buffer=128K\nreceive_buffer=1M\n",
           "");
    assert_int_equal(conf_got.memory.connections, 10000000);
    assert_int_equal(conf_got.memory.packets, 20000);
    assert_int_equal(conf_got.memory.image_bytes, UINT64_C(2) << 30);
    assert_int_equal(conf_got.tcp.rto_max_ms, 2000);
    assert_int_equal(conf_got.tcp.rto_min_ms, 15);
    assert_int_equal(conf_got.services[0].send_buffer, 128 << 10);
    assert_int_equal(conf_got.services[0].receive_buffer, 1 << 20);
}

static void a_set_of_words_is_read_and_printed_and_none_is_not_auto(void **state)
{
    static const struct {
        const char *text;
        uint32_t bits;
        const char *printed;
    } rows[] = {
        {"auto", 0, "auto"},
        {"none", CONF_SET_GIVEN, "none"},
        {"tso", CONF_SET_GIVEN | CONF_TSO, "tso"},
        {"rss,rx_checksum , tx_checksum",
         CONF_SET_GIVEN | CONF_RX_CHECKSUM | CONF_TX_CHECKSUM | CONF_RSS,
         "rx_checksum, tx_checksum, rss"},
    };
    const struct key *k = KEY_AT(port, offloads);
    char got[VALUE_GOT_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t set = 9;
        struct text t;
        text_init(&t, 128);
        assert_true(value_parse(k, &set, rows[i].text, got));
        assert_int_equal(set, rows[i].bits);
        value_print(k, &set, &t);
        assert_string_equal(text_str(&t), rows[i].printed);
        text_free(&t);
    }
    static const char *const bad[] = {"",         "lro",       "tso,",      ",tso",    "tso,,rss",
                                      "tso, tso", "none, tso", "auto, tso", "tso rss", "TSO"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        uint32_t set = 9;
        assert_false(value_parse(k, &set, bad[i], got));
        assert_int_equal(set, 9);
    }
    expect("[port f]\ndriver=ring\naddress=10.0.0.2/24\noffloads=tso, lro\n",
           "f:4: offloads: expected auto, none or a list of rx_checksum, tx_checksum, "
           "multi_segment, tso or rss, got \"lro\"\n");
}

static void percentages_keep_four_decimals(void **state)
{
    const struct {
        const char *text;
        uint32_t ppm;
        const char *printed;
    } rows[] = {{"0", 0, "0"},           {"5", 50000, "5"},         {"0.0001", 1, "0.0001"},
                {"100", 1000000, "100"}, {"1.5%", 15000, "1.5000"}, {"99.9999", 999999, "99.9999"}};
    const struct key *k = KEY_AT(port, loss_ppm);
    char got[VALUE_GOT_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        uint32_t ppm = 9;
        struct text t;
        text_init(&t, 64);
        assert_true(value_parse(k, &ppm, rows[i].text, got));
        assert_int_equal(ppm, rows[i].ppm);
        value_print(k, &ppm, &t);
        assert_string_equal(text_str(&t), rows[i].printed);
        text_free(&t);
    }
    static const char *const bad[] = {
        "", ".5", "5.", "-1", "100.0001", "101", "1%%", "1.00001", "99999999999999999999", "%"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        uint32_t ppm = 9;
        assert_false(value_parse(k, &ppm, bad[i], got));
        assert_int_equal(ppm, 9);
    }
}

static void lists_of_cores_are_read_sorted_and_refused_when_wrong(void **state)
{
    const struct key *k = KEY_AT(cpu, workers);
    struct conf_cpus cpus;
    struct text t;
    char got[VALUE_GOT_BYTES];
    text_init(&t, 4096);
    memset(&cpus, 0, sizeof(cpus));
    assert_true(value_parse(k, &cpus, "9, 0-2 ,4,1023,5", got));
    value_print(k, &cpus, &t);
    assert_string_equal(text_str(&t), "0-2,4-5,9,1023");
    text_free(&t);
    assert_true(value_parse(k, &cpus, "0-255", got));
    assert_int_equal(cpus.n, 256);
    static const char *const bad[] = {"0-256", "1024",  "1-", "-1", "1,1",        "0-2,2",
                                      "a",     "1-2-3", ",",  "0,", "4294967296", "1 2"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(value_parse(k, &cpus, bad[i], got));
    assert_int_equal(cpus.n, 256);
}

static void addresses_and_macs_are_refused_when_wrong(void **state)
{
    char got[VALUE_GOT_BYTES];
    uint64_t field[sizeof(struct conf_port) / sizeof(uint64_t)] = {0};  // more than any field
    const struct {
        const struct key *k;
        const char *text;
    } bad[] = {
        {KEY_AT(port, gateway), "0.0.0.0"},
        {KEY_AT(port, gateway), "1.2.3"},
        {KEY_AT(port, gateway), "1.2.3.4.5"},
        {KEY_AT(port, gateway), "1.2.3.4/24"},
        {KEY_AT(port, gateway), "::1"},
        {KEY_AT(port, gateway), "01.2.3.4"},
        {KEY_AT(port, host_address), "1.2.3.4"},
        {KEY_AT(port, host_address), "1.2.3.4/"},
        {KEY_AT(port, host_address), "1.2.3.4/0"},
        {KEY_AT(port, host_address), "1.2.3.4/+8"},
        {KEY_AT(port, host_address), "/24"},
        {KEY_AT(port, gateway), "fd00::1"},
        {KEY_AT(port, gateway6), "10.0.0.1"},
        {KEY_AT(port, gateway6), "::"},
        {KEY_AT(port, gateway6), "fd00::1::2"},
        {KEY_AT(port, gateway6), "fd00::1%lo"},
        {KEY_AT(port, gateway6), "[fd00::1]"},
        {KEY_AT(port, gateway6), "::ffff:10.0.0.1"},
        {KEY_AT(port, address), "fd00::1"},
        {KEY_AT(port, address), "fd00::1/0"},
        {KEY_AT(port, address), "fd00::1/129"},
        {KEY_AT(port, address), "fd00::12345/64"},
        {KEY_AT(port, address), "0:0:0:0:0:0:0:0:1/64"},
        {KEY_AT(port, route), "fd00::/64 via"},
        {KEY_AT(port, neighbor), "fd00::1"},
        {KEY_AT(port, host_address), "111111111111111111111111111.2.3.4/24"},
        {KEY_AT(port, mac), "00:00:00:00:00:00"},
        {KEY_AT(port, mac), "ff:ff:ff:ff:ff:ff"},
        {KEY_AT(port, mac), "02-00-00-00-00-01"},
        {KEY_AT(port, mac), "02:00:00:00:00:0g"},
        {KEY_AT(port, mac), "02:00:00:00:00:011"},
        {KEY_AT(port, neighbor), "10.0.0.1 02:00:00:00:00:01 x"},
        {KEY_AT(port, neighbor), "02:00:00:00:00:01 10.0.0.1"},
        {KEY_AT(service, port), "0"},
        {KEY_AT(service, port), "7,7"},
        {KEY_AT(service, port), "1,2,3,4,5,6,7,8,9"},
        {KEY_AT(port, address), "1.1.1.1/8,"},
    };
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(value_parse(bad[i].k, field, bad[i].text, got));
    for (unsigned i = 0; i < ARRAY_LEN(field); i++)
        assert_true(field[i] == 0);
}

static void texts_are_refused_when_longer_than_their_room(void **state)
{
    char path[CONF_PATH_BYTES + 1], got[VALUE_GOT_BYTES], field[CONF_PATH_BYTES] = "old";
    const struct key *root = KEY_AT(service, root), *name = KEY_AT(control, name);
    memset(path, '/', sizeof(path));
    path[CONF_PATH_BYTES] = '\0';
    assert_false(value_parse(root, field, path, got));
    assert_false(value_parse(root, field, "a\tb", got));
    assert_false(value_parse(name, field, "12345678901234567890123456789012", got));
    assert_string_equal(field, "old");
    path[CONF_PATH_BYTES - 1] = '\0';
    assert_true(value_parse(root, field, path, got));
    assert_int_equal(strlen(field), 255);
    assert_true(value_parse(name, field, "1234567890123456789012345678901", got));
    assert_string_equal(field, "1234567890123456789012345678901");
}

static void lists_of_addresses_and_neighbors_add_up_over_lines(void **state)
{
    expect("[port p]\ndriver=ring\naddress=10.0.0.2/24, 10.0.1.2/24\naddress=10.0.2.2/24\n"
           "neighbor=10.0.0.7 02:00:00:00:00:07\nneighbor=10.0.0.8 02:00:00:00:00:08, "
           "10.0.0.9  02:00:00:00:00:0A\n",
           "");
    assert_int_equal(conf_got.ports[0].address.n, 3);
    assert_int_equal(ip_to_v4(&conf_got.ports[0].address.at[2].addr), 0x0a000202);
    assert_int_equal(conf_got.ports[0].neighbor.n, 3);
    assert_int_equal(conf_got.ports[0].neighbor.at[2].mac.b[5], 10);
    expect("[port p]\ndriver=ring\naddress=10.0.0.2/24,10.0.1.2/24,10.0.2.2/24,10.0.3.2/24\n"
           "address=10.0.4.2/24,10.0.5.2/24,10.0.6.2/24,10.0.7.2/24\n"
           "address=fd00::1/64,fd00::2/64,fd00::3/64,fd00::4/64\n"
           "address=fd00::5/64,fd00::6/64,fd00::7/64,fd00::8/64\naddress=10.0.8.2/24\n",
           "f:7: address: expected at most 16 addresses and prefixes, as 10.0.0.2/24, "
           "fd00::2/64, got \"10.0.8.2/24\"\n");
}

// ---- overrides

static void an_override_replaces_what_the_file_gave(void **state)
{
    expect_sets(PORT "[tcp]\nretries=3\n",
                SETS("tcp.retries=4", " tcp.retries = 5 ", "port.p.address=10.9.0.2/24",
                     "port.p.address=10.8.0.2/24"),
                "");
    assert_int_equal(conf_got.tcp.retries, 5);
    assert_int_equal(conf_got.ports[0].address.n, 1);
    assert_int_equal(ip_to_v4(&conf_got.ports[0].address.at[0].addr), 0x0a080002);
}

static void overrides_make_ports_and_services_without_a_file(void **state)
{
    expect_sets("",
                SETS("port.a.driver=ring", "port.a.address=10.0.0.2/24", "service.s.app=echo",
                     "service.s.port=7"),
                "");
    assert_int_equal(conf_got.n_ports, 1);
    assert_string_equal(conf_got.services[0].name, "s");
    expect_sets("", SETS("port.a.mtu=1000"),
                "port.a.driver: missing: expected DRIVERS\n"
                "port.a.address: missing: expected at least one address and prefix, as "
                "10.0.0.2/24 or fd00::2/64\n");
}

static void a_wrong_override_is_told_with_its_name(void **state)
{
    expect_sets(
        "",
        SETS("retries=3", "tcp.retries", "tcp.retries=0", "tpc.retries=3", "tcp.a.retries=3",
             "tcp.retrys=3", "port.mtu=3", "port.a b.mtu=1000", "udp.x=1", "tcp.mtu=1",
             "tcp.retries=1 # one", ".=", "=", ""),
        "--set retries=3: expected SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE\n"
        "--set tcp.retries: expected SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE\n"
        "--set tcp.retries: expected a whole number from 1 to 30, got \"0\"\n"
        "--set tpc.retries: expected one of [cpu] [memory] [control] [tcp] [port NAME] "
        "[service NAME]; did you mean [tcp]?\n"
        "--set tcp.a.retries: expected tcp.KEY=VALUE\n"
        "--set tcp.retrys: expected a key of [tcp]; did you mean retries?\n"
        "--set port.mtu: expected port.NAME.KEY=VALUE\n"
        "--set port.a b.mtu: expected a NAME of 1 to 31 letters, digits, - and _\n"
        "--set udp.x: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service "
        "NAME]\n"
        "--set tcp.mtu: expected a key of [tcp]; this one belongs to [port NAME]\n"
        "--set tcp.retries: expected a value of at most 4095 bytes without a comment\n"
        "--set .: expected one of [cpu] [memory] [control] [tcp] [port NAME] [service NAME]\n"
        "--set =: expected SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE\n"
        "--set : expected SECTION.KEY=VALUE or SECTION.NAME.KEY=VALUE\n");
}

static void a_failed_check_points_at_the_override_that_caused_it(void **state)
{
    expect_sets(PORT, SETS("port.p.gateway=10.1.0.1"),
                "--set port.p.gateway: expected a host in a prefix of address = 10.0.0.2/24, or a "
                "neighbor, got 10.1.0.1\n");
}

// ---- cores and memory

static void cores_default_by_their_number(void **state)
{
    const struct {
        unsigned n, linux_n, workers_n;
    } rows[] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 2}, {4, 2, 2}, {64, 2, 62}, {256, 2, 64}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        expect_on(rows[i].n, "", NULL, "");
        assert_int_equal(conf_got.cpu.linux_cpus.n, rows[i].linux_n);
        assert_int_equal(conf_got.cpu.workers.n, rows[i].workers_n);
        assert_int_equal(conf_got.cpu.linux_cpus.id[0], 0);
        assert_int_equal(conf_got.cpu.workers.id[0], rows[i].n == 1 ? 0 : rows[i].linux_n);
    }
}

static void given_cores_leave_the_others_to_the_other_side(void **state)
{
    expect_on(8, "[cpu]\nworkers=0-1,4\n", NULL, "");
    assert_int_equal(conf_got.cpu.linux_cpus.id[0], 2);
    assert_int_equal(conf_got.cpu.linux_cpus.id[1], 3);
    expect_on(8, "[cpu]\nlinux=7\n", NULL, "");
    assert_int_equal(conf_got.cpu.workers.n, 7);
    expect_on(1, "[cpu]\nlinux=0\nworkers=0\n", NULL, "");
}

static void cores_that_cannot_work_are_told_with_the_arithmetic(void **state)
{
    expect("[cpu]\nworkers=0-1\n",
           "f:2: workers: expected at least one of the 2 cores (0-1) left to "
           "linux, got all of them\n");
    expect("[cpu]\nlinux=0-1\n", "f:2: linux: expected at least one of the 2 cores (0-1) left to "
                                 "workers, got all of them\n");
    expect("[cpu]\nworkers=1-3\n",
           "f:2: workers: expected cores that are online and allowed here (2: "
           "0-1), got 2-3\n");
    expect_on(4, "[cpu]\nlinux=0,1\nworkers=1-3\n", NULL,
              "f:3: workers: expected cores that are not in linux, got core 1 in both\n");
    expect_on(100, "[cpu]\nlinux=0\nworkers=1-80\n", NULL,
              "f:3: workers: expected at most 64 cores, got 80\n");
}

static void workers_that_share_cores_are_counted_each(void **state)
{
    expect("[cpu]\nlinux=0\nworkers=0-1\nworkers_per_core=2\n", "");  // beside linux as well
    assert_int_equal(conf_workers(&conf_got), 4);
    expect("[cpu]\nworkers_per_core=4\n" PORT "queues=4\n", "");
    assert_int_equal(conf_workers(&conf_got), 4);
    expect("[cpu]\nworkers_per_core=4\n" PORT, "");
    assert_int_equal(conf_got.ports[0].queues, 4);
    expect("[cpu]\nworkers_per_core=4\n[memory]\nconnections=3\n",
           "f:4: connections: expected at least 4, one for each worker, got 3\n");
    expect_on(8, "[cpu]\nlinux=0\nworkers=1-7\nworkers_per_core=10\n", NULL,
              "f:4: workers_per_core: expected at most 64 workers in all, got 10 on each of 7 "
              "cores\n");
    expect("[cpu]\nworkers_per_core=4\n" PORT "[service s]\napp=echo\nport=7\n"
           "limit_connections=3\nsource_connections=4\n[service t]\napp=echo\nport=8\n"
           "source_connections=1\n",
           "f:9: limit_connections: expected at least 4, one for each worker, got 3\n"
           "f:14: source_connections: expected at least 4, one for each worker, got 1\n");
    expect("", "");
    assert_int_equal(conf_workers(&conf_got), 1);
}

static void records_default_by_the_number_of_connections(void **state)
{
    const struct {
        const char *text;
        uint32_t time_wait, syn_received, extension_records;
    } rows[] = {
        {"[memory]\nconnections=1\n", 1024, 1024, 1},
        {"", 65536, 65536, 16384},
        {"[memory]\nconnections=10M\n", 1000000, 262144, 156250},
        {"[memory]\nconnections=100M\n", 1000000, 262144, 1562500},
        {"[memory]\nconnections=max\n", 1000000, 262144, 0},  // when the memory is known
        {"[memory]\ntime_wait=7\nsyn_received=8\nextension_records=9\n", 7, 8, 9},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        expect(rows[i].text, "");
        assert_int_equal(conf_got.memory.time_wait, rows[i].time_wait);
        assert_int_equal(conf_got.memory.syn_received, rows[i].syn_received);
        assert_int_equal(conf_got.memory.extension_records, rows[i].extension_records);
    }
}

static void memory_that_cannot_work_is_told_with_the_arithmetic(void **state)
{
    expect_on(8, "[memory]\nconnections=5\ntime_wait=3\n", NULL,
              "f:2: connections: expected at least 6, one for each worker, got 5\n"
              "f:3: time_wait: expected at least 6, one for each worker, got 3\n");
    expect("[memory]\npackets=8k\n[port a]\ndriver=pci\ndevice=01:00.0\naddress=10.0.0.2/24\n"
           "rx_ring=4096\ntx_ring=4096\n[port b]\ndriver=pci\ndevice=01:00.1\n"
           "address=10.0.1.2/24\nrx_ring=512\n",
           "f:2: packets: expected at least 9984 (256 + 8192 in the rings of port a + 1536 in the "
           "rings of port b), got 8000\n");
    expect(PORT "rx_ring=32768\n",
           "memory.packets: expected at least 33024 (256 + 32768 in the rings "
           "of port p), got 16384\n");
    // Without rx_ring and tx_ring the driver chooses, and holds what it chose.
    expect("[memory]\npackets=1200\n[port a]\ndriver=tap\ndevice=c0\naddress=10.0.0.2/24\n",
           "f:2: packets: expected at least 1280 (256 + 1024 in the rings of port a), got 1200\n");
    expect("[memory]\npackets=4k\n[port a]\ndriver=af_xdp\ndevice=c0\n"
           "[port f]\ndriver=fault\nwraps=a\naddress=10.0.0.2/24\n",
           "f:2: packets: expected at least 4352 (256 + 4096 in the rings of port a), got 4000\n");
    // Small rings do not make this driver hold fewer; larger ones make it hold more.
    expect("[memory]\npackets=4k\n[port a]\ndriver=af_xdp\ndevice=c0\naddress=10.0.0.2/24\n"
           "rx_ring=64\ntx_ring=64\n",
           "f:2: packets: expected at least 4352 (256 + 4096 in the rings of port a), got 4000\n");
    expect(
        "[memory]\npackets=4k\n[port a]\ndriver=af_xdp\ndevice=c0\naddress=10.0.0.2/24\n"
        "rx_ring=8192\n",
        "f:2: packets: expected at least 10496 (256 + 10240 in the rings of port a), got 4000\n");
    // These drivers copy: no ring holds a packet of the pool.
    expect("[memory]\npackets=1024\n[port a]\ndriver=af_packet\ndevice=c0\naddress=10.0.0.2/24\n"
           "rx_ring=4096\n",
           "");
}

static void run_dir_moves_all_that_two_servers_must_not_share(void **state)
{
    static const struct {
        const char *run_dir, *name;
    } rows[] = {{"/run/c10m", "c10m"},
                {"/run/web/", "web"},
                {"/run/a/b", "a-b"},
                {"/srv/a b/run", "srv-a_b-run"},
                {"/", "c10m"}};
    char text[CONF_PATH_BYTES], first[CONF_NAME_BYTES];
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        snprintf(text, sizeof(text), "[control]\nrun_dir=%s\nmount=\n", rows[i].run_dir);
        expect(text, "");
        assert_string_equal(conf_got.control.name, rows[i].name);
    }
    expect("[control]\nrun_dir=/run/web\n", "");
    assert_string_equal(conf_got.control.mount, "/run/web/proc");
    assert_string_equal(conf_got.memory.hugetlbfs, "/run/web/huge");
    expect("[control]\nrun_dir=/run/web\nname=x\nmount=/m\n[memory]\nhugetlbfs=/h\n", "");
    assert_string_equal(conf_got.control.name, "x");
    assert_string_equal(conf_got.control.mount, "/m");
    assert_string_equal(conf_got.memory.hugetlbfs, "/h");
    // Too long for a name: two of them are two all the same.
    expect("[control]\nrun_dir=/tmp/a-long-directory-of-somebody/one\n", "");
    strcpy(first, conf_got.control.name);
    expect("[control]\nrun_dir=/tmp/a-long-directory-of-somebody/two\n", "");
    assert_string_not_equal(conf_got.control.name, first);
    assert_int_equal(strlen(first), CONF_NAME_BYTES - 1);
}

static void the_socket_lies_below_run_dir_unless_it_says_where(void **state)
{
    char path[2 * CONF_PATH_BYTES];
    expect("[control]\nrun_dir=/a\n", "");
    conf_socket_path(&conf_got, path, sizeof(path));
    assert_string_equal(path, "/a/control.sock");
    expect("[control]\nsocket=/b/c\n", "");
    conf_socket_path(&conf_got, path, sizeof(path));
    assert_string_equal(path, "/b/c");
    expect("[control]\nsocket=\n", "");
    conf_socket_path(&conf_got, path, sizeof(path));
    assert_string_equal(path, "");
    const char *half = "/23456789012345678901234567890123456789012345678901234";  // 54 characters
    char text[256], want[512];
    snprintf(text, sizeof(text), "[control]\nrun_dir=%s\nsocket=%s\n", half, half + 2);
    expect(text, "");  // 54 + 1 + 52 is the limit
    snprintf(text, sizeof(text), "[control]\nrun_dir=%s\nsocket=%s\n", half, half + 1);
    snprintf(
        want, sizeof(want),
        "f:3: socket: expected a path of at most 107 characters including run_dir, got \"%s%s\"\n",
        half, half);
    want[strlen(want)] = '\0';
    expect(text, want);
}

static void a_mount_that_hides_a_directory_in_use_is_told(void **state)
{
    expect("[control]\nmount=/run/c10m/\n",
           "f:2: mount: expected a directory that does not hide run_dir = /run/c10m, got "
           "\"/run/c10m/\"\n");
    expect("[control]\nmount=/run/c10m/huge\n",
           "f:2: mount: expected a directory that does not hide hugetlbfs = /run/c10m/huge, got "
           "\"/run/c10m/huge\"\n");
    expect("[control]\nmount=/a\nsocket=/a/s\n",
           "f:2: mount: expected a directory that does not hide socket = /a/s, got \"/a\"\n");
    expect("[control]\nmount=/run/c10\n", "");
    expect("[control]\nmount=\n", "");
    assert_string_equal(conf_got.control.mount, "");
}

static void http_beyond_this_host_needs_a_token(void **state)
{
    expect("[control]\nhttp=0.0.0.0:9910\n",
           "f:2: http: expected an address of this host alone (127.0.0.0/8 or ::1) without "
           "http_token_file, got 0.0.0.0\n");
    expect("[control]\nhttp=[fd00::1]:9910\n",
           "f:2: http: expected an address of this host alone (127.0.0.0/8 or ::1) without "
           "http_token_file, got fd00::1\n");
    expect("[control]\nhttp=[::1]:9910\n", "");
    expect("[control]\nhttp=127.1.2.3:80\n", "");
    expect("[control]\nhttp=\n", "");
    assert_int_equal(conf_got.control.http.port, 0);
    expect("[control]\nhttp_token_file=/none\nhttp=0.0.0.0:9910\n",
           "f:2: http_token_file: expected a file that can be read, /none: No such file or "
           "directory\n");
    expect("[control]\nhttp_token_file=/dev/null\n",
           "f:2: http_token_file: expected a regular file, got /dev/null\n");
}

// token_error: what conf_token_read says of a file with n bytes of `bytes` and this mode; the name
// of the file is cut out.
static const char *token_error(const char *bytes, size_t n, unsigned mode, char *token)
{
    static struct err e;
    char path[] = "/tmp/c10m-token-XXXXXX";
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, bytes, n), n);
    assert_int_equal(fchmod(fd, mode), 0);
    e.text[0] = '\0';
    const int rc = conf_token_read(path, token, &e);
    assert_int_equal(rc, e.text[0] == '\0' ? 0 : -1);
    close(fd);
    unlink(path);
    char *name = strstr(e.text, path);
    if (name != NULL)
        strcpy(name, "F");
    return e.text;
}

static void a_token_is_one_line_that_not_everybody_reads(void **state)
{
    char token[CONF_TOKEN_BYTES_MAX + 1], full[300];
    memset(full, 'x', sizeof(full));
    assert_string_equal(token_error("0123456789abcdef\n", 17, 0600, token), "");
    assert_string_equal(token, "0123456789abcdef");
    assert_string_equal(token_error("0123456789abcde~", 16, 0640, token), "");
    assert_string_equal(token, "0123456789abcde~");
    assert_string_equal(token_error(full, CONF_TOKEN_BYTES_MAX, 0600, token), "");
    assert_int_equal(strlen(token), CONF_TOKEN_BYTES_MAX);
    assert_string_equal(token_error("0123456789abcdef\n", 17, 0604, token),
                        "expected a file that not everybody may read (chmod o-r), got F");
    assert_string_equal(token, "");
    assert_string_equal(token_error("0123456789abcdef\n", 17, 0602, token),
                        "expected a file that not everybody may write (chmod o-w), got F");
    assert_string_equal(token, "");
    assert_string_equal(token_error("0123456789abcde\n", 16, 0600, token),
                        "expected a file with 16 to 256 characters, got 15 in F");
    assert_string_equal(token_error("", 0, 0600, token),
                        "expected a file with 16 to 256 characters, got 0 in F");
    assert_string_equal(token_error(full, sizeof(full), 0600, token),
                        "expected a file with 16 to 256 characters, got more than 256 in F");
    const char *line = "expected one line of printable characters without blanks in F";
    assert_string_equal(token_error("0123456789 abcdef\n", 18, 0600, token), line);
    assert_string_equal(token_error("0123456789\nabcdef\n", 18, 0600, token), line);
    assert_string_equal(token_error("0123456789\0abcdef\n", 18, 0600, token), line);
    assert_string_equal(token_error("0123456789abcdef\n\n", 18, 0600, token), line);
    assert_string_equal(token_error("0123456789abcde\xc3\xa4", 17, 0600, token), line);
}

static void what_statsd_cannot_take_is_told(void **state)
{
    expect("[statsd]\naddress=127.0.0.1:8125\ninterval_ms=1s\nprefix=prod.c10m-1_a\n"
           "sample_rate=12.5%\n",
           "");
    assert_int_equal(conf_got.statsd.address.port, 8125);
    assert_int_equal(conf_got.statsd.interval_ms, 1000);
    assert_int_equal(conf_got.statsd.sample_rate_ppm, 125000);
    expect("[statsd]\nprefix=a:b\nsample_rate=0\n",
           "f:2: prefix: expected letters, digits, . - and _, no . at the ends, got \"a:b\"\n"
           "f:3: sample_rate: expected more than 0 percent\n");
    expect("[statsd]\nprefix=a.\n",
           "f:2: prefix: expected letters, digits, . - and _, no . at the ends, got \"a.\"\n");
    expect("[statsd]\naddress=localhost:8125\n",
           "f:2: address: expected an address and a port, as 10.0.0.1:80 or [fd00::1]:80, got "
           "\"localhost:8125\"\n");
    expect("[statsd]\ninterval_ms=50\n",
           "f:2: interval_ms: expected milliseconds from 100 to 3600000 (or seconds, as 2s), got "
           "\"50\"\n");
}

static void timeouts_out_of_order_are_told(void **state)
{
    expect("[tcp]\nrto_min_ms=3000\nrto_max_ms=2000\n",
           "f:2: rto_min_ms: expected at most rto_max_ms = 2000, got 3000\n");
    expect("[tcp]\nrto_min_ms=2000\n",
           "f:1: rto_initial_ms: expected rto_min_ms to rto_max_ms = 2000 to 120000, got 1000\n");
}

// ---- ports

static void keys_of_another_driver_or_application_are_told(void **state)
{
    expect(
        PORT "loss=1\ndevice=eth0\nhost_address=10.0.0.1/24\n" ECHO_ "root=/x\n",
        "f:5: device: expected with driver = tap, af_packet, af_xdp, memif, pci or pcap only, got "
        "driver = ring\n"
        "f:6: host_address: expected with driver = tap only, got driver = ring\n"
        "f:4: loss: expected with driver = fault only, got driver = ring\n"
        "f:10: root: expected with app = http only, got app = echo\n");
}

static void a_port_without_what_it_needs_is_told(void **state)
{
    expect("[port p]\n", "f:1: driver: missing: expected DRIVERS\n"
                         "f:1: address: missing: expected at least one address and prefix, as "
                         "10.0.0.2/24 or fd00::2/64\n");
    expect("[port t]\ndriver=tap\naddress=10.0.0.2/24\n",
           "f:1: device: missing: expected an interface name of 1 to 15 characters, as eth0\n");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\n",
           "f:1: device: missing: expected a PCI address, as 0000:01:00.0\n");
    expect("[port t]\ndriver=fault\naddress=10.0.0.2/24\n",
           "f:1: wraps: missing: expected the name of the port to wrap\n");
}

static void a_device_that_is_none_is_told(void **state)
{
    expect("[port t]\ndriver=tap\naddress=10.0.0.2/24\ndevice=a123456789012345\n",
           "f:4: device: expected an interface name of 1 to 15 characters, as eth0, got "
           "\"a123456789012345\"\n");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\ndevice=eth0\n",
           "f:4: device: expected a PCI address, as 0000:01:00.0, got \"eth0\"\n");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\ndevice=01:00.8\n",
           "f:4: device: expected a PCI address, as 0000:01:00.0, got \"01:00.8\"\n");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\ndevice=01:00.7\n", "");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\ndevice=00aF:01:00.7\n", "");
    expect(TAP "[port u]\ndriver=af_packet\ndevice=c0\naddress=10.0.1.2/24\n",
           "f:7: device: expected a device that port t does not have, got \"c0\"\n");
    expect("[port t]\ndriver=pci\naddress=10.0.0.2/24\ndevice=0000:0A:00.0\n[port u]\n"
           "driver=pci\ndevice=0a:00.0\naddress=10.0.1.2/24\n",
           "f:7: device: expected a device that port t does not have, got \"0a:00.0\"\n");
    expect("[port t]\ndriver=memif\ndevice=/s\naddress=10.0.0.2/24\n[port u]\n"
           "driver=memif\nid=1\ndevice=/s\naddress=10.0.1.2/24\n",
           "f:8: device: expected a device that port t does not have, got \"/s\"\n");
    expect("[port t]\ndriver=memif\nrole=client\ndevice=/s\naddress=10.0.0.2/24\n[port u]\n"
           "driver=memif\nrole=client\nid=1\ndevice=/s\naddress=10.0.1.2/24\n",
           "");
}

static void an_address_that_no_host_can_have_is_told(void **state)
{
    static const char *const bad[] = {"10.0.0.0/24",  "10.0.0.255/24", "127.0.0.1/8",
                                      "224.0.0.1/24", "0.1.2.3/8",     "255.255.255.255/32"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        char text[128], error[128];
        sprintf(text, "[port p]\ndriver=ring\naddress=%s\n", bad[i]);
        sprintf(error, "f:3: address: expected the address of a host, got %s\n", bad[i]);
        expect(text, error);
    }
    expect("[port p]\ndriver=ring\naddress=10.0.0.0/31,10.0.1.0/32,10.0.2.255/31\n", "");
}

#define PORT6 "[port p]\ndriver=ring\naddress=10.0.0.2/24, fd00::2/64\n"

static void addresses_of_both_families_are_read_and_printed_as_rfc_5952_says(void **state)
{
    expect("[port p]\ndriver=tap\ndevice=c0\n"
           "address=FD00:0000::0002/64, 10.0.0.2/24, 2001:db8:0:0:1:0:0:1/128\n"
           "host_address=10.0.0.1/24\nhost_address=fd00:0:0::1/64\ngateway=10.0.0.9\n"
           "gateway6=FE80::9\nroute=fd01::/16 via fd00::00fe\nneighbor=fd00::7 02:00:00:00:00:07\n"
           "[service e]\napp=echo\nport=7\naddress=fd00::0:2\n",
           "");
    struct text t;
    text_init(&t, 1 << 16);
    assert_int_equal(conf_print(&conf_got, &t), 0);
    static const char *const lines[] = {
        "address = fd00::2/64, 10.0.0.2/24, 2001:db8::1:0:0:1/128\n",
        "host_address = 10.0.0.1/24, fd00::1/64\n",
        "gateway6 = fe80::9\n",
        "route = fd01::/16 via fd00::fe\n",
        "neighbor = fd00::7 02:00:00:00:00:07\n",
        "address = fd00::2\n",
    };
    for (unsigned i = 0; i < ARRAY_LEN(lines); i++)
        assert_non_null(strstr(text_str(&t), lines[i]));
    text_free(&t);
}

static void an_ipv6_address_that_no_host_can_have_is_told(void **state)
{
    static const char *const bad[] = {"ff02::1/64", "::1/128", "fd00::/64", "fd00:0:0:1::/64"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        char text[128], error[128];
        sprintf(text, "[port p]\ndriver=ring\naddress=%s\n", bad[i]);
        sprintf(error, "f:3: address: expected the address of a host, got %s\n", bad[i]);
        expect(text, error);
    }
    expect("[port p]\ndriver=ring\naddress=fd00::/127,fd01::/128,fe80::5/64\n", "");
    expect(PORT6 "address=fd00:0::2/48\n",
           "f:4: address: expected each address once, got fd00::2 on port p already\n");
}

static void next_hops_of_ipv6_off_the_link_or_of_the_other_family_are_told(void **state)
{
    expect(PORT "gateway6=fe80::1\n", "f:4: gateway6: expected a host in a prefix of address = "
                                      "10.0.0.2/24, or a neighbor, got fe80::1\n");
    expect(PORT6 "gateway6=fe80::1\n", "");
    expect(PORT6 "gateway6=fd00::2\n",
           "f:4: gateway6: expected another host, got the port's own address fd00::2\n");
    expect(PORT6 "gateway6=fd01::1\n",
           "f:4: gateway6: expected a host in a prefix of address = 10.0.0.2/24, fd00::2/64, or a "
           "neighbor, got fd01::1\n");
    expect(PORT6 "gateway6=fd01::1\nneighbor=fd01::1 02:00:00:00:00:01\n", "");
    expect(PORT6 "route=fd01::/16 via 10.0.0.1\n",
           "f:4: route: expected a next hop of the family of fd01::/16, got 10.0.0.1\n");
    expect(PORT6 "route=fd01::1/16 via fd00::1\n",
           "f:4: route: expected the first address of the prefix, fd01::/16, got fd01::1\n");
    expect(PORT6 "route=fd01::/16 via fd00::1, fd01::/16 via fd00::3\n",
           "f:4: route: expected each prefix once, got fd01::/16 twice\n");
}

static void an_mtu_below_what_ipv6_needs_is_told(void **state)
{
    expect(PORT6 "mtu=1279\n", "f:4: mtu: expected at least 1280 with an IPv6 address, got 1279\n");
    expect(PORT6 "mtu=1280\n", "");
    expect(PORT "mtu=1279\n", "");
    expect("[port t]\ndriver=ring\nmtu=1000\n[port f]\ndriver=fault\nwraps=t\n"
           "address=fd00::2/64\n",
           "f:3: mtu: expected at least 1280 with an IPv6 address, got 1000\n");
}

static void two_host_addresses_of_one_family_are_told(void **state)
{
    expect(TAP "host_address=10.0.0.1/24, 10.0.0.3/24\n",
           "f:5: host_address: expected one address of each family, got 10.0.0.1 and 10.0.0.3\n");
    expect(TAP "host_address=fd00::1/64\n",
           "f:5: host_address: expected the same prefix as one of address = 10.0.0.2/24, got "
           "fd00::1/64\n");
}

static void an_address_given_twice_is_told(void **state)
{
    expect(PORT "address=10.0.0.2/8\n",
           "f:4: address: expected each address once, got 10.0.0.2 on port p already\n");
    expect(PORT "[port q]\ndriver=ring\naddress=10.0.0.2/24\n",
           "f:6: address: expected each address once, got 10.0.0.2 on port p already\n");
}

static void a_gateway_off_the_link_is_told_unless_it_is_a_neighbor(void **state)
{
    expect(PORT "gateway=10.0.1.1\n", "f:4: gateway: expected a host in a prefix of address = "
                                      "10.0.0.2/24, or a neighbor, got 10.0.1.1\n");
    expect(PORT "gateway=10.0.0.2\n",
           "f:4: gateway: expected another host, got the port's own address 10.0.0.2\n");
    expect(PORT "gateway=10.0.1.1\nneighbor=10.0.1.1 02:00:00:00:00:01\n", "");
    expect(PORT "gateway=10.0.0.254\n", "");
    expect("[port p]\ndriver=ring\naddress=x\ngateway=10.0.1.1\n",
           "f:3: address: expected at most 16 addresses and prefixes, as 10.0.0.2/24, "
           "fd00::2/64, got \"x\"\n");
}

static void routes_add_up_and_print_as_they_were_given(void **state)
{
    expect(PORT "route = 10.1.0.0/16 via 10.0.0.9, 10.2.0.0/16  via\t10.0.0.8\n"
                "route = 1.2.3.4/32 via 10.0.0.9\n",
           "");
    const struct conf_routes *r = &conf_got.ports[0].route;
    assert_int_equal(r->n, 3);
    assert_int_equal(ip_to_v4(&r->at[1].to.addr), 0x0a020000);
    assert_int_equal(r->at[1].to.bits, 16);
    assert_int_equal(ip_to_v4(&r->at[1].via), 0x0a000008);
    assert_int_equal(r->at[2].to.bits, 32);
}

static void routes_that_cannot_be_are_told(void **state)
{
    static const char *const bad[] = {"10.1.0.0/16",
                                      "10.1.0.0 via 10.0.0.9",
                                      "via 10.0.0.9",
                                      "10.1.0.0/16 to 10.0.0.9",
                                      "10.1.0.0/16 via",
                                      "10.1.0.0/16 via 10.0.0.9 x",
                                      "0.0.0.0/0 via 10.0.0.9",
                                      "10.1.0.0/33 via 10.0.0.9"};
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        char text[200], want[300];
        snprintf(text, sizeof(text), PORT "route=%s\n", bad[i]);
        snprintf(want, sizeof(want),
                 "f:4: route: expected at most 16 routes, PREFIX via ADDRESS, as 10.1.0.0/16 via "
                 "10.0.0.9, got \"%s\"\n",
                 bad[i]);
        expect(text, want);
    }
    expect(PORT "route=10.1.0.5/16 via 10.0.0.9\n",
           "f:4: route: expected the first address of the prefix, 10.1.0.0/16, got 10.1.0.5\n");
    expect(PORT "route=10.1.0.0/16 via 10.0.0.9,10.1.0.0/16 via 10.0.0.8\n",
           "f:4: route: expected each prefix once, got 10.1.0.0/16 twice\n");
    expect(PORT "route=10.1.0.0/16 via 10.0.0.2\n",
           "f:4: route: expected another host, got the port's own address 10.0.0.2\n");
    expect(PORT "route=10.1.0.0/16 via 10.9.0.1\n",
           "f:4: route: expected a host in a prefix of address = 10.0.0.2/24, or a neighbor, got "
           "10.9.0.1\n");
    expect(PORT "route=10.1.0.0/16 via 10.9.0.1\nneighbor=10.9.0.1 02:00:00:00:00:01\n", "");
    expect(
        "[port r]\ndriver=ring\nroute=10.1.0.0/16 via 10.0.1.9\n[port f]\ndriver=fault\nwraps=r\n"
        "address=10.0.1.2/24\n",
        "f:3: route: expected in [port f], which wraps this port\n");
}

static void a_neighbor_given_twice_or_our_own_is_told(void **state)
{
    expect(PORT "neighbor=10.0.0.1 02:00:00:00:00:01, 10.0.0.1 02:00:00:00:00:02\n",
           "f:4: neighbor: expected each address once, got 10.0.0.1 twice\n");
    expect(PORT "neighbor=10.0.0.2 02:00:00:00:00:01\n",
           "f:4: neighbor: expected another host, got the port's own address 10.0.0.2\n");
}

static void a_host_address_that_cannot_reach_the_port_is_told(void **state)
{
    expect(TAP "host_address=10.0.1.1/24\n",
           "f:5: host_address: expected the same prefix as one of "
           "address = 10.0.0.2/24, got 10.0.1.1/24\n");
    expect(TAP "host_address=10.0.0.2/24\n",
           "f:5: host_address: expected another host, got the port's own address 10.0.0.2\n");
    expect(TAP "host_address=10.0.0.255/24\n",
           "f:5: host_address: expected the address of a host, got 10.0.0.255/24\n");
    expect("[port t]\ndriver=tap\ndevice=c0\nhost_address=10.9.0.1/24\n[port f]\ndriver=fault\n"
           "wraps=t\naddress=10.0.0.2/24\n",
           "f:4: host_address: expected the same prefix as one of address = 10.0.0.2/24, got "
           "10.9.0.1/24\n");
    expect(TAP "host_address=10.0.0.1/24\n", "");
}

static void a_fault_port_that_wraps_wrongly_is_told(void **state)
{
    expect("[port wire]\ndriver=ring\naddress=10.0.0.2/24\n[port f]\ndriver=fault\n"
           "address=10.0.1.2/24\nwraps=wrie\n",
           "f:7: wraps: expected the name of a [port NAME], got \"wrie\"; did you mean wire?\n");
    expect("[port f]\ndriver=fault\naddress=10.0.1.2/24\nwraps=f\n",
           "f:4: wraps: expected another port, got the port itself\n");
    expect("[port f]\ndriver=fault\nwraps=g\n[port g]\ndriver=fault\nwraps=f\n",
           "f:3: wraps: expected a port of another driver than fault, got port g\n"
           "f:6: wraps: expected a port of another driver than fault, got port f\n");
    expect("[port r]\ndriver=ring\n[port f]\ndriver=fault\nwraps=r\naddress=10.0.0.2/24\n[port g]\n"
           "driver=fault\nwraps=r\naddress=10.0.1.2/24\n",
           "f:9: wraps: expected a port that no other port wraps, got r, which port f wraps\n");
    expect(PORT "[port f]\ndriver=fault\nwraps=p\naddress=10.0.1.2/24\n",
           "f:3: address: expected in [port f], which wraps this port\n");
}

#define VLAN(name, id) "[port " name "]\ndriver=vlan\nparent=p\nvlan=" id "\n"

static void a_vlan_port_has_a_parent_and_its_mtu(void **state)
{
    expect(VLAN("v", "1") "address=10.1.0.2/24\n[port p]\ndriver=ring\nmtu=1400\n" VLAN(
               "w", "4094") "address=10.2.0.2/24\nmtu=1300\n",
           "");
    assert_string_equal(conf_got.ports[0].parent, "p");
    assert_int_equal(conf_got.ports[0].vlan, 1);
    assert_int_equal(conf_got.ports[0].mtu, 1400);
    assert_int_equal(conf_got.ports[2].vlan, 4094);
    assert_int_equal(conf_got.ports[2].mtu, 1300);
    expect("[port p]\ndriver=ring\nmtu=9000\n" VLAN("v", "1") "address=10.1.0.2/24\n", "");
    assert_int_equal(conf_got.ports[1].mtu, 9000);
}

static void a_vlan_port_without_what_it_needs_is_told(void **state)
{
    expect(PORT "[port v]\ndriver=vlan\naddress=10.1.0.2/24\n",
           "f:4: parent: missing: expected the name of the port on whose link the VLAN is\n"
           "f:4: vlan: missing: expected a whole number from 1 to 4094\n");
    expect(PORT "[port v]\ndriver=vlan\nparent=p\nvlan=7\n",
           "f:4: address: missing: expected at least one address and prefix, as 10.0.0.2/24 or "
           "fd00::2/64\n");
    expect("[port p]\ndriver=ring\n",
           "f:1: address: missing: expected at least one address and prefix, as 10.0.0.2/24 or "
           "fd00::2/64\n");
}

static void a_vlan_out_of_range_or_twice_is_told(void **state)
{
    expect(PORT VLAN("v", "4095") "address=10.1.0.2/24\n",
           "f:7: vlan: expected none or a whole number from 1 to 4094, got \"4095\"\n");
    expect(PORT VLAN("v", "7") "address=10.1.0.2/24\n" VLAN("w", "7") "address=10.2.0.2/24\n",
           "f:12: vlan: expected a VLAN that port v does not have, got 7\n");
    expect(PORT "[port q]\ndriver=ring\naddress=10.3.0.2/24\n" VLAN(
               "v", "7") "address=10.1.0.2/24\n[port "
                         "w]\ndriver=vlan\nparent=q\nvlan=7\naddress=10.2.0.2/24\n",
           "");
}

static void a_vlan_on_no_link_is_told(void **state)
{
    expect("[port wire]\ndriver=ring\naddress=10.0.0.2/24\n[port v]\ndriver=vlan\nparent=wrie\n"
           "vlan=1\naddress=10.1.0.2/24\n",
           "f:6: parent: expected the name of a [port NAME], got \"wrie\"; did you mean wire?\n");
    expect("[port v]\ndriver=vlan\nparent=v\nvlan=1\naddress=10.1.0.2/24\n",
           "f:3: parent: expected another port, got the port itself\n");
    expect(PORT VLAN("v", "1") "address=10.1.0.2/24\n[port w]\ndriver=vlan\nparent=v\nvlan=2\n"
                               "address=10.2.0.2/24\n",
           "f:11: parent: expected a port of another driver than vlan, got port v\n");
    expect("[port p]\ndriver=ring\n[port f]\ndriver=fault\nwraps=p\naddress=10.0.0.2/24\n" VLAN(
               "v", "1") "address=10.1.0.2/24\n",
           "f:9: parent: expected a port that no other port wraps, got p, which port f wraps\n");
    expect(PORT VLAN("v", "1") "[port f]\ndriver=fault\nwraps=v\naddress=10.1.0.2/24\n",
           "f:10: wraps: expected a port of another driver than vlan, got port v\n");
}

static void a_vlan_port_takes_no_more_than_its_parent_and_has_no_device(void **state)
{
    expect(PORT VLAN("v", "1") "address=10.1.0.2/24\nmtu=1501\n",
           "f:9: mtu: expected at most the mtu of port p, 1500, got 1501\n");
    expect(PORT "vlan=3\n", "f:4: vlan: expected with driver = vlan only, got driver = ring\n");
}

#define MEMBER(name) "[port " name "]\ndriver=ring\n"
#define BOND(name, members)                                                                        \
    "[port " name "]\ndriver=bond\naddress=10.9.0.2/24\nmembers=" members "\n"

static void a_bond_has_members_and_their_mtu(void **state)
{
    (void)state;
    expect(BOND("b", "p0, p1") "mtu=9000\nprimary=p1\n" MEMBER("p0") MEMBER("p1"), "");
    const struct conf_port *b = &conf_got.ports[0];
    assert_int_equal(b->members.n, 2);
    assert_string_equal(b->members.at[0], "p0");
    assert_string_equal(b->members.at[1], "p1");
    assert_string_equal(b->primary, "p1");
    assert_int_equal(b->mode, CONF_ACTIVE_BACKUP);
    assert_int_equal(conf_got.ports[1].mtu, 9000);
    assert_int_equal(conf_got.ports[2].mtu, 9000);
    expect(MEMBER("p0") BOND("b", "p0") "mode=lacp\nlacp_rate=fast\nhash=l23\n", "");
    assert_int_equal(conf_got.ports[1].mode, CONF_LACP);
    assert_int_equal(conf_got.ports[1].lacp_rate, 1);
    assert_int_equal(conf_got.ports[1].hash, 1);
    expect(MEMBER("p0") BOND("b", "p0") "mode=lacp\n[port v]\ndriver=vlan\nparent=b\nvlan=3\n"
                                        "address=10.8.0.2/24\n",
           "");
}

static void a_bond_without_good_members_is_told(void **state)
{
    (void)state;
    expect("[port b]\ndriver=bond\naddress=10.9.0.2/24\n",
           "f:1: members: missing: expected the names of ports, as p0, p1\n");
    expect(MEMBER("wire") BOND("b", "wrie") "[port x]\ndriver=ring\naddress=10.7.0.2/24\n",
           "f:1: address: missing: expected at least one address and prefix, as 10.0.0.2/24 or "
           "fd00::2/64\n"
           "f:6: members: expected names of [port NAME], got \"wrie\"; did you mean wire?\n");
    expect(BOND("b", "b"), "f:4: members: expected other ports, got the port itself\n");
    expect(MEMBER("p0") BOND("b", "p0, p0"),
           "f:6: members: expected at most 8 different names, as p0, p1, got \"p0\"\n"
           "f:1: address: missing: expected at least one address and prefix, as 10.0.0.2/24 or "
           "fd00::2/64\n");
    expect(PORT VLAN("v", "1") BOND("b", "v"),
           "f:11: members: expected ports with a link of their own, got port v of driver vlan\n");
    expect(MEMBER("p0") "[port f]\ndriver=fault\nwraps=p0\naddress=10.0.0.2/24\n" BOND("b", "p0"),
           "f:10: members: expected ports that no other port wraps, got p0, which port f wraps\n");
    expect(MEMBER("p0") BOND("b", "p0") "[port c]\ndriver=bond\naddress=10.7.0.2/24\nmembers=p0\n",
           "f:10: members: expected ports of no other bond, got p0, a member of port b\n");
}

// What all members have alike belongs to the bond.
static void keys_of_the_bond_in_a_member_are_told(void **state)
{
    (void)state;
    expect(BOND("b", "p0") MEMBER("p0") "address=10.0.0.2/24\nmtu=1400\nqueues=1\n"
                                        "mac=02:00:00:00:00:01\n",
           "f:7: address: expected in [port b], of which this port is a member\n"
           "f:10: mac: expected in [port b], of which this port is a member\n"
           "f:8: mtu: expected in [port b], of which this port is a member\n"
           "f:9: queues: expected in [port b], of which this port is a member\n");
}

static void a_member_is_no_parent_and_is_not_wrapped(void **state)
{
    (void)state;
    expect(BOND("b", "p") MEMBER("p") VLAN("v", "1") "address=10.1.0.2/24\n",
           "f:9: parent: expected a port that is no member of a bond, got p, a member of port b\n");
    expect(BOND("b", "p") MEMBER("p") "[port f]\ndriver=fault\nwraps=b\naddress=10.6.0.2/24\n",
           "f:3: address: expected in [port f], which wraps this port\n"
           "f:9: wraps: expected a port of another driver than bond, got port b\n");
}

static void keys_of_the_other_mode_and_a_foreign_primary_are_told(void **state)
{
    (void)state;
    expect(MEMBER("p0") BOND("b", "p0") "lacp_rate=fast\nhash=l2\nprimary=p1\n",
           "f:7: lacp_rate: expected with mode = lacp only\n"
           "f:8: hash: expected with mode = lacp only\n"
           "f:9: primary: expected one of the members, got p1\n");
    expect(MEMBER("p0") BOND("b", "p0") "mode=lacp\nprimary=p0\n",
           "f:8: primary: expected with mode = active-backup only\n");
    expect(PORT "primary=p\n",
           "f:4: primary: expected with driver = bond only, got driver = ring\n");
}

static void a_fault_port_takes_percentages_and_wraps_a_port_without_address(void **state)
{
    expect("[port f]\ndriver=fault\nwraps=r\naddress=10.0.1.2/24\nloss=5\ncorrupt=0.5%\n[port r]\n"
           "driver=ring\n",
           "");
    assert_int_equal(conf_got.ports[0].loss_ppm, 50000);
    assert_int_equal(conf_got.ports[0].corrupt_ppm, 5000);
}

static void more_queues_than_workers_are_told(void **state)
{
    expect(PORT "queues=2\n",
           "f:4: queues: expected at most one queue for each of 1 workers, got 2\n");
    expect_on(4, PORT, NULL, "");
    assert_int_equal(conf_got.ports[0].queues, 2);
    expect_on(64, PORT, NULL, "");
    assert_int_equal(conf_got.ports[0].queues, 16);
}

// ---- services

static void a_service_without_what_it_needs_is_told(void **state)
{
    expect(PORT "[service s]\n[service w]\napp=http\nport=80\n",
           "f:4: app: missing: expected a name of 1 to 31 letters, digits, - and _\n"
           "f:4: port: missing: expected at most 8 TCP ports from 1 to 65535, as 80, 8080\n"
           "f:5: root: missing: expected the directory to serve\n");
    expect(ECHO_, "f:3: port: expected a [port NAME] to listen on, got none\n");
    expect(PORT WEB "echo_path=echo\nheaders_path=/h\n",
           "f:8: echo_path: expected a path that begins with /, got echo\n");
}

static void where_a_proxy_relays_to_is_read_printed_and_told_when_wrong(void **state)
{
    static const char *const good[][2] = {
        {"10.0.0.1:80", "10.0.0.1:80"},
        {"[FD00:0::1]:65535", "[fd00::1]:65535"},
        {"[::ffff:10.0.0.1]:1", "10.0.0.1:1"},
    };
    static const char *const bad[] = {"10.0.0.1",   "10.0.0.1:0",     "10.0.0.1:65536", "a:80",
                                      "fd00::1:80", "[10.0.0.1]:80",  "[fd00::1]80",    "[fd00::1]",
                                      ":80",        "[fd00::1%lo]:8", "10.0.0.1:"};
    char text[256], want[256];
    for (unsigned i = 0; i < ARRAY_LEN(good); i++) {
        snprintf(text, sizeof(text), PORT "[service p]\napp=proxy\nport=7\nupstream=%s\n",
                 good[i][0]);
        expect(text, "");
        assert_string_equal(conf_service_param(&conf_got.services[0], "upstream"), good[i][1]);
        assert_string_equal(conf_service_param(&conf_got.services[0], "idle_timeout_ms"), "300000");
    }
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(text, sizeof(text), PORT "[service p]\napp=proxy\nport=7\nupstream=%s\n", bad[i]);
        snprintf(want, sizeof(want),
                 "f:7: upstream: expected an address and a port, as 10.0.0.1:80 or [fd00::1]:80, "
                 "got \"%s\"\n",
                 bad[i]);
        expect(text, want);
    }
    expect(PORT "[service p]\napp=proxy\nport=7\n",
           "f:4: upstream: missing: expected the address and port to relay to, as 10.0.0.1:80\n");
}

static void an_unknown_application_is_told_with_the_closest_one(void **state)
{
    expect(PORT "[service s]\napp=htttp\nport=80\n",
           "f:5: app: expected echo, discard, http or proxy, got \"htttp\"; did you mean http?\n");
    expect(PORT "[service s]\napp=dns\nport=80\n",
           "f:5: app: expected echo, discard, http or proxy, got \"dns\"\n");
    struct conf_host host = host_of(2);
    struct conf_errors e;
    const char *text = PORT "[service s]\napp=dns\nport=80\n";
    host.apps = NULL;
    conf_errors_init(&e);
    assert_int_equal(conf_load_text(&conf_got, &host, "f", text, strlen(text), NULL, 0, &e), 0);
    conf_errors_free(&e);
}

static void two_services_on_one_tcp_port_are_told(void **state)
{
    expect(PORT ECHO_ "[service f]\napp=discard\nport=9,7\n",
           "f:9: port: expected a TCP port that no other service has, got 7 of service e\n");
    expect("[port p]\ndriver=ring\naddress=10.0.0.2/24,10.0.0.3/24\n" ECHO_
           "address=10.0.0.2\n[service f]\napp=discard\nport=7\naddress=10.0.0.3\n",
           "");
    expect("[port p]\ndriver=ring\naddress=10.0.0.2/24,10.0.0.3/24\n" ECHO_
           "address=10.0.0.2\n[service f]\napp=discard\nport=7\n",
           "f:10: port: expected a TCP port that no other service has, got 7 of service e\n");
}

static void too_many_tcp_ports_together_are_told(void **state)
{
    struct text t;
    text_init(&t, 4096);
    text_printf(&t, PORT);
    for (int i = 0; i < 5; i++)
        text_printf(&t, "[service s%d]\napp=echo\nport=%d1,%d2,%d3,%d4,%d5,%d6,%d7\n", i, i + 1,
                    i + 1, i + 1, i + 1, i + 1, i + 1, i + 1);
    expect(text_str(&t), "f:18: port: expected at most 32 TCP ports of all services together, got "
                         "more\n");
    text_free(&t);
}

static void the_agent_is_there_where_it_has_a_socket(void **state)
{
    expect(PORT, "");
    assert_string_equal(conf_got.agent.socket, "");
    assert_null(conf_agent_param(&conf_got.agent, "socket"));
    expect(PORT "[agent]\nsocket=/run/x.sock\nsend_buffer=8K\n", "");
    assert_string_equal(conf_agent_param(&conf_got.agent, "socket"), "/run/x.sock");
    assert_string_equal(conf_agent_param(&conf_got.agent, "send_buffer"), "8192");
    assert_string_equal(conf_agent_param(&conf_got.agent, "sockets_max"), "1024");
    assert_null(conf_agent_param(&conf_got.agent, "upstream"));
    assert_int_equal(conf_got.n_services, 0);
}

static void an_agent_that_cannot_be_is_told(void **state)
{
    expect("[agent]\nsocket=/run/x.sock\n",
           "f:2: socket: expected a [port NAME] for its connections, got none\n");
    expect(PORT "[agent]\nsocket=/run/x.sock\n[service agent]\napp=echo\nport=7\n",
           "f:5: socket: expected no [service agent] together with it, got one\n");
    expect(PORT "[agent]\nsockets_max=0\n",
           "f:5: sockets_max: expected a whole number from 1 to 65536 (k: thousands, M: "
           "millions), got \"0\"\n");
}

static void a_service_on_an_address_of_no_port_is_told(void **state)
{
    expect(PORT ECHO_ "address=10.0.0.3\n",
           "f:7: address: expected an address of a [port NAME], got 10.0.0.3\n");
}

static void buffers_that_cannot_hold_what_is_asked_are_told(void **state)
{
    expect(
        "[memory]\nbuffers=64\n" PORT ECHO_ "send_buffer=128K\nreceive_buffer=131073\n",
        "f:10: receive_buffer: expected at most 131072 bytes ([memory] buffers = 64 of 2048), got "
        "131073\n");
    expect("[memory]\nbuffers=64\n" PORT ECHO_ "send_buffer=131073\n",
           "f:9: send_buffer: expected at most 131072 bytes ([memory] buffers = 64 of 2048), got "
           "131073\n");
    expect(PORT WEB "receive_buffer=4K\n",
           "f:4: header_bytes_max: expected at most receive_buffer = 4096 bytes, got 8192\n");
}

static void applications_read_every_key_as_plain_text(void **state)
{
    expect(PORT WEB "header_timeout_ms=5s\nbytes_max=1K\n", "");
    const struct conf_service *s = &conf_got.services[0];
    assert_string_equal(conf_service_param(s, "root"), "/srv");
    assert_string_equal(conf_service_param(s, "header_timeout_ms"), "5000");
    assert_string_equal(conf_service_param(s, "header_bytes_max"), "8192");
    assert_string_equal(conf_service_param(s, "bytes_max"), "1024");
    assert_string_equal(conf_service_param(s, "port"), "80");
    assert_null(conf_service_param(s, "address"));
    assert_null(conf_service_param(s, "/srv"));
    assert_null(conf_service_param(s, "nothing"));
    assert_null(conf_service_param(s, ""));
    expect(PORT ECHO_, "");
    assert_null(conf_service_param(&conf_got.services[0], "root"));
    assert_null(conf_service_param(&conf_got.services[0], "files_max"));
    assert_string_equal(conf_service_param(&conf_got.services[0], "nodelay"), "on");
}

static void held_headers_take_half_of_the_buffers_shared_among_the_http_services(void **state)
{
    expect("[memory]\nbuffers=1024\n" PORT WEB, "");
    assert_string_equal(conf_service_param(&conf_got.services[0], "header_bytes_held"), "1048576");
    expect("[memory]\nbuffers=64\n" PORT WEB "[service b]\napp=http\nport=81\nroot=/srv\n"
           "[service c]\napp=http\nport=82\nroot=/srv\nheader_bytes_held=1M\nsend_buffer=64K\n"
           "[service d]\napp=http\nport=83\nroot=/srv\n[service e]\napp=http\nport=84\nroot=/srv\n",
           "");
    assert_int_equal(conf_got.services[0].header_bytes_held, 16384);  // the least
    assert_int_equal(conf_got.services[1].header_bytes_held, 16384);
    assert_int_equal(conf_got.services[2].header_bytes_held, 1 << 20);
}

// Each line of a repeated key is judged by itself, and an error has its own line.
static void lines_of_an_http_service_are_good_or_told(void **state)
{
    static const char *const good[] = {
        "host = example.org /srv/a",
        "host = example.org, *.example.org ,www.example.net  /srv/a",
        "host = [fd00::1], 192.0.2.1, a_b-c -",
        "header = /assets/* Cache-Control: public, max-age=31536000",
        "header = * X-Own:",
        "header = example.org/x X-Own: a=\"b\"",
        "header = .example.org/* X-Own: y",
        "expires = *.png 30d",
        "expires = / 0",
        "expires = /a 999999999s",
        "redirect = /old 301 /new",
        "redirect = /old/* 308 https://example.org/new/*",
        "redirect = example.org/* 302 http://other.org/",
        "redirect = /a 307 https://example.org",
        "redirect = /a 303 /b?c=d#e",
        "error_page = 404 /404.html",
        "error_page = 503 example.org/down.html",
        "proxy_from = 10.0.0.0/8, fd00::/8",
        "mime_types = /etc/mime.types",
        "listing = on",
    };
    static const char *const bad[][2] = {
        {"host = example.org", "NAME[, NAME ...] ROOT"},
        {"host = /srv", "NAME[, NAME ...] ROOT"},
        {"host = example.org srv", "\"srv\""},
        {"host = a b /srv", "NAME[, NAME ...] ROOT"},
        {"host = a..b /srv", "\"a..b\""},
        {"host = .a /srv", "\".a\""},
        {"host = *a /srv", "\"*a\""},
        {"host = a, /srv", "NAME[, NAME ...] ROOT"},
        {"host = [::g] /srv", "\"[::g]\""},
        {"host = a:80 /srv", "\"a:80\""},
        {"header = /x", "PATTERN FIELD: VALUE"},
        {"header = /x X-Own value", "\"X-Own\""},
        {"header = /x Content-Length: 5", "\"Content-Length:\""},
        {"header = /x transfer-encoding: chunked", "\"transfer-encoding:\""},
        {"header = /x Connection: close", "\"Connection:\""},
        {"header = x X-Own: y", "\"x\""},
        {"header = /x?y X-Own: y", "\"/x?y\""},
        {"header = a:b/x X-Own: y", "\"a:b/x\""},
        {"expires = /x", "PATTERN TIME"},
        {"expires = /x 1y", "\"1y\""},
        {"expires = /x -1", "\"-1\""},
        {"expires = /x 1h 2h", "PATTERN TIME"},
        {"expires = /x 10000d", "\"10000d\""},
        {"redirect = /x 300 /y", "\"300\""},
        {"redirect = /x 301", "PATTERN STATUS TARGET"},
        {"redirect = /x* 301 /y", "\"/x*\""},
        {"redirect = /x/*/z 301 /y", "\"/x/*/z\""},
        {"redirect = /x 301 /y/*", "\"/y/*\""},
        {"redirect = /x/* 301 /y*", "\"/y*\""},
        {"redirect = /x/* 301 https://example.org*", "\"https://example.org*\""},
        {"redirect = /x/* 301 /a/*?b", "\"/a/*?b\""},
        {"redirect = /x 301 //evil.org", "\"//evil.org\""},
        {"redirect = /x 301 ftp://a/", "\"ftp://a/\""},
        {"redirect = /x 301 y", "\"y\""},
        {"error_page = /x", "STATUS PATTERN"},
        {"error_page = 200 /x", "\"200\""},
        {"error_page = 404 /x/*", "\"/x/*\""},
        {"proxy_from = 10.0.0.1", "\"10.0.0.1\""},
        {"listing = yes", "on or off"},
    };
    char text[512], key[32];
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        snprintf(text, sizeof(text), PORT WEB "%s\n", good[i]);
        expect(text, "");
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        snprintf(key, sizeof(key), "f:9: %.*s: expected ", (int)strcspn(bad[i][0], " "), bad[i][0]);
        snprintf(text, sizeof(text), PORT WEB "header = /x A: b\n%s\n", bad[i][0]);
        load_on(2, &conf_got, text, NULL, errors_got);
        if (strncmp(errors_got, key, strlen(key)) != 0 || strstr(errors_got, bad[i][1]) == NULL)
            fail_msg("%s: %s", bad[i][0], errors_got);
    }
}

static void lines_of_an_http_service_are_printed_one_by_one(void **state)
{
    struct text t;
    text_init(&t, 1 << 20);
    expect(PORT WEB "host = a /a\nhost = b , c  /b\nheader = /x A: b, c\nheader = /y D: e\n", "");
    assert_string_equal(conf_service_param(&conf_got.services[0], "host"), "a /a\nb , c  /b\n");
    assert_int_equal(conf_print(&conf_got, &t), 0);
    assert_non_null(strstr(text_str(&t), "\nhost = a /a\nhost = b , c  /b\n"
                                         "header = /x A: b, c\nheader = /y D: e\n"));
    text_free(&t);
    expect_sets(PORT WEB "host = a /a\n", SETS("service.w.host=z /z"), "");
    assert_string_equal(conf_service_param(&conf_got.services[0], "host"), "z /z\n");
}

static void a_service_has_at_most_64_lines_of_hosts(void **state)
{
    struct text t;
    text_init(&t, 8192);
    text_printf(&t, PORT WEB);
    for (unsigned i = 0; i < 64; i++)
        text_printf(&t, "host = h%u /srv\n", i);
    expect(text_str(&t), "");
    text_printf(&t, "host = one.more /srv\n");
    load_on(2, &conf_got, text_str(&t), NULL, errors_got);
    assert_non_null(strstr(errors_got, "f:72: host: expected NAME[, NAME ...] ROOT"));
    text_free(&t);
}

static void a_service_of_hosts_alone_needs_no_root(void **state)
{
    expect(PORT "[service w]\napp=http\nport=80\nhost=a.org /srv\n", "");
    expect(PORT "[service w]\napp=http\nport=80\n",
           "f:4: root: missing: expected the directory to serve\n");
    expect(PORT "[service w]\napp=http\nport=80\nhost=a.org\n",
           "f:7: host: expected NAME[, NAME ...] ROOT, as example.org, *.example.org /srv/example, "
           "at most 64 times; 4095 bytes of such lines at most, got \"a.org\"\n");
}

static void the_longest_service_fits_its_parameter_text(void **state)
{
    struct text t;
    char name[CONF_NAME_BYTES];
    memset(name, 'n', sizeof(name));
    name[CONF_NAME_BYTES - 1] = '\0';
    text_init(&t, 65536);
    text_printf(&t,
                "[memory]\nbuffers=1M\n[port p]\ndriver=ring\naddress=200.200.200.200/24\n"
                "[service %s]\napp=http\nport=60001,60002,60003,60004,60005,60006,60007,60008\n"
                "address=200.200.200.200\nlimit_connections=100M\nsource_connections=100M\n"
                "send_buffer=1G\n"
                "receive_buffer=1G\nkeepalive_ms=86400000\nheader_bytes_max=16384\n"
                "header_timeout_ms=1073741824\nkeepalive_timeout_ms=1073741824\n"
                "files_max=16777216\nbytes_max=1024G\nbody_bytes_max=1G\n"
                "body_timeout_ms=1073741824\nholds_max=65535\nheader_bytes_held=1024G\n"
                "write_timeout_ms=3600000\nwrite_bytes_min=1G\n"
                "access_log_format=combined\n",
                name);
    static const char *const paths[] = {"root", "echo_path", "headers_path", "access_log"};
    for (unsigned k = 0; k < 4; k++) {
        text_printf(&t, "%s=/", paths[k]);
        for (int i = 0; i < CONF_PATH_BYTES - 2; i++)
            text_printf(&t, "r");
        text_printf(&t, "\n");
    }
    text_printf(&t, "mime_types=/");
    for (int i = 0; i < CONF_PATH_BYTES - 2; i++)
        text_printf(&t, "m");
    text_printf(&t, "\nlisting=on\nproxy_protocol=on\nproxy_connections_max=100M\nproxy_from=");
    for (int i = 0; i < CONF_ADDRESSES_MAX; i++)
        text_printf(&t, "%sfd11:1111:1111:1111:1111:1111:1111:11%02x/128", i == 0 ? "" : ",", i);
    static const char *const lines[] = {"host=%04d /h%080d", "header=/%04d A: %080d",
                                        "expires=/%04d%080d 1s", "redirect=/%04d%080d 301 /",
                                        "error_page=404 /%04d%080d"};
    for (unsigned k = 0; k < ARRAY_LEN(lines); k++) {
        char line[128];
        unsigned n = (unsigned)snprintf(line, sizeof(line), lines[k], 0, 0) -
                     (unsigned)(strchr(lines[k], '=') - lines[k]);
        for (unsigned i = 0; (i + 1) * n < CONF_WEB_BYTES; i++) {
            text_printf(&t, "\n");
            text_printf(&t, lines[k], (int)i, 0);
        }
    }
    text_printf(&t, "\n");
    expect(text_str(&t), "");
    assert_int_equal(strlen(conf_service_param(&conf_got.services[0], "root")), 255);
    assert_in_range(strlen(conf_service_param(&conf_got.services[0], "error_page")), 4000, 4095);
    text_free(&t);
}

static void the_interface_for_linux_is_a_new_one(void **state)
{
#define TAP_ "[port p]\ndriver=tap\ndevice=t0\naddress=10.0.0.2/24\n"
    expect(TAP_ "linux=l0\n" ECHO_, "");
    expect("[port p]\ndriver=tap\ndevice=t0\nlinux=l0\n" ECHO_, "");  // Linux gets the address
    expect(TAP_ "linux=t0\n" ECHO_,
           "f:5: linux: expected the name of a new interface, got \"t0\" of port p\n");
    expect(TAP_ "linux=a/b\n" ECHO_,
           "f:5: linux: expected an interface name of 1 to 15 characters, as eth0, got \"a/b\"\n");
    expect(TAP_ "linux=l0\n[port q]\ndriver=tap\ndevice=t1\naddress=10.0.1.2/24\nlinux=l0\n" ECHO_,
           "f:10: linux: expected the name of a new interface, got \"l0\" of port p\n");
}

// ---- the whole

static void all_errors_are_told_in_one_run(void **state)
{
    expect_on(2, "[tcp]\nretries=x\n[port p]\ndriver=tap\nmtu=1\n" ECHO_ "root=/x\n",
              SETS("tcp.nothing=1"),
              "f:2: retries: expected a whole number from 1 to 30, got \"x\"\n"
              "f:5: mtu: expected a whole number from 576 to 9000, got \"1\"\n"
              "--set tcp.nothing: expected a key of [tcp]\n"
              "f:3: device: missing: expected an interface name of 1 to 15 characters, as eth0\n"
              "f:3: address: missing: expected at least one address and prefix, as 10.0.0.2/24 or "
              "fd00::2/64\n"
              "f:9: root: expected with app = http only, got app = echo\n");
}

static void more_errors_than_are_shown_are_counted(void **state)
{
    struct text t;
    text_init(&t, 1 << 16);
    for (int i = 0; i < 250; i++)
        text_printf(&t, "x\n");
    load_on(2, &conf_got, text_str(&t), NULL, errors_got);
    assert_non_null(strstr(errors_got, "f:100: "));
    assert_null(strstr(errors_got, "f:101: "));
    assert_string_equal(strrchr(errors_got, '.') - 2, "... and 150 more\n");
    text_free(&t);
}

static void what_is_printed_loads_to_the_same_configuration(void **state)
{
    static const char *const texts[] = {
        "",
        PORT ECHO_,
        TAP "host_address=10.0.0.1/24\nmac=02:00:00:00:00:aB\ngateway=10.0.0.1\n"
            "route=10.1.0.0/16 via 10.0.0.7,9.0.0.0/8 via 10.0.0.8\n" WEB "address=10.0."
            "0.2\nlimit_connections=5\nkeepalive_ms=2s\n",
        "[cpu]\nlinux=0\n[memory]\nhugepage=none\nimage_bytes=5\n[control]\nmount=\nlog_level="
        "debug\n"
        "telemetry=off\n[tcp]\nack_merge=off\n[port a]\ndriver=fault\nwraps=b\nloss=0.0001\n"
        "reorder=33.3333\nseed=18446744073709551615\naddress=10.0.0.2/24,10.0.1.2/31\n"
        "neighbor=10.0.0.9 02:00:00:00:00:01,10.0.0.8 02:00:00:00:00:02\n[port b]\ndriver=ring\n"
        "rx_ring=64\n" ECHO_ "nodelay=off\n",
    };
    for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
        struct conf *first = calloc(1, sizeof(*first));
        struct text once, twice;
        text_init(&once, 1 << 20);
        text_init(&twice, 1 << 20);
        assert_int_equal(load_on(2, first, texts[i], NULL, errors_got), 0);
        assert_int_equal(conf_print(first, &once), 0);
        expect(text_str(&once), "");
        assert_memory_equal(first, &conf_got, sizeof(*first));
        assert_int_equal(conf_print(&conf_got, &twice), 0);
        assert_string_equal(text_str(&once), text_str(&twice));
        text_free(&once);
        text_free(&twice);
        free(first);
    }
}

static char *read_config(const char *name)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", CONFIG_DIR, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    char *bytes = calloc(1, 1 << 16);
    size_t n = fread(bytes, 1, (1 << 16) - 1, f);
    assert_in_range(n, 1, (1 << 16) - 2);
    fclose(f);
    return bytes;
}

// When this fails: build/tests/test_conf --default > config/default.conf
static void default_conf_is_the_table_of_keys(void **state)
{
    struct text help;
    char *file = read_config("default.conf");
    text_init(&help, 1 << 20);
    assert_int_equal(conf_help(&help), 0);
    assert_string_equal(file, text_str(&help));
    text_free(&help);
    free(file);
}

static void default_conf_loads_to_the_defaults(void **state)
{
    struct conf *none = calloc(1, sizeof(*none));
    char *file = read_config("default.conf");
    load_on(8, none, "", NULL, errors_got);
    expect_on(8, file, NULL, "");
    assert_memory_equal(none, &conf_got, sizeof(*none));
    free(file);
    free(none);
}

// The lines "#[port NAME]" and "#key = value" without their '#'.
static void uncomment(char *text)
{
    char *to = text;
    for (char *p = text; *p != '\0';) {
        bool begins = p == text || p[-1] == '\n';
        if (begins && *p == '#' && p[1] != ' ')
            p++;
        else
            *to++ = *p++;
    }
    *to = '\0';
}

static void sections_of_default_conf_without_their_hash_have_every_default(void **state)
{
    struct conf *least = calloc(1, sizeof(*least));
    char *file = read_config("default.conf");
    uncomment(file);
    assert_non_null(strstr(file, "\n[port NAME]\n"));
    // What has no default comes from the command line; device, wraps and the keys of one driver
    // are not of this one, those of another application not of http.
    char *const sets[] = {"port.NAME.driver=ring", "port.NAME.address=10.0.0.2/24",
                          "service.NAME.app=http", "service.NAME.port=80",
                          "service.NAME.root=/r",  NULL};
    assert_int_equal(load_on(2, least, "", sets, errors_got), 0);
    load_on(2, &conf_got, file, sets, errors_got);
    for (char *line = strtok(errors_got, "\n"); line != NULL; line = strtok(NULL, "\n"))
        assert_true(strstr(line, "only, got driver = ring") != NULL ||
                    strstr(line, "only, got app = http") != NULL ||
                    strstr(line, "driver: expected") != NULL || strstr(line, "app: expected") ||
                    strstr(line, " port: expected"));
    assert_memory_equal(&conf_got.ports[0], &least->ports[0], sizeof(least->ports[0]));
    assert_memory_equal(&conf_got.services[0], &least->services[0],
                        offsetof(struct conf_service, param_text));
    free(file);
    free(least);
}

static void quickstart_conf_is_good(void **state)
{
    char *file = read_config("quickstart.conf");
    expect(file, "");
    assert_string_equal(conf_got.services[0].root, "/var/www");
    expect_sets(file, SETS("service.web.root=/srv"), "");  // scripts/quickstart does
    assert_string_equal(conf_got.services[0].root, "/srv");
    assert_string_equal(conf_got.ports[0].device, "c10m0");
    assert_int_equal(ip_to_v4(&conf_got.ports[0].host_address.at[0].addr), 0x0a630001);
    assert_int_equal(conf_got.ports[0].address.n, 2);
    assert_int_equal(conf_got.n_services, 3);
    free(file);
}

static void ten_million_conf_is_good(void **state)
{
    char *file = read_config("ten-million.conf");
    expect(file, "");
    assert_int_equal(conf_got.memory.connections, 10000000);
    free(file);
}

// Those for NICs, on the machines that they are for.
static void nic_confs_are_good(void **state)
{
    char *file = read_config("10gbe.conf");
    expect_on(12, file, NULL, "");
    assert_in_range(conf_got.memory.connections, 10000000, 12000000);
    assert_string_equal(conf_got.ports[0].device, "0000:01:00.0");
    assert_int_equal(conf_got.n_ports, 1);
    // The second port is there, and works with the keys of the first.
    char *second = strstr(file, "#[port p1]");
    assert_non_null(second);
    for (char *p = second; *p == '#'; p = strchr(p, '\n') + 1)
        *p = ' ';
    expect_on(12, file, NULL, "");
    assert_int_equal(conf_got.n_ports, 2);
    free(file);
    file = read_config("1gbe.conf");
    expect_on(4, file, NULL, "");
    assert_int_equal(conf_got.memory.connections, 1000000);
    free(file);
}

// An allocator that ends the process where malloc() would give NULL.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER true
#endif
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER false
#endif

// In a process that gets no memory any more, whatever it is for.
static void exhaust(void)
{
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_AS, &none) != 0)
        _exit(2);
    for (size_t n = 1 << 20; n >= 16; n /= 2)
        while (malloc(n) != NULL)
            ;
}

static void without_memory_a_change_is_refused_and_nobody_ends(void **state)
{
    static struct conf c, scratch;
    const struct key *k = conf_keys;
    if (HAS_SANITIZER)
        skip();
    expect("[port p]\ndriver=ring\naddress=10.0.0.1/24\n", "");
    c = conf_got;
    while (strcmp(k->name, "time_wait_ms") != 0)
        k++;
    const pid_t child = fork();
    if (child == 0) {
        struct conf_errors e;
        conf_errors_init(&e);
        exhaust();
        const bool set = conf_set_live(&c, k, 0, "30000", &scratch) == -ENOMEM;
        const bool loaded = conf_load(&scratch, NULL, NULL, 0, &e) == -1;
        _exit(set && loaded && c.tcp.time_wait_ms == 60000 ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_file_is_loaded_and_one_that_cannot_be_is_told(void **state)
{
    char path[] = "/tmp/c10m-test-conf-XXXXXX", line[128];
    struct conf_errors e;
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "[tcp]\nretries=99\n", 17), 17);
    close(fd);
    conf_errors_init(&e);
    assert_int_equal(conf_load(&conf_got, path, NULL, 0, &e), -1);
    snprintf(line, sizeof(line),
             "%s:2: retries: expected a whole number from 1 to 30, got \"99\"\n", path);
    assert_string_equal(text_str(&e.lines), line);
    assert_int_equal(truncate(path, CONF_FILE_BYTES_MAX + 1), 0);
    conf_errors_free(&e);
    conf_errors_init(&e);
    assert_int_equal(conf_load(&conf_got, path, NULL, 0, &e), -1);
    snprintf(line, sizeof(line),
             "%s: expected a text file of at most 1048576 bytes: it is longer\n", path);
    assert_string_equal(text_str(&e.lines), line);
    unlink(path);
    conf_errors_free(&e);
    conf_errors_init(&e);
    assert_int_equal(conf_load(&conf_got, "/", NULL, 0, &e), -1);
    assert_string_equal(text_str(&e.lines),
                        "/: expected a text file of at most 1048576 bytes: it is a directory\n");
    conf_errors_free(&e);
    conf_errors_init(&e);
    assert_int_equal(conf_load(&conf_got, "/nonexistent/c10m.conf", NULL, 0, &e), -1);
    assert_string_equal(text_str(&e.lines), "/nonexistent/c10m.conf: expected a text file of at "
                                            "most 1048576 bytes: No such file or directory\n");
    conf_errors_free(&e);
    conf_errors_init(&e);
    assert_int_equal(conf_load(&conf_got, NULL, NULL, 0, &e), 0);
    assert_in_range(conf_got.cpu.workers.n, 1, CONF_WORKERS_MAX);
    conf_errors_free(&e);
}

static void edits_are_counted_as_insert_delete_change_and_swap(void **state)
{
    assert_int_equal(spelling_distance("", ""), 0);
    assert_int_equal(spelling_distance("mtu", "mtu"), 0);
    assert_int_equal(spelling_distance("mtu", "mut"), 1);
    assert_int_equal(spelling_distance("mtu", "mtuu"), 1);
    assert_int_equal(spelling_distance("mtu", ""), 3);
    assert_int_equal(spelling_distance("kitten", "sitting"), 3);
    assert_int_equal(spelling_distance("1234567890123456789012345678901", ""), 31);
    assert_int_equal(spelling_distance("12345678901234567890123456789012", "1"), 32);
}

static void rows_are_found_by_name_and_by_field_and_no_name_is_twice(void **state)
{
    for (unsigned i = 0; i < conf_n_keys; i++) {
        const struct key *k = &conf_keys[i];
        assert_ptr_equal(key_find(k->section, k->name), k);
        assert_ptr_equal(key_at(k->section, k->offset), k);
        assert_true(strlen(k->name) < CONF_NAME_BYTES);
        assert_true(strlen(k->help) > 0 && k->help[strlen(k->help) - 1] != '.');
    }
    assert_null(key_find(SECTION_cpu, "mtu"));
}

static int print_default(void)
{
    struct text t;
    text_init(&t, 1 << 20);
    int rc = conf_help(&t);
    fputs(text_str(&t), stdout);
    text_free(&t);
    return rc == 0 ? 0 : 1;
}

static void a_place_is(struct conf_places *places, const char *key, const char *want)
{
    struct text t;
    text_init(&t, 4096);
    conf_place(places, key, &t);
    assert_string_equal(text_str(&t), want);
    text_free(&t);
}

static void errors_after_the_load_have_their_places(void **state)
{
    (void)state;
    static const char file[] =
        "[port a]\ndriver = ring\naddress = 10.1.0.1/24\n[port b]\ndriver = tap\ndevice = x0\n"
        "address = 10.0.0.1/24\n";
    static char packets[] = "memory.packets=16384";
    char *sets[] = {packets}, path[] = "/tmp/c10m-places-XXXXXX";
    char want[128];
    struct conf_places *places;
    struct conf_errors e;
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, file, sizeof(file) - 1), sizeof(file) - 1);
    close(fd);
    conf_errors_init(&e);
    assert_int_equal(conf_load_places(&conf_got, path, sets, 1, &e, &places), 0);
    snprintf(want, sizeof(want), "%s:6: device: ", path);
    a_place_is(places, "port.b.device", want);
    snprintf(want, sizeof(want), "%s:4: mtu: ", path);  // a default, in a section of the file
    a_place_is(places, "port.b.mtu", want);
    a_place_is(places, "memory.packets", "--set memory.packets: ");
    a_place_is(places, "memory.connections", "memory.connections: ");
    a_place_is(places, "port.c.device", "port.c.device: ");
    a_place_is(places, "port.b", "port.b: ");
    a_place_is(places, "port..device", "port..device: ");
    a_place_is(places, "nothing.at.all", "nothing.at.all: ");
    a_place_is(places, "", "");
    a_place_is(NULL, "memory.packets", "memory.packets: ");
    conf_places_free(places);
    assert_int_equal(conf_load_places(&conf_got, "/nonexistent", NULL, 0, &e, &places), -1);
    assert_null(places);
    conf_errors_free(&e);
    unlink(path);
}

// partial: what of this file has no error, in conf_got. False: nothing.
static bool partial(const char *file, char *const *sets, unsigned n_sets, struct conf_parts *parts,
                    char left_out[256])
{
    static struct conf whole;
    char path[] = "/tmp/c10m-partial-XXXXXX";
    struct conf_places *places;
    struct conf_errors e;
    struct text t;
    const int fd = mkstemp(path);
    assert_int_equal(write(fd, file, strlen(file)), strlen(file));
    close(fd);
    text_init(&t, 256);
    conf_errors_init(&e);
    assert_int_equal(conf_load_parts(&whole, path, sets, n_sets, &e, &places), -1);
    const bool some = conf_partial(places, &conf_got, parts, &t);
    snprintf(left_out, 256, "%s", text_str(&t));
    conf_places_free(places);
    conf_errors_free(&e);
    text_free(&t);
    unlink(path);
    return some;
}

static void the_part_of_a_configuration_without_errors_is_known(void **state)
{
    (void)state;
    struct conf_parts parts;
    char left_out[256];
    assert_true(partial("[port a]\ndriver = tap\ndevice = x0\naddress = 10.0.0.1/24\n"
                        "[port b]\ndriver = tap\ndevcie = x1\naddress = 10.1.0.1/24\n"
                        "[service w]\napp = echo\nport = 7\naddress = 10.1.0.1\n"
                        "[service x]\napp = echo\nport = 0\n"
                        "[memory]\nbuffers = many\npackets = 32768\n",
                        NULL, 0, &parts, left_out));
    assert_string_equal(left_out, " [memory] [port b] [service x]");
    assert_int_equal(conf_got.n_ports, 1);
    assert_string_equal(conf_got.ports[0].name, "a");
    assert_int_equal(conf_got.n_services, 1);
    assert_string_equal(conf_got.services[0].name, "w");
    assert_true(ip_is_zero(&conf_got.services[0].address));  // it may be on a port left out
    assert_string_equal(conf_service_param(&conf_got.services[0], "app"), "echo");
    assert_int_equal(conf_got.memory.packets, 32768);
    assert_true(conf_got.memory.buffers != 0);
    assert_true(parts.identity && parts.cpu && parts.mount && parts.http && parts.hugetlbfs);
    assert_false(parts.memory);
    assert_false(parts.ports);
}

static void a_port_around_one_with_an_error_is_not_known_either(void **state)
{
    (void)state;
    struct conf_parts parts;
    char left_out[256];
    assert_true(partial("[port f]\ndriver = fault\nwraps = a\n[port a]\ndriver = tap\n"
                        "device = x0\naddress = 10.0.0.1/24\nmtu = 1\n",
                        NULL, 0, &parts, left_out));
    assert_string_equal(left_out, " [port a] [port f]");
    assert_int_equal(conf_got.n_ports, 0);
}

static void a_bond_over_a_port_with_an_error_is_not_known_either(void **state)
{
    (void)state;
    struct conf_parts parts;
    char left_out[256];
    assert_true(partial("[port b]\ndriver = bond\nmembers = p0, p1\naddress = 10.0.0.1/24\n[port "
                        "p0]\ndriver = ring\n[port p1]\ndriver = ring\nrx_ring = 1\n",
                        NULL, 0, &parts, left_out));
    assert_string_equal(left_out, " [port p1] [port b]");
}

static void a_section_that_is_not_known_may_be_any_that_is_not_there(void **state)
{
    (void)state;
    struct conf_parts parts;
    char left_out[256];
    assert_true(partial("[memroy]\npackets = 16384\n[control]\nname = n\n[cpu]\n", NULL, 0, &parts,
                        left_out));
    assert_true(parts.identity && parts.cpu);
    assert_false(parts.memory);
    assert_false(parts.ports);
    assert_non_null(strstr(left_out, " [memory]"));
    assert_null(strstr(left_out, " [control]"));
}

static void of_what_is_no_text_and_of_a_wrong_override_nothing_is_known(void **state)
{
    (void)state;
    struct conf_parts parts;
    char left_out[256], set[] = "memory.packtes=16384";
    char *sets[] = {set};
    assert_false(partial("\001\002", NULL, 0, &parts, left_out));
    assert_false(partial("[cpu]\n", sets, 1, &parts, left_out));
    assert_string_equal(left_out, "");
    assert_false(conf_partial(NULL, &conf_got, &parts, NULL));
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--default") == 0)
        return print_default();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_after_the_load_have_their_places),
        cmocka_unit_test(the_part_of_a_configuration_without_errors_is_known),
        cmocka_unit_test(a_port_around_one_with_an_error_is_not_known_either),
        cmocka_unit_test(a_bond_over_a_port_with_an_error_is_not_known_either),
        cmocka_unit_test(a_section_that_is_not_known_may_be_any_that_is_not_there),
        cmocka_unit_test(of_what_is_no_text_and_of_a_wrong_override_nothing_is_known),
        cmocka_unit_test(lines_that_are_no_setting_are_told_with_their_number),
        cmocka_unit_test(a_key_before_any_section_is_told_once),
        cmocka_unit_test(unknown_sections_are_told_with_the_closest_one),
        cmocka_unit_test(unknown_keys_are_told_with_the_closest_one_or_their_section),
        cmocka_unit_test(a_section_or_key_given_twice_is_told_with_the_first_line),
        cmocka_unit_test(too_many_ports_or_services_are_told),
        cmocka_unit_test(comments_blanks_byte_order_mark_and_crlf_are_read_over),
        cmocka_unit_test(lines_that_are_too_long_or_hold_a_zero_byte_are_told),
        cmocka_unit_test(a_bad_value_tells_what_was_expected_for_every_type),
        cmocka_unit_test(a_bad_value_of_a_port_or_service_tells_what_was_expected),
        cmocka_unit_test(numbers_are_refused_at_both_ends_of_every_range),
        cmocka_unit_test(numbers_that_are_none_are_refused),
        cmocka_unit_test(suffixes_multiply_as_the_type_says),
        cmocka_unit_test(a_set_of_words_is_read_and_printed_and_none_is_not_auto),
        cmocka_unit_test(percentages_keep_four_decimals),
        cmocka_unit_test(lists_of_cores_are_read_sorted_and_refused_when_wrong),
        cmocka_unit_test(addresses_and_macs_are_refused_when_wrong),
        cmocka_unit_test(texts_are_refused_when_longer_than_their_room),
        cmocka_unit_test(lists_of_addresses_and_neighbors_add_up_over_lines),
        cmocka_unit_test(an_override_replaces_what_the_file_gave),
        cmocka_unit_test(overrides_make_ports_and_services_without_a_file),
        cmocka_unit_test(a_wrong_override_is_told_with_its_name),
        cmocka_unit_test(a_failed_check_points_at_the_override_that_caused_it),
        cmocka_unit_test(cores_default_by_their_number),
        cmocka_unit_test(given_cores_leave_the_others_to_the_other_side),
        cmocka_unit_test(cores_that_cannot_work_are_told_with_the_arithmetic),
        cmocka_unit_test(workers_that_share_cores_are_counted_each),
        cmocka_unit_test(records_default_by_the_number_of_connections),
        cmocka_unit_test(memory_that_cannot_work_is_told_with_the_arithmetic),
        cmocka_unit_test(run_dir_moves_all_that_two_servers_must_not_share),
        cmocka_unit_test(the_socket_lies_below_run_dir_unless_it_says_where),
        cmocka_unit_test(a_mount_that_hides_a_directory_in_use_is_told),
        cmocka_unit_test(http_beyond_this_host_needs_a_token),
        cmocka_unit_test(a_token_is_one_line_that_not_everybody_reads),
        cmocka_unit_test(what_statsd_cannot_take_is_told),
        cmocka_unit_test(timeouts_out_of_order_are_told),
        cmocka_unit_test(keys_of_another_driver_or_application_are_told),
        cmocka_unit_test(a_port_without_what_it_needs_is_told),
        cmocka_unit_test(a_device_that_is_none_is_told),
        cmocka_unit_test(an_address_that_no_host_can_have_is_told),
        cmocka_unit_test(addresses_of_both_families_are_read_and_printed_as_rfc_5952_says),
        cmocka_unit_test(an_ipv6_address_that_no_host_can_have_is_told),
        cmocka_unit_test(next_hops_of_ipv6_off_the_link_or_of_the_other_family_are_told),
        cmocka_unit_test(an_mtu_below_what_ipv6_needs_is_told),
        cmocka_unit_test(two_host_addresses_of_one_family_are_told),
        cmocka_unit_test(an_address_given_twice_is_told),
        cmocka_unit_test(a_gateway_off_the_link_is_told_unless_it_is_a_neighbor),
        cmocka_unit_test(routes_add_up_and_print_as_they_were_given),
        cmocka_unit_test(routes_that_cannot_be_are_told),
        cmocka_unit_test(a_neighbor_given_twice_or_our_own_is_told),
        cmocka_unit_test(a_host_address_that_cannot_reach_the_port_is_told),
        cmocka_unit_test(a_fault_port_that_wraps_wrongly_is_told),
        cmocka_unit_test(a_vlan_port_has_a_parent_and_its_mtu),
        cmocka_unit_test(a_vlan_port_without_what_it_needs_is_told),
        cmocka_unit_test(a_vlan_out_of_range_or_twice_is_told),
        cmocka_unit_test(a_vlan_on_no_link_is_told),
        cmocka_unit_test(a_vlan_port_takes_no_more_than_its_parent_and_has_no_device),
        cmocka_unit_test(a_bond_has_members_and_their_mtu),
        cmocka_unit_test(a_bond_without_good_members_is_told),
        cmocka_unit_test(keys_of_the_bond_in_a_member_are_told),
        cmocka_unit_test(a_member_is_no_parent_and_is_not_wrapped),
        cmocka_unit_test(keys_of_the_other_mode_and_a_foreign_primary_are_told),
        cmocka_unit_test(a_fault_port_takes_percentages_and_wraps_a_port_without_address),
        cmocka_unit_test(more_queues_than_workers_are_told),
        cmocka_unit_test(a_service_without_what_it_needs_is_told),
        cmocka_unit_test(where_a_proxy_relays_to_is_read_printed_and_told_when_wrong),
        cmocka_unit_test(an_unknown_application_is_told_with_the_closest_one),
        cmocka_unit_test(two_services_on_one_tcp_port_are_told),
        cmocka_unit_test(too_many_tcp_ports_together_are_told),
        cmocka_unit_test(the_agent_is_there_where_it_has_a_socket),
        cmocka_unit_test(an_agent_that_cannot_be_is_told),
        cmocka_unit_test(a_service_on_an_address_of_no_port_is_told),
        cmocka_unit_test(buffers_that_cannot_hold_what_is_asked_are_told),
        cmocka_unit_test(applications_read_every_key_as_plain_text),
        cmocka_unit_test(held_headers_take_half_of_the_buffers_shared_among_the_http_services),
        cmocka_unit_test(lines_of_an_http_service_are_good_or_told),
        cmocka_unit_test(lines_of_an_http_service_are_printed_one_by_one),
        cmocka_unit_test(a_service_has_at_most_64_lines_of_hosts),
        cmocka_unit_test(a_service_of_hosts_alone_needs_no_root),
        cmocka_unit_test(the_longest_service_fits_its_parameter_text),
        cmocka_unit_test(the_interface_for_linux_is_a_new_one),
        cmocka_unit_test(all_errors_are_told_in_one_run),
        cmocka_unit_test(more_errors_than_are_shown_are_counted),
        cmocka_unit_test(what_is_printed_loads_to_the_same_configuration),
        cmocka_unit_test(default_conf_is_the_table_of_keys),
        cmocka_unit_test(default_conf_loads_to_the_defaults),
        cmocka_unit_test(sections_of_default_conf_without_their_hash_have_every_default),
        cmocka_unit_test(quickstart_conf_is_good),
        cmocka_unit_test(ten_million_conf_is_good),
        cmocka_unit_test(nic_confs_are_good),
        cmocka_unit_test(without_memory_a_change_is_refused_and_nobody_ends),
        cmocka_unit_test(a_file_is_loaded_and_one_that_cannot_be_is_told),
        cmocka_unit_test(edits_are_counted_as_insert_delete_change_and_swap),
        cmocka_unit_test(rows_are_found_by_name_and_by_field_and_no_name_is_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
