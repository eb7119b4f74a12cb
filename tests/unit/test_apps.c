// SPDX-License-Identifier: BSD-3-Clause
// The list of applications, and inetd's small services.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/apps.h"
#include "unit/check.h"
#include "unit/fake_stack.h"

static void an_application_is_found_by_its_exact_name(void **state)
{
    assert_ptr_equal(app_find("echo"), &app_echo);
    assert_ptr_equal(app_find("discard"), &app_discard);
    assert_ptr_equal(app_find("chargen"), &app_chargen);
    assert_ptr_equal(app_find("daytime"), &app_daytime);
    assert_ptr_equal(app_find("http"), &app_http);
    assert_ptr_equal(app_find("proxy"), &app_proxy);
    assert_null(app_find("Echo"));
    assert_null(app_find("ech"));
    assert_null(app_find(""));
}

static void the_list_holds_each_row_of_the_table_under_its_name(void **state)
{
#define ROW_NAME(name, kind, help) #name,
    static const char *const names[] = {APP_TABLE(ROW_NAME)};
    for (unsigned i = 0; i < APP_COUNT; i++) {
        assert_non_null(apps[i]);
        assert_string_equal(apps[i]->name, names[i]);
    }
    assert_null(apps[APP_COUNT]);
}

static struct c10m_conn *open_app(const struct c10m_app *app, struct c10m_service **s)
{
    char err[128];
    *s = fake_service_new(app, NULL, err, sizeof(err));
    assert_non_null(*s);
    return fake_open(*s);
}

static void done(struct c10m_conn *c, struct c10m_service *s)
{
    fake_close(c);
    fake_service_free(s);
}

static uint8_t *pattern(size_t len)
{
    uint8_t *p = malloc(len);
    assert_non_null(p);
    for (size_t i = 0; i < len; i++)
        p[i] = (uint8_t)(i * 31 + i / 251);
    return p;
}

// Feeds 100,000 bytes in pieces against a send queue of `room`; the peer takes `ack` bytes at a
// time.
static void echo_with(size_t piece, size_t room, size_t ack)
{
    enum { LEN = 100000 };
    struct c10m_service *s;
    struct c10m_conn *c = open_app(&app_echo, &s);
    uint8_t *sent = pattern(LEN);
    c->send_room = room;
    for (size_t at = 0; at < LEN; at += piece) {
        fake_feed(c, sent + at, piece < LEN - at ? piece : LEN - at, 0);
        fake_ack(c, ack);
    }
    fake_end(c);
    while (fake_ack(c, ack) != 0)
        ;
    assert_int_equal(c->out.len, LEN);
    assert_memory_equal(c->out.at, sent, LEN);
    assert_true(c->shut);
    assert_int_equal(c->in.len, 0);
    free(sent);
    done(c, s);
}

static void echo_loses_no_byte_whatever_the_pieces_and_the_room(void **state)
{
    echo_with(1, SIZE_MAX, 1);
    echo_with(1460, SIZE_MAX, SIZE_MAX);
    echo_with(100000, 1, SIZE_MAX);
    echo_with(1460, 4096, 1000);
    echo_with(7, 3, 2);
}

static void echo_is_not_called_again_and_again_while_there_is_no_room(void **state)
{
    struct c10m_service *s;
    struct c10m_conn *c = open_app(&app_echo, &s);
    c->send_room = 10;
    for (unsigned i = 0; i < 1000; i++)
        fake_feed(c, "0123456789", 10, 0);
    assert_int_equal(c->out.len, 10);
    assert_true(c->data_calls <= 2);
    fake_end(c);
    assert_false(c->shut);  // 9,990 bytes are still to be sent
    fake_drain(c);
    assert_int_equal(c->out.len, 10000);
    assert_true(c->shut);
    done(c, s);
}

static void echo_answers_an_empty_stream_with_an_empty_stream(void **state)
{
    struct c10m_service *s;
    struct c10m_conn *c = open_app(&app_echo, &s);
    fake_end(c);
    assert_true(c->shut);
    assert_int_equal(c->out.len, 0);
    done(c, s);
}

static void discard_consumes_all_and_says_nothing(void **state)
{
    struct c10m_service *s;
    struct c10m_conn *c = open_app(&app_discard, &s);
    uint8_t *sent = pattern(50000);
    fake_feed(c, sent, 50000, 0);
    fake_feed(c, sent, 50000, 1460);
    assert_int_equal(c->in.len, 0);
    assert_int_equal(c->out.len, 0);
    assert_false(c->shut);
    fake_end(c);
    assert_true(c->shut);
    free(sent);
    done(c, s);
}

// What RFC 864 asks for: line n holds the 72 printable characters from the nth on, cyclically.
static void assert_pattern(const uint8_t *p, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        size_t line = i / 74, column = i % 74;
        uint8_t want = column == 72 ? '\r' : column == 73 ? '\n' : ' ' + (line + column) % 95;
        if (p[i] != want)
            fail_msg("byte %zu is %u instead of %u", i, p[i], want);
    }
}

static void chargen_sends_the_pattern_without_a_seam_until_the_peer_closes(void **state)
{
    char err[128];
    struct c10m_service *s = fake_service_new(&app_chargen, NULL, err, sizeof(err));
    assert_non_null(s);
    struct c10m_conn *c = fake_open_narrow(s, 65536);
    assert_true(c->out.len >= 65536);
    for (unsigned i = 0; i < 200; i++) {
        fake_feed(c, "ignored", 7, 0);
        fake_ack(c, 10000);
    }
    assert_int_equal(c->in.len, 0);
    assert_true(c->out.len > 2000000);
    assert_pattern(c->out.at, c->out.len);
    fake_end(c);
    assert_true(c->shut);
    size_t len = c->out.len;
    fake_drain(c);
    assert_int_equal(c->out.len, len);
    done(c, s);
}

static void chargen_without_room_for_its_image_is_refused(void **state)
{
    char err[128];
    fake_image_limit(1000);
    assert_null(fake_service_new(&app_chargen, NULL, err, sizeof(err)));
    assert_non_null(strstr(err, "image_bytes"));
}

static void daytime_sends_one_line_of_the_present_time_and_closes(void **state)
{
    static const size_t rooms[] = {SIZE_MAX, 1, 10};
    for (unsigned i = 0; i < 3; i++) {
        char err[128], text[64];
        struct c10m_service *s = fake_service_new(&app_daytime, NULL, err, sizeof(err));
        assert_non_null(s);
        struct c10m_conn *c = fake_open_narrow(s, rooms[i]);
        fake_feed(c, "ignored", 7, 0);
        fake_end(c);
        fake_drain(c);
        assert_true(c->shut);
        assert_int_equal(c->in.len, 0);
        assert_int_equal(c->out.len, 26);
        snprintf(text, sizeof(text), "%.26s", (const char *)c->out.at);
        struct tm tm = {0};
        const char *rest = strptime(text, "%a %b %e %H:%M:%S %Y", &tm);
        assert_non_null(rest);
        assert_string_equal(rest, "\r\n");
        assert_int_equal(timegm(&tm), fake_unix_us / 1000000);
        done(c, s);
    }
}

static void daytime_is_the_time_of_day_when_it_was_asked(void **state)
{
    char err[128];
    struct c10m_service *s = fake_service_new(&app_daytime, NULL, err, sizeof(err));
    struct c10m_conn *a = fake_open_narrow(s, 10), *b;
    struct tm ta = {0}, tb = {0};
    fake_advance(a, 5000);  // a line that waits for room does not change
    fake_drain(a);
    fake_unix_us += UINT64_C(86400) * 1000000;
    b = fake_open(s);
    assert_non_null(strptime((const char *)a->out.at, "%a %b %e %H:%M:%S %Y", &ta));
    assert_non_null(strptime((const char *)b->out.at, "%a %b %e %H:%M:%S %Y", &tb));
    assert_int_equal(timegm(&tb) - timegm(&ta), 86400);
    fake_close(a);
    done(b, s);
    fake_unix_us -= UINT64_C(86400) * 1000000;
}

// The answer to len bytes with so much room, into text; returns its length.
static int answer_to(const struct c10m_app *app, size_t len, size_t room, char text[2001])
{
    char err[128];
    struct c10m_service *s = fake_service_new(app, NULL, err, sizeof(err));
    uint8_t *data = malloc(len), *answer = malloc(room);  // a sanitizer sees one byte too many
    assert_true(s != NULL && answer != NULL && (data != NULL || len == 0));
    memset(data, 'q', len);
    const struct c10m_datagram d = {.data = data, .len = len, .answer = answer, .room = room};
    const int n = app->datagram(s, &d);
    assert_true(n <= (int)room && n <= 2000);
    if (n > 0)
        memcpy(text, answer, (size_t)n);
    text[n > 0 ? n : 0] = '\0';
    free(data);
    free(answer);
    fake_service_free(s);
    return n;
}

static void a_datagram_has_the_answer_of_its_service(void **state)
{
    char text[2001];
    assert_int_equal(answer_to(&app_echo, 3, 1472, text), 3);
    assert_string_equal(text, "qqq");
    assert_int_equal(answer_to(&app_echo, 0, 1472, text), 0);
    assert_int_equal(answer_to(&app_echo, 1473, 1472, text), -1);
    assert_int_equal(answer_to(&app_discard, 3, 1472, text), -1);
    assert_int_equal(answer_to(&app_daytime, 0, 1472, text), 26);
    assert_string_equal(text + 24, "\r\n");
    assert_int_equal(answer_to(&app_daytime, 0, 25, text), -1);
    assert_null(app_http.datagram);
}

// RFC 864: 0 to 512 characters. Whoever asks in another's name sends as much himself.
static void chargen_answers_a_datagram_with_no_more_than_it_had(void **state)
{
    char text[2001];
    static const size_t asked[] = {0, 1, 74, 511, 512, 513, 1472};
    for (unsigned i = 0; i < 7; i++) {
        const int n = answer_to(&app_chargen, asked[i], 1472, text);
        assert_int_equal(n, asked[i] < 512 ? asked[i] : 512);
        assert_int_equal(strncmp(text, " !\"#$%&'()*+,-./0123456789", n < 26 ? (size_t)n : 26), 0);
    }
    assert_int_equal(memcmp(text + 72, "\r\n!\"#", 5), 0);
    assert_int_equal(answer_to(&app_chargen, 600, 300, text), 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_application_is_found_by_its_exact_name),
        cmocka_unit_test(the_list_holds_each_row_of_the_table_under_its_name),
        cmocka_unit_test(echo_loses_no_byte_whatever_the_pieces_and_the_room),
        cmocka_unit_test(echo_is_not_called_again_and_again_while_there_is_no_room),
        cmocka_unit_test(echo_answers_an_empty_stream_with_an_empty_stream),
        cmocka_unit_test(discard_consumes_all_and_says_nothing),
        cmocka_unit_test(chargen_sends_the_pattern_without_a_seam_until_the_peer_closes),
        cmocka_unit_test(chargen_without_room_for_its_image_is_refused),
        cmocka_unit_test(daytime_sends_one_line_of_the_present_time_and_closes),
        cmocka_unit_test(daytime_is_the_time_of_day_when_it_was_asked),
        cmocka_unit_test(a_datagram_has_the_answer_of_its_service),
        cmocka_unit_test(chargen_answers_a_datagram_with_no_more_than_it_had),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
