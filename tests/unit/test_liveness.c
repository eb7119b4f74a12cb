// SPDX-License-Identifier: BSD-3-Clause
// Pulse: what the control thread finds of a worker whose turns go on, rest, or do not end.
#include <string.h>

#include "hosts.h"
#include "pkt_env.h"
#include "server/liveness.h"

#define MS(n) ((uint64_t)(n)*1000000)

static struct {
    struct hosts *h;
    struct liveness *p;
    uint64_t now_ns;
    void (*inside)(void);  // runs in the next callback
} t;

static struct liveness_now look(void)
{
    struct liveness_now n;
    liveness_look(t.p, 0, t.now_ns, &n);
    return n;
}

static void inside(void)
{
    void (*f)(void) = t.inside;
    t.inside = NULL;
    if (f != NULL)
        f();
}

static size_t data(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    (void)bytes;
    inside();
    c10m_set_timer(c, 5);
    return len;
}

static void timer(struct c10m_conn *c)
{
    (void)c;
    inside();
}

static void say(struct c10m_conn *c)
{
    c10m_send(c, "hello", 5);
}

static size_t nothing(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    (void)c;
    (void)bytes;
    return len;
}

static const struct c10m_app first = {.name = "first", .data = data, .timer = timer},
                             other = {.name = "other", .data = data, .timer = timer},
                             peer = {.name = "peer", .open = say, .data = nothing};
static const struct c10m_app *const both[2][3] = {{&first, &other}, {&peer}};

static void begin(void)
{
    memset(&t, 0, sizeof(t));
    t.now_ns = MS(5000);
    t.h = hosts_new(both, NULL);
    t.h->e[0].server.params.n_workers = 1;
    t.p = liveness_new(&t.h->e[0].server, t.now_ns);
    assert_non_null(t.p);
    shared_u32_store(&t.h->e[0].w->state, WORKER_RUNNING);
}

static void end(void)
{
    liveness_free(t.p);
    hosts_free(t.h);
}

// Turns of both for some time, looked at as the timer does.
static void run(unsigned ms)
{
    for (unsigned i = 0; i < ms; i += LIVENESS_POLL_MS) {
        hosts_run(t.h, LIVENESS_POLL_MS);
        t.now_ns += MS(LIVENESS_POLL_MS);
        liveness_poll(t.p, t.now_ns);
    }
}

static void a_worker_starts_runs_rests_and_stops(void **state)
{
    begin();
    shared_u32_store(&t.h->e[0].w->state, WORKER_IDLE);
    assert_int_equal(look().state, LIVENESS_STARTING);
    t.now_ns += MS(10000);  // however long it takes
    assert_int_equal(look().state, LIVENESS_STARTING);
    shared_u32_store(&t.h->e[0].w->state, WORKER_RUNNING);
    assert_int_not_equal(look().state, LIVENESS_STALLED);
    hosts_connect(t.h, 1, HOSTS_PORT);
    run(LIVENESS_POLL_MS);
    assert_int_equal(look().state, LIVENESS_RUNNING);
    run(10000);  // timers that were called off come out, too
    const struct liveness_now n = look();
    assert_int_equal(n.state, LIVENESS_IDLE);
    assert_in_range(n.for_ms, 1000, 10000 - LIVENESS_IDLE_MS + LIVENESS_POLL_MS);
    assert_int_equal(n.turn, t.h->e[0].w->stats->c.turns);
    shared_u32_store(&t.h->e[0].w->state, WORKER_STOPPED);
    t.now_ns += MS(1000);
    assert_int_equal(look().state, LIVENESS_STOPPED);
    end();
}

static void turns_that_stand_still_are_a_stall_and_the_next_one_ends_it(void **state)
{
    begin();
    run(100);
    t.now_ns += MS(LIVENESS_STALLED_MS - 1);
    assert_int_equal(look().state, LIVENESS_IDLE);
    t.now_ns += MS(1);
    assert_int_equal(look().state, LIVENESS_STALLED);
    t.now_ns += MS(1000);
    assert_int_equal(look().for_ms, LIVENESS_STALLED_MS + 1000);
    run(LIVENESS_POLL_MS);
    assert_int_equal(look().state, LIVENESS_IDLE);
    end();
}

static void a_look_that_comes_late_sees_no_stall(void **state)
{
    begin();
    run(100);
    hosts_run(t.h, 1);
    t.now_ns += MS(10000);
    assert_int_equal(look().state, LIVENESS_IDLE);
    end();
}

static void is_stalled_in(enum stage stage, const char *app)
{
    liveness_poll(t.p, t.now_ns);
    t.now_ns += MS(1234);
    const struct liveness_now n = look();
    assert_int_equal(n.state, LIVENESS_STALLED);
    assert_in_range(n.for_ms, 1234, 1234 + LIVENESS_POLL_MS);
    assert_int_equal(n.stage, stage);
    assert_non_null(n.service);
    assert_string_equal(n.service->name, app);
}

static void caught_in_other(void)
{
    is_stalled_in(STAGE_app, "other");
}

static void caught_in_first(void)
{
    is_stalled_in(STAGE_app, "first");
}

static void caught_in_a_timer(void)
{
    is_stalled_in(STAGE_timers, "first");
}

static void who_is_caught_in_a_callback_is_named_by_stage_and_application(void **state)
{
    begin();
    run(LIVENESS_POLL_MS);
    t.inside = caught_in_other;
    hosts_connect(t.h, 1, HOSTS_PORT + 1);
    run(LIVENESS_POLL_MS);
    assert_null(t.inside);
    run(100);
    t.inside = caught_in_first;
    hosts_connect(t.h, 1, HOSTS_PORT);
    hosts_run(t.h, 1);
    assert_null(t.inside);
    t.inside = caught_in_a_timer;
    hosts_run(t.h, 20);
    assert_null(t.inside);
    run(100);
    assert_null(look().service);  // between turns there is none
    end();
}

static void the_text_says_it_in_one_line(void)
{
    struct text text;
    text_init(&text, 4096);
    liveness_poll(t.p, t.now_ns);
    t.now_ns += MS(523);
    liveness_render(t.p, 0, t.now_ns, &text);
    const char *s = text_str(&text);
    assert_non_null(strstr(s, "state stalled\nfor_ms 523\n"
                              "stalled for 523 ms in stage app of application other\n"
                              "stage app\napplication other\nservice other\nturn "));
    text_free(&text);
}

static void a_stall_is_one_line_of_the_text(void **state)
{
    begin();
    t.inside = the_text_says_it_in_one_line;
    hosts_connect(t.h, 1, HOSTS_PORT + 1);
    hosts_run(t.h, 1);
    assert_null(t.inside);
    end();
}

static void the_last_window_tells_the_share_of_work_and_what_would_still_fit(void **state)
{
    begin();
    struct core_stats *st = t.h->e[0].w->stats;
    st->c.rx_packets = 1000;
    st->cycles[STAGE_tcp_input] = 30000;
    st->cycles[STAGE_idle] = 90000;
    t.now_ns += MS(LIVENESS_WINDOW_MS);
    struct liveness_recent r = look().recent;
    assert_true(r.packets_per_s > 999 && r.packets_per_s < 1001);
    assert_true(r.useful > 0.249 && r.useful < 0.251);
    assert_true(r.headroom_pps > 2999 && r.headroom_pps < 3001);  // 90,000 at 30 each
    st->cycles[STAGE_idle] += 300000;                             // a window without a packet
    t.now_ns += MS(LIVENESS_WINDOW_MS);
    r = look().recent;
    assert_true(r.packets_per_s == 0 && r.useful == 0);
    assert_true(r.headroom_pps > 9999 && r.headroom_pps < 10001);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_starts_runs_rests_and_stops),
        cmocka_unit_test(turns_that_stand_still_are_a_stall_and_the_next_one_ends_it),
        cmocka_unit_test(a_look_that_comes_late_sees_no_stall),
        cmocka_unit_test(who_is_caught_in_a_callback_is_named_by_stage_and_application),
        cmocka_unit_test(a_stall_is_one_line_of_the_text),
        cmocka_unit_test(the_last_window_tells_the_share_of_work_and_what_would_still_fit),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
