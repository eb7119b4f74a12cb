// SPDX-License-Identifier: BSD-3-Clause
// Claims about the kinds heap and allocs: their sums are those of mem/ledger and mem/pools, and
// what connections hold is laid to them.
#include <malloc.h>

#include "pkt_env.h"
#include "prof/heap_memory.h"
#include "prof/prof_kinds.h"
#include "prof_hosts.h"
#include "server/fill_levels.h"

enum { SENT_BYTES = 10000 };

static const uint8_t sent[SENT_BYTES];

static void send_some(struct c10m_conn *c)
{
    c10m_send(c, sent, sizeof(sent));
}

static const struct c10m_app client = {.name = "client", .open = send_some, .data = discard};
static const struct c10m_app hog = {.name = "hog", .data = hoard};
static const struct c10m_app *const both[2][3] = {{&client}, {&hog}};

static int64_t in_use(const char *name, const char *other)
{
    return prof_sum(text, HEAP_INUSE_OBJECTS, name, other);
}

static void connect_and_send(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 100);
}

static void what_is_reserved_is_what_the_ledger_says(void **state)
{
    struct ledger l = {0};
    begin(both);
    connect_and_send(3);
    take(0, &prof_kind_heap, 1, NULL);
    server_ledger(&h->e[0].server.params, &l);
    uint64_t ledger = 0;
    int64_t profile = 0;
    for (unsigned i = 0; i < l.n; i++) {
        const int64_t sum = prof_sum(text, HEAP_RESERVED, l.rows[i].name, NULL);
        if (strncmp(l.rows[i].name, "flow_table", 10) != 0)  // two rows, in the profile one
            assert_int_equal(sum, l.rows[i].bytes);
        ledger += l.rows[i].bytes;
        profile += sum;
    }
    assert_int_equal(profile, ledger);
    end();
}

static void what_is_in_use_is_what_the_pools_say(void **state)
{
    static const char *const regions[][2] = {
        {"blocks", "connection block"},    {"syn_records", "half-open record"},
        {"time_wait", "TIME-WAIT record"}, {"extensions", "extension record"},
        {"flow_table", "flow entry"},      {"wheel", "timer entry"},
        {"flights", "flight log"},         {"packets", "packet"},
    };
    static const char *const pools[] = {"blocks",       "syn_records", "time_wait",   "extensions",
                                        "flow_entries", "timers",      "flight_logs", "packets"};
    struct fill_pool now[FILL_POOLS_MAX];
    begin(both);
    connect_and_send(4);
    for (unsigned e = 0; e < 2; e++) {
        take(e, &prof_kind_heap, 1, NULL);
        const unsigned n = fill_pools_now(&h->e[e].server, 0, now);
        for (unsigned i = 0; i < ARRAY_LEN(pools); i++)
            for (unsigned k = 0; k < n; k++)
                if (strcmp(now[k].name, pools[i]) == 0)
                    assert_int_equal(in_use(regions[i][1], regions[i][0]), now[k].used);
        for (unsigned k = 0; k < n; k++)
            if (strcmp(now[k].name, "buffers") == 0)
                assert_int_equal(in_use("send queue", NULL) + in_use("receive queue", NULL) +
                                     in_use("out-of-order data", NULL) + in_use("buffer", NULL),
                                 now[k].used);
    }
    end();
}

static void the_memory_of_a_hog_is_its_receive_queue(void **state)
{
    begin(both);
    connect_and_send(2);
    take(1, &prof_kind_heap, 1, NULL);
    const int64_t queued = in_use("receive queue", "app hog");
    assert_in_range(queued, 2 * (SENT_BYTES / BUF_BYTES), 2 * (SENT_BYTES / BUF_BYTES + 8));
    assert_int_equal(in_use("receive queue", NULL), queued);
    assert_int_equal(prof_sum(text, HEAP_INUSE_SPACE, "receive queue", "service hog"),
                     queued * (int64_t)(BUF_STRIDE + sizeof(struct buf)));
    assert_int_equal(in_use("connection block", "state ESTABLISHED"), 2);
    assert_int_equal(in_use("connection block", "app hog"), 2);
    assert_non_null(
        strstr(text, "\"app\":\"hog\", \"service\":\"hog\", \"state\":\"ESTABLISHED\""));
    end();
}

static void what_was_given_back_is_allocated_and_not_in_use(void **state)
{
    begin(both);
    for (unsigned i = 0; i < 5; i++)
        hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 50);
    struct tcp *t = &h->e[0].w->tcp;
    t->now = clock_at_us(h->now_us);
    for (uint32_t ix = 0; ix < 3; ix++)
        tcp_abort(t, ix), tcp_free(t, ix);
    hosts_run(h, 50);
    take(0, &prof_kind_allocs, 1, NULL);
    assert_memory_equal(text, "allocs profile: total ", 22);
    assert_int_equal(in_use("connection block", NULL), 2);
    assert_int_equal(prof_sum(text, HEAP_ALLOC_OBJECTS, "connection block", "blocks"), 5);
    assert_int_equal(prof_sum(text, HEAP_ALLOC_OBJECTS, "connection block", "given back"), 3);
    assert_int_equal(prof_sum(text, HEAP_INUSE_SPACE, "given back", NULL), 0);
    end();
}

static void seconds_show_what_has_changed(void **state)
{
    begin(both);
    connect_and_send(2);
    const struct prof_shown s = {.server = &h->e[1].server};
    const struct prof_query q = {.seconds = 1, .debug = 1};
    void *run = prof_begun(&prof_kind_heap, &s, &q);
    usleep(100 * 1000);  // its thread walks over two connections meanwhile
    connect_and_send(3);
    free(text);
    text = prof_ended(&prof_kind_heap, run);
    assert_int_equal(in_use("connection block", "app hog"), 3);
    assert_true(in_use("receive queue", "app hog") >= 3 * (SENT_BYTES / BUF_BYTES));
    assert_int_equal(prof_sum(text, HEAP_RESERVED, "blocks", NULL), 0);
    assert_int_equal(prof_sum(text, HEAP_RESERVED, "worker", NULL), 0);
    assert_null(strstr(text, "\n0 0 0 0 0 @"));  // what is as before is not there
    end();
}

static void a_run_that_is_left_ends_its_first_reading(void **state)
{
    begin(both);
    const struct prof_shown s = {.server = &h->e[1].server};
    const struct prof_query q = {.seconds = 30};
    prof_kind_heap.release(prof_begun(&prof_kind_heap, &s, &q));
    end();
}

static void images_are_laid_to_their_service(void **state)
{
    begin(both);
    struct c10m_service *sv = &h->e[1].server.services[0];
    shared_u64_store(&sv->image_count, 1);
    shared_u64_store(&sv->image_bytes, 8192);
    take(1, &prof_kind_heap, 1, NULL);
    assert_int_equal(in_use("image", "service hog"), 1);
    assert_int_equal(prof_sum(text, HEAP_INUSE_SPACE, "image", "app hog"), 8192);
    end();
}

static void the_heap_of_libc_is_there(void **state)
{
    begin(both);
    take(1, &prof_kind_heap, 1, NULL);
    const bool told = mallinfo2().uordblks != 0;  // AddressSanitizer's allocator does not tell
    assert_int_equal(prof_sum(text, HEAP_INUSE_SPACE, "allocated", "libc heap") > 0, told);
    end();
}

static void the_count_is_that_of_all_entries(void **state)
{
    begin(both);
    const struct prof_shown s = {.server = &h->e[0].server};
    const uint64_t before = prof_kind_heap.count(&s);
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 50);
    assert_true(prof_kind_heap.count(&s) > before);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_reserved_is_what_the_ledger_says),
        cmocka_unit_test(what_is_in_use_is_what_the_pools_say),
        cmocka_unit_test(the_memory_of_a_hog_is_its_receive_queue),
        cmocka_unit_test(what_was_given_back_is_allocated_and_not_in_use),
        cmocka_unit_test(seconds_show_what_has_changed),
        cmocka_unit_test(a_run_that_is_left_ends_its_first_reading),
        cmocka_unit_test(images_are_laid_to_their_service),
        cmocka_unit_test(the_heap_of_libc_is_there),
        cmocka_unit_test(the_count_is_that_of_all_entries),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
