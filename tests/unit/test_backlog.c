// SPDX-License-Identifier: BSD-3-Clause
// test_backlog.c: how long packets may have waited in the device's queue (worker/backlog.h).
#include <string.h>

#include "hosts.h"
#include "pkt_env.h"
#include "seed.h"

enum { SYNS = 5 * BURST_MAX / 2, MANY = 7 * BURST_MAX / 2, TURN_US = 300 };

static struct hosts *h;
static uint32_t waited_us;  // as the last callback was told

static void open_conn(struct c10m_conn *c)
{
    waited_us = c10m_waited_us(c);
}

static size_t nothing(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    waited_us = c10m_waited_us(c);
    return len;
}

static const struct c10m_app server = {.name = "server", .open = open_conn, .data = nothing},
                             client = {.name = "client", .data = nothing};
static const struct c10m_app *const both[2][3] = {{&server}, {&client}};

static uint32_t behind_us(void)
{
    return h->e[0].w->tcp.behind_us;
}

// turn: one of the server, TURN_US after the last.
static void turn(void)
{
    h->now_us += TURN_US;
    hosts_turn(h, 0);
}

// begin: SYNs of that many connections wait in the server's queue; it has had turns before.
static void begin(unsigned syns)
{
    h = hosts_new(both, NULL);
    hosts_connect(h, 1, HOSTS_PORT);
    hosts_run(h, 10);  // and knows its neighbor
    for (unsigned i = 0; i < syns; i++)
        hosts_connect(h, 1, HOSTS_PORT);
    for (unsigned i = 0; i < 10; i++)
        hosts_turn(h, 1);
    assert_int_equal(h->e[0].wires[0].n_queue, syns);
}

static void a_queue_that_is_emptied_is_not_behind(void **state)
{
    begin(3);
    assert_int_equal(behind_us(), 0);
    turn();
    assert_int_equal(behind_us(), 0);
    hosts_free(h);
}

// Two full bursts and a half one. Before the first, the queue was last seen empty in the turn
// before.
static void full_bursts_are_behind_since_the_queue_was_last_empty(void **state)
{
    begin(SYNS);
    const uint64_t before_us = h->e[0].w->ports[0].backlog.emptied_us;
    turn();
    assert_int_equal(behind_us(), h->now_us - before_us);
    turn();
    assert_int_equal(behind_us(), h->now_us - before_us);
    assert_int_equal(h->e[0].w->highest.behind_us, h->now_us - before_us);
    turn();
    assert_int_equal(behind_us(), 0);
    assert_in_range(h->e[0].w->highest.behind_us, 2 * TURN_US, h->now_us - before_us);
    hosts_free(h);
}

// A device that gives at most so many packets at once is known after its first full burst.
static void the_largest_burst_of_a_device_counts_as_full(void **state)
{
    begin(BURST_MAX / 2);
    turn();
    assert_int_not_equal(behind_us(), 0);
    turn();
    assert_int_equal(behind_us(), 0);
    hosts_free(h);
}

// elastic: a queue that has two full bursts always: what is received comes again, as from clients
// that wait for an answer.
static uint16_t elastic_rx(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    return n;
}
static int elastic_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    *slots = 1024;
    return p->priv == NULL ? 2 * BURST_MAX : -1;
}
static const struct port_ops elastic_ops = {.rx_burst = elastic_rx, .rx_waiting = elastic_waiting};

static uint32_t elastic(void *priv, uint32_t *full_us)
{
    struct port p = {.ops = &elastic_ops, .priv = priv};
    struct backlog b = {.emptied_us = 0};
    uint32_t most = 0;
    for (uint64_t us = 1000000; us < 2000000; us += TURN_US) {
        const uint32_t behind = backlog_full(&b, &p, 0, BURST_MAX, us, full_us);
        most = MAX(most, behind);
    }
    assert_int_equal(b.counts, priv == NULL);
    return most;
}

static void a_worker_that_is_always_busy_but_soon_is_not_behind(void **state)
{
    uint32_t full_us;
    assert_int_equal(elastic(NULL, &full_us), 4 * TURN_US);  // counted before two, for two more
    assert_in_range(full_us, 900000, 1000000);
}

static void who_cannot_count_is_behind_as_long_as_it_is_busy(void **state)
{
    uint32_t full_us;
    assert_in_range(elastic(&full_us, &full_us), 900000, 1000000);
}

// What waits is never said to have waited less than it did: each packet has its time.
static uint64_t arrived_us[4096];
static uint32_t n_arrived, n_received;
static int true_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    *slots = 4096;
    return (int)(n_arrived - n_received);
}
static const struct port_ops true_ops = {.rx_burst = elastic_rx, .rx_waiting = true_waiting};

static void arrive(struct rng *rng, uint64_t us)
{
    for (uint32_t n = rng_below(rng, 2 * BURST_MAX + 20); n > 0 && n_arrived < 4096; n--)
        arrived_us[n_arrived++] = us;
}

static void nothing_has_waited_longer_than_is_said(void **state)
{
    struct rng rng = test_rng(__func__);
    struct port p = {.ops = &true_ops};
    unsigned exact = 0, bursts = 0;
    uint64_t us = 1000;
    for (unsigned i = 0; i < 500; i++) {
        struct backlog b = {.emptied_us = us++};
        n_arrived = n_received = 0;
        while (n_arrived < 4096 || n_arrived - n_received >= BURST_MAX) {
            arrive(&rng, us);
            us += rng_below(&rng, 1000) + 1;
            if (n_arrived - n_received < BURST_MAX) {
                n_received = n_arrived;
                b.emptied_us = us;
                continue;
            }
            const uint64_t first_us = arrived_us[n_received];
            uint32_t full_us;
            n_received += BURST_MAX;
            const uint32_t said = backlog_full(&b, &p, 0, BURST_MAX, us, &full_us);
            assert_true(said >= us - first_us);
            exact += said <= 3 * (us - first_us) + 3000;
            bursts++;
        }
    }
    assert_true(bursts > 1000 && exact > bursts / 2);
}

static void an_application_is_told_how_long_its_data_may_have_waited(void **state)
{
    begin(SYNS);
    waited_us = UINT32_MAX;
    for (unsigned i = 0; i < 3; i++)
        turn();  // SYN-ACKs
    for (unsigned i = 0; i < 10; i++)
        hosts_turn(h, 1);  // the last ACKs
    const uint64_t before_us = h->e[0].w->ports[0].backlog.emptied_us;
    turn();
    assert_int_equal(waited_us, h->now_us - before_us);
    for (unsigned i = 0; i < 3; i++)
        turn();
    assert_int_equal(waited_us, 0);
    hosts_free(h);
}

static void while_it_is_behind_syns_are_dropped_and_counted(void **state)
{
    begin(SYNS);
    h->e[0].w->tcp.cfg.accept_wait_us = 1;
    turn();  // the first full burst: perhaps the last one, too
    assert_int_equal(h->e[0].w->stats->drops[DROP_accept_wait], 0);
    turn();
    assert_int_equal(h->e[0].w->stats->drops[DROP_accept_wait], BURST_MAX);
    turn();  // the rest comes in a smaller burst
    assert_int_equal(h->e[0].w->stats->drops[DROP_accept_wait], BURST_MAX);
    assert_int_equal(h->e[0].w->stats->c.syn_records_now, SYNS - BURST_MAX);
    hosts_free(h);
}

// syns_wait: how many SYNs are dropped by default if the queue takes longer than TCP_ACCEPT_WAIT_US
// to receive, and always has so many slots for each packet in it.
static uint64_t syns_wait(unsigned slots_each, bool cannot_count)
{
    begin(MANY);
    struct hosts_wire *wire = &h->e[0].wires[0];
    wire->cannot_count = cannot_count;
    h->e[0].w->tcp.cfg.accept_wait_us = 0;
    for (unsigned i = 0; i < 3; i++) {
        wire->slots = slots_each * wire->n_queue;
        turn();
        h->now_us += TCP_ACCEPT_WAIT_US / 2;
    }
    const uint64_t dropped = h->e[0].w->stats->drops[DROP_accept_wait];
    hosts_free(h);
    return dropped;
}

static void by_default_syns_are_dropped_if_a_counted_queue_is_nearly_full(void **state)
{
    assert_int_equal(syns_wait(1, false), BURST_MAX);
    assert_int_equal(syns_wait(2, false), 0);
    assert_int_equal(syns_wait(1, true), 0);
}

// From nearly full on until it is less than half full, or was empty.
static int waits;
static int told_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    *slots = 1024;
    return waits;
}
static const struct port_ops told_ops = {.rx_burst = elastic_rx, .rx_waiting = told_waiting};

static bool nearly_full(struct backlog *b, struct port *p, int waiting)
{
    static uint64_t us = 1000000;
    uint32_t full_us;
    waits = waiting;
    us += 2000;
    backlog_full(b, p, 0, BURST_MAX, us, &full_us);
    return b->nearly_full;
}

static void a_queue_is_nearly_full_until_it_is_half_empty(void **state)
{
    struct port p = {.ops = &told_ops};
    struct backlog b = {.emptied_us = 1};
    assert_false(nearly_full(&b, &p, 895));
    assert_true(nearly_full(&b, &p, 896));
    assert_true(nearly_full(&b, &p, 448));
    assert_false(nearly_full(&b, &p, 447));
    assert_false(nearly_full(&b, &p, 895));
    assert_true(nearly_full(&b, &p, 960));
    b.emptied_us++;
    assert_false(nearly_full(&b, &p, 500));
}

static void a_stop_of_a_busy_worker_is_no_overload(void **state)
{
    struct port p = {.ops = &elastic_ops};
    struct backlog b = {.emptied_us = 0};
    uint64_t us = 1000000;
    uint32_t full_us;
    for (; us < 2000000; us += TURN_US)
        backlog_full(&b, &p, 0, BURST_MAX, us, &full_us);
    assert_true(full_us > 900000);
    us += 600000;
    assert_true(backlog_full(&b, &p, 0, BURST_MAX, us, &full_us) >= 600000);
    assert_int_equal(full_us, 0);
    for (unsigned i = 0; i < 10; i++)
        backlog_full(&b, &p, 0, BURST_MAX, us += TURN_US, &full_us);
    assert_int_equal(full_us, 10 * TURN_US);
}

// The host had taken the core for a second: what has come meanwhile is handled.
static void after_a_worker_stood_still_no_syn_is_dropped(void **state)
{
    begin(SYNS);
    h->e[0].w->tcp.cfg.accept_wait_us = 10 * TURN_US;
    h->now_us += 1000000;
    for (unsigned i = 0; i < 3; i++)
        turn();
    assert_true(h->e[0].w->highest.behind_us >= 1000000);
    assert_int_equal(h->e[0].w->stats->drops[DROP_accept_wait], 0);
    assert_int_equal(h->e[0].w->stats->c.syn_records_now, SYNS);
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_queue_that_is_emptied_is_not_behind),
        cmocka_unit_test(full_bursts_are_behind_since_the_queue_was_last_empty),
        cmocka_unit_test(the_largest_burst_of_a_device_counts_as_full),
        cmocka_unit_test(a_worker_that_is_always_busy_but_soon_is_not_behind),
        cmocka_unit_test(who_cannot_count_is_behind_as_long_as_it_is_busy),
        cmocka_unit_test(nothing_has_waited_longer_than_is_said),
        cmocka_unit_test(by_default_syns_are_dropped_if_a_counted_queue_is_nearly_full),
        cmocka_unit_test(a_queue_is_nearly_full_until_it_is_half_empty),
        cmocka_unit_test(a_stop_of_a_busy_worker_is_no_overload),
        cmocka_unit_test(an_application_is_told_how_long_its_data_may_have_waited),
        cmocka_unit_test(while_it_is_behind_syns_are_dropped_and_counted),
        cmocka_unit_test(after_a_worker_stood_still_no_syn_is_dropped),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
