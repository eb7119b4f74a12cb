// SPDX-License-Identifier: BSD-3-Clause
// Captures: the bytes of their pcapng, from a server's turns to the tree; a frame as a line.
#include <errno.h>
#include <pcap.h>

#include "base/clock.h"
#include "ctl/dump/dump_capture.h"
#include "ctl/dump/dump_line.h"
#include "hosts.h"
#include "pkt_env.h"
#include "seed.h"
#include "wire/pcapng.h"

static struct hosts *h;
static struct server *s;
static struct worker *w;
static struct pkt_pool *pool;
static struct ctl_loop loop;
static struct tree *tree;
static struct tree_session session;
static struct ctl_dump *dump;

static int set_up(void **state)
{
    static const struct c10m_app app = {.name = "none"};
    static const struct c10m_app *const apps[2][3] = {{&app}, {&app}};
    struct err e;
    h = hosts_new(apps, NULL);
    s = &h->e[0].server;
    w = h->e[0].w;
    strcpy(h->e[0].wires[0].port.name, "wire");
    assert_int_equal(ctl_loop_init(&loop, &e), 0);
    tree = tree_create();
    tree_session_init(&session, tree);
    dump = ctl_dump_start(&loop, tree, s, CAPTURE_RING_BYTES_MIN, &e);
    assert_non_null(dump);
    return 0;
}

static int tear_down(void **state)
{
    tree_session_close(&session);
    ctl_dump_stop(dump);
    tree_destroy(tree);
    ctl_loop_fini(&loop);
    capture_readers_stop(s);
    hosts_free(h);
    return 0;
}

static struct tree_node *node_at(const char *path)
{
    char copy[128], *save = NULL;
    struct tree_node *node = tree_root(tree);
    strcpy(copy, path);
    for (char *name = strtok_r(copy, "/", &save); name != NULL && node != NULL;
         name = strtok_r(NULL, "/", &save))
        node = tree_lookup(node, name);
    return node;
}

static int write_to(const char *path, const char *text)
{
    struct tree_handle *f;
    tree_reason_clear();
    assert_int_equal(tree_open(&session, node_at(path), TREE_WRITE, &f), 0);
    const int rc = tree_write(f, text, strlen(text));
    tree_close(f);
    return rc;
}

static struct tree_handle *open_at(const char *path)
{
    struct tree_handle *f = NULL;
    assert_non_null(node_at(path));
    assert_int_equal(tree_open(&session, node_at(path), TREE_READ, &f), 0);
    return f;
}

// got: what was read of a capture so far.
struct got {
    uint8_t bytes[1 << 20];
    size_t n;
    bool ended;
};

// Reads on, in portions of `portion`, until nothing comes in spite of the worker's turns.
static void read_on(struct tree_handle *f, struct got *g, size_t portion)
{
    for (unsigned idle = 0; idle < 100 && !g->ended;) {
        const char *data;
        const ssize_t n = tree_read(f, g->n, portion, &data);
        if (n == -EAGAIN) {
            for (unsigned i = 0; i < 4; i++)
                hosts_turn(h, 0);
            idle++;
            continue;
        }
        assert_true(n >= 0);
        g->ended = n == 0;
        assert_true(g->n + (size_t)n <= sizeof(g->bytes));
        if (n > 0)
            memcpy(g->bytes + g->n, data, (size_t)n);
        g->n += (size_t)n;
    }
}

static void copy_one(uint32_t len, uint8_t number, enum capture_direction way)
{
    struct pkt *p = pkt_of(pool, number, len);
    assert_non_null(w->captures);
    capture_burst(w->captures, 0, way, &p, 1);
    pkt_free(p);
}

// told: what the blocks of a capture say.
struct told {
    unsigned sections, interfaces, packets, statistics, lengths;
    struct pcapng_packet last;
    struct pcapng_statistics sums;
    uint8_t numbers[4096];
};

static void tell(const struct got *g, struct told *t)
{
    memset(t, 0, sizeof(*t));
    struct pcapng_block b;
    size_t at = 0;
    for (int64_t n; (n = pcapng_block_get(g->bytes + at, g->n - at, &b)) > 0; at += (size_t)n) {
        const uint8_t *data;
        char name[64];
        t->sections += b.type == PCAPNG_SECTION;
        if (pcapng_interface_get(&b, name, sizeof(name))) {
            t->interfaces++;
            assert_string_equal(name, "wire");
        }
        t->statistics += pcapng_statistics_get(&b, &t->sums);
        if (pcapng_packet_get(&b, &t->last, &data)) {
            assert_true(t->packets < sizeof(t->numbers));
            for (uint32_t i = 1; i < t->last.bytes; i++)
                assert_int_equal(data[i], data[0]);
            t->numbers[t->packets++] = data[0];
        }
    }
    assert_int_equal(at, g->n);
}

static struct got got;
static struct told told;

static void a_port_is_captured_while_it_is_read(void **state)
{
    memset(&got, 0, sizeof(got));
    struct tree_handle *f = open_at("ports/wire/dump");
    read_on(f, &got, SIZE_MAX / 2);
    copy_one(60, 1, CAPTURE_IN);
    copy_one(1514, 2, CAPTURE_OUT);
    copy_one(61, 3, CAPTURE_IN);
    read_on(f, &got, SIZE_MAX / 2);
    tell(&got, &told);
    assert_int_equal(told.sections, 1);
    assert_int_equal(told.interfaces, 1);
    assert_int_equal(told.packets, 3);
    assert_memory_equal(told.numbers, "\1\2\3", 3);
    assert_int_equal(told.last.orig_bytes, 61);
    assert_false(told.last.out);
    assert_true(llabs((long long)(told.last.ns / 1000000000) - (long long)time(NULL)) < 60);
    tree_close(f);
    for (unsigned i = 0; i < WORKER_HOUSE_TURNS; i++)
        hosts_turn(h, 0);
    capture_readers_reap(s);
    assert_null(w->captures);
}

static void any_portions_give_the_same_capture(void **state)
{
    for (size_t portion = 1; portion < 100; portion += 13) {
        memset(&got, 0, sizeof(got));
        struct tree_handle *f = open_at("ports/wire/dump");
        read_on(f, &got, portion);
        for (uint8_t i = 0; i < 20; i++)
            copy_one(60 + i, i, CAPTURE_IN);
        read_on(f, &got, portion);
        tell(&got, &told);
        assert_int_equal(told.packets, 20);
        tree_close(f);
    }
}

static void the_largest_frame_goes_through_pieces_that_are_smaller(void **state)
{
    struct pkt *pkts[PKT_CHAIN_MAX];
    memset(&got, 0, sizeof(got));
    struct tree_handle *f = open_at("ports/wire/dump");
    read_on(f, &got, SIZE_MAX / 2);
    for (unsigned i = 0; i < PKT_CHAIN_MAX; i++)
        pkts[i] = pkt_of(pool, 7, 2048);
    pkt_chain(pkts, PKT_CHAIN_MAX);
    capture_burst(w->captures, 0, CAPTURE_OUT, pkts, 1);
    pkt_free(pkts[0]);
    read_on(f, &got, SIZE_MAX / 2);
    tell(&got, &told);
    assert_int_equal(told.packets, 1);
    assert_int_equal(told.last.bytes, PKT_CHAIN_MAX * 2048);
    assert_true(told.last.bytes > TREE_CHUNK_BYTES_MAX && told.last.out);
    tree_close(f);
}

static void stop_ends_a_capture_with_its_statistics(void **state)
{
    memset(&got, 0, sizeof(got));
    assert_int_equal(write_to("dump/new", "name a\nport wire\nsnaplen 50\n"
                                          "program 4,40 0 0 12,21 0 1 257,6 0 0 100,6 0 0 0\n"
                                          "filter something\n"),
                     0);
    struct tree_handle *f = open_at("dump/a");
    read_on(f, &got, SIZE_MAX / 2);
    for (unsigned i = 0; i < 300; i++)
        copy_one(2000, (uint8_t)(i % 2), CAPTURE_IN);
    assert_int_equal(write_to("dump/a", "stop\n"), 0);
    read_on(f, &got, SIZE_MAX / 2);
    tell(&got, &told);
    assert_true(got.ended);
    assert_int_equal(told.packets, 150);
    assert_int_equal(told.last.bytes, 50);
    assert_int_equal(told.last.orig_bytes, 2000);
    assert_int_equal(told.statistics, 1);
    assert_int_equal(told.sums.received, 300);
    assert_int_equal(told.sums.accepted, 150);
    assert_int_equal(told.sums.dropped, 0);
    assert_true(told.sums.begin_ns <= told.sums.end_ns && told.sums.end_ns <= told.sums.ns);
    tree_close(f);
    assert_null(node_at("dump/a"));
}

static void what_a_slow_reader_misses_is_counted(void **state)
{
    memset(&got, 0, sizeof(got));
    assert_int_equal(write_to("dump/new", "name a\n"), 0);
    struct tree_handle *f = open_at("dump/a");
    read_on(f, &got, SIZE_MAX / 2);
    for (unsigned i = 0; i < 1000; i++)
        copy_one(1500, 1, CAPTURE_IN);
    assert_int_equal(write_to("dump/a", "stop"), 0);
    read_on(f, &got, SIZE_MAX / 2);
    tell(&got, &told);
    assert_true(told.sums.dropped > 0);
    assert_int_equal(told.packets + told.sums.dropped, 1000);
    assert_int_equal(told.sums.accepted, 1000);
    tree_close(f);
}

static void a_capture_ends_after_its_count(void **state)
{
    memset(&got, 0, sizeof(got));
    assert_int_equal(write_to("dump/new", "name a\ncount 3\ndirection out\n"), 0);
    struct tree_handle *f = open_at("dump/a");
    read_on(f, &got, SIZE_MAX / 2);
    for (uint8_t i = 0; i < 10; i++)
        copy_one(60, i, i % 2 == 0 ? CAPTURE_IN : CAPTURE_OUT);
    read_on(f, &got, SIZE_MAX / 2);
    tell(&got, &told);
    assert_true(got.ended);
    assert_int_equal(told.packets, 3);
    assert_memory_equal(told.numbers, "\1\3\5", 3);
    assert_int_equal(told.statistics, 1);
    tree_close(f);
}

static void libpcap_reads_what_is_written(void **state)
{
    char error[PCAP_ERRBUF_SIZE];
    memset(&got, 0, sizeof(got));
    assert_int_equal(write_to("dump/new", "name a\nprogram 1,6 0 0 262144\nfilter x\n"), 0);
    struct tree_handle *f = open_at("dump/a");
    read_on(f, &got, SIZE_MAX / 2);
    for (unsigned i = 0; i < 40; i++)
        copy_one(14 + 37 * i, (uint8_t)i, i % 2 == 0 ? CAPTURE_IN : CAPTURE_OUT);
    write_to("dump/a", "stop");
    read_on(f, &got, SIZE_MAX / 2);
    tree_close(f);
    FILE *file = fmemopen(got.bytes, got.n, "r");
    pcap_t *p = pcap_fopen_offline_with_tstamp_precision(file, PCAP_TSTAMP_PRECISION_NANO, error);
    if (p == NULL)
        fail_msg("%s", error);
    assert_int_equal(pcap_datalink(p), DLT_EN10MB);
    struct pcap_pkthdr *head;
    const u_char *data;
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(pcap_next_ex(p, &head, &data), 1);
        assert_int_equal(head->len, 14 + 37 * i);
        assert_int_equal(head->caplen, head->len);
        assert_int_equal(data[0], i);
    }
    assert_int_equal(pcap_next_ex(p, &head, &data), PCAP_ERROR_BREAK);
    pcap_close(p);
}

static void only_one_reads_a_named_capture(void **state)
{
    const char *data;
    assert_int_equal(write_to("dump/new", "name a\n"), 0);
    struct tree_handle *f = open_at("dump/a"), *g = open_at("dump/a");
    assert_int_equal(tree_read(f, 0, 100, &data), -EAGAIN);
    assert_int_equal(tree_read(g, 0, 100, &data), -EBUSY);
    tree_close(g);  // was no reader: the capture goes on
    assert_int_equal(tree_read(f, 0, 100, &data), -EAGAIN);
    tree_close(f);
    assert_null(node_at("dump/a"));
    assert_int_equal(capture_readers_usage(s).dumps, 0);
}

static void who_asks_for_nonsense_is_told_what_was_expected(void **state)
{
    static const struct {
        const char *text, *words;
        int rc;
    } all[] = {{"x", "expected KEY VALUE", -EINVAL},
               {"color red\n", "expected name, port", -EINVAL},
               {"port wire\n", "name: missing", -EINVAL},
               {"name \n", "letters", -EINVAL},
               {"name ../x\n", "letters", -EINVAL},
               {"name aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n", "letters", -EINVAL},
               {"name new\n", "exists already", -EEXIST},
               {"name a\nport eth0\n", "there is no \"eth0\"", -EINVAL},
               {"name a\ndirection up\n", "in, out or both", -EINVAL},
               {"name a\nsnaplen 0\n", "1 to 262144", -ERANGE},
               {"name a\nsnaplen 262145\n", "1 to 262144", -ERANGE},
               {"name a\nsnaplen 5x\n", "1 to 262144", -ERANGE},
               {"name a\ncount -1\n", "a number", -ERANGE},
               {"name a\ncount 99999999999999999999\n", "a number", -ERANGE},
               {"name a\nfilter tcp\n", "program", -EINVAL},
               {"name a\nprogram 1,6 0\n", "instruction 1 of 1", -EINVAL}};
    for (unsigned i = 0; i < ARRAY_LEN(all); i++) {
        assert_int_equal(write_to("dump/new", all[i].text), all[i].rc);
        if (strstr(tree_reason(), all[i].words) == NULL)
            fail_msg("%s: %s", all[i].text, tree_reason());
        assert_null(node_at("dump/a"));
    }
    assert_int_equal(capture_readers_usage(s).dumps, 0);
}

static void one_more_than_there_can_be_is_refused_and_counted(void **state)
{
    for (char name[] = "name a\n"; name[5] < 'a' + CAPTURE_READERS_MAX; name[5]++)
        assert_int_equal(write_to("dump/new", name), 0);
    assert_int_equal(write_to("dump/new", "name z\n"), -EBUSY);
    assert_non_null(strstr(tree_reason(), "4 dumps"));
    assert_int_equal(capture_readers_usage(s).refused, 1);
    struct tree_handle *f = open_at("ports/wire/dump");
    const char *data;
    assert_int_equal(tree_read(f, 0, 100, &data), -EBUSY);
    tree_close(f);
}

static void blocks_that_are_none_are_refused(void **state)
{
    struct pcapng_block b;
    struct pcapng_packet p;
    struct pcapng_statistics st;
    struct rng rng = test_rng(__func__);
    uint8_t bytes[256];
    const uint8_t *data;
    char name[8];
    for (unsigned i = 0; i < 200000; i++) {
        const struct pcapng_packet of = {.bytes = i % 100, .orig_bytes = 7};
        memset(bytes, 0, sizeof(bytes));
        pcapng_packet_begin(bytes, &of);
        const size_t n = pcapng_packet_end(bytes, &of);
        for (unsigned k = 0; k < i % 4; k++)
            bytes[rng_below(&rng, (uint32_t)n)] = (uint8_t)rng_u64(&rng);
        uint8_t *exact = malloc(n);  // so that a sanitizer sees reads behind it
        memcpy(exact, bytes, n);
        const int64_t got_n = pcapng_block_get(exact, n, &b);
        assert_true(got_n <= (int64_t)n);
        if (i % 4 == 0)
            assert_int_equal(got_n, n);
        if (got_n > 0 && pcapng_packet_get(&b, &p, &data))
            assert_true(data + p.bytes <= exact + n);
        if (got_n > 0 && !pcapng_statistics_get(&b, &st))
            pcapng_interface_get(&b, name, sizeof(name));
        free(exact);
    }
}

static void line_is(const char *hex, const char *expected)
{
    uint8_t frame[256];
    struct text text;
    uint32_t n = 0;
    for (; hex[0] != '\0'; hex += hex[2] == ' ' ? 3 : 2)
        frame[n++] = (uint8_t)strtoul((char[]){hex[0], hex[1], 0}, NULL, 16);
    text_init(&text, 1024);
    dump_line(&text, frame, n);
    assert_string_equal(text_str(&text), expected);
    text_free(&text);
}

#define MACS "02 00 00 00 00 01 02 00 00 00 00 02 "
static void a_frame_is_one_line(void **state)
{
    line_is(MACS "0800 45000034 00004000 40060000 0a000001 0a000002"
                 "c350 0050 00000001 00000002 8018 0400 0000 0000 0101080a0000000100000002",
            "TCP 10.0.0.1:50000 > 10.0.0.2:80 [P.] seq 1 ack 2 win 1024 len 0");
    line_is(MACS "0800 4500002d 00004000 40060000 0a000001 0a000002"
                 "c350 0050 00000009 00000000 5002 ffff 0000 0000 4142434445",
            "TCP 10.0.0.1:50000 > 10.0.0.2:80 [S] seq 9 win 65535 len 5");
    line_is(MACS "0800 4500001e 00004000 40110000 0a000001 0a000002 0035 1000 000a 0000 4142",
            "UDP 10.0.0.1:53 > 10.0.0.2:4096 len 2");
    line_is(MACS "0800 4500001c 00000001 40110000 0a000001 0a000002 0000000000000000",
            "IP fragment 10.0.0.1 > 10.0.0.2 offset 8 len 8");
    line_is(MACS "0806 0001 0800 0604 0001 020000000002 0a000001 000000000000 0a000002",
            "ARP who has 10.0.0.2? tell 10.0.0.1");
    line_is(MACS "86dd 60000000 0008 3a 40 fd000000000000000000000000000001"
                 "fd000000000000000000000000000002 8000 0000 0000 0000",
            "ICMPv6 fd00::1 > fd00::2 type 128 code 0 len 8");
    line_is(MACS "0800 4500", "IP, truncated");
    line_is(MACS
            "8100 a064 0800 4500001e 00004000 40110000 0a000001 0a000002 0035 1000 000a 0000 4142",
            "vlan 100 UDP 10.0.0.1:53 > 10.0.0.2:4096 len 2");
    line_is(MACS "88a8 0005 8100 0fff 1234 00", "vlan 5 vlan 4095 Ethernet type 0x1234 len 1");
    line_is(MACS "8100 00", "Ethernet type 0x8100 len 1");
    line_is(MACS "1234 00", "Ethernet type 0x1234 len 1");
    line_is("00", "Ethernet, truncated");
}

static void any_bytes_are_one_line(void **state)
{
    struct rng rng = test_rng(__func__);
    for (unsigned i = 0; i < 100000; i++) {
        struct text text;
        const uint32_t n = rng_below(&rng, 100);
        uint8_t *frame = malloc(n + 1);
        for (uint32_t k = 0; k < n; k++)
            frame[k] = (uint8_t)rng_u64(&rng);
        if (n >= 14)
            memcpy(frame + 12, i % 2 == 0 ? "\x08\0" : "\x86\xdd", 2);
        text_init(&text, 1024);
        dump_line(&text, frame, n);
        assert_true(text.error == 0 && text.len > 0 && strchr(text_str(&text), '\n') == NULL);
        text_free(&text);
        free(frame);
    }
}

int main(void)
{
    pkt_env_start(1);
    pool = pkt_pool_create("frames", 1024, -1);
#define HERE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        HERE(a_port_is_captured_while_it_is_read),
        HERE(any_portions_give_the_same_capture),
        HERE(the_largest_frame_goes_through_pieces_that_are_smaller),
        HERE(stop_ends_a_capture_with_its_statistics),
        HERE(what_a_slow_reader_misses_is_counted),
        HERE(a_capture_ends_after_its_count),
        HERE(libpcap_reads_what_is_written),
        HERE(only_one_reads_a_named_capture),
        HERE(who_asks_for_nonsense_is_told_what_was_expected),
        HERE(one_more_than_there_can_be_is_refused_and_counted),
        cmocka_unit_test(blocks_that_are_none_are_refused),
        cmocka_unit_test(a_frame_is_one_line),
        cmocka_unit_test(any_bytes_are_one_line),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
