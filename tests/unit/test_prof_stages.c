// SPDX-License-Identifier: BSD-3-Clause
// Claims about looks at the workers' stages (server/stage_watch.h) and the kind stages.
#include "hosts.h"
#include "pkt_env.h"
#include "prof/prof_kinds.h"
#include "prof_take.h"
#include "server/stage_watch.h"

static struct {
    struct hosts *h;
    struct stage_watch *p;
    unsigned looks;  // in each callback
    char *text;
} t;

static size_t data(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    for (unsigned i = 0; i < t.looks; i++)
        stage_watch_poll(t.p, 1);
    return len;
}

static void say(struct c10m_conn *c)
{
    c10m_send(c, "hello", 5);
}

static size_t nothing(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    return len;
}

static const struct c10m_app first = {.name = "first", .data = data},
                             other = {.name = "other", .data = data};
static const struct c10m_app peer = {.name = "peer", .open = say, .data = nothing};
static const struct c10m_app *const both[2][3] = {{&first, &other}, {&peer}};

static void begin(void)
{
    memset(&t, 0, sizeof(t));
    t.h = hosts_new(both, NULL);
    t.p = stage_watch_new(&t.h->e[0].server);
    assert_non_null(t.p);
    shared_u32_store(&t.h->e[0].w->state, WORKER_RUNNING);
}

static void end(void)
{
    free(t.text);
    stage_watch_free(t.p);
    hosts_free(t.h);
}

static struct prof_shown shown(void)
{
    return (struct prof_shown){.server = &t.h->e[0].server, .stages = t.p};
}

static uint64_t looks(enum stage stage, unsigned service)
{
    return stage_watch_looks(t.p, 0)->n[stage][service];
}

static void a_callback_is_the_stage_app_and_its_service(void **state)
{
    begin();
    t.looks = 3;
    hosts_connect(t.h, 1, HOSTS_PORT);
    hosts_connect(t.h, 1, HOSTS_PORT + 1);
    hosts_connect(t.h, 1, HOSTS_PORT + 1);
    hosts_run(t.h, 50);
    assert_int_equal(looks(STAGE_app, 0), 3);
    assert_int_equal(looks(STAGE_app, 1), 6);
    const struct prof_shown s = shown();
    t.text = prof_taken(&prof_kind_stages, &s, 1, NULL);
    assert_int_equal(prof_sum(t.text, 0, "stage app", "app other"), 6);
    assert_int_equal(prof_sum(t.text, 1, "stage app", NULL), 9 * STAGE_WATCH_MS * 1000000LL);
    end();
}

static void turns_without_work_are_idle_and_one_that_does_not_end_is_not(void **state)
{
    begin();
    struct worker *w = t.h->e[0].w;
    hosts_run(t.h, 10);
    stage_watch_poll(t.p, 1);
    assert_int_equal(looks(STAGE_idle, TCP_SERVICES_MAX), 1);
    hosts_run(t.h, 10);
    shared_u32_store(&w->at, STAGE_rx);
    stage_watch_poll(t.p, 1);
    assert_int_equal(looks(STAGE_idle, TCP_SERVICES_MAX), 2);  // it polls its port
    stage_watch_poll(t.p, 1);
    stage_watch_poll(t.p, 1);
    assert_int_equal(looks(STAGE_rx, TCP_SERVICES_MAX), 2);  // it hangs there
    end();
}

static void a_worker_that_does_not_run_is_not_looked_at(void **state)
{
    begin();
    shared_u32_store(&t.h->e[0].w->state, WORKER_STOPPED);
    stage_watch_poll(t.p, 1);
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        assert_int_equal(looks(i, TCP_SERVICES_MAX), 0);
    end();
}

static void the_file_has_each_stage_its_share_and_the_sum(void **state)
{
    struct text out;
    begin();
    text_init(&out, 1 << 16);
    stage_watch_render(t.p, 0, &out);
    assert_non_null(strstr(text_str(&out), "rx_looks 0\nrx_share_percent 0.00\n"));
    text_free(&out);
    hosts_run(t.h, 10);
    stage_watch_poll(t.p, 1);
    shared_u32_store(&t.h->e[0].w->at, STAGE_tx);
    for (int i = 0; i < 3; i++)
        stage_watch_poll(t.p, 1);
    stage_watch_render(t.p, 0, &out);
    assert_non_null(strstr(text_str(&out), "tx_looks 3\ntx_share_percent 75.00\n"));
    assert_non_null(strstr(text_str(&out), "idle_looks 1\nidle_share_percent 25.00\nlooks 4\n"));
    text_free(&out);
    end();
}

static void a_late_look_counts_for_those_that_were_missed(void **state)
{
    begin();
    hosts_run(t.h, 10);
    stage_watch_poll(t.p, 1);
    shared_u32_store(&t.h->e[0].w->at, STAGE_tx);
    stage_watch_poll(t.p, 9);
    assert_int_equal(looks(STAGE_tx, TCP_SERVICES_MAX), 9);
    assert_int_equal(looks(STAGE_idle, TCP_SERVICES_MAX), 1);
    end();
}

static void seconds_show_the_looks_between(void **state)
{
    begin();
    const struct prof_shown s = shown();
    const struct prof_query q = {.seconds = 1, .debug = 1};
    shared_u32_store(&t.h->e[0].w->at, STAGE_tx);
    t.h->e[0].w->n_rx = 1;
    stage_watch_poll(t.p, 1);
    void *run = prof_begun(&prof_kind_stages, &s, &q);
    stage_watch_poll(t.p, 1);
    stage_watch_poll(t.p, 1);
    t.text = prof_ended(&prof_kind_stages, run);
    assert_int_equal(prof_sum(t.text, 0, "stage tx", NULL), 2);
    end();
}

static void where_nobody_looks_the_kind_says_so(void **state)
{
    begin();
    struct prof_shown s = shown();
    const struct prof_query q = {.debug = 1};
    struct err err = {.text = ""};
    void *run;
    s.stages = NULL;
    assert_int_equal(prof_kind_stages.begin(&s, &q, &run, &err), -1);
    assert_non_null(strstr(err.text, "nobody looks"));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_is_the_stage_app_and_its_service),
        cmocka_unit_test(turns_without_work_are_idle_and_one_that_does_not_end_is_not),
        cmocka_unit_test(a_worker_that_does_not_run_is_not_looked_at),
        cmocka_unit_test(the_file_has_each_stage_its_share_and_the_sum),
        cmocka_unit_test(a_late_look_counts_for_those_that_were_missed),
        cmocka_unit_test(seconds_show_the_looks_between),
        cmocka_unit_test(where_nobody_looks_the_kind_says_so),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
