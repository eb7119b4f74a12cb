// SPDX-License-Identifier: BSD-3-Clause
// Claims about base/text.h, the counters of a core and their renderings.
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "stat/counters.h"
#include "stat/render.h"
#include "unit/check.h"

enum { RENDER_BYTES_MAX = 64 * 1024, WORDS_MAX = 192, WORD_BYTES = 32, LINE_BYTES = 4096 };

// ---- text

static void text_is_a_terminated_string_before_the_first_append(void **state)
{
    struct text t;
    text_init(&t, 10);
    assert_string_equal(text_str(&t), "");
    text_free(&t);
}

static void text_takes_exactly_its_limit_and_refuses_one_byte_more_whole(void **state)
{
    struct text t;
    text_init(&t, 5);
    assert_int_equal(text_put(&t, "abc", 3), 0);
    assert_int_equal(text_printf(&t, "%d", 45), 0);
    assert_int_equal(text_put(&t, "x", 1), -EFBIG);
    assert_string_equal(text_str(&t), "abc45");
    assert_int_equal(t.error, -EFBIG);
    text_free(&t);
    assert_int_equal(t.error, 0);
    assert_int_equal(text_printf(&t, "123456"), -EFBIG);
    assert_string_equal(text_str(&t), "");
    text_free(&t);
}

static void text_keeps_its_first_error(void **state)
{
    struct text t;
    text_init(&t, 4);
    assert_int_equal(text_put(&t, "12345", 5), -EFBIG);
    assert_int_equal(text_put(&t, "1", 1), -EFBIG);
    assert_int_equal(text_printf(&t, "1"), -EFBIG);
    assert_int_equal((int)t.len, 0);
    text_free(&t);
}

static void text_grows_over_many_appends_and_keeps_zero_bytes(void **state)
{
    struct text t;
    text_init(&t, 1 << 20);
    for (int i = 0; i < 100000; i++)
        assert_int_equal(text_put(&t, "a\0b", 3), 0);
    assert_int_equal((int)t.len, 300000);
    for (int i = 0; i < 100000; i++)
        assert_memory_equal(t.data + 3 * i, "a\0b", 3);
    assert_int_equal(t.data[t.len], 0);
    assert_int_equal(text_put(&t, NULL, 0), 0);
    text_free(&t);
}

static void text_with_limit_zero_takes_only_nothing(void **state)
{
    struct text t;
    text_init(&t, 0);
    assert_int_equal(text_put(&t, "", 0), 0);
    assert_int_equal(text_printf(&t, "%s", ""), 0);
    assert_int_equal(text_put(&t, "a", 1), -EFBIG);
    text_free(&t);
}

// ---- counters

static struct text rendered;

static void fresh(void)
{
    text_free(&rendered);
    text_init(&rendered, RENDER_BYTES_MAX);
}

// value_of: the value in the line `name VALUE` of what was rendered; fails when it is not there
// exactly once.
static const char *value_of(const char *name)
{
    static char value[WORD_BYTES];
    char line[LINE_BYTES];
    int found = 0;
    for (const char *p = text_str(&rendered); *p != '\0';) {
        size_t n = strcspn(p, "\n");
        assert_true(n < sizeof(line));
        memcpy(line, p, n);
        line[n] = '\0';
        p += n + (p[n] == '\n');
        char key[128], word[WORD_BYTES], rest[2];
        assert_int_equal(sscanf(line, "%127s %31s %1s", key, word, rest), 2);
        if (strcmp(key, name) == 0) {
            strcpy(value, word);
            found++;
        }
    }
    if (found != 1)
        fail_msg("%s: %d lines", name, found);
    return value;
}

static void counters_shows_each_counter_under_its_own_name(void **state)
{
    struct core_stats s = {0};
    uint64_t *words = (uint64_t *)&s.c;
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        words[i] = 1000 + i;
    s.c.bytes_sent = UINT64_MAX;
    fresh();
    counters_render(&rendered, &s);
    char want[WORD_BYTES];
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++) {
        snprintf(want, sizeof(want), "%" PRIu64, words[i]);
        assert_string_equal(value_of(stat_counter_names[i].name), want);
    }
    snprintf(want, sizeof(want), "%" PRIu64, s.c.rto_fired);
    assert_string_equal(value_of("rto_fired"), want);
    assert_int_equal(rendered.error, 0);
}

static void balance_is_zero_when_every_packet_has_one_end_and_tells_what_is_missing(void **state)
{
    struct core_stats s = {.c = {.rx_packets = 100, .delivered = 50, .answered = 20, .kept = 10}};
    s.drops[DROP_tcp_checksum] = 19;
    s.drops[DROP_eth_short] = 1;
    assert_int_equal(stat_balance(&s), 0);
    s.drops[DROP_tx_full] = 7;  // ours: no received packet ended there
    s.drops[DROP_pkt_pool_empty] = 7;
    assert_int_equal(stat_balance(&s), 0);
    assert_int_equal(stat_dropped_rx(&s), 20);
    assert_int_equal(stat_dropped_tx(&s), 14);
    s.c.rx_packets += 3;
    assert_int_equal(stat_balance(&s), 3);
    s.c.kept += 5;
    assert_int_equal(stat_balance(&s), -2);
    fresh();
    counters_render(&rendered, &s);
    assert_string_equal(value_of("balance"), "-2");
    assert_string_equal(value_of("dropped"), "20");
    assert_string_equal(value_of("dropped_tx"), "14");
}

static void every_drop_reason_is_on_exactly_one_side(void **state)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++) {
        struct core_stats s = {0};
        s.drops[i] = 1;
        assert_int_equal(stat_dropped_rx(&s) + stat_dropped_tx(&s), 1);
    }
}

static void drops_shows_every_reason_once_zeros_included(void **state)
{
    struct core_stats s = {0};
    s.drops[DROP_NONE] = 99;  // is no reason and must not show
    s.drops[DROP_tx_full] = 5;
    fresh();
    drops_render(&rendered, &s);
    unsigned lines = 0;
    for (const char *p = text_str(&rendered); (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, DROP_COUNT - 1);
    assert_string_equal(value_of("tx_full"), "5");
    assert_string_equal(value_of("eth_short"), "0");
    assert_null(strstr(text_str(&rendered), "99"));
}

static void every_counter_reason_and_stage_has_help_and_no_name_is_used_twice(void **state)
{
    fresh();
    stat_help_render(&rendered);
    const struct stat_name *tables[] = {stat_counter_names, stat_drop_names + 1, stat_stage_names};
    const unsigned counts[] = {CORE_COUNTER_COUNT, DROP_COUNT - 1, STAGE_COUNT};
    for (unsigned t = 0; t < ARRAY_LEN(tables); t++)
        for (unsigned i = 0; i < counts[t]; i++) {
            assert_true(strlen(tables[t][i].help) > 5);
            char line[LINE_BYTES];
            snprintf(line, sizeof(line), "%s %s\n", tables[t][i].name, tables[t][i].help);
            assert_non_null(strstr(text_str(&rendered), line));
            for (unsigned j = 0; j < i; j++)
                assert_string_not_equal(tables[t][i].name, tables[t][j].name);
        }
}

static void every_reason_has_side_cause_and_help_on_its_line(void **state)
{
    fresh();
    drop_reasons_render(&rendered);
    unsigned lines = 0;
    for (const char *p = text_str(&rendered); (p = strchr(p, '\n')) != NULL; p++)
        lines++;
    assert_int_equal(lines, DROP_COUNT - 1);
    assert_non_null(
        strstr(text_str(&rendered), "\ntx_full tx lack port did not accept the packet\n"));
    assert_non_null(strstr(text_str(&rendered), "\nudp_checksum rx peer UDP checksum wrong\n"));
}

static void cycles_of_a_core_that_never_ran_are_zero_and_not_nan(void **state)
{
    struct core_stats s = {0};
    fresh();
    cycles_render(&rendered, &s);
    assert_string_equal(value_of("rx_share_percent"), "0.00");
    assert_string_equal(value_of("rx_cycles_per_packet"), "0.0");
    assert_string_equal(value_of("handling_cycles_per_packet"), "0.0");
    assert_null(strstr(text_str(&rendered), "nan"));
}

static void cycles_shares_and_costs_follow_from_the_counts(void **state)
{
    struct core_stats s = {.c = {.rx_packets = 10}};
    s.cycles[STAGE_rx] = 250;
    s.cycles[STAGE_app] = 500;
    s.cycles[STAGE_idle] = 250;
    fresh();
    cycles_render(&rendered, &s);
    assert_string_equal(value_of("rx_cycles"), "250");
    assert_string_equal(value_of("rx_share_percent"), "25.00");
    assert_string_equal(value_of("rx_cycles_per_packet"), "25.0");
    assert_string_equal(value_of("app_cycles_per_packet"), "50.0");
    assert_string_equal(value_of("total_cycles"), "1000");
    assert_string_equal(value_of("busy_share_percent"), "75.00");
    assert_string_equal(value_of("handling_cycles_per_packet"), "25.0");
}

static void a_rendering_that_does_not_fit_leaves_its_error_in_the_text(void **state)
{
    struct core_stats s = {0};
    struct text t;
    text_init(&t, 20);
    counters_render(&t, &s);
    assert_int_equal(t.error, -EFBIG);
    assert_true(t.len <= 20);
    text_free(&t);
}

// ---- snapshot and sum

static void sum_adds_every_word_of_every_core(void **state)
{
    static struct core_stats cores[3];
    const struct core_stats *list[3];
    for (unsigned c = 0; c < 3; c++) {
        uint64_t *words = (uint64_t *)&cores[c];
        for (unsigned i = 0; i < sizeof(cores[c]) / sizeof(uint64_t); i++)
            words[i] = (c + 1) * 1000 + i;
        list[c] = &cores[c];
    }
    struct core_stats got;
    memset(&got, 0xff, sizeof(got));
    stat_sum(&got, list, 3);
    for (unsigned i = 0; i < sizeof(got) / sizeof(uint64_t); i++)
        assert_int_equal(((uint64_t *)&got)[i], 6000 + 3 * i);
    stat_snapshot(&got, &cores[1]);
    assert_memory_equal(&got, &cores[1], sizeof(got));
}

static void sum_of_no_core_is_zero(void **state)
{
    struct core_stats got, zero = {0};
    memset(&got, 0xff, sizeof(got));
    stat_sum(&got, NULL, 0);
    assert_memory_equal(&got, &zero, sizeof(got));
}

// ---- Linux's formats, read by one parser

// proto: one protocol of a /proc/net/snmp: names and values, in order.
struct proto {
    char names[WORDS_MAX][WORD_BYTES];
    long long values[WORDS_MAX];
    unsigned n;
};

static unsigned split(char *line, char *words[WORDS_MAX])
{
    unsigned n = 0;
    for (char *save, *w = strtok_r(line, " \n", &save); w != NULL;
         w = strtok_r(NULL, " \n", &save)) {
        assert_true(n < WORDS_MAX);
        words[n++] = w;
    }
    return n;
}

// snmp_parse: the pair of lines of `name` out of a text in the format of /proc/net/snmp.
static struct proto snmp_parse(const char *text, const char *name)
{
    struct proto p = {0};
    char prefix[WORD_BYTES], header[LINE_BYTES], values[LINE_BYTES];
    snprintf(prefix, sizeof(prefix), "%s: ", name);
    const char *at = text;
    while (at != NULL && strncmp(at, prefix, strlen(prefix)) != 0) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    assert_non_null(at);
    const char *next = strchr(at, '\n') + 1;
    assert_int_equal(strncmp(next, prefix, strlen(prefix)), 0);
    snprintf(header, sizeof(header), "%.*s", (int)(next - 1 - at), at);
    snprintf(values, sizeof(values), "%.*s", (int)strcspn(next, "\n"), next);
    char *h[WORDS_MAX], *v[WORDS_MAX];
    unsigned n = split(header, h);
    assert_int_equal(split(values, v), n);
    for (unsigned i = 1; i < n; i++) {
        snprintf(p.names[p.n], WORD_BYTES, "%s", h[i]);
        char *end;
        p.values[p.n++] = strtoll(v[i], &end, 10);
        assert_int_equal(*end, 0);
    }
    return p;
}

static long long snmp_value(const char *text, const char *proto, const char *column)
{
    struct proto p = snmp_parse(text, proto);
    for (unsigned i = 0; i < p.n; i++)
        if (strcmp(p.names[i], column) == 0)
            return p.values[i];
    fail_msg("%s: no column %s", proto, column);
    return -1;
}

static char *file_text(const char *path)
{
    static char buf[RENDER_BYTES_MAX];
    FILE *f = fopen(path, "r");
    if (f == NULL)
        skip();
    buf[fread(buf, 1, sizeof(buf) - 1, f)] = '\0';
    fclose(f);
    return buf;
}

static const struct snmp_constants constants = {
    .ttl = 64, .rto_ms_min = 200, .rto_ms_max = 120000, .conns_max = -1};

// Columns that Linux gained since 6.1, the oldest kernel we are built for; on an older kernel ours
// has these more.
static bool is_recent(const char *column)
{
    static const char *const recent[] = {
        "OutTransmits",     "OutRateLimitGlobal", "OutRateLimitHost", "BeyondWindow",
        "TSEcrRejected",    "PAWSOldAck",         "PAWSTimewait",     "TCPPLBRehash",
        "TCPAORequired",    "TCPAOBad",           "TCPAOKeyNotFound", "TCPAOGood",
        "TCPAODroppedIcmps"};
    for (unsigned i = 0; i < ARRAY_LEN(recent); i++)
        if (strcmp(column, recent[i]) == 0)
            return true;
    return false;
}

// has_columns: the line pairs of the n protocols in what was rendered have the kernel's columns.
static void has_columns(const char *kernel, const char *const *protos, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct proto theirs = snmp_parse(kernel, protos[i]);
        struct proto ours = snmp_parse(text_str(&rendered), protos[i]);
        unsigned at = 0;
        for (unsigned o = 0; o < ours.n; o++) {
            bool same = at < theirs.n && strcmp(ours.names[o], theirs.names[at]) == 0;
            if (!same && !is_recent(ours.names[o]))
                fail_msg("%s: we have %s where the kernel has %s", protos[i], ours.names[o],
                         at < theirs.n ? theirs.names[at] : "nothing");
            at += same;
        }
        assert_int_equal(at, theirs.n);
    }
}

static void snmp_has_the_columns_of_the_running_kernel(void **state)
{
    static const char *const protos[] = {"Ip", "Icmp", "Tcp", "Udp"};
    const char *kernel = file_text("/proc/net/snmp");
    struct core_stats s = {0};
    const struct core_stats *list[] = {&s};
    fresh();
    snmp_render(&rendered, list, 1, &constants);
    has_columns(kernel, protos, ARRAY_LEN(protos));
}

static void netstat_has_the_columns_of_the_running_kernel(void **state)
{
    static const char *const protos[] = {"TcpExt", "IpExt"};
    const char *kernel = file_text("/proc/net/netstat");
    struct core_stats s = {0};
    const struct core_stats *list[] = {&s};
    fresh();
    netstat_render(&rendered, list, 1);
    has_columns(kernel, protos, ARRAY_LEN(protos));
}

static void snmp6_has_the_lines_of_the_running_kernel(void **state)
{
    const struct core_stats s = {.c = {.rx_ip6 = 100,
                                       .rx_tcp6 = 40,
                                       .tx_ip6 = 50,
                                       .tx_tcp6 = 30,
                                       .tx_nd_advert = 4,
                                       .tx_udp = 20,
                                       .tx_udp6 = 16,
                                       .udp_unsent = 5,
                                       .udp_unsent6 = 3,
                                       .rx_udp = 30,
                                       .rx_udp6 = 10,
                                       .rx_udp6_no_port = 2,
                                       .udp_refused6 = 4,
                                       .rx_nd_solicit = 5},
                                 .drops = {[DROP_udp_refused] = 9, [DROP_udp_no_port] = 8}};
    const struct core_stats *list[] = {&s};
    char name[64], other[64];
    fresh();
    snmp6_render(&rendered, list, 1);
    const char *at = text_str(&rendered);
    for (const char *k = file_text("/proc/net/snmp6"); sscanf(k, "%63s", name) == 1;
         k = strchr(k, '\n') + 1) {
        if (strstr(name, "Type") != NULL)
            continue;
        if (sscanf(at, "%63s", other) != 1)
            other[0] = '\0';
        if (strcmp(name, other) != 0 && strcmp(other, "Ip6OutTransmits") == 0) {  // since 6.5
            at = strchr(at, '\n') + 1;
            sscanf(at, "%63s", other);
        }
        assert_string_equal(other, name);
        assert_memory_equal(strchr(at, '\t') - 32, other, strlen(other));
        at = strchr(at, '\n') + 1;
    }
    assert_string_equal(at, "");
    assert_string_equal(value_of("Ip6InReceives"), "100");
    assert_string_equal(value_of("Ip6InDelivers"), "100");
    assert_string_equal(value_of("Icmp6InNeighborSolicits"), "5");
    assert_string_equal(value_of("Icmp6OutMsgs"), "4");
    assert_string_equal(value_of("Udp6OutDatagrams"), "16");
    assert_string_equal(value_of("Udp6InDatagrams"), "6");  // a full buffer's are not received
    assert_string_equal(value_of("Udp6InErrors"), "4");
    assert_string_equal(value_of("Udp6RcvbufErrors"), "4");
    assert_string_equal(value_of("Udp6SndbufErrors"), "3");
    assert_string_equal(value_of("Udp6NoPorts"), "2");
    fresh();
    snmp_render(&rendered, list, 1, &constants);
    const char *t = text_str(&rendered);
    assert_int_equal(snmp_value(t, "Udp", "OutDatagrams"), 4);
    assert_int_equal(snmp_value(t, "Udp", "InDatagrams"), 15);
    assert_int_equal(snmp_value(t, "Udp", "InErrors"), 5);
    assert_int_equal(snmp_value(t, "Udp", "RcvbufErrors"), 5);
    assert_int_equal(snmp_value(t, "Udp", "SndbufErrors"), 2);
    assert_int_equal(snmp_value(t, "Udp", "NoPorts"), 6);
}

static void what_went_over_ipv6_is_not_in_ipv4s_lines(void **state)
{
    const struct core_stats s = {.c = {.rx_tcp = 100,
                                       .rx_tcp6 = 60,
                                       .rx_udp = 10,
                                       .rx_udp6 = 7,
                                       .tx_tcp = 50,
                                       .tx_udp = 9,
                                       .tx_nd_solicit = 3,
                                       .tx_ip6 = 40 + 2 + 3,
                                       .tx_tcp6 = 40}};
    const struct core_stats *list[] = {&s};
    fresh();
    snmp_render(&rendered, list, 1, &constants);
    const char *t = text_str(&rendered);
    assert_int_equal(snmp_value(t, "Ip", "InReceives"), 43);
    assert_int_equal(snmp_value(t, "Ip", "InDelivers"), 43);
    assert_int_equal(snmp_value(t, "Ip", "OutRequests"), 17);
    assert_int_equal(snmp_value(t, "Udp", "InDatagrams"), 3);
    assert_int_equal(snmp_value(t, "Tcp", "InSegs"), 100);  // Linux has both families there
}

static void netstat_counts_what_the_cores_counted_together(void **state)
{
    static struct core_stats a, b;
    a.c.syncookies_sent = 3, b.c.syncookies_sent = 4;
    a.c.rx_tcp = 100, b.c.rx_tcp = 10, a.c.segs_slow = 20, a.c.segs_told = 40;
    a.c.segs_slow_told = 5, a.c.pure_acks_slow = 2;
    a.c.tx_tcp = 1000, a.c.tx_retransmits_segs = 50, a.c.acks_sent = 100, a.c.rst_sent = 5;
    a.c.synack_sent = 20, a.c.synack_retransmits = 4, b.c.conns_opened_active = 6;
    a.c.syn_retransmits = 1, a.c.fast_retransmit_segs = 30;
    a.c.fast_retransmits = 9, a.c.sack_recoveries = 7;
    a.drops[DROP_tcp_old_timestamp] = 7;
    a.drops[DROP_block_pool_empty] = 1, b.drops[DROP_syn_table_full] = 2;
    a.c.conns_timed_out = 11, a.c.conns_shed = 3, a.c.syn_records_timed_out = 2;
    a.c.rx_packets = 200, a.c.rx_bytes = 20000, a.c.ecn_ect0_received = 20, a.c.ecn_ce_received = 1;
    const struct core_stats *list[] = {&a, &b};
    fresh();
    netstat_render(&rendered, list, 2);
    const char *t = text_str(&rendered);
    assert_int_equal(snmp_value(t, "TcpExt", "SyncookiesSent"), 7);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPHPHits"), 35);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPHPAcks"), 55);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPPureAcks"), 2);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPOrigDataSent"), 1000 + 4 - 50 - 100 - 5 - 20 - 6);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPSynRetrans"), 5);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPFastRetrans"), 30);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPSlowStartRetrans"), 15);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPSackRecovery"), 7);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPRenoRecovery"), 2);
    assert_int_equal(snmp_value(t, "TcpExt", "PAWSEstab"), 7);
    assert_int_equal(snmp_value(t, "TcpExt", "ListenOverflows"), 1);
    assert_int_equal(snmp_value(t, "TcpExt", "ListenDrops"), 3);
    assert_int_equal(snmp_value(t, "TcpExt", "TCPAbortOnTimeout"), 6);
    assert_int_equal(snmp_value(t, "IpExt", "InOctets"), 20000 - 200 * 14);
    assert_int_equal(snmp_value(t, "IpExt", "InNoECTPkts"), 179);
    assert_int_equal(snmp_value(t, "IpExt", "InCEPkts"), 1);
}

static void a_difference_of_counters_read_at_different_moments_is_never_below_zero(void **state)
{
    static const struct core_stats s = {
        .c = {
            .segs_slow = 5, .tx_retransmits_segs = 3, .sack_recoveries = 2, .ecn_ce_received = 1}};
    const struct core_stats *list[] = {&s};
    fresh();
    netstat_render(&rendered, list, 1);
    snmp_render(&rendered, list, 1, &constants);
    assert_null(strstr(text_str(&rendered), " -2"));
    assert_int_equal(snmp_value(text_str(&rendered), "TcpExt", "TCPHPAcks"), 0);
    assert_int_equal(snmp_value(text_str(&rendered), "Tcp", "OutSegs"), 0);
}

static void snmp_counts_what_the_cores_counted_together(void **state)
{
    static struct core_stats a, b;
    a.c.rx_tcp = 10, b.c.rx_tcp = 5, a.c.rx_icmp = 2, a.c.rx_icmp_echo = 1;
    a.c.tx_tcp = 20, a.c.tx_retransmits_segs = 4;
    a.c.conns_opened_passive = 3, b.c.conns_opened_active = 2, b.c.established_now = 9;
    a.c.established_resets = 1, b.c.established_resets = 1, b.c.rst_sent = 6;
    a.drops[DROP_ip_checksum] = 7, b.drops[DROP_ip_not_for_us] = 8, b.drops[DROP_tcp_checksum] = 1;
    b.drops[DROP_tcp_short] = 1, b.drops[DROP_ip_fragment] = 2;
    const struct core_stats *list[] = {&a, &b};
    fresh();
    snmp_render(&rendered, list, 2, &constants);
    const char *t = text_str(&rendered);
    assert_int_equal(snmp_value(t, "Ip", "DefaultTTL"), 64);
    assert_int_equal(snmp_value(t, "Ip", "InDelivers"), 19);
    assert_int_equal(snmp_value(t, "Ip", "InReceives"), 19 + 7 + 8 + 2);
    assert_int_equal(snmp_value(t, "Ip", "InHdrErrors"), 7);
    assert_int_equal(snmp_value(t, "Ip", "InAddrErrors"), 8);
    assert_int_equal(snmp_value(t, "Ip", "ReasmFails"), 2);
    assert_int_equal(snmp_value(t, "Icmp", "InEchos"), 1);
    assert_int_equal(snmp_value(t, "Tcp", "InSegs"), 17);
    assert_int_equal(snmp_value(t, "Tcp", "OutSegs"), 16);
    assert_int_equal(snmp_value(t, "Tcp", "RetransSegs"), 4);
    assert_int_equal(snmp_value(t, "Tcp", "PassiveOpens"), 3);
    assert_int_equal(snmp_value(t, "Tcp", "ActiveOpens"), 2);
    assert_int_equal(snmp_value(t, "Tcp", "CurrEstab"), 9);
    assert_int_equal(snmp_value(t, "Tcp", "EstabResets"), 2);
    assert_int_equal(snmp_value(t, "Tcp", "OutRsts"), 6);
    assert_int_equal(snmp_value(t, "Tcp", "InErrs"), 2);
    assert_int_equal(snmp_value(t, "Tcp", "InCsumErrors"), 1);
    assert_int_equal(snmp_value(t, "Tcp", "MaxConn"), -1);
    assert_int_equal(snmp_value(t, "Tcp", "RtoMax"), 120000);
}

// nstat_says: what iproute2's nstat reads for `name` in the proc directory `proc`.
static long long nstat_says(const char *proc, const char *name)
{
    char command[256], line[LINE_BYTES], word[64];
    long long value, got = -1;
    snprintf(command, sizeof(command), "PROC_ROOT=%s NSTAT_HISTORY=%s/history nstat -asz", proc,
             proc);
    FILE *f = popen(command, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "%63s %lld", word, &value) == 2 && strcmp(word, name) == 0)
            got = value;
    assert_int_equal(pclose(f), 0);
    return got;
}

static void nstat_reads_our_snmp_as_it_reads_the_kernels(void **state)
{
    if (system("command -v nstat >/dev/null") != 0) {
        print_message("skipped: no nstat (iproute2) here\n");
        skip();
    }
    char proc[] = "/tmp/c10m-test-XXXXXX", path[64];
    assert_non_null(mkdtemp(proc));
    snprintf(path, sizeof(path), "mkdir %s/net", proc);
    assert_int_equal(system(path), 0);
    static struct core_stats s = {.c = {.rx_tcp = 15, .rx_icmp = 2}};
    const struct core_stats *list[] = {&s};
    fresh();
    snmp_render(&rendered, list, 1, &constants);
    snprintf(path, sizeof(path), "%s/net/snmp", proc);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text_str(&rendered), f);
    fclose(f);
    long long segs = nstat_says(proc, "TcpInSegs"), receives = nstat_says(proc, "IpInReceives");
    snprintf(path, sizeof(path), "rm -r %s", proc);
    assert_int_equal(system(path), 0);
    assert_int_equal(segs, 15);
    assert_int_equal(receives, 17);
}

// shape: the text with every number replaced by one '#'.
static void shape(const char *text, char *out, size_t bytes)
{
    size_t n = 0;
    for (const char *p = text; *p != '\0' && n + 1 < bytes; p++) {
        bool digit = *p >= '0' && *p <= '9';
        if (!digit)
            out[n++] = *p;
        else if (n == 0 || out[n - 1] != '#')
            out[n++] = '#';
    }
    out[n] = '\0';
}

static void sockstat_has_the_shape_of_the_running_kernels(void **state)
{
    char ours[LINE_BYTES], theirs[LINE_BYTES];
    shape(file_text("/proc/net/sockstat"), theirs, sizeof(theirs));
    static struct core_stats a, b;
    a.c.connections_now = 4, b.c.connections_now = 3, b.c.time_wait_now = 2;
    a.c.buffers_now = 3;
    a.c.udp_ports_now = 5, b.c.udp_ports_now = 6, b.c.udp6_ports_now = 2;
    const struct core_stats *list[] = {&a, &b};
    fresh();
    sockstat_render(&rendered, list, 2, 2048);
    shape(text_str(&rendered), ours, sizeof(ours));
    assert_string_equal(ours, theirs);
    assert_non_null(strstr(text_str(&rendered), "sockets: used 15\n"));
    assert_non_null(strstr(text_str(&rendered), "TCP: inuse 7 orphan 0 tw 2 alloc 7 mem 2\n"));
    assert_non_null(strstr(text_str(&rendered), "UDP: inuse 6 mem 0\n"));  // each core has them
    fresh();
    sockstat6_render(&rendered, list, 2);
    assert_non_null(strstr(text_str(&rendered), "UDP6: inuse 2\n"));
}

static void
sockstat6_has_the_shape_of_the_running_kernels_and_v4_leaves_its_connections_out(void **state)
{
    char ours[LINE_BYTES], theirs[LINE_BYTES];
    shape(file_text("/proc/net/sockstat6"), theirs, sizeof(theirs));
    static const struct core_stats a = {.c = {.connections_now = 10, .connections6_now = 3}};
    const struct core_stats *list[] = {&a};
    fresh();
    sockstat6_render(&rendered, list, 1);
    shape(text_str(&rendered), ours, sizeof(ours));
    assert_string_equal(ours, theirs);
    assert_non_null(strstr(text_str(&rendered), "TCP6: inuse 3\n"));
    sockstat_render(&rendered, list, 1, 2048);
    assert_non_null(strstr(text_str(&rendered), "TCP: inuse 7 orphan 0 tw 0 alloc 10 mem 0\n"));
}

static int free_rendered(void **state)
{
    text_free(&rendered);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_a_terminated_string_before_the_first_append),
        cmocka_unit_test(text_takes_exactly_its_limit_and_refuses_one_byte_more_whole),
        cmocka_unit_test(text_keeps_its_first_error),
        cmocka_unit_test(text_grows_over_many_appends_and_keeps_zero_bytes),
        cmocka_unit_test(text_with_limit_zero_takes_only_nothing),
        cmocka_unit_test(counters_shows_each_counter_under_its_own_name),
        cmocka_unit_test(balance_is_zero_when_every_packet_has_one_end_and_tells_what_is_missing),
        cmocka_unit_test(every_drop_reason_is_on_exactly_one_side),
        cmocka_unit_test(drops_shows_every_reason_once_zeros_included),
        cmocka_unit_test(every_counter_reason_and_stage_has_help_and_no_name_is_used_twice),
        cmocka_unit_test(every_reason_has_side_cause_and_help_on_its_line),
        cmocka_unit_test(cycles_of_a_core_that_never_ran_are_zero_and_not_nan),
        cmocka_unit_test(cycles_shares_and_costs_follow_from_the_counts),
        cmocka_unit_test(a_rendering_that_does_not_fit_leaves_its_error_in_the_text),
        cmocka_unit_test(sum_adds_every_word_of_every_core),
        cmocka_unit_test(sum_of_no_core_is_zero),
        cmocka_unit_test(snmp_has_the_columns_of_the_running_kernel),
        cmocka_unit_test(snmp6_has_the_lines_of_the_running_kernel),
        cmocka_unit_test(what_went_over_ipv6_is_not_in_ipv4s_lines),
        cmocka_unit_test(netstat_has_the_columns_of_the_running_kernel),
        cmocka_unit_test(netstat_counts_what_the_cores_counted_together),
        cmocka_unit_test(a_difference_of_counters_read_at_different_moments_is_never_below_zero),
        cmocka_unit_test(snmp_counts_what_the_cores_counted_together),
        cmocka_unit_test(nstat_reads_our_snmp_as_it_reads_the_kernels),
        cmocka_unit_test(sockstat_has_the_shape_of_the_running_kernels),
        cmocka_unit_test(
            sockstat6_has_the_shape_of_the_running_kernels_and_v4_leaves_its_connections_out),
    };
    return cmocka_run_group_tests(tests, NULL, free_rendered);
}
