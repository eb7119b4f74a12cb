// SPDX-License-Identifier: BSD-3-Clause
// The access log: what is written for each answer, and what happens when it cannot be.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/apps.h"
#include "app/http/access_log.h"
#include "unit/check.h"
#include "unit/fake_stack.h"
#include "unit/temp_tree.h"

#define HOST "Host: a\r\n"

static char root[TEMP_PATH_BYTES], path[TEMP_PATH_BYTES + 16];

static int make_root(void **state)
{
    static const struct temp_entry entries[] = {
        {"site/", NULL, NULL}, {"site/index.html", "<p>hello</p>", NULL}, {"site/empty", "", NULL}};
    temp_tree_make(root, entries, 3);
    snprintf(path, sizeof(path), "%s/log", root);
    return 0;
}

static int remove_root(void **state)
{
    temp_tree_remove(root);
    return 0;
}

static struct c10m_service *serve(const char *format)
{
    char err[256], site[TEMP_PATH_BYTES + 16];
    snprintf(site, sizeof(site), "%s/site", root);
    const char *params[] = {
        "root", site, "echo_path", "/echo", "access_log", path, "access_log_format", format, NULL};
    unlink(path);
    struct c10m_service *s = fake_service_new(&app_http, params, err, sizeof(err));
    if (s == NULL)
        fail_msg("%s", err);
    return s;
}

// The file's text with the times blotted out; valid until the next call.
static const char *log_text(const char *file)
{
    static char text[65536];
    FILE *f = fopen(file, "r");
    assert_non_null(f);
    size_t n = fread(text, 1, sizeof(text) - 1, f);
    fclose(f);
    text[n] = '\0';
    for (char *p = text; (p = strstr(p, "- - [")) != NULL; p += 5) {
        char *end = strstr(p, " +0000] ");
        assert_non_null(end);
        assert_int_equal(end - p, 25);
        memmove(p + 5, end, strlen(end) + 1);
    }
    return text;
}

static void talk(struct c10m_service *s, const char *text, size_t len, bool then_late)
{
    struct c10m_conn *c = fake_open(s);
    fake_feed(c, text, len, 0);
    fake_drain(c);
    if (then_late)
        fake_advance(c, 40000);
    fake_close(c);
}

#define TALK(s, text) talk(s, text, sizeof(text) - 1, false)

static void each_answer_has_its_line_in_the_common_format(void **state)
{
    struct c10m_service *s = serve("common");
    TALK(s, "GET / HTTP/1.1\r\n" HOST "User-Agent: u\r\n\r\n"
            "HEAD /?a=b HTTP/1.1\r\n" HOST "\r\n"
            "GET /empty HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            "GET /no HTTP/1.1\r\n" HOST "\r\n"
            "GET / HTTP/1.1\r\n" HOST "Range: bytes=3-4\r\n\r\n"
            "GET / HTTP/1.1\r\n" HOST "If-None-Match: *\r\n\r\n"
            "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 3\r\nExpect: 100-continue\r\n\r\nabc"
            "\r\nGET / HTTP/1.1\r\n" HOST "X : y\r\n\r\n");
    assert_int_equal(fake_log_end(s), 0);
    assert_string_equal(log_text(path), "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 200 12\n"
                                        "192.0.2.7 - - [ +0000] \"HEAD /?a=b HTTP/1.1\" 200 -\n"
                                        "192.0.2.7 - - [ +0000] \"GET /empty HTTP/1.0\" 200 -\n"
                                        "192.0.2.7 - - [ +0000] \"GET /no HTTP/1.1\" 404 9\n"
                                        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 206 2\n"
                                        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 304 -\n"
                                        "192.0.2.7 - - [ +0000] \"POST /echo HTTP/1.1\" 200 3\n"
                                        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 400 11\n");
    fake_service_free(s);
}

// The time in brackets is that of the answer's Date, in the form of the Common format.
static void a_line_has_the_time_of_its_answer(void **state)
{
    struct c10m_service *s = serve("common");
    struct c10m_conn *c = fake_open_at(s, SIZE_MAX, 123456789000000);
    const char *get = "GET / HTTP/1.1\r\n" HOST "\r\n";
    char day[3], month[4], year[5], clock[9], want[64], text[256];
    fake_feed(c, get, strlen(get), 0);
    fake_log_end(s);
    const char *date = strstr((const char *)c->out.at, "\r\nDate: ");
    assert_non_null(date);
    assert_memory_equal(date + 8, "Mon, 23 Nov 2026 13:14:08 GMT\r\n", 31);
    assert_int_equal(sscanf(date, "\r\nDate: %*3s, %2s %3s %4s %8s GMT", day, month, year, clock),
                     4);
    snprintf(want, sizeof(want), "192.0.2.7 - - [%s/%s/%s:%s +0000] \"", day, month, year, clock);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_non_null(fgets(text, sizeof(text), f));
    fclose(f);
    text[strlen(want)] = '\0';
    assert_string_equal(text, want);
    fake_close(c);
    fake_service_free(s);
}

static void the_combined_format_adds_referer_and_user_agent(void **state)
{
    struct c10m_service *s = serve("combined");
    TALK(s,
         "GET / HTTP/1.1\r\n" HOST "user-agent: curl/8 (x)\r\nReferer:  http://b/ \r\n\r\n"
         "GET / HTTP/1.1\r\n" HOST "\r\n"
         "POST /echo HTTP/1.1\r\n" HOST "User-Agent: u\r\nContent-Length: 1\r\n\r\nx"
         "POST /echo HTTP/1.1\r\n" HOST "User-Agent: v\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n");
    fake_log_end(s);
    assert_string_equal(
        log_text(path),
        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 200 12 \"http://b/\" \"curl/8 (x)\"\n"
        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 200 12 \"-\" \"-\"\n"
        "192.0.2.7 - - [ +0000] \"POST /echo HTTP/1.1\" 200 1 \"-\" \"u\"\n"
        "192.0.2.7 - - [ +0000] \"POST /echo HTTP/1.1\" 400 11 \"-\" \"v\"\n");
    fake_service_free(s);
}

static void no_byte_of_a_request_can_forge_a_line(void **state)
{
    struct c10m_service *s = serve("combined");
    TALK(s, "GET /\"\\ HTTP/1.1\r\n" HOST "\r\n");
    TALK(s, "GET /\x01\xff\x7f\x1b[0m HTTP/1.1\r\n");
    TALK(s, "\r\nGET / HTTP/1.1\n192.0.2.8 - -\r\n\r\n");
    TALK(s, "\x16\x03\x01");
    TALK(s, "GET / HTTP/1.1\r\n" HOST "Referer: \"\\\xe4\t\"\r\n\r\n");
    fake_log_end(s);
    assert_string_equal(
        log_text(path),
        "192.0.2.7 - - [ +0000] \"GET /\\\"\\\\ HTTP/1.1\" 400 11 \"-\" \"-\"\n"
        "192.0.2.7 - - [ +0000] \"GET /\\x01\\xff\\x7f\\x1b[0m HTTP/1.1\" 400 11 \"-\" \"-\"\n"
        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 400 11 \"-\" \"-\"\n"
        "192.0.2.7 - - [ +0000] \"\\x16\\x03\\x01\" 400 11 \"-\" \"-\"\n"
        "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 200 12 \"\\\"\\\\\\xe4\\x09\\\"\" \"-\"\n");
    fake_service_free(s);
}

static void long_texts_are_cut_and_late_requests_have_a_line_too(void **state)
{
    struct c10m_service *s = serve("combined");
    char text[9000];
    int n = snprintf(text, sizeof(text),
                     "GET /%02000d HTTP/1.1\r\n" HOST "User-Agent: %0500d\r\n\r\n", 0, 0);
    talk(s, text, (size_t)n, false);
    talk(s, "GET / HT", 8, true);
    talk(s, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nx", 51, true);
    fake_log_end(s);
    const char *got = log_text(path);
    assert_int_equal(strcspn(strchr(got, '"') + 1, "\""), HTTP_LOG_REQUEST_MAX);
    assert_non_null(strstr(got, "0\" 404 9 \"-\" \"000"));
    const char *second = strchr(got, '\n') + 1;
    assert_int_equal(second - strstr(got, "\"000"), HTTP_LOG_FIELD_MAX + 3);
    assert_string_equal(second,
                        "192.0.2.7 - - [ +0000] \"-\" 408 15 \"-\" \"-\"\n"
                        "192.0.2.7 - - [ +0000] \"POST /echo HTTP/1.1\" 408 15 \"-\" \"-\"\n");
    fake_service_free(s);
}

static void what_finds_the_ring_full_is_counted_and_answered_all_the_same(void **state)
{
    struct c10m_service *s = serve("common");
    fake_refuse_logs(s, 2);
    for (unsigned i = 0; i < 3; i++)
        TALK(s, "GET / HTTP/1.1\r\n" HOST "\r\n");
    fake_log_end(s);
    assert_int_equal(fake_counter(s, "log_dropped"), 2);
    assert_int_equal(fake_counter(s, "responses_2xx"), 3);
    assert_string_equal(log_text(path), "192.0.2.7 - - [ +0000] \"GET / HTTP/1.1\" 200 12\n");
    fake_service_free(s);
}

static void a_rotated_file_is_left_and_a_new_one_begun(void **state)
{
    struct c10m_service *s = serve("common");
    char old[TEMP_PATH_BYTES + 32];
    struct stat st;
    TALK(s, "GET / HTTP/1.1\r\n" HOST "\r\n");
    fake_log_end(s);
    snprintf(old, sizeof(old), "%s.1", path);
    assert_int_equal(rename(path, old), 0);
    for (unsigned i = 0; i < 30 && stat(path, &st) != 0; i++) {
        usleep(100000);  // it looks once a second
        TALK(s, "GET /no HTTP/1.1\r\n" HOST "\r\n");
        fake_log_end(s);
    }
    assert_non_null(strstr(log_text(path), "/no"));
    assert_int_equal(st.st_mode & 0777, 0640);
    assert_non_null(strstr(log_text(old), "GET / HTTP/1.1"));
    fake_service_free(s);
}

static void an_order_opens_the_file_again_at_once(void **state)
{
    char err[128], old[TEMP_PATH_BYTES + 32];
    unlink(path);
    struct http_log *log = http_log_open(path, false, err, sizeof(err));
    struct http_log_record r = {.status = 200};
    assert_non_null(log);
    snprintf(old, sizeof(old), "%s.1", path);
    assert_int_equal(http_log_put(log, NULL, 0), 0);  // it has looked in this second
    assert_int_equal(http_log_put(log, &r, http_log_bytes(&r)), 0);
    assert_int_equal(rename(path, old), 0);
    assert_int_equal(http_log_put(log, NULL, C10M_LOG_REOPEN), 0);
    r.status = 404;
    assert_int_equal(http_log_put(log, &r, http_log_bytes(&r)), 0);
    http_log_close(log);
    assert_non_null(strstr(log_text(old), " 200 "));
    assert_null(strstr(log_text(old), " 404 "));
    assert_non_null(strstr(log_text(path), " 404 "));
}

static void a_file_that_takes_nothing_loses_lines_and_says_how_many(void **state)
{
    char err[128];
    struct http_log *log = http_log_open("/dev/full", false, err, sizeof(err));
    assert_non_null(log);
    struct http_log_record r = {.request_bytes = 1};
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(http_log_put(log, &r, http_log_bytes(&r)), 0);
    assert_int_equal(http_log_put(log, NULL, 0), 5);
    assert_int_equal(http_log_put(log, NULL, 0), 0);
    http_log_close(log);
}

static void many_lines_between_two_writes_fit(void **state)
{
    char err[128];
    unlink(path);
    struct http_log *log = http_log_open(path, true, err, sizeof(err));
    struct http_log_record r = {.request_bytes = HTTP_LOG_REQUEST_MAX,
                                .referer_bytes = HTTP_LOG_FIELD_MAX,
                                .agent_bytes = HTTP_LOG_FIELD_MAX,
                                .bytes = UINT64_MAX,
                                .status = 65535,
                                .unix_s = 253402300799};
    memset(r.texts, 0xff, sizeof(r.texts));
    memset(r.peer, 0x1f, sizeof(r.peer));
    char line[HTTP_LOG_LINE_MAX];
    size_t len = http_log_line(&r, true, line);
    assert_true(len <= HTTP_LOG_LINE_MAX);
    for (unsigned i = 0; i < 1000; i++)
        assert_int_equal(http_log_put(log, &r, http_log_bytes(&r)), 0);
    http_log_close(log);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 1000 * len);
}

static void what_cannot_be_logged_to_is_refused(void **state)
{
    char err[256], site[TEMP_PATH_BYTES + 16];
    snprintf(site, sizeof(site), "%s/site", root);
    const char *nowhere[] = {"root", site, "access_log", "/nonexistent/log", NULL};
    assert_null(fake_service_new(&app_http, nowhere, err, sizeof(err)));
    assert_non_null(strstr(err, "/nonexistent/log"));
    const char *format[] = {"root", site, "access_log_format", "json", NULL};
    assert_null(fake_service_new(&app_http, format, err, sizeof(err)));
    assert_non_null(strstr(err, "common or combined"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_answer_has_its_line_in_the_common_format),
        cmocka_unit_test(a_line_has_the_time_of_its_answer),
        cmocka_unit_test(the_combined_format_adds_referer_and_user_agent),
        cmocka_unit_test(no_byte_of_a_request_can_forge_a_line),
        cmocka_unit_test(long_texts_are_cut_and_late_requests_have_a_line_too),
        cmocka_unit_test(what_finds_the_ring_full_is_counted_and_answered_all_the_same),
        cmocka_unit_test(a_rotated_file_is_left_and_a_new_one_begun),
        cmocka_unit_test(an_order_opens_the_file_again_at_once),
        cmocka_unit_test(a_file_that_takes_nothing_loses_lines_and_says_how_many),
        cmocka_unit_test(many_lines_between_two_writes_fit),
        cmocka_unit_test(what_cannot_be_logged_to_is_refused),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
