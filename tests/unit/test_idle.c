// SPDX-License-Identifier: BSD-3-Clause
// test_idle.c: when a worker without work waits, and for how long (worker/idle.h). Turns are those
// of hosts.h; ppoll() and the instructions of the CPU are this file's, so that no test depends on a
// time or on the CPU.
#include <errno.h>
#include <poll.h>
#include <rte_cpuflags.h>
#include <rte_power_intrinsics.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "hosts.h"
#include "pkt_env.h"
#include "server/idle_mode.h"
#include "server/liveness.h"
#include "server/stage_watch.h"
#include "worker/wake.h"

enum { AFTER_US = 1000, TURN_US = 200 };

static struct hosts *h;
static struct worker *w;

// What is asked of the kernel, and what it does.
static struct {
    unsigned calls;
    long us;
    nfds_t n;
    bool asleep;
    void (*meanwhile)(void);
} slept;

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *most, const sigset_t *mask)
{
    slept.calls++;
    slept.us = most->tv_sec * 1000000 + most->tv_nsec / 1000;
    slept.n = n;
    slept.asleep = shared_u32_load(&w->idle_wait.wake.asleep) != 0;
    if (slept.meanwhile != NULL)
        slept.meanwhile();
    return poll(fds, n, 0);
}

// What is asked of the CPU: until when, and on which line.
static struct {
    unsigned watches, pauses;
    uint64_t until;
    const volatile void *line;
    bool has_umwait;
} cpu;

void rte_cpu_get_intrinsics_support(struct rte_cpu_intrinsics *i)
{
    *i =
        (struct rte_cpu_intrinsics){.power_monitor = cpu.has_umwait, .power_pause = cpu.has_umwait};
}

int rte_power_monitor(const struct rte_power_monitor_cond *line, const uint64_t until)
{
    cpu.watches++;
    cpu.until = until;
    cpu.line = line->addr;
    return 0;
}

int rte_power_pause(const uint64_t until)
{
    cpu.pauses++;
    cpu.until = until;
    return 0;
}

// The wire with a descriptor, `readable`, as that of a port of the kernel.
static int readable;
static bool has_packets;

static int wire_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    assert_true(max >= 1);
    if (has_packets)
        return PORT_WAIT_NOT;
    out[0] = readable;
    return 1;
}

static bool wire_line(struct port *p, uint16_t q, struct rte_power_monitor_cond *out)
{
    *out = (struct rte_power_monitor_cond){.addr = &readable, .size = sizeof(readable)};
    return !has_packets;
}

static const struct port_wait wire_wait = {.fds = wire_fds, .line = wire_line};

static size_t nothing(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    return len;
}

static bool closes_at_once;

static void opened(struct c10m_conn *c)
{
    if (closes_at_once)
        c10m_close(c);
}

static const struct c10m_app app = {.name = "app", .open = opened, .data = nothing};
static const struct c10m_app *const both[2][3] = {{&app}, {&app}};

static void begin_with(enum idle_mode mode, void (*set)(struct server_params *p, unsigned end))
{
    static struct port_ops ops[HOSTS_WIRES];
    h = hosts_new(both, set);
    w = h->e[0].w;
    for (unsigned k = 0; k < HOSTS_WIRES; k++) {
        ops[k] = *h->e[0].wires[k].port.ops;
        ops[k].wait = &wire_wait;
        h->e[0].wires[k].port.ops = &ops[k];
    }
    memset(&slept, 0, sizeof(slept));
    memset(&cpu, 0, sizeof(cpu));
    has_packets = false;
    readable = eventfd(0, EFD_NONBLOCK);
    hosts_run(h, 10);  // what a start sends is sent
    w->idle_wait = (struct idle){.mode = mode,
                                 .after_us = AFTER_US,
                                 .busy_seen = UINT64_MAX,
                                 .wake.fd = eventfd(0, EFD_NONBLOCK)};
}

static void begin(enum idle_mode mode)
{
    begin_with(mode, NULL);
}

static void end(void)
{
    close(w->idle_wait.wake.fd);
    close(readable);
    hosts_free(h);
}

// turn: one of the worker, as worker_run() has it. Returns whether it waited after it.
static bool turn(void)
{
    const uint64_t before = w->stats->c.idle_waits;
    h->now_us += TURN_US;
    if (!worker_turn(w, clock_at_us(h->now_us), tsc_read()))
        idle_turn(w);
    return w->stats->c.idle_waits != before;
}

// rest: turns up to the first that waits.
static void rest(void)
{
    for (unsigned i = 0; !turn(); i++)
        assert_true(i < 100);
}

static void it_waits_after_the_time_without_work(void **state)
{
    begin(IDLE_PAUSE);
    assert_false(turn());
    const uint64_t from_us = w->tcp.now.us;
    rest();
    assert_int_equal(w->tcp.now.us - from_us, AFTER_US);
    assert_true(turn());
    end();
}

static void work_puts_the_wait_off(void **state)
{
    begin(IDLE_PAUSE);
    rest();
    hosts_connect(h, 1, HOSTS_PORT);
    hosts_turn(h, 1);
    assert_false(turn());  // the SYN
    for (unsigned i = 0; i < AFTER_US / TURN_US; i++)
        assert_false(turn());
    end();
}

static void pauses_double_up_to_a_bound(void **state)
{
    static const uint32_t us[] = {1, 2, 4, 8, 8};
    begin(IDLE_PAUSE);
    for (unsigned i = 0; i < ARRAY_LEN(us); i++) {
        rest();
        assert_int_equal(w->idle_wait.pause_us, us[i]);
    }
    assert_int_equal(slept.calls, 0);
    end();
}

static void two_ports(struct server_params *p, unsigned end)
{
    p->n_ports = 2;
    p->ports[1].port.name = "wire2";
}

static void every_port_is_looked_at_between_two_waits(void **state)
{
    begin_with(IDLE_PAUSE, two_ports);
    rest();
    for (unsigned i = 0; i < 10; i++) {
        assert_false(turn());
        assert_true(turn());
    }
    end();
}

static void a_wait_is_idle_time_and_no_turn(void **state)
{
    begin(IDLE_INTERRUPT);
    memset(&w->idle, 0, sizeof(w->idle));
    rest();
    const uint64_t idle = w->stats->cycles[STAGE_idle], turns = latency_count(&w->idle);
    assert_true(turn());
    assert_int_equal(w->stats->cycles[STAGE_idle] - idle, w->tsc_end - w->marks[0]);
    assert_int_equal(latency_count(&w->idle), turns + 1);
    assert_true(shared_u32_load(&w->at) == STAGE_idle);
    end();
}

// ---- the limit

static void the_limit_is_the_next_timer(void **state)
{
    begin(IDLE_POLL);
    const uint32_t now_ms = w->tcp.now.ms;
    assert_true(idle_limit_us(w) > 0);
    wheel_add(w->tcp.wheel, now_ms + 7, 0);
    for (unsigned us = 0; us < 7000; us += 333) {
        w->tcp.now = clock_at_us((uint64_t)now_ms * 1000 + us);
        assert_true(idle_limit_us(w) <= 7000 - us);
        assert_true(us + 1000 > 7000 || idle_limit_us(w) != 0);
    }
    w->tcp.now = clock_at_us((uint64_t)(now_ms + 7) * 1000);
    assert_int_equal(idle_limit_us(w), 0);  // its turn has not come yet
    end();
}

static void a_time_wait_record_is_a_timer(void **state)
{
    begin(IDLE_POLL);
    closes_at_once = true;
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 50);
    closes_at_once = false;
    assert_int_equal(w->tcp.tw4.used, 1);
    const uint32_t end_ms = tcp_time_wait_next_ms(&w->tcp);
    h->now_us = (uint64_t)(end_ms - 3) * 1000;
    for (unsigned i = 0; i < 100; i++)  // the wheel follows
        hosts_turn(h, 0);
    assert_in_range(idle_limit_us(w), 1, 3000);
    w->tcp.now = clock_at_us((uint64_t)end_ms * 1000);
    assert_int_equal(idle_limit_us(w), 0);
    end();
}

static void nothing_is_left_lying(void **state)
{
    begin(IDLE_POLL);
    uint32_t *const words[] = {&w->ordered,           &w->n_lost,
                               &w->tcp.n_dirty,       &w->sock.resets,
                               &w->tcp.lanes.waiting, &w->sock.n_readable};
    for (unsigned i = 0; i < ARRAY_LEN(words); i++) {
        assert_true(idle_limit_us(w) != 0);
        *words[i] = 1;
        assert_int_equal(idle_limit_us(w), 0);
        *words[i] = 0;
    }
    end();
}

// ---- sleeping

static void it_sleeps_until_the_bound(void **state)
{
    begin(IDLE_INTERRUPT);
    rest();
    assert_int_equal(slept.calls, 1);
    assert_int_equal(slept.n, 2);
    assert_true(slept.asleep);
    assert_true(slept.us <= IDLE_SLEEP_MAX_US);
    assert_int_equal(shared_u32_load(&w->idle_wait.wake.asleep), 0);
    assert_int_equal(w->stats->c.idle_sleeps, 1);
    end();
}

static void it_wakes_before_the_timer(void **state)
{
    for (uint32_t ms = 1; ms <= 12; ms++) {
        begin(IDLE_INTERRUPT);
        rest();
        assert_true(turn());
        const uint64_t timers = w->stats->c.idle_wakes_timer, sleeps = slept.calls;
        wheel_add(w->tcp.wheel, w->tcp.now.ms + ms, 0);
        idle_turn(w);
        const uint64_t left_us = ms * 1000 - w->tcp.now.us % 1000;
        if (left_us < IDLE_LEAD_US + IDLE_SLEEP_MIN_US) {
            assert_int_equal(slept.calls, sleeps);  // it paused
        } else {
            assert_int_equal(slept.calls, sleeps + 1);
            assert_int_equal(slept.us, MIN(left_us - IDLE_LEAD_US, (uint64_t)IDLE_SLEEP_MAX_US));
        }
        assert_int_equal(w->stats->c.idle_wakes_timer - timers,
                         slept.calls != sleeps && left_us - IDLE_LEAD_US < IDLE_SLEEP_MAX_US);
        end();
    }
}

static void tell_readable(void)
{
    const uint64_t one = 1;
    assert_int_equal(write(readable, &one, sizeof(one)), sizeof(one));
}

static void a_packet_wakes_it(void **state)
{
    begin(IDLE_INTERRUPT);
    slept.meanwhile = tell_readable;
    rest();
    assert_int_equal(w->stats->c.idle_wakes_packet, 1);
    assert_int_equal(w->stats->c.idle_wakes_order, 0);
    end();
}

static void wake_it(void)
{
    worker_wake(w);
    worker_wake(w);
}

static void another_thread_wakes_it(void **state)
{
    begin(IDLE_INTERRUPT);
    slept.meanwhile = wake_it;
    rest();
    assert_int_equal(w->stats->c.idle_wakes_order, 1);
    assert_int_equal(w->stats->c.idle_wakes_packet, 0);
    slept.meanwhile = NULL;
    assert_true(turn());  // the descriptor is empty again
    assert_int_equal(slept.calls, 2);
    assert_int_equal(w->stats->c.idle_wakes_order, 1);
    end();
}

static void who_wakes_a_worker_that_is_awake_makes_no_system_call(void **state)
{
    uint64_t said;
    begin(IDLE_INTERRUPT);
    worker_wake(w);
    assert_int_equal(read(w->idle_wait.wake.fd, &said, sizeof(said)), -1);
    assert_int_equal(errno, EAGAIN);
    end();
}

static void what_came_before_the_sleep_is_not_slept_over(void **state)
{
    begin(IDLE_INTERRUPT);
    rest();
    const unsigned calls = slept.calls;
    has_packets = true;  // inside the port
    assert_true(turn());
    assert_int_equal(slept.calls, calls);
    has_packets = false;
    shared_u32_store(&w->box.asked, shared_u32_load(&w->box.done) + 1);
    idle_turn(w);
    assert_int_equal(slept.calls, calls);
    shared_u32_store(&w->box.asked, shared_u32_load(&w->box.done));
    shared_u32_store(&w->order, WORKER_STOP);
    idle_turn(w);
    assert_int_equal(slept.calls, calls);
    shared_u32_store(&w->order, WORKER_RUN);
    idle_turn(w);
    assert_int_equal(slept.calls, calls + 1);
    end();
}

static void what_a_port_has_no_room_for_is_not_slept_over(void **state)
{
    begin(IDLE_INTERRUPT);
    rest();
    const unsigned calls = slept.calls;
    w->ports[0].tx.n = 1;
    idle_turn(w);
    w->ports[0].tx.n = 0;
    assert_int_equal(slept.calls, calls);
    assert_int_equal(w->idle_wait.pause_us, IDLE_PAUSE_MIN_US);
    end();
}

static void housekeeping_follows_a_sleep(void **state)
{
    begin(IDLE_INTERRUPT);
    w->turn = 5;
    rest();
    assert_int_equal(w->turn % WORKER_HOUSE_TURNS, 0);
    struct order_box *box = &w->box;
    box->order = (struct order){.kind = ORDER_NEIGHBOR, .neighbor = {.act = NEIGHBOR_FLUSH}};
    shared_u32_store_release(&box->asked, shared_u32_load(&box->done) + 1);
    turn();
    turn();
    assert_int_equal(shared_u32_load(&box->done), shared_u32_load(&box->asked));
    end();
}

// ---- waiting in the CPU

// us_until: from the end of the turn, rounded up.
static uint64_t us_until(uint64_t turn_end)
{
    return ((cpu.until - turn_end) * w->clock.us_per_tick_q32 >> 32) + 1;
}

static void it_watches_what_its_port_writes(void **state)
{
    begin(IDLE_MONITOR);
    rest();
    assert_int_equal(cpu.watches, 1);
    assert_ptr_equal(cpu.line, &readable);
    h->now_us += TURN_US;
    assert_false(worker_turn(w, clock_at_us(h->now_us), tsc_read()));
    uint64_t turn_end = w->tsc_end;
    idle_turn(w);
    assert_int_equal(cpu.watches, 2);
    assert_in_range(us_until(turn_end), IDLE_MONITOR_MAX_US - 1, IDLE_MONITOR_MAX_US + 1);
    wheel_add(w->tcp.wheel, w->tcp.now.ms + 1, 0);
    w->tcp.now = clock_at_us((uint64_t)w->tcp.now.ms * 1000 + 995);
    turn_end = w->tsc_end;
    idle_turn(w);
    assert_int_equal(cpu.watches, 3);
    assert_in_range(us_until(turn_end), 0, 6);
    assert_int_equal(w->stats->c.idle_sleeps + slept.calls, 0);
    end();
}

static void it_pauses_while_the_port_cannot_tell(void **state)
{
    begin(IDLE_MONITOR);
    has_packets = true;
    rest();
    assert_int_equal(cpu.watches, 0);
    assert_int_equal(w->idle_wait.pause_us, IDLE_PAUSE_MIN_US);
    end();
}

static void a_pause_is_one_instruction_where_the_cpu_has_it(void **state)
{
    begin(IDLE_PAUSE);
    rest();
    assert_int_equal(cpu.pauses, 0);
    w->idle_wait.has_tpause = true;
    const uint64_t turn_end = w->tsc_end;
    idle_turn(w);
    assert_int_equal(cpu.pauses, 1);
    assert_in_range(us_until(turn_end), 1, 3);
    end();
}

// ---- what others make of it

static void a_worker_that_sleeps_does_not_hang(void **state)
{
    begin(IDLE_INTERRUPT);
    h->e[0].server.params.n_workers = 1;
    shared_u32_store_release(&w->state, WORKER_RUNNING);
    struct liveness *l = liveness_new(&h->e[0].server, 0);
    struct liveness_now now;
    const uint64_t ms = 1000000, late_ns = 10 * LIVENESS_STALLED_MS * ms;
    turn();
    liveness_look(l, 0, ms, &now);
    shared_u32_store(&w->idle_wait.wake.asleep, 1);
    liveness_look(l, 0, ms + late_ns, &now);
    assert_int_equal(now.state, LIVENESS_IDLE);
    shared_u32_store(&w->idle_wait.wake.asleep, 0);
    liveness_look(l, 0, ms + 2 * late_ns, &now);
    assert_int_equal(now.state, LIVENESS_STALLED);
    liveness_free(l);
    end();
}

static void the_looks_of_the_control_thread_find_a_sleeping_worker_idle(void **state)
{
    begin(IDLE_INTERRUPT);
    shared_u32_store_release(&w->state, WORKER_RUNNING);
    struct stage_watch *p = stage_watch_new(&h->e[0].server);
    turn();
    shared_u32_store(&w->at, STAGE_housekeeping);
    shared_u32_store(&w->idle_wait.wake.asleep, 1);
    stage_watch_poll(p, 1);
    stage_watch_poll(p, 1);
    const struct stage_looks *l = stage_watch_looks(p, 0);
    assert_int_equal(l->n[STAGE_idle][TCP_SERVICES_MAX], 2);
    shared_u32_store(&w->idle_wait.wake.asleep, 0);
    stage_watch_poll(p, 1);
    assert_int_equal(l->n[STAGE_idle][TCP_SERVICES_MAX], 2);
    assert_int_equal(l->n[STAGE_housekeeping][TCP_SERVICES_MAX], 1);
    stage_watch_free(p);
    end();
}

static struct server_params params_of(const char *driver, enum idle_mode mode)
{
    struct server_params p;
    server_params_default(&p);
    p.idle = (uint8_t)mode;
    p.n_ports = 1;
    p.ports[0].port = (struct port_params){.name = "p0", .driver = driver};
    return p;
}

static void a_nic_is_polled_with_pauses_instead(void **state)
{
    static const char *const kernel[] = {"tap", "af_packet", "af_xdp"};
    struct err err;
    struct server_params p = params_of("pci", IDLE_INTERRUPT);
    assert_true(idle_mode_doubt(&p, &err));
    assert_non_null(strstr(err.text, "port p0"));
    assert_string_equal(err.key, "cpu.idle");
    assert_int_equal(idle_mode_of(&p), IDLE_PAUSE);
    for (unsigned i = 0; i < ARRAY_LEN(kernel); i++) {
        p = params_of(kernel[i], IDLE_INTERRUPT);
        assert_false(idle_mode_doubt(&p, &err));
        assert_int_equal(idle_mode_of(&p), IDLE_INTERRUPT);
    }
    p = params_of("pci", IDLE_POLL);
    assert_int_equal(idle_mode_of(&p), IDLE_POLL);
}

static void a_cpu_without_umwait_and_a_second_port_pause_instead(void **state)
{
    struct err err;
    struct server_params p = params_of("pci", IDLE_MONITOR);
    cpu.has_umwait = false;
    assert_true(idle_mode_doubt(&p, &err));
    assert_non_null(strstr(err.text, "this CPU"));
    assert_int_equal(idle_mode_of(&p), IDLE_PAUSE);
    cpu.has_umwait = true;
    assert_false(idle_mode_doubt(&p, &err));
    assert_int_equal(idle_mode_of(&p), IDLE_MONITOR);
    p.n_ports = 2;
    assert_int_equal(idle_mode_of(&p), IDLE_PAUSE);
    p = params_of("tap", IDLE_MONITOR);
    assert_true(idle_mode_doubt(&p, &err));
    assert_non_null(strstr(err.text, "driver tap"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_waits_after_the_time_without_work),
        cmocka_unit_test(work_puts_the_wait_off),
        cmocka_unit_test(pauses_double_up_to_a_bound),
        cmocka_unit_test(every_port_is_looked_at_between_two_waits),
        cmocka_unit_test(a_wait_is_idle_time_and_no_turn),
        cmocka_unit_test(the_limit_is_the_next_timer),
        cmocka_unit_test(a_time_wait_record_is_a_timer),
        cmocka_unit_test(nothing_is_left_lying),
        cmocka_unit_test(it_sleeps_until_the_bound),
        cmocka_unit_test(it_wakes_before_the_timer),
        cmocka_unit_test(a_packet_wakes_it),
        cmocka_unit_test(another_thread_wakes_it),
        cmocka_unit_test(who_wakes_a_worker_that_is_awake_makes_no_system_call),
        cmocka_unit_test(what_came_before_the_sleep_is_not_slept_over),
        cmocka_unit_test(what_a_port_has_no_room_for_is_not_slept_over),
        cmocka_unit_test(housekeeping_follows_a_sleep),
        cmocka_unit_test(it_watches_what_its_port_writes),
        cmocka_unit_test(it_pauses_while_the_port_cannot_tell),
        cmocka_unit_test(a_pause_is_one_instruction_where_the_cpu_has_it),
        cmocka_unit_test(a_cpu_without_umwait_and_a_second_port_pause_instead),
        cmocka_unit_test(a_worker_that_sleeps_does_not_hang),
        cmocka_unit_test(the_looks_of_the_control_thread_find_a_sleeping_worker_idle),
        cmocka_unit_test(a_nic_is_polled_with_pauses_instead),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
