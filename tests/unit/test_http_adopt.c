// SPDX-License-Identifier: BSD-3-Clause
// Connections that another process has left: which go on, with what, and which images stay for how
// long.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/apps.h"
#include "app/http/conn.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

enum { BIG_BYTES = 200000, MANY = 16 };

static const char get[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
static const char get_big[] = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";

static char root[TEMP_PATH_BYTES], text[512], big[BIG_BYTES];
static const char *const plain[] = {"root", root, "echo_path", "/echo", NULL};
static struct c10m_service *before, *now;

static struct c10m_service *start(const char *const *params)
{
    struct c10m_service *s = fake_service_new(&app_http, params, text, sizeof(text));
    if (s == NULL)
        fail_msg("%s", text);
    return s;
}

static int begin(void **state)
{
    static const struct temp_entry entries[] = {{"index.html", "one", NULL}};
    (void)state;
    temp_tree_make(root, entries, 1);
    for (size_t k = 0; k < BIG_BYTES; k++)
        big[k] = (char)(k * 7 + k / 255);
    temp_tree_file(root, "big", big, BIG_BYTES);
    before = start(plain);
    now = start(plain);
    return 0;
}

static int end(void **state)
{
    (void)state;
    fake_service_free(before);
    fake_service_free(now);
    temp_tree_remove(root);
    return 0;
}

static struct http_sites *sites(const struct c10m_service *s)
{
    return &((struct http_service *)c10m_service_data(s))->sites;
}

static bool goes_on(struct c10m_conn *c)
{
    fake_move(c, now);
    return fake_adopted(c);
}

static unsigned places(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < HTTP_PLACES; i++)
        n += sites(now)->at[i] != NULL;
    return n;
}

static void feed(struct c10m_conn *c, const char *bytes)
{
    fake_feed(c, bytes, strlen(bytes), 0);
}

static void assert_answer(struct c10m_conn *c, size_t *at, int status, const char *body)
{
    const struct answer a = next_answer(c, at, false);
    assert_int_equal(a.status, status);
    assert_body(&a, body, strlen(body));
}

static void an_idle_connection_gets_the_files_of_now(void **state)
{
    struct c10m_conn *c = fake_open(before);
    size_t at = 0;
    (void)state;
    feed(c, get);
    assert_answer(c, &at, 200, "one");
    fake_drain(c);
    assert_true(goes_on(c));
    assert_int_equal(http_sites_held(sites(now), http_sites_now(sites(now))), 1);
    assert_int_equal(places(), 1);
    temp_tree_file(root, "index.html", "two!", 4);
    assert_int_equal(fake_reload(now, text, sizeof(text)), 0);
    feed(c, get);
    assert_answer(c, &at, 200, "two!");
    fake_drain(c);
    fake_advance(c, 120000);  // its deadline goes on
    assert_true(c->shut);
    fake_close(c);
    assert_int_equal(http_sites_held(sites(now), http_sites_now(sites(now))), 0);
}

static void the_images_of_a_queued_response_stay_until_it_is_acknowledged(void **state)
{
    struct c10m_conn *c = fake_open(before);
    size_t at = 0;
    (void)state;
    feed(c, get_big);
    fake_ack(c, 1000);
    fake_images_left(now);
    assert_true(goes_on(c));
    assert_int_equal(places(), 2);
    assert_int_equal(fake_image_sets(now), 2);
    assert_int_equal(fake_release(now), 0);
    feed(c, get);  // a request of now, behind it
    fake_ack(c, 100000);
    assert_int_equal(fake_release(now), 0);
    fake_drain(c);
    feed(c, get);
    assert_int_equal(fake_release(now), 1);
    assert_int_equal(fake_image_sets(now), 1);
    struct answer a = next_answer(c, &at, false);
    assert_body(&a, big, BIG_BYTES);
    assert_answer(c, &at, 200, "one");
    assert_answer(c, &at, 200, "one");
    fake_close(c);
}

static void images_are_for_all_that_send_from_them(void **state)
{
    struct c10m_conn *c[3];
    (void)state;
    fake_images_left(now);
    for (unsigned i = 0; i < 3; i++) {
        c[i] = fake_open(before);
        feed(c[i], get_big);
        assert_true(goes_on(c[i]));
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(fake_release(now), 0);
        fake_close(c[i]);
    }
    assert_int_equal(fake_release(now), 1);
}

static void a_slow_reader_of_earlier_images_is_reset_for_memory(void **state)
{
    struct c10m_conn *c = fake_open(before);
    (void)state;
    feed(c, get_big);
    fake_images_left(now);
    assert_true(goes_on(c));
    assert_int_equal(fake_release(now), 0);
    fake_memory_lacks(now, 1);
    assert_int_equal(fake_reload(now, text, sizeof(text)), 0);
    assert_true(c->aborted);
    fake_close(c);
    fake_release(now);
    assert_int_equal(fake_image_sets(now), 1);
}

static void a_head_is_completed_in_the_next_process(void **state)
{
    const size_t len = strlen(get);
    (void)state;
    for (size_t cut = 0; cut < len; cut++) {
        struct c10m_conn *c = fake_open(before);
        size_t at = 0;
        fake_feed(c, get, cut, 1);
        assert_true(goes_on(c));
        fake_feed(c, get + cut, len - cut, 1);
        assert_answer(c, &at, 200, "one");
        fake_close(c);
    }
}

// What they hold is counted in the next process as it was in the one before.
static void unread_bytes_are_counted_again(void **state)
{
    static const char *const few[] = {"root", root, "header_bytes_held", "16384", NULL};
    struct c10m_service *small = start(few);
    char head[3000];
    unsigned n = 0;
    (void)state;
    memset(head, 'x', sizeof(head));
    memcpy(head, "GET / HTTP/1.1\r\nA: ", 19);
    struct c10m_conn *c[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        c[i] = fake_open(before);
        fake_feed(c[i], head, sizeof(head), 0);
        fake_move(c[i], small);
        n += fake_adopted(c[i]);
    }
    assert_in_range(n, 1, 8);  // of 8 units each takes two, and a source has its share
    for (unsigned i = 0; i < MANY; i++)
        fake_close(c[i]);
    // All are free again.
    struct c10m_conn *last = fake_open(small);
    fake_feed(last, head, sizeof(head), 0);
    assert_int_equal(last->out.len, 0);
    fake_close(last);
    fake_service_free(small);
}

static void images_of_connections_that_do_not_go_on_are_freed_at_once(void **state)
{
    struct c10m_conn *c = fake_open(before);
    (void)state;
    c->refs_refused = 1;
    feed(c, get_big);
    fake_images_left(now);
    assert_false(goes_on(c));
    fake_close(c);
    assert_int_equal(fake_release(now), 1);
    assert_int_equal(fake_image_sets(now), 1);
}

static void what_needs_more_than_its_state_does_not_go_on(void **state)
{
    struct c10m_conn *c = fake_open(before);
    (void)state;
    c->refs_refused = 1;  // the head is queued, nothing of the file
    feed(c, get_big);
    assert_false(goes_on(c));
    fake_close(c);
    c = fake_open(before);
    feed(c, "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome");
    assert_false(goes_on(c));
    fake_close(c);
    c = fake_open(before);
    feed(c, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nsome");
    assert_false(goes_on(c));
    fake_close(c);
    assert_int_equal(http_sites_held(sites(now), http_sites_now(sites(now))), 0);
}

static void the_client_of_a_proxy_header_is_not_known_any_more(void **state)
{
    static const char *const behind[] = {"root", root, "proxy_protocol", "on", NULL};
    struct c10m_service *one = start(behind), *other = start(behind);
    (void)state;
    for (unsigned named = 0; named < 2; named++) {
        struct c10m_conn *c = fake_open(one);
        size_t at = 0;
        feed(c, named ? "PROXY TCP4 192.0.2.9 192.0.2.1 1000 80\r\n" : "PROXY UNKNOWN\r\n");
        fake_move(c, other);
        assert_int_equal(fake_adopted(c), !named);
        if (!named) {
            feed(c, get);
            assert_answer(c, &at, 200, "one");
        }
        fake_close(c);
    }
    fake_service_free(one);
    fake_service_free(other);
}

static void the_last_response_ends_in_the_next_process(void **state)
{
    struct c10m_conn *c = fake_open(before);
    (void)state;
    feed(c, "GET /big HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_true(c->shut);
    fake_images_left(now);
    assert_true(goes_on(c));
    fake_drain(c);
    fake_end(c);
    fake_close(c);
    assert_int_equal(fake_release(now), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
        HERE(an_idle_connection_gets_the_files_of_now),
        HERE(the_images_of_a_queued_response_stay_until_it_is_acknowledged),
        HERE(images_are_for_all_that_send_from_them),
        HERE(a_slow_reader_of_earlier_images_is_reset_for_memory),
        HERE(a_head_is_completed_in_the_next_process),
        HERE(unread_bytes_are_counted_again),
        HERE(images_of_connections_that_do_not_go_on_are_freed_at_once),
        HERE(what_needs_more_than_its_state_does_not_go_on),
        HERE(the_client_of_a_proxy_header_is_not_known_any_more),
        HERE(the_last_response_ends_in_the_next_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
