// SPDX-License-Identifier: BSD-3-Clause
// Slow clients of the http application: what they may hold, for how long, and how it ends.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

#define HOST     "Host: a\r\n"
#define GET_ROOT "GET / HTTP/1.1\r\n" HOST "\r\n"
#define GET_BIG  "GET /big.bin HTTP/1.1\r\n" HOST "\r\n"
#define PARAMS(...)                                                                                \
    (const char *const[])                                                                          \
    {                                                                                              \
        "root", root, __VA_ARGS__, NULL                                                            \
    }

enum { BIG_BYTES = 300000 };

static char root[TEMP_PATH_BYTES];

static int make_root(void **state)
{
    static const struct temp_entry entries[] = {{"index.html", "<p>hello</p>", NULL}};
    char *big = calloc(1, BIG_BYTES);
    temp_tree_make(root, entries, 1);
    temp_tree_file(root, "big.bin", big, BIG_BYTES);
    free(big);
    return 0;
}

static int remove_root(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct c10m_service *serve(const char *const *params)
{
    char err[256];
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    if (s == NULL)
        fail_msg("init: %s", err);
    return s;
}

static void feed(struct c10m_conn *c, const char *text)
{
    fake_feed(c, text, strlen(text), 0);
}

static unsigned status(struct c10m_conn *c)
{
    size_t at = 0;
    return next_answer(c, &at, false).status;
}

static void who_takes_nothing_of_an_answer_is_reset_after_at_most_two_write_times(void **state)
{
    struct c10m_service *s =
        serve(PARAMS("write_timeout_ms", "1000", "keepalive_timeout_ms", "500000"));
    struct c10m_conn *c = fake_open(s);
    feed(c, GET_BIG);
    fake_advance(c, 1999);
    assert_false(c->aborted);
    fake_advance(c, 140);  // the watch's clock is coarse
    assert_true(c->aborted);
    assert_int_equal(fake_counter(s, "stalled_aborted"), 1);
    fake_close(c);
    fake_service_free(s);
}

static void who_takes_a_trickle_is_reset_and_who_takes_the_least_rate_is_not(void **state)
{
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "1000", "write_bytes_min", "1000"));
    struct c10m_conn *trickle = fake_open(s), *enough = fake_open(s), *narrow = fake_open(s);
    narrow->send_room = 50;  // the answer's head does not fit: it is sent in pieces
    feed(trickle, GET_BIG);
    feed(enough, GET_BIG);
    feed(narrow, GET_BIG);
    for (unsigned i = 0; i < 100; i++) {
        fake_advance(trickle, 100);
        fake_ack(trickle, 99);
        fake_advance(narrow, 100);
        fake_ack(narrow, 1);
        fake_advance(enough, 100);
        fake_ack(enough, 101);
    }
    assert_true(trickle->aborted);
    assert_true(narrow->aborted);
    assert_false(enough->aborted);
    assert_int_equal(fake_counter(s, "stalled_aborted"), 2);
    fake_drain(enough);
    assert_int_equal(status(enough), 200);
    fake_close(trickle);
    fake_close(enough);
    fake_close(narrow);
    fake_service_free(s);
}

// Each request begins a new idle time, not a new time to take the answers before.
static void who_asks_on_and_takes_nothing_is_reset_all_the_same(void **state)
{
    static const char *const keepalive_ms[] = {"500", "1000", "60000"};
    for (unsigned k = 0; k < 3; k++) {
        struct c10m_service *s =
            serve(PARAMS("write_timeout_ms", "1000", "keepalive_timeout_ms", keepalive_ms[k]));
        struct c10m_conn *c = fake_open(s);
        for (unsigned i = 0; i < 22; i++) {
            feed(c, GET_ROOT);
            fake_advance(c, 100);
        }
        assert_true(c->aborted);
        assert_int_equal(fake_counter(s, "stalled_aborted"), 1);
        fake_close(c);
        fake_service_free(s);
    }
}

// Few bytes are enough where no more are asked for.
static void who_takes_small_answers_late_but_takes_them_stays(void **state)
{
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "1000"));
    struct c10m_conn *c = fake_open(s);
    for (unsigned i = 0; i < 100; i++) {
        const size_t before = c->out.len;
        feed(c, GET_ROOT);
        fake_advance(c, 450);
        fake_ack(c, before - c->acked);  // all but the last answer: each after 900 ms
    }
    assert_false(c->aborted);
    fake_close(c);
    fake_service_free(s);
}

static void the_end_of_an_answer_may_be_shorter_than_the_least_rate(void **state)
{
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "1000", "write_bytes_min", "100000"));
    struct c10m_conn *c = fake_open(s);
    feed(c, GET_BIG);
    for (unsigned i = 0; i < 3; i++) {
        fake_advance(c, 999);
        fake_ack(c, 100000);
    }
    fake_advance(c, 999);
    fake_drain(c);
    fake_advance(c, 5000);
    assert_false(c->aborted);
    fake_close(c);
    fake_service_free(s);
}

static void an_idle_connection_has_its_time_with_a_short_write_time_and_a_long_one(void **state)
{
    static const char *const write_ms[] = {"1000", "59999", "60000", "60001", "500000"};
    for (unsigned i = 0; i < 5; i++) {
        struct c10m_service *s = serve(PARAMS("write_timeout_ms", write_ms[i]));
        struct c10m_conn *c = fake_open(s);
        for (unsigned k = 0; k < 2; k++) {
            feed(c, GET_ROOT);
            fake_drain(c);
            fake_advance(c, 59000);
            assert_false(c->shut);
        }
        fake_advance(c, 1002);
        assert_true(c->shut);
        assert_int_equal(fake_counter(s, "idle_closed"), 1);
        fake_close(c);
        fake_service_free(s);
    }
}

static void who_does_not_take_a_last_answer_is_reset(void **state)
{
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "1000"));
    struct c10m_conn *c = fake_open(s);
    feed(c, "GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n");
    assert_true(c->shut);
    fake_advance(c, 6140);  // the lingering, and one write time
    assert_true(c->aborted);
    fake_close(c);
    fake_service_free(s);
}

static struct c10m_conn *open_from(struct c10m_service *s, unsigned source)
{
    struct c10m_conn *c = fake_open(s);
    from_source(c, source);
    return c;
}

// 16384 bytes are eight heads of up to 2048.
static void heads_without_their_end_are_held_up_to_the_limit_then_refused(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384"));
    struct c10m_conn *c[9];
    for (unsigned i = 0; i < 9; i++) {
        c[i] = open_from(s, i);
        feed(c[i], "GET / HTTP/1.1\r\nX: ");
    }
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(c[i]->out.len, 0);
    assert_int_equal(status(c[8]), 503);
    assert_true(c[8]->shut);
    assert_int_equal(c[8]->in.len, 0);
    assert_int_equal(fake_counter(s, "heads_not_held"), 1);
    assert_int_equal(fake_counter(s, "source_shares"), 0);
    struct c10m_conn *whole = fake_open(s);
    feed(whole, GET_ROOT);  // what comes whole is never held
    assert_int_equal(status(whole), 200);
    feed(c[0], "a\r\n" HOST "\r\n");
    assert_int_equal(status(c[0]), 200);
    fake_close(whole);
    for (unsigned i = 0; i < 9; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

// Each way in which a held head may end gives back what it held.
static void what_was_held_is_given_back_however_the_head_ends(void **state)
{
    struct c10m_service *s =
        serve(PARAMS("header_bytes_held", "16384", "header_bytes_max", "16384"));
    char head[12001];
    memset(head, 'x', sizeof(head));
    memcpy(head, "GET / HTTP/1.1\r\nX: ", 19);
    for (unsigned way = 0; way < 6; way++) {
        struct c10m_conn *c = fake_open(s), *other = fake_open(s);
        fake_feed(c, head, 12000, 500);   // six units
        fake_feed(other, head, 5000, 0);  // three more: one too many
        assert_int_equal(status(other), 503);
        switch (way) {
        case 0:
            feed(c, "\r\n" HOST "\r\n");
            assert_int_equal(status(c), 200);
            break;
        case 1:
            fake_advance(c, 10001);
            assert_int_equal(status(c), 408);
            break;
        case 2:
            feed(c, "\r\n bad\r\n\r\n");
            assert_int_equal(status(c), 400);
            break;
        case 3:
            fake_feed(c, head, 6000, 0);
            assert_int_equal(status(c), 431);
            break;
        case 4:
            fake_end(c);  // is told when the head is consumed: its time sees to that
            fake_advance(c, 10001);
            assert_int_equal(status(c), 408);
            break;
        default:
            fake_close(c);  // reset
            c = fake_open(s);
            break;
        }
        struct c10m_conn *next = fake_open(s);  // before the connection is closed there is room
        fake_feed(next, head, 12000, 0);
        if (next->out.len != 0)
            fail_msg("way %u: what was held is not given back", way);
        fake_close(next);
        fake_close(c);
        fake_close(other);
    }
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, head, 12000, 0);
    fake_feed(c, head, 4000, 0);  // all of it
    assert_int_equal(c->out.len, 0);
    fake_close(c);
    fake_service_free(s);
}

static void a_head_that_grows_over_the_limit_gives_back_what_it_held(void **state)
{
    struct c10m_service *s =
        serve(PARAMS("header_bytes_held", "16384", "header_bytes_max", "16384"));
    struct c10m_conn *grows = fake_open(s), *other = fake_open(s), *next = fake_open(s);
    char head[12001];
    memset(head, 'x', sizeof(head));
    memcpy(head, "GET / HTTP/1.1\r\nX: ", 19);
    fake_feed(grows, head, 12000, 0);  // six units
    fake_feed(other, head, 4096, 0);   // two
    assert_int_equal(grows->out.len + other->out.len, 0);
    fake_feed(grows, head + 100, 2000, 0);
    assert_int_equal(status(grows), 503);
    fake_feed(next, head, 12000, 0);
    assert_int_equal(next->out.len, 0);
    fake_close(grows);
    fake_close(other);
    fake_close(next);
    fake_service_free(s);
}

static void a_worker_holds_heads_of_its_own_part_only(void **state)
{
    fake_workers(2);
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384"));
    struct c10m_conn *c[16];
    for (unsigned i = 0; i < 16; i++) {
        c[i] = open_from(s, i % 8);
        c[i]->worker = i / 8;
        feed(c[i], "GET /");
        assert_int_equal(c[i]->out.len, 0);
    }
    for (unsigned i = 0; i < 16; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

// A client that sends requests and takes no answer may not fill the worker's buffers with them.
static void requests_behind_an_answer_in_work_are_held_up_to_the_limit_then_cut(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384"));
    struct c10m_conn *c = fake_open_narrow(s, 100), *other = fake_open_narrow(s, 100);
    from_source(c, 0);
    from_source(other, 1);
    feed(c, GET_BIG);
    feed(other, GET_BIG);
    for (unsigned i = 0; i < 8000 / strlen(GET_ROOT); i++)
        feed(c, GET_ROOT);
    assert_in_range(c->in.len, 7900, 8000);
    feed(other, GET_ROOT);  // half of the room is for heads that are being read
    assert_int_equal(other->in.len, 0);
    assert_int_equal(fake_counter(s, "heads_not_held"), 1);
    struct c10m_conn *head = open_from(s, 2);
    feed(head, "GET /");
    assert_int_equal(head->out.len, 0);
    for (unsigned i = 0; i < 10; i++)
        feed(c, GET_ROOT);
    assert_int_equal(c->in.len, 0);
    assert_int_equal(fake_counter(s, "heads_not_held"), 2);
    struct c10m_conn *third = fake_open_narrow(s, 100);
    from_source(third, 3);
    feed(third, GET_BIG);
    feed(third, GET_ROOT);  // there is room again
    assert_int_equal(third->in.len, strlen(GET_ROOT));
    fake_drain(c);
    assert_int_equal(status(c), 200);
    assert_true(c->out.len > BIG_BYTES && c->out.len < BIG_BYTES + 1000);
    assert_true(c->shut);
    fake_close(c);
    fake_close(other);
    fake_close(head);
    fake_close(third);
    fake_service_free(s);
}

// Each asks for a large file, takes nothing of it, and sends on until its window is closed.
static void slow_readers(struct c10m_service *s, struct c10m_conn **c, unsigned n, bool one_source)
{
    static char more[65536];
    for (size_t at = 0; at + strlen(GET_ROOT) <= sizeof(more); at += strlen(GET_ROOT))
        memcpy(more + at, GET_ROOT, strlen(GET_ROOT));
    for (unsigned i = 0; i < n; i++) {
        c[i] = fake_open_narrow(s, 100);
        from_source(c[i], one_source ? 0 : i);
        feed(c[i], GET_BIG);
        fake_feed(c[i], more, sizeof(more), 1448);
    }
}

// More at a time than what the last that was refused left.
static void check_that_heads_in_two_parts_are_read(struct c10m_service *s, unsigned source)
{
    struct c10m_conn *c[40];
    for (unsigned i = 0; i < 40; i++) {
        c[i] = open_from(s, source);
        feed(c[i], "GET / HTTP/1.1\r\n");
    }
    for (unsigned i = 0; i < 40; i++) {
        feed(c[i], HOST "\r\n");
        assert_int_equal(status(c[i]), 200);
        fake_close(c[i]);
    }
}

static void slow_readers_leave_room_for_the_heads_of_others(void **state)
{
    enum { READERS = 128 };
    for (unsigned one = 0; one < 2; one++) {
        struct c10m_service *s = serve(PARAMS("write_timeout_ms", "60000"));
        struct c10m_conn *c[READERS];
        slow_readers(s, c, READERS, one);
        check_that_heads_in_two_parts_are_read(s, READERS);
        assert_in_range(fake_counter(s, "heads_not_held"), 1, READERS);
        assert_int_equal(fake_counter(s, "source_shares"),
                         one ? fake_counter(s, "heads_not_held") : 0);
        for (unsigned i = 0; i < READERS; i++)
            fake_close(c[i]);
        fake_service_free(s);
    }
}

// The default is 4,096 units; 33 go to who fills its window.
static void a_source_holds_a_quarter_of_what_may_wait(void **state)
{
    enum { READERS = 128, UNITS = 4096, EACH = 65536 / 2048 + 1 };
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "60000"));
    struct c10m_conn *c[READERS];
    unsigned cut = 0;
    slow_readers(s, c, READERS, true);
    for (unsigned i = 0; i < READERS; i++)
        cut += c[i]->in.len == 0;
    assert_in_range(READERS - cut, UNITS / 4 / EACH - 1, UNITS / 4 / EACH + 1);
    for (unsigned i = 0; i < READERS; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

static void heads_of_one_source_leave_room_for_those_of_others(void **state)
{
    enum { HEADS = 4096 };
    static struct c10m_conn *c[HEADS];
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "60000"));
    unsigned refused = 0;
    for (unsigned i = 0; i < HEADS; i++) {
        c[i] = open_from(s, 0);
        feed(c[i], "G");
        refused += c[i]->out.len != 0;
    }
    assert_int_equal(refused, HEADS * 3 / 4);
    assert_int_equal(fake_counter(s, "source_shares"), refused);
    check_that_heads_in_two_parts_are_read(s, 1);
    for (unsigned i = 0; i < HEADS; i++)
        fake_close(c[i]);
    check_that_heads_in_two_parts_are_read(s, 0);
    fake_service_free(s);
}

static void addresses_of_one_ipv6_prefix_are_one_source(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384"));
    struct c10m_conn *c[6];
    static const uint8_t prefix[8] = {0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2};
    for (unsigned i = 0; i < 6; i++) {
        c[i] = fake_open(s);
        memcpy(c[i]->peer_addr, prefix, sizeof(prefix));
        for (unsigned k = 8; k < 16; k++)
            c[i]->peer_addr[k] = (uint8_t)(i * 31 + k);
        feed(c[i], "GET /");
    }
    assert_int_equal(fake_counter(s, "source_shares"), 2);  // four are one head's room
    for (unsigned i = 0; i < 6; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

// All come by one balancer: each is charged as whom its header names.
static void clients_of_a_balancer_are_sources_of_their_own(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384", "proxy_protocol", "on"));
    struct c10m_conn *c[8];
    for (unsigned i = 0; i < 8; i++) {
        char header[100];
        c[i] = open_from(s, i / 4);  // to find an address
        snprintf(header, sizeof(header), "PROXY TCP4 %u.%u.%u.%u 192.0.2.2 4000 80\r\nGET /",
                 c[i]->peer_addr[12], c[i]->peer_addr[13], c[i]->peer_addr[14],
                 c[i]->peer_addr[15]);
        from_source(c[i], 2);
        feed(c[i], header);
        assert_int_equal(c[i]->out.len, 0);
    }
    assert_int_equal(fake_counter(s, "source_shares"), 0);
    for (unsigned i = 0; i < 8; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

// Several ranges of a large file, of which nothing is taken.
static void holds_of_one_source_leave_some_to_others(void **state)
{
    enum { HOLDS = 256 };
    const char *ranges = "GET /big.bin HTTP/1.1\r\n" HOST "Range: bytes=0-9,100-200000\r\n\r\n";
    struct c10m_service *s = serve(PARAMS("write_timeout_ms", "60000"));
    static struct c10m_conn *c[HOLDS];
    for (unsigned i = 0; i < HOLDS; i++) {
        c[i] = fake_open_narrow(s, 100);
        from_source(c[i], 0);
        feed(c[i], ranges);
    }
    assert_int_equal(fake_counter(s, "holds_empty"), HOLDS * 3 / 4);
    assert_int_equal(fake_counter(s, "source_shares"), HOLDS * 3 / 4);
    struct c10m_conn *other = open_from(s, 1);
    feed(other, ranges);
    assert_int_equal(status(other), 206);
    fake_close(other);
    for (unsigned i = 0; i < HOLDS; i++)
        fake_close(c[i]);
    fake_service_free(s);
}

static struct answer first_answer(struct c10m_conn *c)
{
    size_t at = 0;
    return next_answer(c, &at, false);
}

static void a_request_that_waited_too_long_is_refused_and_the_next_one_answered(void **state)
{
    struct c10m_service *s = serve(PARAMS("max_wait_ms", "20"));
    struct c10m_conn *c = open_from(s, 0);
    size_t at = 0;
    c->waited_us = 20000;
    feed(c, GET_ROOT);
    struct answer a = next_answer(c, &at, false);
    assert_int_equal(a.status, 503);
    assert_field(&a, "Retry-After", "1");
    assert_field(&a, "Connection", NULL);  // it stays open
    c->waited_us = 19999;
    feed(c, GET_ROOT);
    assert_int_equal(next_answer(c, &at, false).status, 200);
    assert_int_equal(fake_counter(s, "waits_too_long"), 1);
    assert_int_equal(fake_counter(s, "requests"), 2);
    fake_close(c);
    fake_service_free(s);
}

static void content_behind_a_request_that_waited_too_long_is_not_read(void **state)
{
    struct c10m_service *s = serve(PARAMS("max_wait_ms", "20", "echo_path", "/echo"));
    struct c10m_conn *c = open_from(s, 0);
    c->waited_us = 20000;
    feed(c, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1000\r\n\r\n");
    const struct answer a = first_answer(c);
    assert_int_equal(a.status, 503);
    assert_field(&a, "Connection", "close");
    fake_close(c);
    fake_service_free(s);
}

static void by_default_a_request_of_an_overloaded_worker_is_refused_after_100_ms(void **state)
{
    struct c10m_service *s = serve(PARAMS("max_wait_ms", "auto"));
    struct c10m_conn *c = open_from(s, 0);
    size_t at = 0;
    c->waited_us = UINT32_MAX;  // it may only have stood still
    c->overloaded_us = 99999;
    feed(c, GET_ROOT);
    assert_int_equal(next_answer(c, &at, false).status, 200);
    c->overloaded_us = 100000;
    feed(c, GET_ROOT);
    assert_int_equal(next_answer(c, &at, false).status, 503);
    fake_close(c);
    fake_service_free(s);
}

static void without_max_wait_ms_every_request_is_answered(void **state)
{
    struct c10m_service *s = serve(PARAMS("max_wait_ms", "off"));
    struct c10m_conn *c = open_from(s, 0);
    c->waited_us = UINT32_MAX;
    feed(c, GET_ROOT);
    assert_int_equal(status(c), 200);
    fake_close(c);
    fake_service_free(s);
}

// What is offered is copied together: not again with each byte that comes.
static void what_waits_behind_an_answer_is_offered_once_and_not_with_each_byte(void **state)
{
    enum { REQUESTS = 600 };
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "65536"));
    struct c10m_conn *c = fake_open_narrow(s, 100);
    size_t at = 0;
    feed(c, GET_BIG);
    const unsigned before = c->data_calls;
    for (unsigned i = 0; i < REQUESTS; i++)
        fake_feed(c, GET_ROOT, strlen(GET_ROOT), 1);
    assert_int_equal(c->data_calls, before + 1);
    fake_end(c);
    fake_drain(c);
    for (unsigned i = 0; i < 1 + REQUESTS; i++)
        assert_int_equal(next_answer(c, &at, false).status, 200);
    assert_int_equal(at, c->out.len);
    assert_true(c->shut);  // the FIN behind them was told
    fake_close(c);
    fake_service_free(s);
}

static void what_waited_behind_an_answer_is_answered_and_given_back(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384"));
    for (unsigned round = 0; round < 20; round++) {
        struct c10m_conn *c = fake_open_narrow(s, 100);
        size_t at = 0;
        for (unsigned i = 0; i < 50; i++)
            feed(c, GET_ROOT);
        fake_drain(c);
        for (unsigned i = 0; i < 50; i++)
            assert_int_equal(next_answer(c, &at, false).status, 200);
        fake_close(c);
    }
    assert_int_equal(fake_counter(s, "heads_not_held"), 0);
    fake_service_free(s);
}

// Content that the client was told to send, and that nobody can read yet.
static void content_behind_an_interim_answer_that_does_not_leave_ends_in_a_reset(void **state)
{
    struct c10m_service *s = serve(PARAMS("header_bytes_held", "16384", "echo_path", "/echo"));
    struct c10m_conn *c = fake_open(s);
    feed(c, GET_BIG);
    c->send_room = 10;  // of which nothing is taken
    feed(c, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\nContent-Length: 60000\r\n\r\n");
    for (unsigned i = 0; i < 20 && !c->aborted; i++) {
        char content[1000] = {0};
        fake_feed(c, content, sizeof(content), 0);
    }
    assert_true(c->aborted);
    assert_int_equal(fake_counter(s, "heads_not_held"), 1);
    fake_close(c);
    fake_service_free(s);
}

static void limits_out_of_range_are_refused(void **state)
{
    static const char *const bad[][2] = {{"header_bytes_held", "16383"},
                                         {"write_timeout_ms", "0"},
                                         {"write_bytes_min", "0"},
                                         {"write_bytes_min", "1073741825"}};
    for (unsigned i = 0; i < 4; i++) {
        char err[256];
        assert_null(fake_service_new(&app_http, PARAMS(bad[i][0], bad[i][1]), err, sizeof(err)));
        assert_non_null(strstr(err, bad[i][0]));
    }
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(who_takes_nothing_of_an_answer_is_reset_after_at_most_two_write_times),
        T(who_takes_a_trickle_is_reset_and_who_takes_the_least_rate_is_not),
        T(who_asks_on_and_takes_nothing_is_reset_all_the_same),
        T(who_takes_small_answers_late_but_takes_them_stays),
        T(the_end_of_an_answer_may_be_shorter_than_the_least_rate),
        T(an_idle_connection_has_its_time_with_a_short_write_time_and_a_long_one),
        T(who_does_not_take_a_last_answer_is_reset),
        T(heads_without_their_end_are_held_up_to_the_limit_then_refused),
        T(what_was_held_is_given_back_however_the_head_ends),
        T(a_head_that_grows_over_the_limit_gives_back_what_it_held),
        T(a_worker_holds_heads_of_its_own_part_only),
        T(requests_behind_an_answer_in_work_are_held_up_to_the_limit_then_cut),
        T(slow_readers_leave_room_for_the_heads_of_others),
        T(a_source_holds_a_quarter_of_what_may_wait),
        T(heads_of_one_source_leave_room_for_those_of_others),
        T(addresses_of_one_ipv6_prefix_are_one_source),
        T(clients_of_a_balancer_are_sources_of_their_own),
        T(holds_of_one_source_leave_some_to_others),
        T(a_request_that_waited_too_long_is_refused_and_the_next_one_answered),
        T(content_behind_a_request_that_waited_too_long_is_not_read),
        T(by_default_a_request_of_an_overloaded_worker_is_refused_after_100_ms),
        T(without_max_wait_ms_every_request_is_answered),
        T(what_waits_behind_an_answer_is_offered_once_and_not_with_each_byte),
        T(what_waited_behind_an_answer_is_answered_and_given_back),
        T(content_behind_an_interim_answer_that_does_not_leave_ends_in_a_reset),
        T(limits_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
