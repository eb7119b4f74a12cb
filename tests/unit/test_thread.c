// SPDX-License-Identifier: BSD-3-Clause
// Threads of applications and their messages, through real turns of workers.
#include <pthread.h>
#include <string.h>

#include "app/apps.h"
#include "hosts.h"
#include "pkt_env.h"
#include "server/app_threads.h"

enum { SERVER, PEER };

// ---- an application whose messages are what the test says

static struct {
    uintptr_t got[8192];
    unsigned n_got, closes;
    uint64_t handles[64];
    unsigned n_handles;
    void (*on_message)(struct c10m_core *w, struct c10m_service *s);
    void (*on_data)(struct c10m_conn *c);
    enum c10m_close why;
    unsigned thread_runs;
} seen;

static void message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    seen.got[seen.n_got++] = (uintptr_t)msg;
    if (seen.on_message != NULL)
        seen.on_message(w, s);
}

static void note_open(struct c10m_conn *c)
{
    seen.handles[seen.n_handles++] = c10m_handle(c);
}

static size_t note_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    (void)data;
    if (seen.on_data != NULL)
        seen.on_data(c);
    return len;
}

static void note_close(struct c10m_conn *c, enum c10m_close why)
{
    (void)c;
    seen.closes++;
    seen.why = why;
}

static void thread(struct c10m_service *s)
{
    (void)s;
    seen.thread_runs++;
}

static const struct c10m_app told = {.name = "told",
                                     .open = note_open,
                                     .data = note_data,
                                     .close = note_close,
                                     .thread = thread,
                                     .message = message};
static const struct c10m_app dumb = {
    .name = "dumb", .open = note_open, .data = note_data, .close = note_close, .thread = thread};

static const struct c10m_app *const one_told[2][3] = {{&told}, {&app_echo}};

static struct hosts *begin(const struct c10m_app *const run[2][3])
{
    memset(&seen, 0, sizeof(seen));
    return hosts_new(run, NULL);
}

static struct c10m_service *service(struct hosts *h)
{
    return &h->e[SERVER].server.services[0];
}

static void post(struct hosts *h, uintptr_t msg)
{
    assert_true(c10m_post(service(h), 0, (void *)msg));
}

// ---- the rings

static void messages_come_in_order_and_a_bounded_number_a_turn(void **state)
{
    struct hosts *h = begin(one_told);
    for (uintptr_t i = 1; i <= 2 * C10M_MESSAGES_TURN_MAX + 3; i++)
        post(h, i);
    assert_int_equal(seen.n_got, 0);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, C10M_MESSAGES_TURN_MAX);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, 2 * C10M_MESSAGES_TURN_MAX);
    hosts_turn(h, SERVER);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, 2 * C10M_MESSAGES_TURN_MAX + 3);
    for (unsigned i = 0; i < seen.n_got; i++)
        assert_int_equal(seen.got[i], i + 1);
    hosts_free(h);
}

static void a_full_ring_refuses_and_takes_again_once_it_was_drained(void **state)
{
    struct hosts *h = begin(one_told);
    for (uintptr_t i = 1; i <= C10M_MESSAGES_MAX; i++)
        post(h, i);
    assert_false(c10m_post(service(h), 0, (void *)1));
    hosts_turn(h, SERVER);
    for (uintptr_t i = 1; i <= C10M_MESSAGES_TURN_MAX; i++)
        post(h, i);
    assert_false(c10m_post(service(h), 0, (void *)1));
    hosts_free(h);
}

static void answer_until_full(struct c10m_core *w, struct c10m_service *s)
{
    unsigned n = 0;
    assert_int_equal(c10m_core_id(w), 0);
    while (c10m_answer(w, s, (void *)(uintptr_t)(n + 1)))
        n++;
    assert_int_equal(n, C10M_MESSAGES_MAX);
}

static void answers_are_taken_in_order_and_a_full_ring_refuses(void **state)
{
    void *msgs[100];
    uintptr_t next = 1;
    struct hosts *h = begin(one_told);
    assert_int_equal(c10m_take(service(h), 0, msgs, 100), 0);
    seen.on_message = answer_until_full;
    post(h, 1);
    hosts_turn(h, SERVER);
    assert_int_equal(c10m_take(service(h), 0, msgs, 0), 0);
    for (unsigned n; (n = c10m_take(service(h), 0, msgs, 100)) != 0;) {
        assert_true(n <= 100);
        for (unsigned i = 0; i < n; i++)
            assert_int_equal((uintptr_t)msgs[i], next++);
    }
    assert_int_equal(next, C10M_MESSAGES_MAX + 1);
    hosts_free(h);
}

static void answer_another(struct c10m_core *w, struct c10m_service *s)
{
    assert_false(c10m_answer(w, s + 1, (void *)1));
}

static void a_turn_with_messages_alone_is_not_idle(void **state)
{
    struct hosts *h = begin(one_told);
    const struct core_stats *st = h->e[SERVER].w->stats;
    const uint64_t busy = st->c.turns_busy;
    hosts_turn(h, SERVER);
    assert_int_equal(st->c.turns_busy, busy);
    post(h, 1);
    hosts_turn(h, SERVER);
    assert_int_equal(st->c.turns_busy, busy + 1);
    hosts_turn(h, SERVER);
    assert_int_equal(st->c.turns_busy, busy + 1);
    hosts_free(h);
}

static void who_has_no_thread_no_message_or_no_such_worker_is_refused(void **state)
{
    static const struct c10m_app *const run[2][3] = {{&told, &app_echo, &dumb}, {&app_echo}};
    void *msgs[4];
    struct hosts *h = begin(run);
    struct c10m_service *s = h->e[SERVER].server.services;
    assert_false(c10m_post(&s[1], 0, (void *)1));
    assert_int_equal(c10m_take(&s[1], 0, msgs, 4), 0);
    assert_false(c10m_post(&s[2], 0, (void *)1));
    assert_false(c10m_post(&s[0], 1, (void *)1));
    assert_false(c10m_post(&s[0], UINT32_MAX, (void *)1));
    assert_int_equal(c10m_take(&s[0], 1, msgs, 4), 0);
    seen.on_message = answer_another;
    post(h, 1);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, 1);
    hosts_free(h);
}

static void rings_are_reserved_for_services_with_a_thread_alone(void **state)
{
    static const struct c10m_app *const none[2][3] = {{&app_echo}, {&app_echo}};
    struct region r[REGION_COUNT];
    struct hosts *h = begin(none);
    server_regions(&h->e[SERVER].server.params, r);
    assert_int_equal(r[REGION_MESSAGES].bytes, 0);
    assert_int_equal(h->e[SERVER].w->n_boxed, 0);
    hosts_free(h);
    h = begin(one_told);
    server_regions(&h->e[SERVER].server.params, r);
    assert_int_equal(r[REGION_MESSAGES].count, 2 * C10M_MESSAGES_MAX);
    assert_true(r[REGION_MESSAGES].bytes >= 2 * sizeof(void *) * C10M_MESSAGES_MAX);
    hosts_free(h);
}

// ---- what a message reaches

static struct hosts *connected(unsigned n)
{
    struct hosts *h = begin(one_told);
    for (unsigned i = 0; i < n; i++)
        hosts_connect(h, PEER, HOSTS_PORT);
    hosts_run(h, 5);
    assert_int_equal(seen.n_handles, n);
    return h;
}

static void send_to_first(struct c10m_core *w, struct c10m_service *s)
{
    struct c10m_conn *c = c10m_at(w, seen.handles[0]);
    assert_non_null(c);
    assert_ptr_equal(c10m_at(w, seen.handles[0]), c);
    assert_ptr_equal(c10m_core_of(c), w);
    assert_ptr_equal(c10m_service_of(c), s);
    assert_int_equal(c10m_core_now_us(w), c10m_now_us(c));
    assert_int_equal(c10m_send(c, "hello", 5), 5);
}

static void what_a_message_sends_leaves_in_the_same_turn(void **state)
{
    struct hosts *h = connected(1);
    seen.on_message = send_to_first;
    post(h, 1);
    assert_int_equal(h->e[PEER].wires[0].n_queue, 0);
    hosts_turn(h, SERVER);
    assert_int_equal(h->e[PEER].wires[0].n_queue, 1);
    assert_int_equal(pkt_len(h->e[PEER].wires[0].queue[0]), 14 + 20 + 32 + 5);
    hosts_free(h);
}

static void abort_first(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    struct c10m_conn *c = c10m_at(w, seen.handles[0]);
    if (c == NULL)
        return;
    c10m_abort(c);
    assert_int_equal(seen.closes, 0);
    assert_non_null(c10m_at(w, seen.handles[0]));
}

static void what_a_message_aborts_is_told_in_the_same_turn_after_it(void **state)
{
    struct hosts *h = connected(1);
    seen.on_message = abort_first;
    post(h, 1);
    post(h, 2);  // for which it is gone
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, 2);
    assert_int_equal(seen.closes, 1);
    assert_int_equal(seen.why, C10M_ABORTED);
    assert_int_equal(h->e[SERVER].w->tcp.stats->c.connections_now, 0);
    hosts_free(h);
}

static void reach_all(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    unsigned found = 0;
    for (unsigned i = 0; i < seen.n_handles; i++)
        found += c10m_at(w, seen.handles[i]) != NULL;
    assert_int_equal(found, C10M_OTHERS_MAX);
    assert_null(c10m_at(w, 0));
    assert_null(c10m_at(w, UINT64_MAX));
    assert_null(c10m_at(w, seen.handles[0] + (UINT64_C(1) << 48)));
}

static void a_message_reaches_so_many_and_the_next_begins_anew(void **state)
{
    struct hosts *h = connected(C10M_OTHERS_MAX + 2);
    seen.on_message = reach_all;
    post(h, 1);
    post(h, 2);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.n_got, 2);
    hosts_free(h);
}

static void abort_both(struct c10m_conn *c)
{
    struct c10m_core *w = c10m_core_of(c);
    assert_ptr_equal(c10m_at(w, c10m_handle(c)), c);
    for (unsigned i = 0; i < 2; i++)
        c10m_abort(c10m_at(w, seen.handles[i]));
    assert_int_equal(seen.closes, 0);
}

static void a_callback_of_a_connection_reaches_others_through_its_core(void **state)
{
    struct hosts *h = connected(2);
    seen.on_message = send_to_first;  // so that another event was before
    post(h, 1);
    hosts_turn(h, SERVER);
    seen.on_data = abort_both;
    struct sock *k = &h->e[PEER].w->sock;
    struct c10m_conn c = {k, &k->tcp->blocks[0], 0, 0};
    assert_int_equal(c10m_send(&c, "x", 1), 1);
    hosts_run(h, 1);
    assert_int_equal(seen.closes, 2);
    hosts_free(h);
}

static void find_from_first(struct c10m_core *w, struct c10m_service *s)
{
    (void)s;
    const uint8_t addr[16] = {[10] = 0xff, [11] = 0xff, 10, 0, 0, 2};
    struct c10m_conn *c = c10m_at(w, seen.handles[0]), *made;
    assert_non_null(c10m_find(c, seen.handles[1]));
    assert_int_equal(c10m_connect(c, addr, HOSTS_PORT, &made), 0);
    c10m_abort(c10m_find(made, seen.handles[1]));
}

static void what_a_message_reached_reaches_and_opens_others(void **state)
{
    struct hosts *h = connected(2);
    seen.on_message = find_from_first;
    post(h, 1);
    hosts_turn(h, SERVER);
    assert_int_equal(seen.closes, 1);
    hosts_run(h, 5);
    assert_int_equal(seen.n_handles, 3);
    hosts_free(h);
}

// ---- the thread

static uintptr_t next_back;

static void echo_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    assert_true(c10m_answer(w, s, msg));
}

// Posts numbers and takes them back, until it is told to stop and all are back. No more are under
// way than the ring of answers takes: whoever answers finds room.
static void ping(struct c10m_service *s)
{
    uintptr_t next = 1;
    while (!c10m_thread_stopping(s) || next_back != next) {
        void *msgs[7];
        if (!c10m_thread_stopping(s) && next - next_back < C10M_MESSAGES_MAX)
            next += c10m_post(s, 0, (void *)next);
        const unsigned n = c10m_take(s, 0, msgs, 7);
        for (unsigned i = 0; i < n; i++)
            CHECK((uintptr_t)msgs[i] == next_back++);
    }
}

static const struct c10m_app pinger = {.name = "a name of more than fifteen bytes",
                                       .data = note_data,
                                       .thread = ping,
                                       .message = echo_message};

static void *turn_until_told(void *arg)
{
    struct worker *w = arg;
    while (shared_u32_load(&w->order) == WORKER_RUN)
        worker_turn_now(w);
    return NULL;
}

static void a_thread_and_a_worker_exchange_messages_until_the_server_stops(void **state)
{
    static const struct c10m_app *const run[2][3] = {{&pinger, &told}, {&app_echo}};
    struct hosts *h = begin(run);
    struct server *s = &h->e[SERVER].server;
    struct worker *w = h->e[SERVER].w;
    struct err err;
    pthread_t worker;
    next_back = 1;
    assert_int_equal(pthread_create(&worker, NULL, turn_until_told, w), 0);
    assert_int_equal(server_threads_start(s, &err), 0);
    while (__atomic_load_n(&next_back, __ATOMIC_RELAXED) < 100000)
        sched_yield();
    server_threads_stop(s);
    shared_u32_store(&w->order, WORKER_STOP);
    pthread_join(worker, NULL);
    assert_true(next_back >= 100000);
    assert_int_equal(seen.thread_runs, 1);
    server_threads_stop(s);  // again does nothing
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_come_in_order_and_a_bounded_number_a_turn),
        cmocka_unit_test(a_turn_with_messages_alone_is_not_idle),
        cmocka_unit_test(a_full_ring_refuses_and_takes_again_once_it_was_drained),
        cmocka_unit_test(answers_are_taken_in_order_and_a_full_ring_refuses),
        cmocka_unit_test(who_has_no_thread_no_message_or_no_such_worker_is_refused),
        cmocka_unit_test(rings_are_reserved_for_services_with_a_thread_alone),
        cmocka_unit_test(what_a_message_sends_leaves_in_the_same_turn),
        cmocka_unit_test(what_a_message_aborts_is_told_in_the_same_turn_after_it),
        cmocka_unit_test(a_message_reaches_so_many_and_the_next_begins_anew),
        cmocka_unit_test(a_callback_of_a_connection_reaches_others_through_its_core),
        cmocka_unit_test(what_a_message_reached_reaches_and_opens_others),
        cmocka_unit_test(a_thread_and_a_worker_exchange_messages_until_the_server_stops),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
