// SPDX-License-Identifier: BSD-3-Clause
// The layout of a server's memory as text, which the next server reads: also what is damaged.
#include <stdio.h>
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
    assert_int_equal(layout_read(&read_, text_str(&text), &params, text_str(&text), &why), 0);
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
    assert_int_equal(layout_read(&read_, text_str(&text), &params, text_str(&text), &why), 0);
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

static void ports_are_compared(void **state)
{
    (void)state;
    assert_true(layout_same_nets(text_str(&text), text_str(&text)));
    params.ports[0].net.arp_entries *= 2;
    struct text wider;
    text_init(&wider, 1 << 16);
    adoption_layout(&params, &wider);
    assert_false(layout_same_nets(text_str(&text), text_str(&wider)));
    text_free(&wider);
}

// ---- programs with other structures

// edited: the layout with one piece of text in place of another.
static char *edited(const char *was, const char *is)
{
    char *out;
    const char *at = strstr(text_str(&text), was);
    assert_non_null(at);
    assert_true(asprintf(&out, "%.*s%s%s", (int)(at - text_str(&text)), text_str(&text), is,
                         at + strlen(was)) > 0);
    return out;
}

static void is_refused(const char *was, const char *is, const char *reason)
{
    char *other = edited(was, is);
    assert_int_equal(layout_read(&read_, other, &params, text_str(&text), &why), -1);
    assert_string_equal(why.text, reason);
    free(other);
}

// A record of an earlier program: 64 bytes longer, and each byte inverted.
enum { EXTRA = 64 };
static void invert(void *now, const void *then, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        ((uint8_t *)now)[i] = (uint8_t) ~((const uint8_t *)then)[EXTRA + i];
}
static void to_block(void *now, const void *then)
{
    invert(now, then, sizeof(struct block));
}
static void to_ext(void *now, const void *then)
{
    invert(now, then, sizeof(struct ext));
}
static char types[512];
static const struct adoption_converter from_0 = {.types = types,
                                                 .block = {sizeof(struct block) + EXTRA, to_block},
                                                 .ext = {sizeof(struct ext) + EXTRA, to_ext}};
const struct adoption_converter *const adoption_converters[] = {&from_0, NULL};

// of_version_0: the layout of the earlier program, whose converted records are that much longer.
static char *of_version_0(size_t longer)
{
    const size_t block = sizeof(struct block), ext = sizeof(struct ext);
    char *out, was[64];
    const char *own = text_str(&text), *sizes = strstr(own, " flight "),
               *rest = strstr(own, "worker ");
    snprintf(types, sizeof(types), "version 0\nblock %zu ext %zu%.*s", block + EXTRA, ext + EXTRA,
             (int)(rest - sizes), sizes);
    const char *at = strstr(rest, "memory blocks"), *then = strstr(rest, "memory extensions");
    snprintf(was, sizeof(was), "memory blocks 334 %zu\n", 334 * (block + longer));
    assert_true(asprintf(&out, "%s%.*s%s%.*smemory extensions 17 %zu\n%s", types, (int)(at - rest),
                         rest, was, (int)(then - strchr(at, '\n') - 1), strchr(at, '\n') + 1,
                         17 * (ext + EXTRA), strchr(then, '\n') + 1) > 0);
    return out;
}

static void structures_without_a_converter_are_refused(void **state)
{
    (void)state;
    is_refused("version ", "version 1", "another version of the program");
    is_refused("block ", "block 1", "another version of the program");
    assert_int_equal(layout_read(&read_, "", &params, text_str(&text), &why), -1);
}

static void a_converter_is_found_by_the_types(void **state)
{
    (void)state;
    char *was = of_version_0(EXTRA);
    assert_int_equal(layout_read(&read_, was, &params, text_str(&text), &why), 0);
    assert_ptr_equal(read_.from, &from_0);
    assert_int_equal(layout_converted_bytes(&read_), UINT64_C(3) * (334 * 256 + 17 * 256));
    assert_int_equal(layout_read(&read_, text_str(&text), &params, text_str(&text), &why), 0);
    assert_null(read_.from);
    free(was);
    was = of_version_0(0);  // too short for what the converter reads
    assert_int_equal(layout_read(&read_, was, &params, text_str(&text), &why), -1);
    assert_string_equal(why.text, "memory blocks is too short");
    free(was);
    was = of_version_0(EXTRA);
    *strstr(was, "syn ") = *strstr(types, "syn ") = 'S';  // a structure with another name
    assert_int_equal(layout_read(&read_, was, &params, text_str(&text), &why), -1);
    free(was);
    was = of_version_0(EXTRA);
    strstr(was, "time_wait ")[10]++;  // without a converter it must have the size of now
    strstr(types, "time_wait ")[10]++;
    assert_int_equal(layout_read(&read_, was, &params, text_str(&text), &why), -1);
    assert_string_equal(why.text, "another version of the program");
    free(was);
}

static void records_are_converted_and_the_others_stay(void **state)
{
    uint8_t then[2][sizeof(struct block) + EXTRA], want[2][sizeof(struct block)];
    struct syn_record syn;
    struct tcp_left left = {
        .blocks = (struct block *)then, .n_blocks = 2, .syns = &syn, .n_syns = 1};
    struct converted mem = {.n = 0};
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        memset(then[i], 0xf0 + (int)i, sizeof(then[i]));
        memset(want[i], 0x0f - (int)i, sizeof(want[i]));
    }
    assert_int_equal(adoption_convert(&from_0, &left, &mem), 0);
    assert_memory_equal(left.blocks, want, sizeof(want));
    assert_int_equal((uintptr_t)left.blocks % CACHE_LINE, 0);
    assert_ptr_equal(left.syns, &syn);
    assert_null(left.exts);
    converted_free(&mem);
    assert_int_equal(mem.n, 0);
}

// worker_at: as the layout of a program says whose struct worker has that many bytes, and `at` and
// `state` at these places.
static char *worker_at(size_t bytes, size_t at, size_t at_state)
{
    char was[256], is[256];
    static const char form[] = "worker %zu\nworker.state %zu 4\nworker.at %zu 4\n";
    snprintf(was, sizeof(was), form, sizeof(struct worker), offsetof(struct worker, state),
             offsetof(struct worker, at));
    snprintf(is, sizeof(is), form, bytes, at_state, at);
    return edited(was, is);
}

static void fields_of_another_worker_are_found(void **state)
{
    static struct worker then, now;
    (void)state;
    const size_t shorter = sizeof(struct worker) - CACHE_LINE;
    char *other = worker_at(shorter, offsetof(struct worker, state), offsetof(struct worker, at));
    assert_int_equal(layout_read(&read_, other, &params, text_str(&text), &why), 0);
    shared_u32_store(&then.state, 7);
    shared_u32_store(&then.at, 9);
    then.tcp.now.us = 123456789;
    then.homes.local[1] = ip_from_v4(0x0a000009);
    adoption_worker_copy(&now, (const uint8_t *)&then, &read_.worker);
    assert_int_equal(shared_u32_load(&now.state), 9);
    assert_int_equal(shared_u32_load(&now.at), 7);
    assert_int_equal(now.tcp.now.us, 123456789);
    assert_true(ip_equal(&now.homes.local[1], &then.homes.local[1]));
    free(other);
}

static void a_worker_that_is_not_whole_is_refused(void **state)
{
    (void)state;
    const char version[] = "another version of the program";
    const size_t bytes = sizeof(struct worker), shorter = bytes - CACHE_LINE;
    char *others[] = {worker_at(shorter, shorter - 3, 0),   // beyond its end
                      worker_at(bytes, 0, 4),               // not where this program has them
                      worker_at(bytes + (1 << 20), 0, 4)};  // longer than its memory
    for (unsigned i = 0; i < ARRAY_LEN(others); i++) {
        assert_int_equal(layout_read(&read_, others[i], &params, text_str(&text), &why), -1);
        assert_string_equal(why.text, version);
        free(others[i]);
    }
    char *other = edited("worker.values tcp_input ", "worker.values tcp_input 1");
    assert_int_equal(layout_read(&read_, other, &params, text_str(&text), &why), -1);
    assert_non_null(strstr(why.text, "worker.values"));
    free(other);
    is_refused("worker.at ", "worker.of_tomorrow ", version);
    is_refused("worker.values ", "worker.of_tomorrow 0 0 ", version);
    char twice[64];
    snprintf(twice, sizeof(twice), "worker.at %zu 4", offsetof(struct worker, at));
    is_refused("worker.state ", "worker.at ", twice);
    is_refused("worker.found ", "worker.found 1", version);
    is_refused("worker ", "worker 9", version);
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
        if (layout_read(&read_, copy, &params, text_str(&text), &why) != 0)
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
    assert_int_equal(layout_read(&read_, text_str(&text), &params, text_str(&text), &why), -1);
    assert_string_equal(why.text, "memory blocks 334 85504");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_written_is_read, begin, end),
        cmocka_unit_test_setup_teardown(each_worker_has_its_own_memory, begin, end),
        cmocka_unit_test_setup_teardown(ports_are_compared, begin, end),
        cmocka_unit_test_setup_teardown(structures_without_a_converter_are_refused, begin, end),
        cmocka_unit_test_setup_teardown(a_converter_is_found_by_the_types, begin, end),
        cmocka_unit_test_setup_teardown(records_are_converted_and_the_others_stay, begin, end),
        cmocka_unit_test_setup_teardown(fields_of_another_worker_are_found, begin, end),
        cmocka_unit_test_setup_teardown(a_worker_that_is_not_whole_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(what_is_damaged_is_refused_or_fits, begin, end),
        cmocka_unit_test_setup_teardown(a_region_may_not_come_twice, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
