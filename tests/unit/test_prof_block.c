// SPDX-License-Identifier: BSD-3-Clause
// Claims about the kinds block, mutex and threadcreate.
#include <pthread.h>

#include "c10m/thread.h"
#include "hosts.h"
#include "pkt_env.h"
#include "prof/prof_kinds.h"
#include "prof_take.h"
#include "server/stalls.h"

enum { CONTENTIONS, DELAY, MUCH_BYTES = 200000, SLOW_US = 2000 };

static const uint8_t bytes[MUCH_BYTES];
static size_t send_bytes;

static size_t slow(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    const uint64_t until = tsc_read() + rte_get_tsc_hz() / 1000000 * SLOW_US;
    while (tsc_read() < until)
        ;
    return len;
}

static void send_much(struct c10m_conn *c)
{
    c10m_send(c, bytes, send_bytes);
}

static size_t discard(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static void post(struct c10m_service *s) {}

static void hear(struct c10m_core *w, struct c10m_service *s, void *msg) {}

static const struct c10m_app tardy = {.name = "tardy", .data = slow};
static const struct c10m_app brisk = {
    .name = "brisk", .data = discard, .thread = post, .message = hear};
static const struct c10m_app client = {.name = "client", .open = send_much, .data = discard};
static const struct c10m_app *const both[2][3] = {{&tardy, &brisk}, {&client}};

static struct hosts *h;
static struct stalls *st;
static char *text;

static void begin(void)
{
    send_bytes = MUCH_BYTES;
    h = hosts_new(both, NULL);
    st = stalls_new(&h->e[0].server);
    assert_non_null(st);
    stalls_poll(st);
}

static void end(void)
{
    free(text);
    text = NULL;
    stalls_free(st);
    hosts_free(h);
}

static struct prof_shown shown(unsigned i)
{
    return (struct prof_shown){.server = &h->e[i].server, .stalls = i == 0 ? st : NULL};
}

static void take(unsigned i, const struct prof_kind *k)
{
    const struct prof_shown s = shown(i);
    free(text);
    text = prof_taken(k, &s, 1, NULL);
}

// turns: of both ends, those of end 0 in real time, so that long ones are written down.
static void turns(unsigned n)
{
    for (unsigned i = 0; i < n; i++, h->now_us += 200) {
        hosts_turn(h, 1);
        worker_turn(h->e[0].w, clock_at_us(h->now_us), tsc_read());
    }
    stalls_poll(st);
}

static void a_slow_application_is_named_with_its_time(void **state)
{
    begin();
    shared_u32_store(&h->e[0].w->watched, 1);
    turns(WORKER_HOUSE_TURNS + 1);
    hosts_connect(h, 1, HOSTS_PORT);
    turns(500);
    take(0, &prof_kind_block);
    const int64_t n = prof_sum(text, CONTENTIONS, "stage app", "app tardy");
    assert_true(n >= 1);
    assert_true(prof_sum(text, DELAY, "long turn", "app tardy") >= n * SLOW_US * 1000);
    assert_int_equal(prof_sum(text, CONTENTIONS, "long turn", "app brisk"), 0);
    uint64_t all = 0, ns;
    for (unsigned c = 0; c < STALL_CAUSES; c++)
        all += stalls_by_cause(st, 0, (enum stall_cause)c, &ns);
    assert_int_equal(prof_sum(text, CONTENTIONS, "long turn", NULL), all);
    end();
}

static void what_is_only_counted_has_no_delay(void **state)
{
    begin();
    struct core_stats *s = h->e[1].w->stats;
    s->c.tx_waits = 7;
    s->drops[DROP_arp_wait_expired] = 3;
    s->drops[DROP_nd_wait_expired] = 2;
    s->c.window_probes = 5;
    take(1, &prof_kind_block);
    assert_int_equal(prof_sum(text, CONTENTIONS, "tx_waits", "transmit ring full"), 7);
    assert_int_equal(prof_sum(text, CONTENTIONS, "no neighbor", NULL), 5);
    assert_int_equal(prof_sum(text, CONTENTIONS, "window_probes", "peer's window shut"), 5);
    assert_int_equal(prof_sum(text, DELAY, NULL, NULL), 0);
    end();
}

static void a_send_beyond_the_limit_is_counted(void **state)
{
    begin();
    hosts_connect(h, 1, HOSTS_PORT + 1);
    hosts_run(h, 50);
    take(1, &prof_kind_block);
    assert_true(prof_sum(text, CONTENTIONS, "sends_limited", "send limit") >= 1);
    end();
}

static void a_send_without_a_free_buffer_is_not_one_at_its_limit(void **state)
{
    begin();
    struct buf_pool *p = &h->e[1].w->tcp.bufs;
    const uint32_t n_free = p->n_free_data;
    send_bytes = 1000;
    p->n_free_data = 1;
    hosts_connect(h, 1, HOSTS_PORT + 1);
    hosts_run(h, 50);
    p->n_free_data = n_free;
    take(1, &prof_kind_block);
    assert_int_equal(prof_sum(text, CONTENTIONS, "sends_no_buffer", "pool empty"), 1);
    assert_int_equal(prof_sum(text, CONTENTIONS, "sends_limited", NULL), 0);
    end();
}

static void seconds_show_the_waits_between(void **state)
{
    begin();
    const struct prof_shown s = shown(1);
    const struct prof_query q = {.seconds = 1, .debug = 1};
    h->e[1].w->stats->c.tx_waits = 7;
    void *run = prof_begun(&prof_kind_block, &s, &q);
    h->e[1].w->stats->c.tx_waits = 9;
    text = prof_ended(&prof_kind_block, run);
    assert_int_equal(prof_sum(text, CONTENTIONS, "tx_waits", NULL), 2);
    end();
}

static void of_one_worker_without_a_log_mutex_is_empty(void **state)
{
    begin();
    take(0, &prof_kind_mutex);
    assert_memory_equal(text, "mutex profile: total 0\n#", 24);
    end();
}

static void messages_that_were_refused_are_laid_to_their_ring(void **state)
{
    begin();
    struct c10m_service *sv = &h->e[0].server.services[1];
    static int message;
    unsigned taken = 0;
    while (c10m_post(sv, 0, &message))
        taken++;
    assert_int_equal(taken, C10M_MESSAGES_MAX);
    assert_false(c10m_post(sv, 0, &message));
    while (c10m_answer(&h->e[0].w->sock.core, sv, &message))
        ;
    take(0, &prof_kind_mutex);
    assert_int_equal(prof_sum(text, CONTENTIONS, "ring to the worker full", "app brisk"), 2);
    assert_int_equal(prof_sum(text, CONTENTIONS, "ring to the thread full", "service brisk"), 1);
    assert_false(c10m_post(sv, 1, &message));  // there is no such worker: no ring was full
    take(0, &prof_kind_mutex);
    assert_int_equal(prof_sum(text, CONTENTIONS, NULL, NULL), 3);
    end();
}

static void *rest(void *barrier)
{
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

static void threads_are_laid_to_who_made_them(void **state)
{
    pthread_barrier_t barrier;
    pthread_t thread;
    begin();
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, rest, &barrier), 0);
    pthread_setname_np(thread, "brisk");
    pthread_barrier_wait(&barrier);
    shared_u32_store(&h->e[0].w->tid, 1u << 30);  // no such thread
    take(0, &prof_kind_threadcreate);
    assert_int_equal(prof_sum(text, 0, "control thread", "process start"), 1);
    assert_int_equal(prof_sum(text, 0, "brisk", "service brisk"), 1);
    assert_true(prof_sum(text, 0, "DPDK", NULL) >= 1);
    assert_int_equal(prof_sum(text, 0, "server start", "worker on core 1"), 0);
    shared_u32_store(&h->e[0].w->tid, (uint32_t)getpid());
    take(0, &prof_kind_threadcreate);
    assert_int_equal(prof_sum(text, 0, "server start", "worker on core 1"), 1);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_application_is_named_with_its_time),
        cmocka_unit_test(what_is_only_counted_has_no_delay),
        cmocka_unit_test(a_send_beyond_the_limit_is_counted),
        cmocka_unit_test(a_send_without_a_free_buffer_is_not_one_at_its_limit),
        cmocka_unit_test(seconds_show_the_waits_between),
        cmocka_unit_test(of_one_worker_without_a_log_mutex_is_empty),
        cmocka_unit_test(messages_that_were_refused_are_laid_to_their_ring),
        cmocka_unit_test(threads_are_laid_to_who_made_them),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
