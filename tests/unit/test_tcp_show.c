// SPDX-License-Identifier: BSD-3-Clause
// Claims about tcp/tcp_show.h: the lines of net/tcp, net/tcp6 and net/tcp_info, letter by letter.
#include <stdio.h>
#include <string.h>

#include "tcp/tcp_show.h"
#include "unit/check.h"

static struct tcp tcp;
static const struct ip_addr v6_local = {{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
static const struct ip_addr v6_remote = {{0x20, 0x01, 0x0d, 0xb8, [14] = 0x12, [15] = 0x34}};

static int setup(void **state)
{
    memset(&tcp, 0, sizeof(tcp));
    tcp.cfg.rto_min_ms = 200;
    tcp.cfg.rto_max_ms = 120000;
    tcp.cfg.rto_initial_ms = 1000;
    tcp.cfg.delayed_ack_ms = 40;
    return 0;
}

static struct flow_key key_v4(void)
{
    return (struct flow_key){ip_from_v4(0x0a000001), 0, 0, 50000, 80};
}

// established: 10.99.0.2:80 with 10.0.0.1:50000; 1,000 bytes in flight, 500 not sent, 7 not read.
static struct block established(void)
{
    return (struct block){
        .key = key_v4(),
        .state = TCP_ESTABLISHED,
        .flags = BF_TS,
        .agreed = BA_SACK,
        .rcv_wscale = 7,
        .snd_una = 0xfffffff0,
        .snd_nxt = 0xfffffff0 + 1000,
        .snd_max = 0xfffffff0 + 1000,
        .snd_end = 0xfffffff0 + 1500,
        .rcv_nxt = 100,
        .rcv_adv = 65636,
        .rcvq_bytes = 7,
        .snd_wnd = 64256,
        .cwnd = 14480,
        .ssthresh = TCP_WINDOW_MAX,
        .mss = 1448,
        .srtt_us = 8 * 1500,
        .rttvar_us = 4 * 700,
        .rto_at_ms = 5000 + 215,
    };
}

static struct tcp_shown shown_block(const struct block *b)
{
    struct tcp_shown s;
    tcp_show_block(&s, &tcp, b, 0x1234, 5000);
    s.local = ip_from_v4(0x0a630002);
    s.worker = 2;
    return s;
}

// line_is: the line is `want`, filled up with blanks to Linux's 149 characters.
static void line_is(const struct tcp_shown *s, uint32_t sl, const char *want)
{
    char got[TCP_SHOW_BYTES_MAX + 1], full[TCP_SHOW_BYTES_MAX];
    const size_t n = tcp_show_line4(got, s, sl);
    got[n] = '\0';
    snprintf(full, sizeof(full), "%-149s\n", want);
    assert_string_equal(got, full);
    assert_int_equal(n, TCP_SHOW4_BYTES);
}

static void line6_is(const struct tcp_shown *s, uint32_t sl, const char *want)
{
    char got[TCP_SHOW_BYTES_MAX + 1];
    got[tcp_show_line6(got, s, sl)] = '\0';
    assert_string_equal(got, want);
}

static void info_is(const struct tcp_shown *s, const char *want)
{
    char got[TCP_SHOW_BYTES_MAX + 1];
    got[tcp_show_info(got, s)] = '\0';
    assert_string_equal(got, want);
}

static void an_established_connection_is_shown_as_linux_shows_it(void **state)
{
    struct block b = established();
    struct tcp_shown s = shown_block(&b);
    line_is(&s, 3,
            "   3: 0200630A:0050 0100000A:C350 01 000005DC:00000007 01:00000015 00000000     0     "
            "   0 0 1 0000000200001234 20 4 0 10 -1");
    b.ssthresh = 2896;
    b.cwnd = 1000;  // part of a segment is one
    b.retries = 2;
    b.backoff = 2;
    s = shown_block(&b);
    line_is(
        &s, 10000,
        "10000: 0200630A:0050 0100000A:C350 01 000005DC:00000007 01:00000015 00000002     0     "
        "   0 0 1 0000000200001234 80 4 0 1 2");
}

static void every_state_of_a_block_has_linuxs_number(void **state)
{
    static const struct {
        uint8_t state;
        const char *st;
    } rows[] = {{TCP_ESTABLISHED, " 01 "}, {TCP_SYN_SENT, " 02 "},   {TCP_SYN_RECEIVED, " 03 "},
                {TCP_FIN_WAIT_1, " 04 "},  {TCP_FIN_WAIT_2, " 05 "}, {TCP_TIME_WAIT, " 06 "},
                {TCP_CLOSED, " 07 "},      {TCP_CLOSE_WAIT, " 08 "}, {TCP_LAST_ACK, " 09 "},
                {TCP_CLOSING, " 0B "}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        struct block b = established();
        char got[TCP_SHOW_BYTES_MAX];
        b.state = rows[i].state;
        struct tcp_shown s = shown_block(&b);
        tcp_show_line4(got, &s, 0);
        assert_memory_equal(got + 33, rows[i].st, 4);
    }
}

static void a_fin_that_is_queued_counts_as_a_byte_to_send(void **state)
{
    struct block b = established();
    b.flags |= BF_FIN_QUEUED;
    assert_int_equal(shown_block(&b).unsent, 501);
    b.snd_nxt = b.snd_end + 1;  // it has left
    assert_int_equal(shown_block(&b).unsent, 0);
    assert_int_equal(shown_block(&b).unacked, 1501);
}

static void a_timer_has_its_kind_and_the_time_left_never_below_zero(void **state)
{
    struct block b = established();
    b.flags |= BF_PROBE;
    assert_int_equal(shown_block(&b).timer, 4);
    b.rto_at_ms = 4000;  // late
    assert_int_equal(shown_block(&b).when_ms, 0);
    b.rto_at_ms = 0;
    assert_int_equal(shown_block(&b).timer, 0);
    b.app_timer_at_ms = 65000;
    b.probes = 3;
    struct tcp_shown s = shown_block(&b);
    line_is(&s, 0,
            "   0: 0200630A:0050 0100000A:C350 01 000005DC:00000007 02:00001770 00000000     0     "
            "   3 0 1 0000000200001234 20 4 0 10 -1");
}

static void numbers_of_different_moments_give_zero_and_not_four_billion(void **state)
{
    struct block b = established();
    b.snd_nxt = b.snd_una - 1;
    b.snd_end = b.snd_nxt - 1;
    b.rcv_adv = b.rcv_nxt - 1;
    const struct tcp_shown s = shown_block(&b);
    assert_int_equal(s.unacked, 0);
    assert_int_equal(s.unsent, 0);
    assert_int_equal(s.rcv_wnd, 0);
}

static void the_largest_values_fit(void **state)
{
    struct block b;
    char got[TCP_SHOW_BYTES_MAX];
    memset(&b, 0xff, sizeof(b));
    b.state = TCP_CLOSE_WAIT;
    struct tcp_shown s = shown_block(&b);
    s.local = v6_remote;
    s.worker = UINT32_MAX;
    memset(&s.remote, 0xfe, sizeof(s.remote));
    assert_in_range(tcp_show_info(got, &s), 1, TCP_SHOW_BYTES_MAX);
    assert_in_range(tcp_show_line6(got, &s, UINT32_MAX), 1, TCP_SHOW_BYTES_MAX);
    assert_in_range(tcp_show_line4(got, &s, UINT32_MAX), 1, TCP_SHOW_BYTES_MAX);
}

static void a_half_open_connection_is_linuxs_request_socket(void **state)
{
    const struct syn_record r = {.key = key_v4(),
                                 .retry_at_ms = 7000,
                                 .retries = 1,
                                 .wnd = 64240,
                                 .mss = 1460,
                                 .opts = SEG_OPT_TS | SEG_OPT_WSCALE};
    struct tcp_shown s;
    tcp_show_syn(&s, &tcp, &r, 5, 5000);
    s.local = ip_from_v4(0x0a630002);
    s.worker = 0;
    line_is(&s, 1,
            "   1: 0200630A:0050 0100000A:C350 03 00000000:00000000 01:000000C8 00000001     0     "
            "   0 0 1 0000000040000005");
    info_is(&s, "0 0 SYN_RECEIVED 10.99.0.2:80 10.0.0.1:50000 0 -1 0 0 2000 1460 64240 0 0 0 0 1 1 "
                "ts,wscale\n");
    struct syn_record no_mss = {.key = key_v4()};
    tcp_show_syn(&s, &tcp, &no_mss, 5, 5000);
    assert_int_equal(s.mss, 536);  // RFC 9293 3.7.1
    no_mss.key.remote = v6_remote;
    tcp_show_syn(&s, &tcp, &no_mss, 5, 5000);
    assert_int_equal(s.mss, 1220);
}

static void a_time_wait_record_is_linuxs_timewait_socket(void **state)
{
    const struct time_wait6 w = {.w = {.remote_v4 = 0x0a000001,
                                       .remote_port = 50000,
                                       .local_port = 80,
                                       .live = 1,
                                       .expires_ms = 65000,
                                       .wnd = 500}};
    struct tcp_shown s;
    struct time_wait6 with_ts = w;
    with_ts.w.has_ts = 1;
    tcp_show_time_wait(&s, &tcp, &with_ts, 9, 5000);
    assert_int_equal(s.opts, SHOW_TS);
    tcp_show_time_wait(&s, &tcp, &w, 9, 5000);
    assert_int_equal(s.opts, 0);
    s.local = ip_from_v4(0x0a630002);
    s.worker = 1;
    line_is(&s, 2,
            "   2: 0200630A:0050 0100000A:C350 06 00000000:00000000 03:00001770 00000000     0     "
            "   0 0 1 0000000180000009");
}

static void a_listener_is_linuxs(void **state)
{
    const struct tcp_shown s = {.local = ip_from_v4(0),
                                .remote = ip_from_v4(0),
                                .local_port = 2024,
                                .state = TCP_LISTENS,
                                .rto_ms = 1000,
                                .mss = 1,
                                .cwnd = 10};
    line_is(&s, 0,
            "   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0     "
            "   0 0 1 0000000000000000 100 0 0 10 0");
}

static void ipv6_has_its_words_in_linuxs_order_and_no_blanks_at_the_end(void **state)
{
    struct block b = established();
    b.key.remote = v6_remote;
    struct tcp_shown s = shown_block(&b);
    s.local = v6_local;
    line6_is(&s, 4,
             "   4: B80D0120000000000000000001000000:0050 B80D0120000000000000000034120000:C350 01 "
             "000005DC:00000007 01:00000015 00000000     0        0 0 1 0000000200001234 20 4 0 10 "
             "-1\n");
    info_is(&s, "2 0 ESTABLISHED [2001:db8::1]:80 [2001:db8::1234]:50000 14480 -1 1500 700 200 "
                "1448 64256 65536 1000 500 7 0 0 ts,sack,wscale\n");
}

static void options_without_a_name_are_not_shown(void **state)
{
    struct block b = established();
    struct tcp_shown s = shown_block(&b);
    s.opts = UINT16_MAX;
    info_is(&s, "2 0 ESTABLISHED 10.99.0.2:80 10.0.0.1:50000 14480 -1 1500 700 200 1448 64256 "
                "65536 1000 500 7 0 0 ts,sack,wscale,ecn,nodelay,trouble\n");
}

static void tcp_info_has_a_value_for_each_word_of_its_head(void **state)
{
    struct block b = established();
    char got[TCP_SHOW_BYTES_MAX + 1];
    unsigned blanks = 0, head_blanks = 0;
    b.ssthresh = 2896;
    b.flags = BF_NODELAY | BF_EXT;
    b.agreed = BA_ECN;
    b.rcv_wscale = 0;
    struct tcp_shown s = shown_block(&b);
    info_is(&s, "2 0 ESTABLISHED 10.99.0.2:80 10.0.0.1:50000 14480 2896 1500 700 200 1448 64256 "
                "65536 1000 500 7 0 0 ecn,nodelay,trouble\n");
    b.flags = 0;
    b.agreed = 0;
    s = shown_block(&b);
    got[tcp_show_info(got, &s)] = '\0';
    assert_non_null(strstr(got, " -\n"));
    for (const char *p = got; *p != '\0'; p++)
        blanks += *p == ' ';
    for (const char *p = tcp_show_info_head; *p != '\0'; p++)
        head_blanks += *p == ' ';
    assert_int_equal(blanks, head_blanks);
}

// The first line of the kernel's file.
static void head_is_the_kernels(const char *head, const char *path)
{
    char theirs[512];
    FILE *f = fopen(path, "r");
    if (f == NULL)
        skip();
    assert_non_null(fgets(theirs, sizeof(theirs), f));
    fclose(f);
    assert_string_equal(head, theirs);
}

static void the_heads_are_those_of_the_running_kernel(void **state)
{
    head_is_the_kernels(tcp_show_head4, "/proc/net/tcp");
    head_is_the_kernels(tcp_show_head6, "/proc/net/tcp6");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_established_connection_is_shown_as_linux_shows_it),
        cmocka_unit_test(every_state_of_a_block_has_linuxs_number),
        cmocka_unit_test(a_fin_that_is_queued_counts_as_a_byte_to_send),
        cmocka_unit_test(a_timer_has_its_kind_and_the_time_left_never_below_zero),
        cmocka_unit_test(numbers_of_different_moments_give_zero_and_not_four_billion),
        cmocka_unit_test(the_largest_values_fit),
        cmocka_unit_test(a_half_open_connection_is_linuxs_request_socket),
        cmocka_unit_test(a_time_wait_record_is_linuxs_timewait_socket),
        cmocka_unit_test(a_listener_is_linuxs),
        cmocka_unit_test(ipv6_has_its_words_in_linuxs_order_and_no_blanks_at_the_end),
        cmocka_unit_test(options_without_a_name_are_not_shown),
        cmocka_unit_test(tcp_info_has_a_value_for_each_word_of_its_head),
        cmocka_unit_test(the_heads_are_those_of_the_running_kernel),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
