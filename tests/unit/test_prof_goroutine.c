// SPDX-License-Identifier: BSD-3-Clause
// Claims about the kind goroutine: every connection is counted once, by what it waits for, and the
// list shows those that the filter selects.
#include "pkt_env.h"
#include "prof/conn_waits.h"
#include "prof/goroutine.h"
#include "prof/prof_kinds.h"
#include "prof_hosts.h"

enum { MUCH_BYTES = 200000 };

static const uint8_t bytes[MUCH_BYTES];

static void send_much(struct c10m_conn *c)
{
    c10m_send(c, bytes, sizeof(bytes));
}

static const struct c10m_app client = {
    .name = "client", .open = send_much, .writable = send_much, .data = discard};
static const struct c10m_app quiet = {.name = "quiet", .data = discard};
static const struct c10m_app hog = {.name = "hog", .data = hoard};
static const struct c10m_app *const shut[2][3] = {{&client}, {&hog, &quiet}};
static const struct c10m_app *const calm[2][3] = {{&quiet}, {&hog, &quiet}};

static int refuse(const char *filter)
{
    const struct prof_shown s = {.server = &h->e[1].server};
    const struct prof_query q = {.filter = filter};
    struct err err = {.text = ""};
    void *state;
    const int rc = prof_kind_goroutine.begin(&s, &q, &state, &err);
    if (rc == 0)
        prof_kind_goroutine.release(state);
    else
        assert_non_null(strstr(err.text, "expected"));
    return rc;
}

static unsigned listed(void)
{
    unsigned n = 0;
    for (const char *at = text; (at = strstr(at, "goroutine ")) != NULL; at++)
        n++;
    return n;
}

static void idle_connections_wait_for_data_by_service(void **state)
{
    begin(calm);
    for (int i = 0; i < 3; i++)
        hosts_connect(h, 0, HOSTS_PORT);
    for (int i = 0; i < 2; i++)
        hosts_connect(h, 0, HOSTS_PORT + 1);
    hosts_run(h, 100);
    take(1, &prof_kind_goroutine, 1, NULL);
    assert_memory_equal(text, "goroutine profile: total 5\n", 27);
    assert_int_equal(prof_sum(text, 0, "waits for data", "app hog"), 3);
    assert_int_equal(prof_sum(text, 0, "waits for data", "service quiet"), 2);
    assert_int_equal(prof_sum(text, 0, "ESTABLISHED", NULL), 5);
    const struct prof_shown s = {.server = &h->e[1].server};
    assert_int_equal(prof_kind_goroutine.count(&s), 5);
    end();
}

static void
a_shut_window_is_what_the_sender_waits_for_and_the_application_the_receiver(void **state)
{
    begin(shut);
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 3000);
    take(0, &prof_kind_goroutine, 1, NULL);
    assert_int_equal(prof_sum(text, 0, "waits for window", "app client"), 1);
    take(1, &prof_kind_goroutine, 1, NULL);
    assert_int_equal(prof_sum(text, 0, "waits for application", "app hog"), 1);
    end();
}

static void half_open_and_time_wait_records_are_connections_too(void **state)
{
    begin(calm);
    h->e[0].deaf = true;
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 20);
    take(0, &prof_kind_goroutine, 1, NULL);
    assert_int_equal(prof_sum(text, 0, "SYN_SENT", "waits for handshake"), 1);
    take(1, &prof_kind_goroutine, 1, NULL);
    assert_int_equal(prof_sum(text, 0, "SYN_RECEIVED", "app hog"), 1);
    take(1, &prof_kind_goroutine, 2, NULL);
    assert_int_equal(listed(), 1);
    assert_non_null(strstr(text, "[handshake]:\nSYN_RECEIVED("));
    end();
}

static void the_list_shows_each_as_go_shows_goroutines(void **state)
{
    begin(calm);
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_run(h, 100);
    take(1, &prof_kind_goroutine, 2, NULL);
    assert_int_equal(listed(), 1);
    assert_memory_equal(text, "goroutine ", 10);
    assert_non_null(strstr(text, " [data]:\nESTABLISHED(unacked 0, unsent 0, unread 0 bytes)\n"
                                 "\t10.0.0.2:80 <-> 10.0.0.1:"));
    assert_non_null(strstr(text, "\napp hog(service hog)\n\tidle 0 s"));
    assert_non_null(strstr(text, "\ncreated by service hog on core c"));
    end();
}

static void a_filter_selects_as_ctl_conn_kill_does(void **state)
{
    begin(calm);
    hosts_connect(h, 0, HOSTS_PORT);
    hosts_connect(h, 0, HOSTS_PORT + 1);
    hosts_run(h, 100);
    take(1, &prof_kind_goroutine, 2, "service quiet");
    assert_int_equal(listed(), 1);
    assert_non_null(strstr(text, "app quiet"));
    take(1, &prof_kind_goroutine, 2, "state CLOSE_WAIT");
    assert_string_equal(text, "");
    take(1, &prof_kind_goroutine, 2, "remote 10.0.0.0/24 local *:80");
    assert_int_equal(listed(), 1);
    take(1, &prof_kind_goroutine, 1, "service quiet");
    assert_memory_equal(text, "goroutine profile: total 1\n", 27);
    take(1, &prof_kind_goroutine, 2, "all");
    assert_int_equal(listed(), 2);
    end();
}

static void filters_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {"service",
                                      "service nobody",
                                      "state LISTEN",
                                      "idle 0",
                                      "a b c",
                                      "remote 10.0.0.0/33",
                                      "idle 99999999999999999999",
                                      "\t"};
    char longer[2 * GOROUTINE_FILTER_BYTES];
    begin(calm);
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(refuse(bad[i]), -EINVAL);
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(refuse(longer), -EINVAL);
    assert_int_equal(refuse(""), 0);
    end();
}

static void what_a_connection_waits_for_follows_from_its_block(void **state)
{
    struct block b = {.state = TCP_ESTABLISHED, .snd_wnd = 1000};
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_DATA);
    b.rcvq_bytes = 1;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_APPLICATION);
    b.rcvq_bytes = 0, b.flags = BF_PAUSED;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_APPLICATION);
    b.app_timer_at_ms = 1;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_TIMER);
    b.snd_end = 100;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_ROOM);
    b.snd_nxt = 50;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_ACK);
    b.snd_una = 50, b.snd_wnd = 0;
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_WINDOW);
    b = (struct block){.state = TCP_FIN_WAIT_2};
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_FIN);
    b = (struct block){.state = TCP_CLOSE_WAIT};
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_APPLICATION);
    b = (struct block){.state = TCP_LAST_ACK, .flags = BF_FIN_QUEUED, .snd_nxt = 1};
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_ACK);
    b = (struct block){.state = TCP_SYN_SENT, .snd_nxt = 1};
    assert_int_equal(conn_waits_of(&b), CONN_WAITS_HANDSHAKE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_connections_wait_for_data_by_service),
        cmocka_unit_test(
            a_shut_window_is_what_the_sender_waits_for_and_the_application_the_receiver),
        cmocka_unit_test(half_open_and_time_wait_records_are_connections_too),
        cmocka_unit_test(the_list_shows_each_as_go_shows_goroutines),
        cmocka_unit_test(a_filter_selects_as_ctl_conn_kill_does),
        cmocka_unit_test(filters_that_are_none_are_refused),
        cmocka_unit_test(what_a_connection_waits_for_follows_from_its_block),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
