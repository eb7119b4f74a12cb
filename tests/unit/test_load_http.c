// SPDX-License-Identifier: BSD-3-Clause
// HTTP of the load generator: the model answer, and connections that ask for it. The server's end
// is load_env.h's.
#include "load/load_http.h"
#include "tests/unit/load_env.h"

#define HEAD_OF(length)                                                                            \
    "HTTP/1.1 200 OK\r\nServer: x\r\nDate: Sun, 22 Nov 2026 00:00:0"                               \
    "0 GMT\r\nContent-Length: " length "\r\n\r\n"
#define ANSWER HEAD_OF("5") "hello"

static bool learn(struct load_http *h, const char *text)
{
    return load_http_learn(h, 0, (const uint8_t *)text, (uint32_t)strlen(text));
}

static bool same(const struct load_http *h, uint32_t at, const char *text, uint32_t n)
{
    return load_http_same(h, at, (const uint8_t *)text + at, n);
}

static void a_first_answer_is_the_model_however_it_is_cut(void **state)
{
    (void)state;
    const uint32_t len = sizeof(ANSWER) - 1;
    for (uint32_t cut = 1; cut < len; cut++) {
        struct load_http *h = load_http_new("/x");
        assert_true(load_http_learn(h, 0, (const uint8_t *)ANSWER, cut));
        assert_false(h->learned);
        assert_true(load_http_learn(h, cut, (const uint8_t *)ANSWER + cut, len - cut));
        assert_true(h->learned);
        assert_int_equal(h->answer_bytes, len);
        assert_int_equal(h->head_bytes, len - 5);
        assert_int_equal(h->date_bytes, 29);
        assert_true(same(h, 0, ANSWER, len));
        assert_true(same(h, 0, ANSWER, cut) && same(h, cut, ANSWER, len - cut));
        free(h);
    }
}

static void an_answer_may_differ_in_its_date_and_nowhere_else(void **state)
{
    (void)state;
    struct load_http *h = load_http_new("/x");
    const uint32_t len = sizeof(ANSWER) - 1;
    assert_true(learn(h, ANSWER));
    for (uint32_t i = 0; i < len; i++) {
        char other[] = ANSWER;
        other[i] ^= 1;
        const bool dated = i >= h->date_at && i < h->date_at + h->date_bytes;
        assert_int_equal(same(h, 0, other, len), dated);
        assert_int_equal(same(h, i, other, 1), dated);
        for (uint32_t at = 0; at <= i; at += 7)
            assert_int_equal(same(h, at, other, len - at), dated);
    }
    free(h);
}

static void what_is_no_whole_answer_with_200_and_a_length_is_no_model(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 65536\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX: y\r\n\r\nContent-Length: 5\r\n\r\nhello",  // in the body
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello",              // too much
    };
    struct load_http *h = load_http_new("/x");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(learn(h, bad[i]));
    assert_false(load_http_learn(h, 0, (const uint8_t *)"HTTP/\0", 6));
    uint8_t long_one[LOAD_HTTP_ANSWER_MAX + 1];
    memset(long_one, 'x', sizeof(long_one));
    assert_true(load_http_learn(h, 0, long_one, 1000));
    assert_false(load_http_learn(h, 1000, long_one, LOAD_HTTP_ANSWER_MAX - 999));
    assert_true(learn(h, "HTTP/1.1 200 OK\r\ncontent-length:0\r\n\r\n"));  // after all of that
    assert_true(h->learned);
    assert_int_equal(h->date_bytes, 0);
    free(h);
}

static struct load_params http_params(uint32_t connections)
{
    struct load_params p = params(connections);
    p.http_path = "/a/b";
    return p;
}

static void send_answer(const struct sent *request, const char *text, uint32_t from, uint32_t to)
{
    const struct seg_in *s = &request->seg;
    say(request->conn, SEG_ACK | SEG_PSH, s->ack + from, s->seq + s->data_len,
        (const uint8_t *)text + from, to - from);
}

static void one_connection_learns_and_then_all_are_asked(void **state)
{
    (void)state;
    static const char want[] = "GET /a/b HTTP/1.1\r\nHost: load\r\n\r\n";
    struct load_params p = http_params(3);
    begin(&p);
    turn();
    uint32_t seq[3];
    for (uint32_t i = 0; i < 3; i++)
        seq[i] = next_sent()->seg.seq;
    for (uint32_t i = 0; i < 3; i++)
        deliver(frame_of(i, SEG_SYN | SEG_ACK, ISN, seq[i] + 1, NULL, 0));
    turn();
    turn();
    end.seen += 3;
    const struct sent first = *next_sent();
    assert_nothing_sent();
    assert_int_equal(first.seg.data_len, sizeof(want) - 1);
    assert_memory_equal(first.data, want, sizeof(want) - 1);
    send_answer(&first, ANSWER, 0, 20);
    const struct sent *ack = next_sent();  // it may be long
    assert_int_equal(ack->seg.data_len, 0);
    assert_int_equal(ack->seg.seq, first.seg.seq + first.seg.data_len);
    assert_int_equal(ack->seg.ack, ISN + 1 + 20);
    assert_nothing_sent();
    send_answer(&first, ANSWER, 20, sizeof(ANSWER) - 1);
    assert_int_equal(next_sent()->seg.ack, (uint32_t)(ISN + sizeof(ANSWER)));
    assert_int_equal(load_answer_bytes(load), sizeof(ANSWER) - 1);
    if (end.seen == end.n_sent)
        turn();
    const struct sent second = *next_sent(), third = *next_sent();
    char other[] = ANSWER;
    other[first.seg.data_len % 7 + 46] = '9';  // in the date
    send_answer(&second, other, 0, sizeof(ANSWER) - 1);
    assert_int_equal(load_counters(load)->wrong, 0);
    other[sizeof(ANSWER) - 2] ^= 1;
    send_answer(&third, other, 0, sizeof(ANSWER) - 1);
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->answered, 3);
    assert_int_equal(load_counters(load)->failed, 0);
}

static void a_refusal_fails_the_connection(void **state)
{
    (void)state;
    static const char no[] = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    const struct load_params p = http_params(1);
    begin(&p);
    turn();
    shake_hands(0);
    turn();
    const struct sent request = *next_sent();
    send_answer(&request, no, 0, sizeof(no) - 1);
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
    assert_false(load_all_right(load));
}

static void more_than_the_model_fails_the_connection(void **state)
{
    (void)state;
    struct load_params p = http_params(1);
    p.rounds = 2;
    begin(&p);
    turn();
    shake_hands(0);
    turn();
    struct sent request = *next_sent();
    send_answer(&request, ANSWER, 0, sizeof(ANSWER) - 1);
    next_sent();
    if (end.seen == end.n_sent)
        turn();
    request = *next_sent();
    send_answer(&request, ANSWER "x", 0, sizeof(ANSWER));
    assert_int_equal(load_counters(load)->wrong, 1);
    assert_int_equal(load_counters(load)->failed, 1);
}

#define BUSY "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 3\r\n\r\nno\n"

static bool is_refusal(const char *text)
{
    return load_http_is_refusal((const uint8_t *)text, (uint32_t)strlen(text));
}

static void a_whole_503_is_a_refusal_and_nothing_else_is(void **state)
{
    (void)state;
    assert_true(is_refusal(BUSY));
    assert_false(is_refusal(BUSY "x"));
    for (uint32_t n = 0; n < sizeof(BUSY) - 1; n++)
        assert_false(load_http_is_refusal((const uint8_t *)BUSY, n));
    assert_false(is_refusal(ANSWER));
    assert_false(is_refusal("HTTP/1.1 503 X\r\n\r\n"));
    assert_false(is_refusal("HTTP/1.1 503 X\r\nX: y\r\n\r\nContent-Length: 0"));
}

static struct sent next_request(void)
{
    for (;;) {
        while (end.seen == end.n_sent)
            turn();
        const struct sent *s = next_sent();
        if (s->seg.data_len != 0)
            return *s;
    }
}

static void clients_without_patience_take_503_for_an_answer_that_is_no_work(void **state)
{
    (void)state;
    struct load_params p = http_params(1);
    p.rounds = 0;
    p.rate = 10000;
    p.give_up_ms = 1000;
    begin(&p);
    turn();
    shake_hands(0);
    static const char *const answers[] = {ANSWER, BUSY, ANSWER};
    for (unsigned i = 0; i < ARRAY_LEN(answers); i++) {
        const struct sent request = next_request();
        send_answer(&request, answers[i], 0, (uint32_t)strlen(answers[i]));
    }
    const struct load_counters *c = load_counters(load);
    assert_int_equal(c->refused, 1);
    assert_int_equal(c->answered, 3);
    assert_int_equal(c->in_time, 2);
    assert_int_equal(c->wrong, 0);
    assert_int_equal(c->failed, 0);
    assert_int_equal(load_corrected(load)->n, 2);
    assert_false(load_all_right(load));
}

int main(void)
{
#define T(f) cmocka_unit_test_teardown(f, teardown)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_answer_is_the_model_however_it_is_cut),
        cmocka_unit_test(an_answer_may_differ_in_its_date_and_nowhere_else),
        cmocka_unit_test(what_is_no_whole_answer_with_200_and_a_length_is_no_model),
        T(one_connection_learns_and_then_all_are_asked),
        T(a_refusal_fails_the_connection),
        T(more_than_the_model_fails_the_connection),
        cmocka_unit_test(a_whole_503_is_a_refusal_and_nothing_else_is),
        T(clients_without_patience_take_503_for_an_answer_that_is_no_work),
    };
#undef T
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
