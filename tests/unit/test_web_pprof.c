// SPDX-License-Identifier: BSD-3-Clause
// Claims about the routes /debug/pprof/ of the control port and about the files prof/ of the tree,
// tried with kinds of profiles that say what they were asked for.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/shared.h"
#include "c10m/tree.h"
#include "ctl/files/tree_prof.h"
#include "ctl/http/control_http_conn.h"
#include "ctl/http/web_auth.h"
#include "ctl/http/web_static.h"
#include "prof/prof_state.h"
#include "unit/check.h"
#include "unit/web_client.h"

#define TOKEN  "0123456789abcdefXYZ-"
#define BEARER CLOSE "Authorization: Bearer " TOKEN "\r\n"
#define BASIC  "QWxhZGRpbjowMTIzNDU2Nzg5YWJjZGVmWFlaLQ=="  // Aladdin:TOKEN

static struct tree *tree;
static struct prof *prof;
static struct ctl_prof_files *files;
static struct err e;

// ---- kinds

enum { LONG_BYTES = 1 << 20 };

static unsigned begun, released;
static bool stop_fails;
static struct shared_bool gate;  // write() waits for it

static int fake_begin(const struct prof_shown *s, const struct prof_query *q, void **state,
                      struct err *err)
{
    if (q->filter != NULL && strcmp(q->filter, "bad") == 0) {
        err_set(err, "expected a filter, got \"bad\"");
        return -EINVAL;
    }
    char *text = malloc(256);
    snprintf(text, 256, "seconds %u debug %u format %s filter %s\n", q->seconds, q->debug,
             q->format == NULL ? "-" : q->format, q->filter == NULL ? "-" : q->filter);
    *state = text;
    begun++;
    return 0;
}

static int fake_stop(void *state, struct err *err)
{
    return stop_fails ? err_set(err, "stop: no") : 0;
}

static int fake_write(void *state, struct text *out, struct err *err)
{
    while (!shared_bool_load_acquire(&gate))
        usleep(100);
    return text_printf(out, "%s", (const char *)state);
}

static int long_write(void *state, struct text *out, struct err *err)
{
    for (unsigned i = 0; i < LONG_BYTES / 16; i++)
        text_printf(out, "%015u\n", i);
    return 0;
}

static void fake_release(void *state)
{
    released++;
    free(state);
}

static const char *fake_type(const struct prof_query *q)
{
    return q->debug == 0 ? "application/octet-stream" : "text/plain; charset=utf-8";
}

static uint64_t seven(const struct prof_shown *s)
{
    return 7;
}

#define FAKE(kind_name)                                                                            \
    .name = kind_name, .help = "a <fake> & more", .begin = fake_begin, .stop = fake_stop,          \
    .release = fake_release, .type = fake_type

static const struct prof_kind profile = {FAKE("profile"), .timed = true, .write = fake_write};
static const struct prof_kind heap = {FAKE("heap"), .write = fake_write, .count = seven};
static const struct prof_kind large = {FAKE("large"), .write = long_write};
static const struct prof_kind *const kinds[] = {&profile, &heap, &large};

static void run_profiles(void)
{
    prof_turn(prof, prof_clock_ms());
}

static int setup_with(const char *token)
{
    const struct prof_params pp = {.kinds = kinds, .n_kinds = ARRAY_LEN(kinds)};
    begun = released = 0;
    stop_fails = false;
    shared_bool_store(&gate, true);
    tree = tree_create();
    prof = prof_new(&pp, &e);
    files = ctl_prof_files_new(tree, prof, &e);
    assert_non_null(files);
    const struct ctl_http_params p = {.name = "box",
                                      .token = token,
                                      .statics = web_statics,
                                      .n_statics = web_n_statics,
                                      .prof = prof};
    assert_int_equal(ctl_loop_init(&loop, &e), 0);
    http = ctl_http_start(&loop, tree, &p, &e);
    between_turns = run_profiles;
    return http == NULL;
}

static int setup(void **state)
{
    return setup_with("");
}

static int setup_token(void **state)
{
    return setup_with(TOKEN);
}

static int teardown(void **state)
{
    ctl_http_stop(http);
    ctl_loop_fini(&loop);
    tree_destroy(tree);
    ctl_prof_files_free(files);
    prof_free(prof);
    return begun == released ? 0 : -1;
}

// fetch: GET with the token. expect: the same, and the status that has to come.
static void fetch(const char *path)
{
    char request[8192];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" BEARER "\r\n", path);
    ask(request);
}

static void expect(const char *path, int want)
{
    fetch(path);
    if (status() != want)
        fail_msg("%s: %.60s, expected %d", path, got, want);
}

// asked: a client that has sent the request and waits for the answer.
static int asked(const char *request)
{
    const int fd = client();
    send_all(fd, request, strlen(request));
    return fd;
}

static unsigned runs(void)
{
    struct text t;
    text_init(&t, 1 << 16);
    prof_render(prof, &t);
    const unsigned n = (unsigned)atoi(strstr(text_str(&t), "runs_now ") + 9);
    text_free(&t);
    return n;
}

static void wait_for_runs(unsigned n)
{
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    while (runs() != n) {
        turn();
        assert_true(now_ms() < end_ms);
    }
}

// ---- profiles

static void a_profile_comes_as_from_go(void **state)
{
    fetch("/debug/pprof/heap");
    assert_int_equal(status(), 200);
    assert_true(has("Content-Type: application/octet-stream\r\n"));
    assert_true(has("Content-Disposition: attachment; filename=\"heap\"\r\n"));
    assert_true(has("X-Content-Type-Options: nosniff\r\n"));
    assert_true(has("Content-Length: 36\r\n"));
    assert_false(has("X-Go-Pprof"));
    assert_string_equal(content(), "seconds 0 debug 0 format - filter -\n");
    fetch("/debug/pprof/heap?debug=1");
    assert_true(has("Content-Type: text/plain; charset=utf-8\r\n"));
    assert_false(has("Content-Disposition"));
}

static void parameters_reach_the_profile(void **state)
{
    fetch("/debug/pprof/heap?gc=1&x&debug=2&format=chrome&filter=state%3Dopen+port%3D80&=&a=b=c");
    assert_string_equal(content(), "seconds 0 debug 2 format chrome filter state=open port=80\n");
}

static void a_profile_takes_its_seconds(void **state)
{
    const uint64_t begin_ms = now_ms();
    fetch("/debug/pprof/profile?seconds=1");
    assert_string_equal(content(), "seconds 1 debug 0 format - filter -\n");
    assert_in_range(now_ms() - begin_ms, 1000, 5000);
}

static void a_long_profile_comes_whole(void **state)
{
    fetch("/debug/pprof/large");
    assert_int_equal(strlen(content()), LONG_BYTES);
    assert_string_equal(content() + LONG_BYTES - 16, "000000000065535\n");
}

static void others_are_served_beside_it(void **state)
{
    const int fd = asked("GET /debug/pprof/profile?seconds=1 HTTP/1.1\r\n" BEARER "\r\n");
    fetch("/proc/prof/runs");
    assert_non_null(strstr(content(), "\nprofile 127.0.0.1 1 takes "));
    fetch("/debug/pprof/heap");
    assert_int_equal(status(), 200);
    receive_all(fd);
    assert_int_equal(status(), 200);
}

static void a_connection_is_used_again_after_a_profile(void **state)
{
    ask("GET /debug/pprof/heap?debug=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN
        "\r\n\r\n"
        "GET /debug/pprof/heap?debug=2 HTTP/1.1\r\n" BEARER "\r\n");
    assert_non_null(strstr(got, "seconds 0 debug 1 "));
    assert_non_null(strstr(got, "seconds 0 debug 2 "));
}

static void a_head_takes_no_profile(void **state)
{
    static const char *const paths[] = {"profile", "heap", "symbol", "cmdline", ""};
    for (unsigned i = 0; i < ARRAY_LEN(paths); i++) {
        char request[128];
        snprintf(request, sizeof(request), "HEAD /debug/pprof/%s HTTP/1.1\r\n" BEARER "\r\n",
                 paths[i]);
        ask(request);
        assert_int_equal(status(), 200);
        assert_true(content()[0] == '\0' || has("Connection: close\r\n"));
        assert_null(strstr(content(), "format"));
    }
    assert_int_equal(begun, 0);
}

// ---- failures, as go tool pprof prints them

static void expect_error(const char *path, int want, const char *text)
{
    expect(path, want);
    assert_true(has("X-Go-Pprof: 1\r\n"));
    assert_true(has("Content-Type: text/plain; charset=utf-8\r\n"));
    assert_false(has("Content-Disposition"));
    assert_non_null(strstr(content(), text));
}

static void what_is_malformed_is_400(void **state)
{
    expect_error("/debug/pprof/profile?seconds=x", 400, "seconds: expected a number from 0 to");
    expect_error("/debug/pprof/heap?debug=9", 400, "debug: expected");
    expect_error("/debug/pprof/heap?format=svg", 400, "format: expected go, perfetto or chrome");
    expect_error("/debug/pprof/heap?filter=%00", 400, "filter: expected");
    expect_error("/debug/pprof/heap?filter=bad", 400, "heap: expected a filter, got \"bad\"");
    assert_int_equal(begun, 0);
}

static void what_is_not_there_is_404(void **state)
{
    static const char *const paths[] = {"hea", "heapx", "heap/", "/heap", "..", "%68eap", "HEAP"};
    for (unsigned i = 0; i < ARRAY_LEN(paths); i++) {
        char path[64];
        snprintf(path, sizeof(path), "/debug/pprof/%s", paths[i]);
        expect_error(path, 404, "Unknown profile");
    }
    expect("/debug", 404);
    expect("/debug/", 404);
    expect("/debug/pprofx", 404);
    expect("/debug/pprof-", 404);
}

static void a_profile_that_fails_is_500(void **state)
{
    stop_fails = true;
    expect_error("/debug/pprof/heap", 500, "stop: no");
    assert_int_equal(http->web.counts.failed, 1);
    assert_int_equal(runs(), 0);
}

static void too_many_are_503_and_say_so(void **state)
{
    int fds[PROF_RUNS_CLIENT_MAX];
    for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
        fds[i] = asked("GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n" BEARER "\r\n");
    wait_for_runs(PROF_RUNS_CLIENT_MAX);
    expect_error("/debug/pprof/profile?seconds=1", 503, "the most of one client");
    fetch("/proc/control/prof");
    assert_non_null(strstr(content(), "\nrefused_client 1\n"));
    for (unsigned i = 0; i < ARRAY_LEN(fds); i++)
        close(fds[i]);
    wait_for_runs(0);
    expect("/debug/pprof/heap", 200);
}

// use_up: what the client may begin now and in the next hour.
static void use_up(const char *name)
{
    assert_int_equal(prof_starts_take(&prof->starts, name, prof_clock_ms() + 3600 * 1000), 0);
}

static void too_often_is_429_and_says_when_again(void **state)
{
    use_up("127.0.0.1");
    expect_error("/debug/pprof/heap", 429, "heap: this client may begin 32 profiles at once");
    assert_true(has("Retry-After: 1\r\n"));
    expect_error("/debug/pprof/profile?seconds=1", 429, "again in 3");
    expect_error("/debug/pprof/symbol?0x1", 429, "this client");
    expect("/debug/pprof/cmdline", 200);  // these begin nothing
    assert_false(has("Retry-After"));
    expect("/debug/pprof/", 200);
    assert_int_equal(begun, 0);
    fetch("/proc/control/prof");
    assert_non_null(strstr(content(), "\nrefused_often 3\n"));
}

static void other_methods_are_405(void **state)
{
    ask("POST /debug/pprof/heap HTTP/1.1\r\n" BEARER "X-C10M: 1\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(status(), 405);
    assert_true(has("Allow: GET, HEAD\r\n"));
    ask("PUT /debug/pprof/symbol HTTP/1.1\r\n" BEARER "X-C10M: 1\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(status(), 405);
    assert_true(has("Allow: GET, HEAD, POST\r\n"));
    assert_int_equal(begun, 0);
}

// ---- clients that go, a server that stops

static void a_client_that_goes_ends_its_profile(void **state)
{
    const int fd = asked("GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n" BEARER "\r\n");
    wait_for_runs(1);
    close(fd);
    wait_for_runs(0);
    assert_int_equal(released, 1);
}

static void a_client_that_goes_while_it_is_written_ends_it_later(void **state)
{
    shared_bool_store(&gate, false);
    const int fd = asked("GET /debug/pprof/heap HTTP/1.1\r\n" BEARER "\r\n");
    wait_for_runs(1);
    close(fd);
    const uint64_t end_ms = now_ms() + 100;
    while (now_ms() < end_ms)
        turn();
    fetch("/proc/prof/runs");
    assert_non_null(strstr(content(), "\nheap 127.0.0.1 0 left "));
    shared_bool_store_release(&gate, true);
    wait_for_runs(0);
}

static void a_profile_may_take_longer_than_a_request(void **state)
{
    const int fd = asked("GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n" BEARER "\r\n");
    wait_for_runs(1);
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        assert_true(http->conns[i].fd < 0 || http->conns[i].due_ms == UINT64_MAX);
    close(fd);
    wait_for_runs(0);
}

// A client that takes a byte now and then keeps neither the memory nor the place for ever.
static void a_client_has_to_take_its_profile_in_time(void **state)
{
    const int fd = asked("GET /debug/pprof/large HTTP/1.1\r\n" BEARER "\r\n");
    struct http_conn *c = NULL;
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        c = http->conns[i].fd >= 0 ? &http->conns[i] : c;
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    char byte;
    while (recv(fd, &byte, 1, 0) != 1) {
        turn();
        assert_true(now_ms() < end_ms);
    }
    const uint64_t most_ms = (HTTP_PROFILE_S + LONG_BYTES / HTTP_PROFILE_BYTES_A_SECOND) * 1000;
    assert_in_range(c->due_ms, now_ms(), now_ms() + most_ms);
    assert_int_equal(runs(), 1);
    c->due_ms = now_ms();
    wait_for_runs(0);
    assert_int_equal(http->limits.timeouts, 1);
    close(fd);
}

static void a_server_may_stop_in_the_middle(void **state)
{
    const struct ctl_http_params p = {.name = "box", .token = TOKEN, .prof = prof};
    for (int turns = 0; turns < 6; turns++) {
        const int a = asked("GET /debug/pprof/profile?seconds=3600 HTTP/1.1\r\n" BEARER "\r\n");
        const int b = asked("GET /debug/pprof/heap HTTP/1.1\r\n" BEARER "\r\n");
        for (int i = 0; i < turns; i++)
            turn();
        ctl_http_stop(http);
        close(a);
        close(b);
        http = ctl_http_start(&loop, tree, &p, &e);
        assert_non_null(http);
        wait_for_runs(0);
    }
}

// ---- the other routes

static void the_index_lists_all_kinds(void **state)
{
    fetch("/debug/pprof/");
    assert_int_equal(status(), 200);
    assert_true(has("Content-Type: text/html; charset=utf-8\r\n"));
    assert_non_null(
        strstr(content(), "<td align=right>7</td><td><a href=\"heap?debug=1\">heap</a>"));
    assert_non_null(strstr(content(), "<a href=\"profile\">profile</a>"));
    assert_non_null(strstr(content(), "a &lt;fake> &amp; more"));
    assert_non_null(strstr(content(), "<a href=\"cmdline\">cmdline</a>"));
    fetch("/debug/pprof");
    assert_int_equal(status(), 301);
    assert_true(has("Location: pprof/\r\n"));
}

static void cmdline_has_the_arguments(void **state)
{
    char own[4096];
    FILE *f = fopen("/proc/self/cmdline", "r");
    assert_non_null(f);
    const size_t n = fread(own, 1, sizeof(own), f);
    fclose(f);
    fetch("/debug/pprof/cmdline");
    assert_true(has("Content-Type: text/plain; charset=utf-8\r\n"));
    const size_t head = (size_t)(content() - got);
    assert_int_equal(got_bytes - head, n - 1);
    assert_memory_equal(content(), own, n - 1);
}

static void symbols_have_names(void **state)
{
    char path[128], line[128];
    const unsigned long at = (unsigned long)(uintptr_t)symbols_have_names,
                        other = (unsigned long)(uintptr_t)a_head_takes_no_profile;
    snprintf(path, sizeof(path), "/debug/pprof/symbol?0x%lx+0x1+zz+0x%lx", at, other);
    snprintf(line, sizeof(line),
             "num_symbols: 1\n0x%lx symbols_have_names\n0x%lx a_head_takes_no_profile\n", at,
             other);
    fetch(path);
    assert_string_equal(content(), line);
    snprintf(line, sizeof(line), "num_symbols: 1\n0x%lx symbols_have_names\n", at);
    char request[512];
    const int n = snprintf(path, sizeof(path), "0x%lx", at);
    snprintf(request, sizeof(request),
             "POST /debug/pprof/symbol HTTP/1.1\r\n" BEARER "Content-Length: %d\r\n\r\n%s", n,
             path);
    ask(request);
    assert_string_equal(content(), line);
    fetch("/debug/pprof/symbol");
    assert_string_equal(content(), "num_symbols: 1\n");
}

static void a_query_is_bounded(void **state)
{
    static char path[HTTP_QUERY_BYTES_MAX + 64], request[sizeof(path) + 256];
    for (int over = 0; over < 2; over++) {
        const size_t n = HTTP_QUERY_BYTES_MAX + (size_t)over;
        const int head = snprintf(path, sizeof(path), "/debug/pprof/symbol?");
        memset(path + head, 'a', n);
        path[(size_t)head + n] = '\0';
        snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" BEARER "\r\n", path);
        ask(request);
        assert_int_equal(status(), over ? 414 : 200);
    }
}

static void symbols_are_bounded(void **state)
{
    enum { BODY_BYTES = 60000 };
    static char request[BODY_BYTES + 256];
    const int head = snprintf(
        request, sizeof(request),
        "POST /debug/pprof/symbol HTTP/1.1\r\n" BEARER "Content-Length: %d\r\n\r\n", BODY_BYTES);
    memset(request + head, '+', BODY_BYTES);
    ask(request);
    assert_int_equal(status(), 400);
    assert_non_null(strstr(content(), "expected at most 4096 addresses"));
}

// ---- who may ask

static void the_token_is_needed_here_too(void **state)
{
    static const char *const paths[] = {"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof",
                                        "/debug/pprof/cmdline", "/debug/pprof/nothing"};
    for (unsigned i = 0; i < ARRAY_LEN(paths); i++) {
        expect_status(paths[i], 401);
        assert_true(has("X-Go-Pprof: 1\r\n"));
        assert_true(has("WWW-Authenticate: Bearer realm=\"c10m\"\r\n"));
        assert_false(has("WWW-Authenticate: Basic"));  // browsers would keep the token
    }
    ask("POST /debug/pprof/symbol HTTP/1.1\r\n" CLOSE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 401);
    assert_int_equal(begun, 0);
    ask("GET /debug/pprof/heap HTTP/1.1\r\n" CLOSE "Authorization: Bearer " TOKEN "\r\n\r\n");
    assert_int_equal(status(), 200);
    ask("GET /debug/pprof/heap HTTP/1.1\r\n" CLOSE "Authorization: Basic " BASIC "\r\n\r\n");
    assert_int_equal(status(), 200);
}

static void without_a_token_code_is_for_root(void **state)
{
    expect_status("/debug/pprof/profile?seconds=1", 403);
    assert_non_null(strstr(content(), "http_token_file"));
    expect_status("/debug/pprof/symbol?0x1", 403);
    expect_status("/debug/pprof/heap", 200);
    expect_status("/debug/pprof/", 200);
    expect_status("/debug/pprof/cmdline", 200);
    assert_int_equal(begun, 1);
    assert_int_equal(http->web.counts.refused_mode, 2);
}

static void basic_opens_nothing_else(void **state)
{
    ask("GET /proc/version HTTP/1.1\r\n" CLOSE "Authorization: Basic " BASIC "\r\n\r\n");
    assert_int_equal(status(), 401);
    assert_false(has("WWW-Authenticate: Basic"));
}

static void only_the_token_is_the_password(void **state)
{
    static const char *const bad[] = {
        "Basic ",
        "Basic",
        "Basic " TOKEN,
        "Bearer " BASIC,
        "Basic QWxhZGRpbjowMTIzNDU2Nzg5YWJjZGVmWFlaLQ==x",
        "Basic QWxhZGRpbjowMTIzNDU2Nzg5YWJjZGVmWFlaLQ= ",
        "Basic QWxhZGRpbjowMTIzNDU2Nzg5YWJjZGVmWFlaLTA=",  // one character more
        "Basic MDEyMzQ1Njc4OWFiY2RlZlhZWi0=",              // no user
        "Basic QWxhZGRpbjowMTIzNDU2Nzg5YWJjZGVmWFlaLQA=",  // a byte 0 behind it
        "Basic QWxhZGRpbjow*TIzNDU2Nzg5YWJjZGVmWFlaLQ==",
    };
    char much[4096] = "Basic ";
    assert_true(web_password_good("Basic " BASIC, TOKEN));
    assert_true(web_password_good("basic " BASIC, TOKEN));
    assert_true(web_password_good("Basic OjAxMjM0NTY3ODlhYmNkZWZYWVot", TOKEN));  // user ""
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(web_password_good(bad[i], TOKEN));
    assert_false(web_password_good(NULL, TOKEN));
    assert_false(web_password_good("Basic Og==", ""));
    memset(much + 6, 'Q', sizeof(much) - 7);
    assert_false(web_password_good(much, TOKEN));
}

static void pages_of_other_sites_take_no_profiles(void **state)
{
    static const struct {
        const char *site;
        int status;
    } rows[] = {{"cross-site", 403}, {"same-site", 403}, {"same-origin", 200}, {"none", 200}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        char request[256];
        snprintf(request, sizeof(request),
                 "GET /debug/pprof/heap HTTP/1.1\r\n" CLOSE "Sec-Fetch-Site: %s\r\n\r\n",
                 rows[i].site);
        ask(request);
        assert_int_equal(status(), rows[i].status);
    }
    assert_int_equal(begun, 2);
}

// ---- files of the tree

static struct tree_handle *open_file(const char *name)
{
    static struct tree_session session;
    struct tree_handle *h;
    tree_session_init(&session, tree);
    struct tree_node *node = tree_lookup(tree_lookup(tree_root(tree), "prof"), name);
    assert_non_null(node);
    assert_int_equal(tree_open(&session, node, TREE_READ, &h), 0);
    return h;
}

// read_file: the whole file, to got; or the error.
static int read_file(const char *name)
{
    struct tree_handle *h = open_file(name);
    const char *data;
    ssize_t n;
    got_bytes = 0;
    while ((n = tree_read(h, got_bytes, 4096, &data)) != 0) {
        if (n == -EAGAIN) {
            run_profiles();
            usleep(1000);
            continue;
        }
        if (n < 0)
            break;
        memcpy(got + got_bytes, data, (size_t)n);
        got_bytes += (size_t)n;
    }
    got[got_bytes] = '\0';
    tree_close(h);
    return (int)n;
}

static int write_query(const char *text)
{
    static struct tree_session session;
    struct tree_handle *h;
    tree_session_init(&session, tree);
    struct tree_node *node = tree_lookup(tree_lookup(tree_root(tree), "prof"), "query");
    assert_int_equal(tree_open(&session, node, TREE_WRITE, &h), 0);
    const int rc = tree_write(h, text, strlen(text));
    tree_close(h);
    return rc;
}

static void a_file_is_a_profile(void **state)
{
    assert_int_equal(read_file("heap"), 0);
    assert_string_equal(got, "seconds 0 debug 0 format - filter -\n");
    assert_int_equal(read_file("large"), 0);
    assert_int_equal(got_bytes, LONG_BYTES);
    assert_int_equal(runs(), 0);
}

static void the_query_is_that_of_later_reads(void **state)
{
    assert_int_equal(write_query("seconds=1&debug=2\n"), 0);
    assert_int_equal(read_file("query"), 0);
    assert_string_equal(got, "seconds=1&debug=2\n");
    assert_int_equal(read_file("profile"), 0);
    assert_string_equal(got, "seconds 1 debug 2 format - filter -\n");
    assert_int_equal(write_query("seconds=many"), -EINVAL);
    assert_int_equal(write_query("seconds=1\nseconds=2\n"), -EINVAL);
    static char much[PROF_QUERY_BYTES_MAX + 1];
    memset(much, 'a', sizeof(much) - 1);
    assert_int_equal(write_query(much), -EINVAL);
    assert_int_equal(read_file("query"), 0);
    assert_string_equal(got, "seconds=1&debug=2\n");
    assert_int_equal(write_query("\n"), 0);
    assert_int_equal(read_file("query"), 0);
    assert_string_equal(got, "\n");
}

static void a_reader_that_closes_ends_its_profile(void **state)
{
    const char *data;
    struct tree_handle *h = open_file("profile");
    assert_int_equal(tree_read(h, 0, 4096, &data), -EAGAIN);
    assert_int_equal(runs(), 1);
    tree_close(h);
    assert_int_equal(runs(), 0);
    tree_close(open_file("profile"));  // nothing was read
    assert_int_equal(begun, 1);
}

static void the_tree_is_a_client_of_its_own_and_is_refused_as_busy(void **state)
{
    use_up("127.0.0.1");
    assert_int_equal(read_file("heap"), 0);
    use_up("tree");
    assert_int_equal(read_file("heap"), -EBUSY);
    assert_non_null(strstr(tree_reason(), "this client may begin 32 profiles at once"));
    assert_int_equal(begun, 1);
}

static void a_file_that_fails_says_why(void **state)
{
    stop_fails = true;
    assert_int_equal(read_file("heap"), -EIO);
    assert_string_equal(tree_reason(), "stop: no");
    stop_fails = false;
    assert_int_equal(write_query("filter=bad"), 0);
    assert_int_equal(read_file("heap"), -EINVAL);
}

static void files_are_for_root(void **state)
{
    expect_status("/proc/prof/heap", 403);
    expect_status("/proc/prof/query", 403);
    expect_status("/proc/prof/runs", 200);
    expect_status("/proc/control/prof", 200);
}

int main(void)
{
#define T(f)       cmocka_unit_test_setup_teardown(f, setup, teardown)
#define TOKEN_T(f) cmocka_unit_test_setup_teardown(f, setup_token, teardown)
    const struct CMUnitTest tests[] = {
        TOKEN_T(a_profile_comes_as_from_go),
        TOKEN_T(parameters_reach_the_profile),
        TOKEN_T(a_profile_takes_its_seconds),
        TOKEN_T(a_long_profile_comes_whole),
        TOKEN_T(others_are_served_beside_it),
        TOKEN_T(a_connection_is_used_again_after_a_profile),
        TOKEN_T(a_head_takes_no_profile),
        TOKEN_T(what_is_malformed_is_400),
        TOKEN_T(what_is_not_there_is_404),
        TOKEN_T(a_profile_that_fails_is_500),
        TOKEN_T(too_many_are_503_and_say_so),
        TOKEN_T(too_often_is_429_and_says_when_again),
        TOKEN_T(the_tree_is_a_client_of_its_own_and_is_refused_as_busy),
        TOKEN_T(other_methods_are_405),
        TOKEN_T(a_client_that_goes_ends_its_profile),
        TOKEN_T(a_client_that_goes_while_it_is_written_ends_it_later),
        TOKEN_T(a_profile_may_take_longer_than_a_request),
        TOKEN_T(a_client_has_to_take_its_profile_in_time),
        TOKEN_T(a_server_may_stop_in_the_middle),
        TOKEN_T(the_index_lists_all_kinds),
        TOKEN_T(cmdline_has_the_arguments),
        TOKEN_T(symbols_have_names),
        TOKEN_T(symbols_are_bounded),
        TOKEN_T(a_query_is_bounded),
        T(without_a_token_code_is_for_root),
        TOKEN_T(the_token_is_needed_here_too),
        TOKEN_T(basic_opens_nothing_else),
        cmocka_unit_test(only_the_token_is_the_password),
        T(pages_of_other_sites_take_no_profiles),
        TOKEN_T(a_file_is_a_profile),
        TOKEN_T(the_query_is_that_of_later_reads),
        TOKEN_T(a_reader_that_closes_ends_its_profile),
        TOKEN_T(a_file_that_fails_says_why),
        T(files_are_for_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
