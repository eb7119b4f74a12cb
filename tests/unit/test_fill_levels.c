// SPDX-License-Identifier: BSD-3-Clause
// How full a worker's pools and queues are, and the host's hugepages.
#include <string.h>

#include "base/text.h"
#include "ctl/files/hugepages.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/fill_levels.h"
#include "temp_tree.h"

static size_t data(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    c10m_send(c, bytes, len);
    return len;
}

static const struct c10m_app app = {.name = "app", .data = data};
static const struct c10m_app *const both[2][3] = {{&app}, {&app}};

static struct hosts *h;
static struct fill_levels *d;

static void begin(void)
{
    h = hosts_new(both, NULL);
    h->e[0].server.params.n_workers = 1;
    d = fill_new(&h->e[0].server);
    assert_non_null(d);
}

static void end(void)
{
    fill_free(d);
    hosts_free(h);
}

static struct fill_pool pool(const char *name)
{
    struct fill_pool all[FILL_POOLS_MAX];
    const unsigned n = fill_pools(d, 0, all);
    assert_in_range(n, 1, FILL_POOLS_MAX);
    for (unsigned i = 0; i < n; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i];
    fail_msg("no pool %s", name);
    return all[0];
}

static void is(const char *name, uint64_t size, uint64_t used, uint64_t high)
{
    const struct fill_pool p = pool(name);
    assert_int_equal(p.size, size);
    assert_int_equal(p.used, used);
    assert_int_equal(p.used_high, high);
}

static void what_connections_use_is_counted_and_the_highest_stays(void **state)
{
    begin();
    is("blocks", 512, 0, 0);
    is("packets", 2048, 0, 0);
    is("flow_entries", pool("flow_entries").size, 0, 0);
    uint32_t open[5];
    for (int i = 0; i < 5; i++)
        open[i] = hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 50);
    is("blocks", 512, 5, 5);
    is("flow_entries", pool("flow_entries").size, 5, 5);
    assert_true(pool("timers").used_high > 0);
    for (int i = 0; i < 3; i++)
        tcp_abort(&h->e[0].w->tcp, open[i]), tcp_free(&h->e[0].w->tcp, open[i]);
    hosts_run(h, 50);
    is("blocks", 512, 2, 5);
    is("flow_entries", pool("flow_entries").size, 2, 5);
    end();
}

static void packets_held_are_used_and_a_poll_keeps_the_highest(void **state)
{
    struct pkt *held[300];
    begin();
    assert_true(pkt_alloc_bulk(h->e[0].server.pools[0], held, 300));
    fill_poll(d);
    pkt_free_bulk(held, 100);
    is("packets", 2048, 200, 300);
    pkt_free_bulk(held + 100, 200);
    is("packets", 2048, 0, 300);
    end();
}

static void buffers_and_records_are_seen(void **state)
{
    begin();
    struct tcp *t = &h->e[0].w->tcp;
    const uint32_t buf = buf_get(&t->bufs), ext = index_pool_get(t->ext_pool);
    is("buffers", 1024, 1, 1);
    is("extensions", 64, 1, 1);
    buf_put(&t->bufs, buf);
    index_pool_put_deferred(t->ext_pool, ext);
    is("buffers", 1024, 0, 1);
    is("extensions", 64, 0, 1);
    index_pool_turn_end(t->ext_pool);
    end();
}

static void each_pool_has_four_lines_and_the_queues_their_limits(void **state)
{
    struct text text;
    begin();
    text_init(&text, 1 << 16);
    fill_pools_render(d, &text);
    const char *s = text_str(&text);
    assert_non_null(strstr(s, "blocks_size 512\nblocks_free_now 512\nblocks_used_now 0\n"
                              "blocks_used_high 0\n"));
    assert_null(strstr(s, "worker_"));  // of one alone the sum says it all
    text_free(&text);
    fill_queues_render(&h->e[0].server, 0, &text);
    s = text_str(&text);
    assert_non_null(strstr(s, "wire_rx_waiting -1\nwire_tx_waiting 0\nwire_dirty_blocks 0\n"));
    assert_non_null(strstr(s, "\ndirty_blocks 0\n"));
    text_free(&text);
    end();
}

static const struct temp_entry host[] = {
    {"sys/", NULL, NULL},
    {"sys/kernel/", NULL, NULL},
    {"sys/kernel/mm/", NULL, NULL},
    {"sys/kernel/mm/hugepages/", NULL, NULL},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/", NULL, NULL},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n", NULL},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "100\n", NULL},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/resv_hugepages", "7\n", NULL},
    {"sys/kernel/mm/hugepages/hugepages-2048kB/surplus_hugepages", "3\n", NULL},
    {"sys/devices/", NULL, NULL},
    {"sys/devices/system/", NULL, NULL},
    {"sys/devices/system/node/", NULL, NULL},
    {"sys/devices/system/node/node1/", NULL, NULL},
    {"sys/devices/system/node/node1/hugepages/", NULL, NULL},
    {"sys/devices/system/node/node1/hugepages/hugepages-2048kB/", NULL, NULL},
    {"sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages", "512\n", NULL},
    {"sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages", "100\n", NULL},
    {"sys/devices/system/node/node1/hugepages/hugepages-2048kB/surplus_hugepages", "3\n", NULL},
    {"proc/", NULL, NULL},
    {"proc/self/", NULL, NULL},
    {"proc/self/status", "Name:\tc10m\nHugetlbPages:\t   96256 kB\n", NULL},
    {"proc/self/numa_maps",
     "7f0000000000 default file=/dev/hugepages/x\\040(deleted) huge dirty=40 N0=10 N1=30 "
     "kernelpagesize_kB=2048\n"
     "7f1000000000 default anon=5 dirty=5 N0=5 kernelpagesize_kB=4\n"
     "7f2000000000 bind:1 file=/a huge dirty=7 N1=7 kernelpagesize_kB=2048\n"
     "7f3000000000 bind:1 file=/b huge dirty=1 N1=1 kernelpagesize_kB=1048576\n",
     NULL},
};

static void hugepages_are_shown_by_node_and_size_and_ours_counted(void **state)
{
    struct text text;
    char root[TEMP_PATH_BYTES], sys[TEMP_PATH_BYTES + 8], proc[TEMP_PATH_BYTES + 8];
    temp_tree_make(root, host, ARRAY_LEN(host));
    snprintf(sys, sizeof(sys), "%s/sys", root);
    snprintf(proc, sizeof(proc), "%s/proc", root);
    text_init(&text, 1 << 16);
    ctl_hugepages_render(sys, proc, &text);
    assert_string_equal(text_str(&text), "all_2048kB_total 512\nall_2048kB_free 100\n"
                                         "all_2048kB_reserved 7\nall_2048kB_surplus 3\n"
                                         "all_2048kB_mapped 47\n"
                                         "node_1_2048kB_total 512\nnode_1_2048kB_free 100\n"
                                         "node_1_2048kB_surplus 3\nnode_1_2048kB_mapped 37\n");
    text_free(&text);
    ctl_hugepages_render("/nowhere", "/nowhere", &text);
    assert_string_equal(text_str(&text), "");
    text_free(&text);
    temp_tree_remove(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_connections_use_is_counted_and_the_highest_stays),
        cmocka_unit_test(packets_held_are_used_and_a_poll_keeps_the_highest),
        cmocka_unit_test(buffers_and_records_are_seen),
        cmocka_unit_test(each_pool_has_four_lines_and_the_queues_their_limits),
        cmocka_unit_test(hugepages_are_shown_by_node_and_size_and_ours_counted),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
