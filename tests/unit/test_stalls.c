// SPDX-License-Identifier: BSD-3-Clause
// Stalls: the ring, what is read of /proc, the cause that is found, and what real turns write down.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/stalls.h"
#include "temp_tree.h"

enum { HZ = 1000000000, MS = 1000000, TID = 4711, TEXT_BYTES = 1 << 20 };  // a cycle is 1 ns

// ---- the ring

static struct stall_ring ring;
static struct stall got[STALL_RING];

static void put(unsigned n)
{
    for (; n > 0; n--)
        stall_put(&ring, &(struct stall){.cycles = shared_u64_load(&ring.n)});
}

static void stalls_are_taken_once_and_in_order(void **state)
{
    uint64_t taken = 0, missed = 0;
    memset(&ring, 0, sizeof(ring));
    assert_int_equal(stall_take(&ring, &taken, got, STALL_RING, &missed), 0);
    put(5);
    assert_int_equal(stall_take(&ring, &taken, got, 3, &missed), 3);
    assert_int_equal(got[2].cycles, 2);
    assert_int_equal(stall_take(&ring, &taken, got, STALL_RING, &missed), 2);
    assert_int_equal(got[0].cycles, 3);
    assert_int_equal(stall_take(&ring, &taken, got, STALL_RING, &missed), 0);
    assert_int_equal(missed, 0);
}

static void what_was_overwritten_is_counted_and_the_rest_is_whole(void **state)
{
    uint64_t taken = 0, missed = 0;
    memset(&ring, 0, sizeof(ring));
    put(STALL_RING - 1);
    assert_int_equal(stall_take(&ring, &taken, got, STALL_RING, &missed), STALL_RING - 1);
    put(STALL_RING + 10);
    const unsigned n = stall_take(&ring, &taken, got, STALL_RING, &missed);
    assert_int_equal(n + missed, STALL_RING + 10);
    assert_int_equal(n, STALL_RING - 1);  // the oldest slot may be in the writer's hands
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(got[i].cycles, shared_u64_load(&ring.n) - n + i);
}

// ---- /proc

static const struct temp_entry proc[] = {
    {"self/", NULL, NULL},
    {"self/task/", NULL, NULL},
    {"self/task/4711/", NULL, NULL},
    {"self/task/4711/schedstat", "123456789012 987654321 55\n", NULL},
    {"self/task/4711/status",
     "Name:\tvoluntary_ctxt_switches: 9\nState:\tR (running)\nvoluntary_ctxt_switches:\t17\n"
     "nonvoluntary_ctxt_switches:\t23\n",
     NULL},
    {"self/task/4711/stat",
     "4711 (a) R (b) R 1 4711 1 0 -1 4194304 301 0 7 0 1 2 0 0 20 0 3 0 99 1 2\n", NULL},
    {"stat",
     "cpu  1 1 1 1 1 1 1 1 0 0\ncpu1 10 20 30 40 50 60 70 81 0 0\n"
     "cpu10 1 2 3 4 5 6 7 8 0 0\nintr 5\n",
     NULL},
    {"interrupts",
     "           CPU0       CPU1       CPU10\n"
     "  1:         11          12         13  IO-APIC   1-edge      i8042\n"
     " 36:          0    1812658          5 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0  \n"
     "LOC:   16616654   16082320        777   Local timer interrupts\n"
     "TLB:     817026    1346493          2   TLB shootdowns\n"
     "ERR:          0\n",
     NULL}};

static void each_count_is_read_from_its_place(void **state)
{
    char root[TEMP_PATH_BYTES];
    struct linux_counts c;
    temp_tree_make(root, proc, ARRAY_LEN(proc));
    linux_counts_read(&c, root, TID, 1);
    assert_int_equal(c.wait_ns, 987654321);
    assert_int_equal(c.slept, 17);
    assert_int_equal(c.forced, 23);
    assert_int_equal(c.faults_minor, 301);
    assert_int_equal(c.faults_major, 7);
    assert_int_equal(c.steal_ticks, 81);
    assert_int_equal(c.n_interrupts, 4);
    assert_string_equal(c.interrupts[0].name, "i8042");
    assert_int_equal(c.interrupts[0].count, 12);
    assert_string_equal(c.interrupts[1].name, "virtio1-req.0");
    assert_int_equal(c.interrupts[1].count, 1812658);
    assert_string_equal(c.interrupts[3].name, "TLB");
    assert_int_equal(c.interrupts[3].count, 1346493);
    linux_counts_read(&c, root, TID, 10);
    assert_int_equal(c.steal_ticks, 8);
    assert_int_equal(c.interrupts[2].count, 777);
    temp_tree_remove(root);
}

static void what_is_not_there_is_zero(void **state)
{
    char root[TEMP_PATH_BYTES];
    struct linux_counts c;
    temp_tree_make(root, proc, ARRAY_LEN(proc));
    linux_counts_read(&c, root, TID + 1, 2);
    assert_int_equal(c.wait_ns | c.slept | c.faults_minor | c.steal_ticks, 0);
    assert_int_equal(c.n_interrupts, 0);
    linux_counts_read(&c, "/nowhere", TID, 1);
    assert_int_equal(c.steal_ticks | c.n_interrupts, 0);
    temp_tree_remove(root);
}

static void a_truncated_or_strange_interrupts_file_does_no_harm(void **state)
{
    static const char *const texts[] = {"CPU0 CPU1",           "CPU0 CPU1\n",
                                        "CPU0 CPU1\n 1:",      "CPU0 CPU1\n 1: 5",
                                        "CPU0 CPU1\n 1: 5 \n", "CPU0 CPU1\n:\n\n::\n 7: 1 2\n"};
    char root[TEMP_PATH_BYTES];
    struct linux_counts c;
    for (unsigned i = 0; i < ARRAY_LEN(texts); i++) {
        const struct temp_entry e = {"interrupts", texts[i], NULL};
        temp_tree_make(root, &e, 1);
        linux_counts_read(&c, root, 0, 1);
        assert_int_equal(c.n_interrupts, i == ARRAY_LEN(texts) - 1);
        temp_tree_remove(root);
    }
    assert_int_equal(c.interrupts[0].count, 2);
}

static void this_threads_own_counts_are_there(void **state)
{
    struct linux_counts c;
    linux_counts_read(&c, "/proc", gettid(), 0);
    assert_true(c.faults_minor != 0 && c.n_interrupts != 0);
    assert_true(c.lost_ns > 0);  // since the machine's start it slept or was not there
}

static void growth_of_an_interrupt_is_found_by_its_name(void **state)
{
    struct linux_counts before = {.n_interrupts = 2, .interrupts = {{"a", 5}, {"b", 7}}};
    struct linux_counts now = {.n_interrupts = 3, .interrupts = {{"new", 2}, {"a", 6}, {"b", 7}}};
    linux_counts_since(&now, &before);
    assert_int_equal(now.interrupts[0].count, 2);
    assert_int_equal(now.interrupts[1].count, 1);
    assert_int_equal(now.interrupts[2].count, 0);
}

// ---- the cause

static struct stall_evidence left;
static uint64_t usual;

// cause: of one stall of that stage with some work.
static enum stall_cause cause(enum stage stage, uint64_t cycles, struct linux_counts grown)
{
    struct stall_named it = {.s = {.cycles = cycles, .stage = (uint8_t)stage},
                             .usual_cycles = usual};
    if (stage != STAGE_idle)
        it.s.packets = it.s.events = it.s.timers = it.s.segments = 1;
    left = (struct stall_evidence){0};
    stalls_name(&it, 1, &grown, &left, HZ);
    return it.cause;
}

static void each_cause_is_found_by_its_evidence(void **state)
{
    const struct linux_counts nothing = {0}, irq = {.n_interrupts = 1, .interrupts = {{"TLB", 1}}},
                              timer = {.n_interrupts = 1, .interrupts = {{"LOC", 9}}};
    assert_int_equal(cause(STAGE_idle, MS, (struct linux_counts){.wait_ns = MS}), STALL_preempted);
    assert_int_equal(cause(STAGE_app, MS, (struct linux_counts){.wait_ns = MS}), STALL_preempted);
    assert_int_equal(cause(STAGE_tx, MS, (struct linux_counts){.slept = 1}), STALL_slept);
    assert_int_equal(cause(STAGE_app, MS, (struct linux_counts){.faults_minor = 1}),
                     STALL_page_fault);
    assert_int_equal(cause(STAGE_app, MS, (struct linux_counts){.faults_major = 1}),
                     STALL_page_fault);
    assert_int_equal(cause(STAGE_idle, MS, (struct linux_counts){.steal_ticks = 1}), STALL_steal);
    assert_int_equal(cause(STAGE_app, MS, (struct linux_counts){.lost_ns = MS}), STALL_steal);
    assert_int_equal(cause(STAGE_app, MS, (struct linux_counts){.lost_ns = MS / 4}),
                     STALL_own_work);
    assert_int_equal(cause(STAGE_net_output, MS, nothing), STALL_unknown);
    assert_int_equal(cause(STAGE_app, MS, nothing), STALL_own_work);
    usual = MS / STALLS_UNUSUAL;
    assert_int_equal(cause(STAGE_timers, MS, irq), STALL_own_work);
    usual--;  // not so usual
    assert_int_equal(cause(STAGE_timers, MS, irq), STALL_interrupt);
    assert_int_equal(cause(STAGE_timers, MS, timer), STALL_own_work);
    assert_int_equal(cause(STAGE_COUNT, MS, nothing), STALL_own_work);
    assert_int_equal(cause(STAGE_idle, MS, irq), STALL_interrupt);
    assert_int_equal(cause(STAGE_flow_find, MS, irq), STALL_interrupt);
    assert_int_equal(cause(STAGE_idle, MS, timer), STALL_unknown);
    assert_int_equal(cause(STAGE_flow_find, MS, nothing), STALL_unknown);
}

static void a_short_wait_does_not_explain_a_long_stall(void **state)
{
    assert_int_equal(cause(STAGE_idle, 4 * MS, (struct linux_counts){.wait_ns = MS}),
                     STALL_unknown);
}

static void a_wait_explains_the_long_stall_and_not_the_short_one_before_it(void **state)
{
    struct stall_named two[] = {{.s = {.cycles = MS / 5, .stage = STAGE_idle}},
                                {.s = {.cycles = 4 * MS, .stage = STAGE_idle}}};
    left = (struct stall_evidence){0};
    stalls_name(two, 2, &(struct linux_counts){.wait_ns = 4 * MS}, &left, HZ);
    assert_int_equal(two[0].cause, STALL_unknown);
    assert_int_equal(two[1].cause, STALL_preempted);
    assert_int_equal(left.wait_ns, 0);
}

static void a_wait_that_was_counted_just_before_its_stall_explains_it_once(void **state)
{
    struct stall_named it = {.s = {.cycles = MS, .stage = STAGE_idle}};
    const struct linux_counts nothing = {0};
    left = (struct stall_evidence){0};
    stalls_name(NULL, 0, &(struct linux_counts){.wait_ns = MS}, &left, HZ);
    assert_int_equal(left.wait_ns, MS);
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_preempted);
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_unknown);
    stalls_name(NULL, 0, &(struct linux_counts){.wait_ns = MS}, &left, HZ);
    stalls_name(NULL, 0, &nothing, &left, HZ);
    stalls_name(&it, 1, &nothing, &left, HZ);  // that wait is too long ago
    assert_int_equal(it.cause, STALL_unknown);
}

static void a_wait_that_is_not_over_at_a_reading_is_no_steal(void **state)
{
    struct stall_named it = {.s = {.cycles = 4 * MS, .stage = STAGE_idle}};
    left = (struct stall_evidence){0};
    stalls_name(NULL, 0, &(struct linux_counts){.lost_ns = 3 * MS}, &left, HZ);
    stalls_name(NULL, 0, &(struct linux_counts){.wait_ns = 4 * MS, .lost_ns = -3 * MS}, &left, HZ);
    assert_int_equal(left.steal_ns, 0);
    stalls_name(&it, 1, &(struct linux_counts){.n_interrupts = 0}, &left, HZ);
    assert_int_equal(it.cause, STALL_preempted);
}

static void time_that_a_thread_slept_is_no_steal(void **state)
{
    struct stall_named two[] = {{.s = {.cycles = 4 * MS, .stage = STAGE_tx}},
                                {.s = {.cycles = MS, .stage = STAGE_idle}}};
    left = (struct stall_evidence){0};
    stalls_name(two, 2, &(struct linux_counts){.slept = 1, .lost_ns = 9 * MS}, &left, HZ);
    assert_int_equal(two[0].cause, STALL_slept);
    assert_int_equal(two[1].cause, STALL_unknown);
}

static void where_the_machine_stops_the_core_untold_the_unusual_is_no_own_work(void **state)
{
    const struct linux_counts nothing = {0};
    struct stall_named it = {.s = {.cycles = MS, .stage = STAGE_app, .packets = 1}};
    struct stall_named untold = {.s = {.cycles = MS, .stage = STAGE_idle, .end_tsc = HZ}};
    struct stall_named usually = it;
    usually.usual_cycles = MS;
    left = (struct stall_evidence){0};
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_own_work);
    stalls_name(&untold, 1, &nothing, &left, HZ);
    assert_int_equal(untold.cause, STALL_unknown);
    usually.s.end_tsc = it.s.end_tsc = 2ull * HZ;
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_unknown);
    stalls_name(&usually, 1, &nothing, &left, HZ);
    assert_int_equal(usually.cause, STALL_own_work);
    it.s.end_tsc = (1ull + STALLS_ALERT_S) * HZ;  // long ago by then
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_own_work);
}

static void messages_of_a_thread_are_own_work(void **state)
{
    const struct linux_counts nothing = {0};
    struct stall_named it = {.s = {.cycles = MS, .stage = STAGE_app, .events = 32}};
    left = (struct stall_evidence){0};
    stalls_name(&it, 1, &nothing, &left, HZ);
    assert_int_equal(it.cause, STALL_own_work);
}

static void the_most_frequent_interrupt_is_named(void **state)
{
    struct stall_named it = {.s = {.cycles = MS, .stage = STAGE_idle}};
    const struct linux_counts grown = {
        .n_interrupts = 3, .interrupts = {{"LOC", 99}, {"virtio1-req.0", 3}, {"RES", 2}}};
    left = (struct stall_evidence){0};
    stalls_name(&it, 1, &grown, &left, HZ);
    assert_int_equal(it.cause, STALL_interrupt);
    assert_string_equal(it.detail, "virtio1-req.0");
}

// ---- turns of a worker

static size_t echo_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return c10m_send(c, data, len);
}

static const struct c10m_app echo = {.name = "echo", .data = echo_data};

// An application that takes its time.
static void slow_open(struct c10m_conn *c)
{
    (void)c;
    const uint64_t end = tsc_read() + rte_get_tsc_hz() / 1000;
    while (tsc_read() < end)
        ;
}

static const struct c10m_app slow = {.name = "slow", .open = slow_open, .data = echo_data};
static struct hosts *h;

static struct worker *begin(const struct c10m_app *app)
{
    const struct c10m_app *const apps[2][3] = {{app}, {&echo}};
    h = hosts_new(apps, NULL);
    return h->e[0].w;
}

static void turn(struct worker *w, uint64_t us)
{
    worker_turn(w, clock_at_us(h->now_us), tsc_read() - us * worker_tsc_hz(w) / 1000000);
}

static void a_long_turn_without_work_is_written_down_as_idle(void **state)
{
    struct worker *w = begin(&echo);
    hosts_run(h, 100);
    uint64_t taken = shared_u64_load(&w->stalls.n), missed = 0;
    turn(w, 700000);
    assert_int_equal(stall_take(&w->stalls, &taken, got, STALL_RING, &missed), 1);
    assert_int_equal(got[0].stage, STAGE_idle);
    assert_int_equal(got[0].packets + got[0].events + got[0].timers + got[0].segments, 0);
    assert_true(got[0].cycles >= 700000 * (worker_tsc_hz(w) / 1000000));
    hosts_free(h);
}

static void the_stage_of_a_slow_application_is_app_when_every_turn_is_watched(void **state)
{
    struct worker *w = begin(&slow);
    hosts_run(h, 100);
    shared_u32_store(&w->watched, 1);
    for (unsigned i = 0; i <= WORKER_HOUSE_TURNS; i++)  // until housekeeping sees it
        turn(w, 0);
    uint64_t taken = shared_u64_load(&w->stalls.n), missed = 0;
    unsigned in_app = 0;
    for (unsigned i = 0; i < 20; i++)
        hosts_connect(h, 1, HOSTS_PORT);
    for (unsigned i = 0; i < 2000; i++, h->now_us += 200) {
        hosts_turn(h, 1);
        turn(w, 0);
    }
    const unsigned n = stall_take(&w->stalls, &taken, got, STALL_RING, &missed);
    for (unsigned i = 0; i < n; i++)
        if (got[i].stage == STAGE_app) {
            in_app++;
            assert_true(got[i].events != 0);
            assert_true(got[i].stage_cycles >= worker_tsc_hz(w) / 1000 - 1000);
        }
    assert_true(in_app >= 1);
    hosts_free(h);
}

static void one_busy_turn_in_eight_is_timed_when_nobody_watches(void **state)
{
    struct worker *w = begin(&echo);
    hosts_run(h, 100);
    turn(w, 0);
    assert_int_equal(w->timed_mask, WORKER_TIMED_TURNS - 1);
    hosts_free(h);
}

static void a_poll_names_what_the_worker_wrote_down(void **state)
{
    struct text text;
    struct worker *w = begin(&echo);
    hosts_run(h, 100);
    text_init(&text, TEXT_BYTES);
    h->e[0].server.params.n_workers = 1;
    struct stalls *st = stalls_new(&h->e[0].server);
    stalls_poll(st);
    text_free(&text);
    turn(w, 900000);
    stalls_poll(st);
    stalls_causes_render(st, 0, &text);
    assert_non_null(strstr(text_str(&text), "\nlongest_us "));
    assert_non_null(strstr(text_str(&text), "\nmissed_stalls "));
    text_free(&text);
    stalls_render(st, 0, &text);
    assert_non_null(strstr(text_str(&text), " 0 0 0 0\n"));
    assert_non_null(strstr(text_str(&text), " idle "));
    text_free(&text);
    uint64_t ns, n = 0;
    for (unsigned c = 0; c < STALL_CAUSES; c++)
        n += stalls_by_cause(st, 0, (enum stall_cause)c, &ns);
    assert_true(n != 0);
    stalls_reset(st);
    stalls_render(st, 0, &text);
    assert_null(strstr(text_str(&text), " idle "));
    stalls_causes_render(st, 0, &text);
    assert_non_null(strstr(text_str(&text), "\nlongest_us 0.0\nlongest_stage -\n"));
    text_free(&text);
    for (unsigned c = 0; c < STALL_CAUSES; c++)  // totals go on
        n -= stalls_by_cause(st, 0, (enum stall_cause)c, &ns);
    assert_int_equal(n, 0);
    stalls_free(st);
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stalls_are_taken_once_and_in_order),
        cmocka_unit_test(what_was_overwritten_is_counted_and_the_rest_is_whole),
        cmocka_unit_test(each_count_is_read_from_its_place),
        cmocka_unit_test(what_is_not_there_is_zero),
        cmocka_unit_test(a_truncated_or_strange_interrupts_file_does_no_harm),
        cmocka_unit_test(this_threads_own_counts_are_there),
        cmocka_unit_test(growth_of_an_interrupt_is_found_by_its_name),
        cmocka_unit_test(each_cause_is_found_by_its_evidence),
        cmocka_unit_test(a_short_wait_does_not_explain_a_long_stall),
        cmocka_unit_test(a_wait_explains_the_long_stall_and_not_the_short_one_before_it),
        cmocka_unit_test(a_wait_that_was_counted_just_before_its_stall_explains_it_once),
        cmocka_unit_test(a_wait_that_is_not_over_at_a_reading_is_no_steal),
        cmocka_unit_test(time_that_a_thread_slept_is_no_steal),
        cmocka_unit_test(where_the_machine_stops_the_core_untold_the_unusual_is_no_own_work),
        cmocka_unit_test(messages_of_a_thread_are_own_work),
        cmocka_unit_test(the_most_frequent_interrupt_is_named),
        cmocka_unit_test(a_long_turn_without_work_is_written_down_as_idle),
        cmocka_unit_test(the_stage_of_a_slow_application_is_app_when_every_turn_is_watched),
        cmocka_unit_test(one_busy_turn_in_eight_is_timed_when_nobody_watches),
        cmocka_unit_test(a_poll_names_what_the_worker_wrote_down),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
