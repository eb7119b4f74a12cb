// SPDX-License-Identifier: BSD-3-Clause
// Claims about what a worker records of its turns, and about the flight recorder.
#include <errno.h>

#include "c10m/socket.h"
#include "c10m/trace.h"
#include "hosts.h"
#include "pkt_env.h"
#include "prof/prof_kinds.h"
#include "prof/prof_starts.h"
#include "prof/recorder.h"
#include "prof/recorder_order.h"
#include "prof/trace_source.h"
#include "stat/trace_points.h"
#include "trace/trace_reader.h"

enum { LOG_BYTES = 1 << 26, EVENTS_MAX = 1 << 16 };

static int mark;

static void ask(struct c10m_conn *c)
{
    c10m_send(c, "x", 1);
}

static size_t discard(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return len;
}

static size_t echo(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return c10m_send(c, data, len);
}

static size_t answer_later(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    c10m_request_begin(c);
    c10m_trace(c, mark, (uint32_t)len);
    c10m_send(c, "a", 1);  // a part
    c10m_set_timer(c, 5);
    return len;
}

static void answer_now(struct c10m_conn *c)
{
    c10m_send(c, "b", 1);
    c10m_request_end(c);
}

static size_t answer_and_close(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    c10m_send(c, "a", 1);
    c10m_close(c);
    return len;
}

static size_t close_at_once(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    c10m_close(c);
    return len;
}

static size_t trace_wildly(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    static const int wild[] = {-1, INT32_MIN, 1, 16, 255, 256, 65535, 65536, INT32_MAX};
    for (unsigned i = 0; i < ARRAY_LEN(wild); i++)
        c10m_trace(c, wild[i], 1);
    c10m_trace(c, mark, 7);
    return c10m_send(c, data, len);
}

// answer_most: all datagrams but those with a question mark.
static int answer_most(struct c10m_service *s, const struct c10m_datagram *d)
{
    d->answer[0] = 'a';
    return d->data[0] == '?' ? -1 : 1;
}

static const struct c10m_app datagrams = {
    .name = "datagrams", .data = echo, .datagram = answer_most};
static const struct c10m_app closing = {.name = "closing", .data = answer_and_close};
static const struct c10m_app silent = {.name = "silent", .data = close_at_once};
static const struct c10m_app wild = {.name = "wild", .data = trace_wildly};
static const struct c10m_app client = {.name = "client", .open = ask, .data = discard};
static const struct c10m_app plain = {.name = "plain", .data = echo};
static const struct c10m_app marking = {
    .name = "marking", .marks_requests = true, .data = answer_later, .timer = answer_now};

static struct hosts *h;
static struct trace_log *l;
static struct trace_event *events;
static unsigned n_events;

static void set_udp(struct server_params *p, unsigned end)
{
    if (p->services[0].app->datagram == NULL)
        return;
    p->ports[0].net.n_udp = 1;
    p->ports[0].net.udp[0] = (struct net_udp_port){HOSTS_PORT, UINT16_MAX, 0};
}

static void begin(const struct c10m_app *app)
{
    const struct c10m_app *const apps[2][3] = {{&client}, {app}};
    struct err err;
    h = hosts_new(apps, set_udp);
    mark = c10m_trace_event(&h->e[1].server.services[0], "read");
    const struct prof_shown s = {.server = &h->e[1].server, .version = "1"};
    l = trace_source_log(&s, TRACE_KEEP_FIRST, LOG_BYTES, &err);
    assert_non_null(l);
}

static void end(void)
{
    free(events);
    events = NULL;
    trace_log_free(l);
    hosts_free(h);
}

// run: both hosts; the one that is traced reads a real clock for its cycles.
static void run(unsigned ms)
{
    for (unsigned i = 0; i < ms * 5; i++, h->now_us += 200) {
        hosts_turn(h, 0);
        worker_turn(h->e[1].w, clock_at_us(h->now_us), tsc_read());
    }
}

static void read_events(void)
{
    trace_log_stop(l);
    struct trace_reader *r = trace_reader_new(l, 0);
    free(events);
    events = calloc(EVENTS_MAX, sizeof(*events));
    for (n_events = 0; n_events < EVENTS_MAX && trace_reader_next(r, &events[n_events]);)
        n_events++;
    trace_reader_free(r);
}

static unsigned count(enum trace_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < n_events; i++)
        n += events[i].kind == kind;
    return n;
}

static const struct trace_event *first(enum trace_kind kind)
{
    for (unsigned i = 0; i < n_events; i++)
        if (events[i].kind == kind)
            return &events[i];
    fail_msg("no such event");
    return NULL;
}

static void a_worker_that_nobody_traces_writes_nothing(void **state)
{
    begin(&plain);
    trace_log_stop(l);
    hosts_connect(h, 0, HOSTS_PORT);
    run(20);
    assert_int_equal(shared_u64_load(&h->e[1].w->trace->n), 0);
    end();
}

static void a_request_of_any_application_is_its_data_and_its_first_answer(void **state)
{
    begin(&plain);
    run(10);
    for (unsigned i = 0; i < 3; i++) {
        hosts_connect(h, 0, HOSTS_PORT);
        run(10);
    }
    read_events();
    assert_int_equal(count(TRACE_open), 3);
    assert_int_equal(count(TRACE_request), 3);
    assert_int_equal(count(TRACE_answer), 3);
    assert_false(first(TRACE_answer)->forgotten);
    assert_true(first(TRACE_answer)->ns > first(TRACE_request)->ns);
    assert_int_equal(first(TRACE_request)->id, first(TRACE_open)->id);
    assert_true(count(TRACE_turn) > 0 && count(TRACE_pool) > 0);
    end();
}

// ask_by_udp: a datagram from end 0, which leaves in its next turn.
static void ask_by_udp(const char *text)
{
    const struct ip_addr to = hosts_addr(1, false), from = hosts_addr(0, false);
    struct c10m_packet p = {.from.port = 5000, .to.port = HOSTS_PORT, .ttl = 64, .len = 1};
    memcpy(p.to.addr, to.b, sizeof(p.to.addr));
    memcpy(p.from.addr, from.b, sizeof(p.from.addr));
    p.data = (const uint8_t *)text;
    struct hosts_end *us = &h->e[0];
    assert_int_equal(c10m_udp_send(&us->w->sock.core, &us->server.services[0], &p), 0);
}

// begin_udp: after a first whole turn, before which no record is believed.
static void begin_udp(void)
{
    begin(&datagrams);
    run(10);
    ask_by_udp("x");
    run(1);
}

static void a_datagram_is_a_request_that_ends_in_its_turn_with_or_without_an_answer(void **state)
{
    begin_udp();
    ask_by_udp("x");
    run(1);
    ask_by_udp("?");
    run(1);
    read_events();
    assert_int_equal(count(TRACE_request), 2);
    assert_int_equal(count(TRACE_answer), 2);
    const struct trace_event *answer = first(TRACE_answer);
    assert_true(answer->id == TRACE_DATAGRAM && !answer->closed && !answer->forgotten);
    assert_int_equal(answer->request, first(TRACE_request)->request);
    assert_true(answer->ns > first(TRACE_request)->ns);
    for (answer++; answer->kind != TRACE_answer;)
        answer++;
    assert_true(answer->closed);
    end();
}

static void of_the_datagrams_of_a_turn_one_is_followed_and_the_others_are_counted(void **state)
{
    enum { N = 5 };
    begin_udp();
    for (unsigned i = 0; i < N; i++)
        ask_by_udp("x");
    hosts_turn(h, 0);
    hosts_turn(h, 1);
    assert_int_equal(h->e[1].w->rx.n_udp, N);
    assert_int_equal(h->e[1].w->trace->unfollowed, N - 1);
    read_events();
    assert_int_equal(count(TRACE_request), 1);
    end();
}

static void a_worker_that_nobody_traces_does_not_count_datagrams(void **state)
{
    begin(&datagrams);
    trace_log_stop(l);
    run(10);
    ask_by_udp("x");
    run(1);
    assert_int_equal(h->e[1].w->stats->c.answered, 1);
    assert_int_equal(h->e[1].w->trace->unfollowed, 0);
    assert_int_equal(h->e[1].w->trace->requests, 0);
    end();
}

// sample: as after a millisecond with many busy turns. No other one passes.
static void sample(void)
{
    h->e[1].w->trace->samples = true;
    h->e[1].w->trace->times_all = false;  // a stall of the host before this is an idle millisecond
    h->e[1].w->stall_cycles = UINT64_MAX / 4096;
}

static void a_core_with_many_turns_follows_requests_in_those_that_are_timed(void **state)
{
    enum { N = 32 };
    begin_udp();
    sample();
    ask_by_udp("?");  // the turn that decides about the next one
    run(1);
    const uint32_t before = h->e[1].w->trace->requests, left = h->e[1].w->trace->unfollowed;
    for (unsigned i = 0; i < N; i++) {
        ask_by_udp("?");  // whose answer would come back as an ICMP error, in one more turn
        run(1);
    }
    const uint32_t followed = h->e[1].w->trace->requests - before;
    assert_int_equal(followed, N / WORKER_TIMED_TURNS);
    assert_int_equal(followed + h->e[1].w->trace->unfollowed - left, N);
    read_events();
    unsigned earlier = count(TRACE_request) - followed;
    for (unsigned i = 0, turn = 0; i < n_events; i++) {
        turn = events[i].kind == TRACE_turn ? i : turn;
        if (events[i].kind != TRACE_request)
            continue;
        if (earlier == 0)
            assert_int_equal(events[turn + 1].small, STAGE_rx);  // it has stages
        earlier -= earlier != 0;
    }
    end();
}

static void a_core_with_many_turns_counts_the_requests_that_it_does_not_follow(void **state)
{
    enum { N = 16 };
    begin(&marking);
    run(10);
    sample();
    for (unsigned i = 0; i < N; i++) {
        hosts_connect(h, 0, HOSTS_PORT);
        run(10);
    }
    const struct trace_ring *r = h->e[1].w->trace;
    assert_true(r->requests > 0 && r->unfollowed > 0);
    assert_int_equal(r->requests + r->unfollowed, N);
    read_events();
    assert_int_equal(count(TRACE_request), r->requests);
    assert_int_equal(count(TRACE_answer), r->requests);
    end();
}

static void an_application_that_marks_its_requests_decides_when_they_end(void **state)
{
    begin(&marking);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(10);
    read_events();
    assert_int_equal(count(TRACE_request), 1);
    assert_int_equal(count(TRACE_answer), 1);
    assert_int_equal(first(TRACE_user)->id, 1);
    assert_int_equal(count(TRACE_timer), 1);
    const struct trace_event *timer = first(TRACE_timer), *answer = first(TRACE_answer);
    assert_true(answer > timer);  // not with the first part
    end();
}

static void each_trace_has_the_levels_though_others_are_taken(void **state)
{
    begin(&plain);
    run(20);
    struct trace_log *const other = l;
    const struct prof_shown s = {.server = &h->e[1].server, .version = "1"};
    struct err err;
    l = trace_source_log(&s, TRACE_KEEP_FIRST, LOG_BYTES, &err);
    assert_non_null(l);
    run(20);
    read_events();
    assert_int_equal(count(TRACE_pool), TRACE_POOLS);
    trace_log_free(other);
    end();
}

static void an_idle_worker_writes_nothing_more(void **state)
{
    begin(&plain);
    h->e[1].w->stall_cycles = UINT64_MAX / 4096;  // the host may stop the core
    run(20);
    const uint64_t before = shared_u64_load(&h->e[1].w->trace->n);
    run(20);
    assert_int_equal(shared_u64_load(&h->e[1].w->trace->n), before);
    end();
}

static void drops_and_retransmissions_are_told(void **state)
{
    begin(&plain);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    h->e[0].deaf = true;  // SYN-ACKs are lost
    stat_drop(h->e[1].w->stats, DROP_tx_full, 3);
    run(1500);
    read_events();
    assert_true(count(TRACE_retransmit) > 0);
    assert_int_equal(first(TRACE_drop)->small, DROP_tx_full);
    assert_int_equal(first(TRACE_drop)->id, 3);
    assert_int_equal(count(TRACE_drop), 1);
    end();
}

static void the_end_of_a_connection_is_told_with_its_reason(void **state)
{
    begin(&plain);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(5);
    sock_reset(&h->e[1].w->sock, 0);  // the first block
    hosts_connect(h, 0, HOSTS_PORT);
    run(5);
    read_events();
    assert_int_equal(first(TRACE_close)->small >> TRACE_WHY_SHIFT, C10M_ABORTED);
    assert_int_equal(first(TRACE_close)->id, first(TRACE_open)->id);
    end();
}

static void a_connection_that_ends_before_the_answer_closes_its_request(void **state)
{
    begin(&marking);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(3);  // the answer is due after 5 ms
    sock_reset(&h->e[1].w->sock, 0);
    hosts_connect(h, 0, HOSTS_PORT);
    run(20);
    read_events();
    assert_int_equal(count(TRACE_request), 2);
    assert_int_equal(count(TRACE_answer), 2);
    const struct trace_event *answer = first(TRACE_answer);
    assert_true(answer->closed && !answer->forgotten);
    assert_int_equal(answer->request, first(TRACE_request)->request);
    for (answer++; answer->kind != TRACE_answer;)
        answer++;
    assert_false(answer->closed);
    end();
}

static void a_connection_that_closes_with_its_answer_has_answered(void **state)
{
    begin(&closing);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(20);
    read_events();
    assert_int_equal(count(TRACE_request), 1);
    assert_int_equal(count(TRACE_answer), 1);
    assert_false(first(TRACE_answer)->closed || first(TRACE_answer)->forgotten);
    end();
}

// The FIN of a connection is no answer.
static void a_connection_that_closes_without_an_answer_has_none(void **state)
{
    begin(&silent);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(20);
    read_events();
    assert_int_equal(count(TRACE_request), 1);
    for (unsigned i = 0; i < n_events; i++)
        assert_true(events[i].kind != TRACE_answer || events[i].closed);
    end();
}

static void events_of_an_application_that_it_has_not_are_not_recorded(void **state)
{
    begin(&wild);
    run(10);
    hosts_connect(h, 0, HOSTS_PORT);
    run(10);
    read_events();
    assert_int_equal(count(TRACE_user), 1);
    assert_int_equal(first(TRACE_user)->id, 7);
    end();
}

static void traces_at_the_same_time_are_bounded(void **state)
{
    begin(&plain);  // has one
    const struct prof_shown s = {.server = &h->e[1].server, .version = "1"};
    const struct prof_query q = {.seconds = 1};
    void *runs[TRACE_LOGS_MAX], *more;
    struct err err = {.text = ""};
    for (unsigned i = 1; i < TRACE_LOGS_MAX; i++)
        assert_int_equal(prof_kind_trace.begin(&s, &q, &runs[i], &err), 0);
    assert_int_equal(prof_kind_trace.begin(&s, &q, &more, &err), -EBUSY);
    prof_kind_trace.release(runs[1]);
    assert_int_equal(prof_kind_trace.begin(&s, &q, &runs[1], &err), 0);
    for (unsigned i = 1; i < TRACE_LOGS_MAX; i++)
        prof_kind_trace.release(runs[i]);
    end();
}

// ---- the flight recorder

static unsigned begun;

static void on_begun(void *arg)
{
    begun++;
}

static int order(struct recorder *r, const char *text)
{
    char line[128];
    struct err err = {.text = ""};
    snprintf(line, sizeof(line), "%s", text);
    const int rc = recorder_order(r, line, &err);
    assert_true((rc == 0) == (err.text[0] == '\0'));
    return rc;
}

static void orders_are_understood_or_refused(void **state)
{
    static const struct {
        const char *line;
        int rc;
        struct recorder_when when;
    } rows[] = {
        {"off", 0, {0, 0, DROP_NONE}},
        {"stall 500us 2s", 0, {2, 500, DROP_NONE}},
        {"stall 2ms 60s", 0, {60, 2000, DROP_NONE}},
        {"drop tx_full 1s", 0, {1, 0, DROP_tx_full}},
        {"stall 1s drop tx_full 3s", 0, {3, 1000000, DROP_tx_full}},
        {"", -EINVAL, {0}},
        {"off 2s", -EINVAL, {0}},
        {"stall 2s", -EINVAL, {0}},
        {"stall 500us", -EINVAL, {0}},
        {"stall 500 2s", -EINVAL, {0}},
        {"stall -5us 2s", -EINVAL, {0}},
        {"stall 10us 2s", -ERANGE, {0}},
        {"stall 99999999999999999999s 2s", -ERANGE, {0}},
        {"stall 1ms 0s", -ERANGE, {0}},
        {"stall 1ms 61s", -ERANGE, {0}},
        {"stall 1ms 2ms", -EINVAL, {0}},
        {"drop nothing 2s", -EINVAL, {0}},
        {"sleep 1ms 2s", -EINVAL, {0}},
        {"stall 1ms stall 1ms stall 1ms stall 1ms 1s", -EINVAL, {0}},
    };
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        char line[128];
        struct recorder_when w;
        struct err err;
        snprintf(line, sizeof(line), "%s", rows[i].line);
        assert_int_equal(recorder_when_parse(line, &w, &err), rows[i].rc);
        if (rows[i].rc == 0)
            assert_true(w.seconds == rows[i].when.seconds && w.stall_us == rows[i].when.stall_us &&
                        w.reason == rows[i].when.reason);
    }
}

static void what_happened_before_a_trigger_is_kept_until_the_next_order(void **state)
{
    begin(&plain);
    const struct prof_shown s = {.server = &h->e[1].server, .version = "1"};
    struct recorder *r = recorder_new(&s, on_begun, NULL);
    struct worker *w = h->e[1].w;
    begun = 0;
    assert_int_equal(order(r, "stall 500us drop tx_full 2s"), 0);
    assert_int_equal(begun, 1);
    stall_put(&w->stalls, &(struct stall){.end_tsc = tsc_read(), .cycles = 10});
    stat_drop(w->stats, DROP_tcp_checksum, 1);
    assert_true(recorder_tick(r));  // neither is what is waited for
    assert_null(recorder_take(r));
    const uint64_t ms = worker_tsc_hz(w) / 1000;
    stall_put(&w->stalls, &(struct stall){.end_tsc = tsc_read(), .cycles = ms});
    assert_true(recorder_tick(r));
    assert_null(recorder_take(r));  // until the worker has written its records, too
    assert_false(recorder_tick(r));
    struct recorder_flight *kept = recorder_take(r);
    assert_non_null(kept);
    assert_int_equal(order(r, "drop tx_full 1s"), 0);
    assert_null(recorder_take(r));
    assert_int_equal(kept->users, 1);  // its reader goes on
    recorder_drop(kept);
    stat_drop(w->stats, DROP_tx_full, 1);
    assert_true(recorder_tick(r));
    assert_false(recorder_tick(r));
    assert_int_equal(recorder_state(r), RECORDER_KEPT);
    assert_int_equal(order(r, "stall"), -EINVAL);
    assert_int_equal(recorder_state(r), RECORDER_KEPT);  // nothing has changed
    assert_int_equal(order(r, "off"), 0);
    assert_int_equal(recorder_state(r), RECORDER_OFF);
    recorder_free(r);
    trace_log_stop(l);
    assert_int_equal(shared_u32_load(&w->trace->asked), 0);
    end();
}

static void orders_that_come_too_often_are_refused_and_change_nothing(void **state)
{
    begin(&plain);
    const struct prof_shown s = {.server = &h->e[1].server, .version = "1"};
    struct recorder *r = recorder_new(&s, on_begun, NULL);
    int rc = 0;
    begun = 0;
    while (rc == 0)
        rc = order(r, "stall 500us 2s");
    assert_int_equal(rc, -EBUSY);
    assert_true(begun >= PROF_STARTS_BURST);
    assert_int_equal(recorder_state(r), RECORDER_RECORDS);
    for (unsigned i = 0; i < 2 * PROF_STARTS_BURST; i++)
        assert_int_equal(order(r, "off"), 0);
    assert_int_equal(recorder_state(r), RECORDER_OFF);
    recorder_free(r);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_worker_that_nobody_traces_writes_nothing),
        cmocka_unit_test(a_request_of_any_application_is_its_data_and_its_first_answer),
        cmocka_unit_test(a_datagram_is_a_request_that_ends_in_its_turn_with_or_without_an_answer),
        cmocka_unit_test(of_the_datagrams_of_a_turn_one_is_followed_and_the_others_are_counted),
        cmocka_unit_test(a_worker_that_nobody_traces_does_not_count_datagrams),
        cmocka_unit_test(a_core_with_many_turns_follows_requests_in_those_that_are_timed),
        cmocka_unit_test(a_core_with_many_turns_counts_the_requests_that_it_does_not_follow),
        cmocka_unit_test(an_application_that_marks_its_requests_decides_when_they_end),
        cmocka_unit_test(each_trace_has_the_levels_though_others_are_taken),
        cmocka_unit_test(an_idle_worker_writes_nothing_more),
        cmocka_unit_test(drops_and_retransmissions_are_told),
        cmocka_unit_test(the_end_of_a_connection_is_told_with_its_reason),
        cmocka_unit_test(a_connection_that_ends_before_the_answer_closes_its_request),
        cmocka_unit_test(a_connection_that_closes_with_its_answer_has_answered),
        cmocka_unit_test(a_connection_that_closes_without_an_answer_has_none),
        cmocka_unit_test(events_of_an_application_that_it_has_not_are_not_recorded),
        cmocka_unit_test(traces_at_the_same_time_are_bounded),
        cmocka_unit_test(orders_are_understood_or_refused),
        cmocka_unit_test(what_happened_before_a_trigger_is_kept_until_the_next_order),
        cmocka_unit_test(orders_that_come_too_often_are_refused_and_change_nothing),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
