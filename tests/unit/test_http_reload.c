// SPDX-License-Identifier: BSD-3-Clause
// Files that are read again while the service runs: who gets which bytes, what is kept for how
// long, and what makes a reload fail.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/apps.h"
#include "app/http/service.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/http_answer.h"
#include "unit/temp_tree.h"

enum { BIG_BYTES = 200000, NOBODY = 65534 };

static const char get[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
static const char get_big[] = "GET /big HTTP/1.1\r\nHost: a\r\n\r\n";

static char root[TEMP_PATH_BYTES], text[512], big[2][BIG_BYTES + 5000];
static size_t big_bytes[2] = {BIG_BYTES, BIG_BYTES + 5000};
static const char *const plain[] = {"root", root, NULL};
static const char *const limited[] = {"root", root, "bytes_max", "210000", NULL};
static struct c10m_service *service;

// pread64: what pread() is here. The file changes before so many of its next calls.
static unsigned changes_left;
static void (*change)(void);

ssize_t pread64(int fd, void *to, size_t n, off_t at);
ssize_t pread64(int fd, void *to, size_t n, off_t at)
{
    if (changes_left != 0) {
        changes_left--;
        change();
    }
    return syscall(SYS_pread64, fd, to, n, at);
}

static void put(const char *name, const char *bytes)
{
    temp_tree_file(root, name, bytes, strlen(bytes));
}

static void put_big(unsigned which)
{
    temp_tree_file(root, "big", big[which], big_bytes[which]);
}

static void take_away(const char *name)
{
    char path[TEMP_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/%s", root, name);
    assert_int_equal(unlink(path), 0);
}

static int begin(void **state)
{
    static const struct temp_entry entries[] = {
        {"index.html", "one", NULL}, {"goes", "goes", NULL}, {"stays", "stays", NULL}};
    temp_tree_make(root, entries, 3);
    for (unsigned i = 0; i < 2; i++)
        for (size_t k = 0; k < big_bytes[i]; k++)
            big[i][k] = (char)(k * (7 + i) + k / 255);
    put_big(0);
    changes_left = 0;
    service = fake_service_new(&app_http, plain, text, sizeof(text));
    return service == NULL;
}

static int end(void **state)
{
    if (service != NULL)
        fake_service_free(service);
    service = NULL;
    temp_tree_remove(root);
    return 0;
}

static struct http_sites *sites(void)
{
    return &((struct http_service *)c10m_service_data(service))->sites;
}

static const struct http_site *site_now(void)
{
    return sites()->at[http_sites_now(sites())];
}

static void reload(void)
{
    if (fake_reload(service, text, sizeof(text)) != 0)
        fail_msg("%s", text);
}

static void refused(const char *words)
{
    const uint32_t version = site_now()->version;
    assert_int_equal(fake_reload(service, text, sizeof(text)), -1);
    if (strstr(text, words) == NULL)
        fail_msg("not the words %s: %s", words, text);
    assert_int_equal(site_now()->version, version);
}

static struct answer ask(struct c10m_conn *c, size_t *at, const char *request)
{
    fake_feed(c, request, strlen(request), 0);
    const struct answer a = next_answer(c, at, false);
    fake_drain(c);
    return a;
}

static void answers(struct c10m_conn *c, size_t *at, const char *request, int status,
                    const char *body)
{
    const struct answer a = ask(c, at, request);
    assert_int_equal(a.status, status);
    if (body != NULL)
        assert_body(&a, body, strlen(body));
}

static void the_files_of_now_are_served(void **state)
{
    struct c10m_conn *c = fake_open(service);
    size_t at = 0;
    char request[256];
    const struct answer first = ask(c, &at, get);
    snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: a\r\nIf-None-Match: %s\r\n\r\n",
             answer_field(&first, "ETag"));
    answers(c, &at, request, 304, NULL);
    put("index.html", "two!");
    put("comes", "comes");
    take_away("goes");
    answers(c, &at, get, 200, "one");  // nothing is read until it is ordered
    reload();
    assert_non_null(strstr(text, "4 files (1 new, 1 changed, 1 removed), 195 KiB, in "));
    answers(c, &at, request, 200, "two!");
    answers(c, &at, "GET /comes HTTP/1.1\r\nHost: a\r\n\r\n", 200, "comes");
    answers(c, &at, "GET /goes HTTP/1.1\r\nHost: a\r\n\r\n", 404, NULL);
    answers(c, &at, "GET /stays HTTP/1.1\r\nHost: a\r\n\r\n", 200, "stays");
    fake_close(c);
}

static void a_first_directory_may_come_with_a_reload(void **state)
{
    struct c10m_conn *c = fake_open(service);
    char path[TEMP_PATH_BYTES + 64];
    size_t at = 0;
    snprintf(path, sizeof(path), "%s/sub", root);
    assert_int_equal(mkdir(path, 0755), 0);
    put("sub/index.html", "sub");
    reload();
    const struct answer a = ask(c, &at, "GET /sub?query HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_int_equal(a.status, 301);
    assert_field(&a, "Location", "/sub/?query");
    fake_close(c);
}

static void what_has_begun_ends_with_the_old_bytes(void **state)
{
    struct c10m_conn *none = fake_open(service), *head = fake_open_narrow(service, 40);
    size_t at = 0, head_at = 0;
    none->refs_refused = 1;  // the head is sent, nothing of the file
    fake_feed(none, get_big, strlen(get_big), 0);
    fake_feed(head, get_big, strlen(get_big), 0);  // a part of the head is sent
    put_big(1);
    reload();
    assert_int_equal(fake_release(service), 0);
    fake_ack(none, 1);
    struct answer a = next_answer(none, &at, false);
    assert_body(&a, big[0], big_bytes[0]);
    head->send_room = SIZE_MAX;
    fake_drain(head);
    a = next_answer(head, &head_at, false);
    assert_body(&a, big[0], big_bytes[0]);
    fake_drain(none);
    a = ask(none, &at, get_big);
    assert_body(&a, big[1], big_bytes[1]);
    a = ask(head, &head_at, get_big);
    assert_body(&a, big[1], big_bytes[1]);
    fake_close(none);
    fake_close(head);
}

static void a_range_of_the_old_file_is_not_one_of_the_new(void **state)
{
    struct c10m_conn *c = fake_open(service);
    static const char tail[] = "GET /big HTTP/1.1\r\nHost: a\r\nRange: bytes=150000-\r\n\r\n";
    size_t at = 0;
    c->refs_refused = 1;
    fake_feed(c, tail, strlen(tail), 0);
    put("big", "short now");
    reload();
    fake_ack(c, 1);
    const struct answer a = next_answer(c, &at, false);
    assert_int_equal(a.status, 206);
    assert_body(&a, big[0] + 150000, big_bytes[0] - 150000);
    fake_close(c);
}

static void the_old_files_are_kept_for_the_last_reader_only(void **state)
{
    struct c10m_conn *idle = fake_open(service), *fresh = fake_open(service);
    struct c10m_conn *slow = fake_open(service);
    size_t at = 0, idle_at = 0;
    answers(idle, &idle_at, get, 200, "one");
    fake_feed(slow, get_big, strlen(get_big), 0);
    put_big(1);
    reload();
    assert_int_equal(http_sites_held(sites(), 0), 1);
    assert_int_equal(http_sites_held(sites(), 1), 2);  // those that send nothing have changed
    assert_int_equal(fake_release(service), 0);
    assert_int_equal(fake_image_sets(service), 2);
    const struct answer a = next_answer(slow, &at, false);
    assert_body(&a, big[0], big_bytes[0]);
    fake_close(slow);
    assert_int_equal(fake_release(service), 1);
    assert_int_equal(fake_image_sets(service), 1);
    assert_int_equal(fake_release(service), 0);
    fake_close(idle);
    fake_close(fresh);
}

static void an_idle_connection_lets_go_when_its_last_bytes_are_acknowledged(void **state)
{
    struct c10m_conn *c = fake_open(service);
    fake_feed(c, get_big, strlen(get_big), 0);
    reload();
    fake_drain(c);
    assert_int_equal(fake_release(service), 0);  // nothing has happened to it since
    fake_advance(c, 59000);
    reload();
    assert_int_equal(fake_release(service), 2);  // told
    fake_feed(c, get_big, strlen(get_big), 0);
    reload();
    fake_drain(c);
    fake_advance(c, 61000);  // its own timer
    assert_int_equal(fake_release(service), 1);
    fake_close(c);
}

// The peer always has something to acknowledge, so that it never stops using the old site.
static void requests_behind_an_old_answer_get_the_new_files(void **state)
{
    struct c10m_conn *c = fake_open(service);
    size_t at = 0;
    fake_feed(c, get_big, strlen(get_big), 0);
    struct answer a = next_answer(c, &at, false);
    put("index.html", "two");
    reload();
    fake_feed(c, get, strlen(get), 0);
    a = next_answer(c, &at, false);
    assert_body(&a, "two", 3);
    assert_int_equal(http_sites_held(sites(), 0), 1);
    assert_int_equal(http_sites_held(sites(), 1), 1);
    put("index.html", "three");
    reload();
    fake_feed(c, get, strlen(get), 0);  // a third site would be in use: the last answer
    a = next_answer(c, &at, false);
    assert_body(&a, "two", 3);
    assert_field(&a, "Connection", "close");
    assert_true(c->shut);
    fake_drain(c);
    fake_end(c);
    fake_close(c);
    assert_int_equal(fake_release(service), 2);
}

static void content_that_is_being_read_keeps_the_chosen_answer(void **state)
{
    struct c10m_conn *c = fake_open(service);
    static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nab";
    size_t at = 0;
    fake_feed(c, head, strlen(head), 0);
    put("index.html", "two");
    reload();
    assert_int_equal(fake_release(service), 0);
    answers(c, &at, "c", 200, "one");
    answers(c, &at, get, 200, "two");
    assert_int_equal(fake_release(service), 1);
    fake_close(c);
}

// A reader that is slow enough could hold the files of every reload.
static void for_a_ninth_site_the_readers_of_the_oldest_are_reset(void **state)
{
    struct c10m_conn *slow[HTTP_PLACES];
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        slow[i] = fake_open(service);
        fake_feed(slow[i], get_big, strlen(get_big), 0);
        if (i + 1 < HTTP_PLACES)
            reload();
        assert_int_equal(fake_release(service), 0);
    }
    assert_int_equal(fake_image_sets(service), HTTP_PLACES);
    fake_tells_aborts(service);
    put("index.html", "last");
    reload();
    assert_true(slow[0]->aborted);
    for (unsigned i = 1; i < HTTP_PLACES; i++)
        assert_false(slow[i]->aborted);
    assert_int_equal(fake_counter(service, "replaced_aborted"), 1);
    assert_int_equal(fake_image_sets(service), HTTP_PLACES);
    struct c10m_conn *c = fake_open(service);
    size_t at = 0;
    answers(c, &at, get, 200, "last");
    for (unsigned i = 0; i < HTTP_PLACES; i++) {
        size_t slow_at = 0;
        const struct answer a = next_answer(slow[i], &slow_at, false);
        assert_body(&a, big[0], big_bytes[0]);
        fake_close(slow[i]);
    }
    fake_close(c);
    assert_int_equal(fake_release(service), HTTP_PLACES - 1);
}

static void without_memory_the_old_files_stay(void **state)
{
    fake_memory_lacks(service, 1);
    refused("no memory for");
    assert_int_equal(fake_image_sets(service), 1);
    struct c10m_conn *c = fake_open(service);
    size_t at = 0;
    answers(c, &at, get, 200, "one");
    fake_close(c);
}

static void for_memory_the_readers_of_replaced_files_are_reset(void **state)
{
    struct c10m_conn *slow = fake_open(service), *now = fake_open(service);
    size_t at = 0;
    fake_tells_aborts(service);
    fake_feed(slow, get_big, strlen(get_big), 0);
    reload();
    fake_feed(now, get_big, strlen(get_big), 0);
    fake_memory_lacks(service, 1);
    put("index.html", "two");
    reload();
    assert_true(slow->aborted);
    assert_false(now->aborted);  // what it sends is not replaced yet
    assert_int_equal(fake_counter(service, "replaced_aborted"), 1);
    const struct answer a = next_answer(now, &at, false);
    assert_body(&a, big[0], big_bytes[0]);
    fake_close(slow);
    fake_close(now);
}

static void too_many_bytes_are_refused(void **state)
{
    fake_service_free(service);
    service = fake_service_new(&app_http, limited, text, sizeof(text));
    assert_non_null(service);
    put("more", "0123456789");
    reload();
    temp_tree_file(root, "more", big[0], 20000);
    refused("bytes_max = 210000");
}

static void append(void)
{
    char path[TEMP_PATH_BYTES + 64];
    snprintf(path, sizeof(path), "%s/goes", root);
    FILE *f = fopen(path, "a");
    assert_non_null(f);
    assert_int_equal(fputc('!', f), '!');
    assert_int_equal(fclose(f), 0);
}

static void a_file_that_changes_while_it_is_read_is_read_again(void **state)
{
    // Only one file is left, so that the changes are of the one that is being read.
    take_away("index.html");
    take_away("stays");
    take_away("big");
    struct c10m_conn *c = fake_open(service);
    size_t at = 0;
    change = append;
    changes_left = 2;
    reload();
    answers(c, &at, "GET /goes HTTP/1.1\r\nHost: a\r\n\r\n", 200, "goes!!");
    fake_close(c);
}

static void a_file_that_does_not_stop_changing_is_refused(void **state)
{
    take_away("index.html");
    take_away("stays");
    take_away("big");
    change = append;
    changes_left = 100;
    refused("/goes: changed while it was read");
    changes_left = 0;
    reload();
}

// A start may run as root, and a reload does not.
static void a_file_that_cannot_be_read_is_refused_and_named(void **state)
{
    char path[TEMP_PATH_BYTES + 64];
    const bool is_root = geteuid() == 0;
    snprintf(path, sizeof(path), "%s/stays", root);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(path, 0), 0);
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    refused("/stays: Permission denied");
    if (is_root)
        assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(path, 0644), 0);
    reload();
}

static void what_a_start_has_skipped_is_skipped_again(void **state)
{
    char path[TEMP_PATH_BYTES + 64];
    const char *last;
    const bool is_root = geteuid() == 0;
    snprintf(path, sizeof(path), "%s/stays", root);
    assert_int_equal(chmod(root, 0755), 0);
    assert_int_equal(chmod(path, 0), 0);
    fake_service_free(service);
    if (is_root)
        assert_int_equal(seteuid(NOBODY), 0);
    service = fake_service_new(&app_http, plain, text, sizeof(text));
    assert_non_null(service);
    assert_int_equal(site_now()->skipped, 1);
    reload();
    assert_int_equal(site_now()->skipped, 1);
    assert_int_equal(fake_warnings(service, &last), 1);  // of the start
    if (is_root)
        assert_int_equal(seteuid(0), 0);
}

static void a_server_that_stops_ends_the_reading(void **state)
{
    fake_stopping(service, true);
    refused("the server stops");
    fake_stopping(service, false);
}

static void a_root_that_is_gone_is_refused(void **state)
{
    char moved[TEMP_PATH_BYTES + 8];
    snprintf(moved, sizeof(moved), "%s.gone", root);
    assert_int_equal(rename(root, moved), 0);
    refused("No such file or directory");
    assert_int_equal(rename(moved, root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)
        HERE(the_files_of_now_are_served),
        HERE(a_first_directory_may_come_with_a_reload),
        HERE(what_has_begun_ends_with_the_old_bytes),
        HERE(a_range_of_the_old_file_is_not_one_of_the_new),
        HERE(the_old_files_are_kept_for_the_last_reader_only),
        HERE(an_idle_connection_lets_go_when_its_last_bytes_are_acknowledged),
        HERE(requests_behind_an_old_answer_get_the_new_files),
        HERE(content_that_is_being_read_keeps_the_chosen_answer),
        HERE(for_a_ninth_site_the_readers_of_the_oldest_are_reset),
        HERE(without_memory_the_old_files_stay),
        HERE(for_memory_the_readers_of_replaced_files_are_reset),
        HERE(too_many_bytes_are_refused),
        HERE(a_file_that_changes_while_it_is_read_is_read_again),
        HERE(a_file_that_does_not_stop_changing_is_refused),
        HERE(a_file_that_cannot_be_read_is_refused_and_named),
        HERE(what_a_start_has_skipped_is_skipped_again),
        HERE(a_server_that_stops_ends_the_reading),
        HERE(a_root_that_is_gone_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
