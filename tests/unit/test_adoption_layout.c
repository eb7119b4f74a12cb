// SPDX-License-Identifier: BSD-3-Clause
// The layout of a server's memory as text, which the next server reads: also what is damaged.
#include <string.h>

#include "check.h"
#include "seed.h"
#include "server/adoption.h"
#include "server/adoption_layout.h"
#include "server/adoption_state.h"

static struct c10m_app app = {.name = "echo"};
static struct server_params params;
static struct text text;
static struct layout read_;
static struct err why;

static int begin(void **state)
{
    (void)state;
    struct server_params *p = &params;
    memset(p, 0, sizeof(*p));
    p->n_workers = 3;
    p->connections = 1000;
    p->time_wait = 300;
    p->syn_received = 100;
    p->extensions = 50;
    p->flight_logs = 40;
    p->buffers = 64;
    p->packets = 1024;
    p->adopt = SERVER_ADOPT_AUTO;
    p->n_ports = 1;
    p->ports[0].port.name = "p0";
    net_config_default(&p->ports[0].net);
    p->ports[0].net.n_locals = 2;
    p->ports[0].net.locals[0] = (struct net_local){ip_from_v4(0x0a000001), 24};
    p->ports[0].net.locals[1] = (struct net_local){ip_from_v4(0x0a000002), 24};
    p->n_services = 1;
    p->services[0].name = "small";
    p->services[0].app = &app;
    text_init(&text, 1 << 16);
    adoption_layout(p, &text);
    return 0;
}

static int end(void **state)
{
    (void)state;
    text_free(&text);
    return 0;
}

static void what_was_written_is_read(void **state)
{
    struct region r[REGION_COUNT];
    (void)state;
    assert_int_equal(layout_read(&read_, text_str(&text), &params, &why), 0);
    server_regions(&params, r);
    assert_int_equal(read_.n_workers, 3);
    assert_int_equal(ADOPTION_STATE_BYTES + 3 * read_.worker_bytes, server_arena_bytes(&params));
    for (unsigned i = 0; i < REGION_COUNT; i++)
        assert_int_equal(read_.region[i].bytes, r[i].bytes);
    assert_int_equal(read_.n_services, 1);
    assert_string_equal(read_.service[0].name, "small");
    assert_string_equal(read_.service[0].app, "echo");
    assert_int_equal(read_.n_locals, 2);
    assert_string_equal(read_.local[1].port, "p0");
    assert_string_equal(read_.local[1].addr, "10.0.0.2");
}

static void each_worker_has_its_own_memory(void **state)
{
    uint8_t *arena = (uint8_t *)(uintptr_t)(1 << 30);
    struct tcp_left left;
    (void)state;
    assert_int_equal(layout_read(&read_, text_str(&text), &params, &why), 0);
    for (unsigned w = 0; w < 3; w++) {
        layout_left(&read_, w, arena, &left);
        assert_int_equal(left.n_blocks, 334);
        assert_int_equal(left.n_time_wait, 100);
        assert_int_equal(left.n_time_wait6, 0);
        assert_int_equal(left.n_refs, 64 * REFS_PER_BUFFER);
        assert_ptr_equal(left.blocks, layout_at(&read_, w, arena, REGION_BLOCKS));
        assert_int_equal((uintptr_t)left.blocks % CACHE_LINE, 0);
        assert_null(layout_at(&read_, w, arena, REGION_TRACE));  // it had none
    }
    assert_ptr_equal(layout_at(&read_, 1, arena, REGION_BLOCKS),
                     arena + ADOPTION_STATE_BYTES + read_.worker_bytes);
}

static void types_and_ports_are_compared(void **state)
{
    (void)state;
    char *other = strdup(text_str(&text));
    assert_true(layout_same_types(text_str(&text), other));
    assert_true(layout_same_nets(text_str(&text), other));
    strchr(other, ' ')[1]++;
    assert_false(layout_same_types(text_str(&text), other));
    free(other);
    params.ports[0].net.arp_entries *= 2;
    struct text wider;
    text_init(&wider, 1 << 16);
    adoption_layout(&params, &wider);
    assert_true(layout_same_types(text_str(&text), text_str(&wider)));
    assert_false(layout_same_nets(text_str(&text), text_str(&wider)));
    text_free(&wider);
}

// fits: every part lies within the worker's memory.
static void fits(const struct layout *l)
{
    assert_in_range(l->n_workers, 1, SERVER_WORKERS_MAX);
    assert_true(l->n_services <= TCP_SERVICES_MAX && l->n_locals <= TCP_LOCALS_MAX);
    for (unsigned i = 0; i < REGION_COUNT; i++)
        assert_true(l->region[i].offset + l->region[i].bytes <= l->worker_bytes);
    assert_true(l->region[REGION_BLOCKS].count * sizeof(struct block) <=
                l->region[REGION_BLOCKS].bytes);
    assert_true(buf_footprint(l->region[REGION_BUFFERS].count,
                              l->region[REGION_BUFFERS].count * REFS_PER_BUFFER) <=
                l->region[REGION_BUFFERS].bytes);
}

static void what_is_damaged_is_refused_or_fits(void **state)
{
    struct rng rng = test_rng(__func__);
    unsigned refused = 0;
    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char *copy = strdup(text_str(&text));
        for (unsigned k = rng_below(&rng, 4) + 1; k-- > 0;)
            copy[rng_below(&rng, (uint32_t)strlen(copy))] =
                "0123456789 \nm[]x"[rng_below(&rng, 16)];
        if (layout_read(&read_, copy, &params, &why) != 0)
            refused++;
        else
            fits(&read_);
        free(copy);
    }
    assert_in_range(refused, 1000, 19999);
}

static void a_region_may_not_come_twice(void **state)
{
    (void)state;
    text_printf(&text, "memory blocks 334 85504\n");
    assert_int_equal(layout_read(&read_, text_str(&text), &params, &why), -1);
    assert_string_equal(why.text, "memory blocks 334 85504");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_is_read, begin, end),
        cmocka_unit_test_setup_teardown(each_worker_has_its_own_memory, begin, end),
        cmocka_unit_test_setup_teardown(types_and_ports_are_compared, begin, end),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_refused_or_fits, begin, end),
        cmocka_unit_test_setup_teardown(a_region_may_not_come_twice, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
