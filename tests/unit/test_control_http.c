// SPDX-License-Identifier: BSD-3-Clause
// Claims about the control interface over HTTP, tried through libmicrohttpd on the real loop: this
// process is the server and, at the other ends of socket pairs, its clients.
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "ctl/http/control_http.h"
#include "ctl/http/control_http_conn.h"
#include "ctl/http/web_auth.h"
#include "ctl/http/web_path.h"
#include "ctl/http/web_static.h"
#include "unit/check.h"
#include "unit/web_client.h"

enum {
    LONG_BYTES = 300007,
};

#define TOKEN "0123456789abcdefXYZ-"

static struct tree *tree;
static struct tree_node *root;
static struct err e;

// ---- the tree that is served

static int number;
static size_t sink_bytes;
static unsigned sink_calls, never_calls, slow_calls;

static int number_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "value %d\n", *(int *)data);
}

static int number_write(const char *buf, size_t n, void *data)
{
    char text[16] = "";
    memcpy(text, buf, MIN(n, sizeof(text) - 1));
    const int value = atoi(text);
    if (value < 0 || value > 100)
        return tree_refuse(ERANGE, "expected 0 to 100, got %d", value);
    *(int *)data = value;
    return 0;
}

static int sink_write(const char *buf, size_t n, void *data)
{
    sink_bytes += n;
    sink_calls++;
    return 0;
}

static int busy_write(const char *buf, size_t n, void *data)
{
    return -EBUSY;
}

static int long_read(struct tree_out *out, void *data)
{
    for (int i = 0; i < LONG_BYTES; i++) {
        const char c = (char)('a' + i % 23);
        tree_put(out, &c, 1);
    }
    return 0;
}

static int failing_read(struct tree_out *out, void *data)
{
    return -ENOBUFS;
}

// slow_next: SLOW_LINES lines, each after SLOW_CALLS calls that had nothing.
enum { SLOW_LINES = 20, SLOW_CALLS = 5 };

static int slow_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    slow_calls++;
    if (++*at % SLOW_CALLS == 0)
        tree_printf(out, "line %u\n", *at / SLOW_CALLS);
    return *at < SLOW_LINES * SLOW_CALLS;
}

static int never_next(struct tree_out *out, void *cursor, void *data)
{
    never_calls++;
    return 1;
}

static int endless_next(struct tree_out *out, void *cursor, void *data)
{
    char block[4096];
    memset(block, 'x', sizeof(block));
    never_calls++;
    while (tree_room(out) >= sizeof(block))
        tree_put(out, block, sizeof(block));
    return 1;
}

static int breaking_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    if (++*at == 3)
        return -EIO;
    tree_printf(out, "piece %u\n", *at);
    return 1;
}

static void tree_fill(void)
{
    static const struct tree_ops slow = {.next = slow_next, .cursor_bytes = sizeof(unsigned)};
    static const struct tree_ops never = {.next = never_next};
    static const struct tree_ops endless = {.next = endless_next};
    static const struct tree_ops breaking = {.next = breaking_next,
                                             .cursor_bytes = sizeof(unsigned)};
    static const struct tree_ops value = {.read = number_read, .write = number_write};
    static const struct tree_ops sink = {.write = sink_write};
    static const struct tree_ops busy = {.write = busy_write};
    number = 42;
    sink_bytes = sink_calls = 0;
    assert_non_null(tree_file(root, "ctl/number", 0644, &value, &number));
    assert_non_null(tree_file(root, "ctl/open", 0666, &value, &number));
    assert_non_null(tree_file(root, "ctl/sink", 0222, &sink, NULL));
    assert_non_null(tree_file(root, "ctl/busy", 0222, &busy, NULL));
    assert_non_null(tree_file_ro(root, "long", long_read, NULL));
    assert_non_null(tree_file_ro(root, "a b\"c", number_read, &number));
    assert_non_null(tree_file(root, "slow", 0444, &slow, NULL));
    assert_non_null(tree_file(root, "never", 0444, &never, NULL));
    assert_non_null(tree_file(root, "endless", 0444, &endless, NULL));
    assert_non_null(tree_file(root, "breaking", 0444, &breaking, NULL));
    assert_non_null(tree_file_ro(root, "failing", failing_read, NULL));
    assert_non_null(tree_file(root, "secret", 0600, &value, &number));
    assert_non_null(tree_file_ro(root, "private/x", number_read, &number));
    assert_int_equal(tree_chmod(tree_lookup(root, "private"), 0700), 0);
    assert_non_null(tree_link(root, "n", "ctl/number"));
    assert_non_null(tree_link(root, "ctl/up", "../long"));
    assert_non_null(tree_link(root, "out", "../../etc/passwd"));
    assert_non_null(tree_link(root, "absolute", "/etc/passwd"));
    assert_non_null(tree_link(root, "round", "round"));
}

static int setup_with(const char *token)
{
    const struct ctl_http_params p = {
        .name = "box", .token = token, .statics = web_statics, .n_statics = web_n_statics};
    tree = tree_create();
    root = tree_root(tree);
    tree_fill();
    if (ctl_loop_init(&loop, &e) != 0)
        return -1;
    http = ctl_http_start(&loop, tree, &p, &e);
    if (http == NULL)
        print_error("%s\n", e.text);
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
    http = NULL;
    ctl_loop_fini(&loop);
    const struct tree_usage u = tree_usage(tree);
    tree_destroy(tree);
    return u.handles != 0 || u.snapshot_bytes != 0;
}

// ---- reading

static void a_file_comes_byte_for_byte_with_its_length(void **state)
{
    get("/proc/ctl/number");
    assert_int_equal(status(), 200);
    assert_string_equal(content(), "value 42\n");
    assert_true(has("Content-Length: 9\r\n"));
    assert_true(has("Content-Type: text/plain; charset=utf-8\r\n"));
    assert_true(has("Cache-Control: no-store\r\n"));
    get("/proc/long");
    assert_int_equal(strlen(content()), LONG_BYTES);
    for (int i = 0; i < LONG_BYTES; i++)
        assert_int_equal(content()[i], 'a' + i % 23);
}

static void head_says_the_same_without_the_content(void **state)
{
    ask("HEAD /proc/ctl/number HTTP/1.1\r\n" CLOSE "\r\n");
    assert_int_equal(status(), 200);
    assert_true(has("Content-Length: 9\r\n"));
    assert_string_equal(content(), "");
    ask("HEAD /proc/nothing HTTP/1.1\r\n" CLOSE "\r\n");
    assert_int_equal(status(), 404);
    assert_string_equal(content(), "");
    never_calls = 0;
    ask("HEAD /proc/endless HTTP/1.1\r\n" CLOSE "\r\n");
    assert_int_equal(status(), 200);
    assert_int_equal(never_calls, 0);
}

static void a_connection_is_used_again(void **state)
{
    const char *two = "GET /proc/n HTTP/1.1\r\nHost: 127.0.0.1:9910\r\n\r\n"
                      "GET /proc/ctl/up HTTP/1.1\r\n" CLOSE "\r\n";
    ask(two);
    assert_non_null(strstr(got, "value 42\n"));
    assert_non_null(strstr(got, "Content-Length: 300007"));
}

static void directories_are_lists(void **state)
{
    get("/proc/ctl");
    assert_string_equal(content(), "busy\nnumber\nopen\nsink\nup\n");
    get("/proc");
    assert_non_null(strstr(content(), "ctl/\n"));
    get("/proc/");
    assert_non_null(strstr(content(), "control/\n"));
    ask("GET /proc/ HTTP/1.1\r\n" CLOSE "Accept: application/json\r\n\r\n");
    assert_true(has("Content-Type: application/json\r\n"));
    assert_int_equal(content()[0], '[');
    assert_non_null(strstr(content(), "{\"name\":\"a b\\\"c\",\"kind\":\"file\"},\n"));
    assert_non_null(strstr(content(), "{\"name\":\"ctl\",\"kind\":\"dir\"},\n"));
    assert_non_null(strstr(content(), "{\"name\":\"n\",\"kind\":\"link\"},\n"));
    assert_string_equal(content() + strlen(content()) - 3, "}]\n");
}

static void names_may_be_escaped(void **state)
{
    get("/proc/a%20b%22c");
    assert_string_equal(content(), "value 42\n");
    get("/proc/%63tl/n%75mber?query=x");
    assert_string_equal(content(), "value 42\n");
}

static void no_path_leads_out_of_the_tree(void **state)
{
    static const char *const bad[] = {"/proc/..",
                                      "/proc/../etc/passwd",
                                      "/proc/ctl/../../x",
                                      "/proc/%2e%2e/etc",
                                      "/proc/.%2E/etc",
                                      "/proc//etc",
                                      "/proc/./ctl",
                                      "/proc/ctl/%00",
                                      "/proc/ctl%2fopen",
                                      "/proc/ctl/number%0a",
                                      "/proc/%",
                                      "/proc/%4",
                                      "/proc/%zz",
                                      "/proc/%2e",
                                      "/proc/ctl//number",
                                      "/proc///",
                                      "/proc/ctl/number%00.txt",
                                      "/proc/%7f"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        expect_status(bad[i], 400);
    assert_int_equal(http->web.counts.bad_paths, ARRAY_LEN(bad));
    expect_status("/proc/out", 403);
    expect_status("/proc/absolute", 403);
    expect_status("/proc/round", 404);
    expect_status("/proc/%252e%252e/etc", 404);  // decoded once
    expect_status("/proc/..%5c..", 404);
    expect_status("/procx", 404);
    expect_status("/etc/passwd", 404);
    expect_status("http://localhost/proc/n", 400);
    expect_status("*", 400);
}

static void links_are_followed_inside_the_tree(void **state)
{
    get("/proc/n");
    assert_string_equal(content(), "value 42\n");
    get("/proc/ctl/up");
    assert_int_equal(strlen(content()), LONG_BYTES);
}

static void what_is_not_there_is_404(void **state)
{
    expect_status("/proc/nothing", 404);
    assert_string_equal(content(), "/nothing: No such file or directory\n");
    expect_status("/proc/long/x", 404);
    expect_status("/proc/long/", 404);
    expect_status("/nowhere", 404);
    assert_int_equal(http->web.counts.not_found, 4);
}

static void what_others_may_not_read_is_403(void **state)
{
    expect_status("/proc/secret", 403);
    expect_status("/proc/private", 403);
    expect_status("/proc/private/x", 403);
    expect_status("/proc/ctl/sink", 403);
    assert_int_equal(http->web.counts.refused_mode, 4);
}

static void limits_of_the_tree_are_503(void **state)
{
    expect_status("/proc/failing", 503);
    assert_int_equal(http->web.counts.failed, 1);
}

// Who brings no token holds handles as nobody, not as root.
static void strangers_do_not_get_at_what_is_kept_for_root(void **state)
{
    struct tree_handle *h;
    struct tree_session mine;
    tree_session_init(&mine, tree);
    for (int i = 0; i < TREE_HANDLES_USER_MAX; i++)
        assert_int_equal(
            tree_open_as(&mine, tree_lookup(root, "slow"), TREE_READ, WEB_UID_NOBODY, &h), 0);
    expect_status("/proc/long", 503);
    tree_session_close(&mine);
    expect_status("/proc/long", 200);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
    char path[6000] = "/proc/";
    memset(path + 6, 'a', 300);
    path[306] = '\0';
    expect_status(path, 414);
    memset(path + 6, 'a', sizeof(path) - 7);
    path[sizeof(path) - 1] = '\0';
    expect_status(path, 400);
}

// ---- streams

static void a_stream_comes_in_chunks_and_whole(void **state)
{
    char want[4096] = "";
    for (int i = 1; i <= SLOW_LINES; i++)
        sprintf(want + strlen(want), "line %d\n", i);
    slow_calls = 0;
    get("/proc/slow");
    assert_int_equal(status(), 200);
    assert_true(has("Transfer-Encoding: chunked\r\n"));
    assert_int_equal(dechunk(), 0);
    assert_string_equal(content(), want);
    assert_int_equal(slow_calls, SLOW_LINES * SLOW_CALLS);
}

static void a_stream_that_fails_ends_without_its_last_chunk(void **state)
{
    get("/proc/breaking");
    assert_non_null(strstr(got, "piece 1\n"));
    assert_non_null(strstr(got, "piece 2\n"));
    assert_null(strstr(got, "\r\n0\r\n"));
}

// An idle stream is asked every HTTP_IDLE_MS and not in every turn, beside it others are served,
// and when its client goes, it ends.
static void an_idle_stream_neither_spins_nor_outlives_its_client(void **state)
{
    const int fd = client();
    const char *request = "GET /proc/never HTTP/1.1\r\n" CLOSE "\r\n";
    send_all(fd, request, strlen(request));
    never_calls = 0;
    const uint64_t begin_ms = now_ms();
    while (now_ms() < begin_ms + 200)
        turn();
    const uint64_t passed_ms = now_ms() - begin_ms;
    assert_true(never_calls > 0);
    assert_true(never_calls <= 3 * (passed_ms / HTTP_IDLE_MS + 1));
    get("/proc/n");
    assert_string_equal(content(), "value 42\n");
    close(fd);
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    while (tree_usage(tree).handles != 0) {
        turn();
        assert_true(now_ms() < end_ms);
    }
}

// The server hands what the client takes and nothing more, and others do not wait for it.
static void a_slow_reader_waits_for_nobody_but_himself(void **state)
{
    char some[1000];
    const int fd = client();
    const char *request = "GET /proc/endless HTTP/1.1\r\n" CLOSE "\r\n";
    send_all(fd, request, strlen(request));
    for (int i = 0; i < 50; i++)
        turn();
    never_calls = 0;
    for (int i = 0; i < 50; i++)
        turn();
    assert_true(never_calls <= 1);
    assert_true(tree_usage(tree).snapshot_bytes <= 2 * TREE_CHUNK_BYTES_MAX);
    get("/proc/n");
    assert_string_equal(content(), "value 42\n");
    assert_int_equal(recv(fd, some, sizeof(some), 0), sizeof(some));
    close(fd);
}

static void two_streams_take_turns(void **state)
{
    static const char request[] = "GET /proc/endless HTTP/1.1\r\n" CLOSE "\r\n";
    const int a = client(), b = client();
    size_t bytes[2] = {0, 0};
    const int fds[] = {a, b};
    send_all(a, request, sizeof(request) - 1);
    send_all(b, request, sizeof(request) - 1);
    for (int i = 0; i < 200; i++) {
        turn();
        for (int k = 0; k < 2; k++) {
            const ssize_t n = recv(fds[k], got, 100000, 0);
            bytes[k] += (size_t)MAX(n, 0);
        }
    }
    assert_true(bytes[0] > 1000000 && bytes[1] > 1000000);
    assert_true(bytes[0] < 4 * bytes[1] && bytes[1] < 4 * bytes[0]);
    close(a);
    close(b);
}

// A piece may take a millisecond: one a run, and a turn of the loop has three at most.
static void a_turn_makes_few_pieces_however_many_ask(void **state)
{
    static const char request[] = "GET /proc/slow HTTP/1.1\r\n" CLOSE "\r\n";
    int fds[HTTP_ADDRESS_CONNECTIONS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        fds[i] = client();
        assert_int_equal(send(fds[i], request, sizeof(request) - 1, MSG_NOSIGNAL),
                         sizeof(request) - 1);
    }
    slow_calls = 0;
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    while (slow_calls < ARRAY_LEN(fds) * SLOW_LINES * SLOW_CALLS) {
        const unsigned before = slow_calls;
        turn();
        assert_in_range(slow_calls - before, 0, 3);
        assert_true(now_ms() < end_ms);
    }
    for (size_t i = 0; i < ARRAY_LEN(fds); i++)
        receive_all(fds[i]);
}

// ---- writing

#define WRITE CLOSE "X-C10M: 1\r\n"

static void a_body_is_one_write(void **state)
{
    ask("PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: 3\r\n\r\n77\n");
    assert_int_equal(status(), 204);
    assert_int_equal(number, 77);
    ask("POST /proc/ctl/open HTTP/1.1\r\n" WRITE
        "Transfer-Encoding: chunked\r\n\r\n1\r\n5\r\n1\r\n6\r\n0\r\n\r\n");
    assert_int_equal(status(), 204);
    assert_int_equal(number, 56);
    assert_int_equal(http->web.counts.writes, 2);
}

static void a_write_without_the_header_is_403(void **state)
{
    ask("PUT /proc/ctl/open HTTP/1.1\r\n" CLOSE "Content-Length: 2\r\n\r\n77");
    assert_int_equal(status(), 403);
    ask("POST /proc/ctl/open HTTP/1.1\r\n" CLOSE
        "Content-Type: application/x-www-form-urlencoded\r\nX-C10M: 0\r\n"
        "Content-Length: 2\r\n\r\n77");
    assert_int_equal(status(), 403);
    assert_int_equal(number, 42);
    assert_int_equal(http->web.counts.refused_unconfirmed, 2);
}

static void a_write_that_is_refused_says_why(void **state)
{
    ask("PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: 3\r\n\r\n101");
    assert_int_equal(status(), 400);
    assert_non_null(strstr(
        content(), "/ctl/open: Numerical result out of range: expected 0 to 100, got 101\n"));
    ask("PUT /proc/ctl/busy HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 409);
    ask("PUT /proc/ctl/number HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 403);
    ask("PUT /proc/long HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 403);
    ask("PUT /proc/ctl HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 405);
    assert_true(has("Allow: GET, HEAD\r\n"));
    ask("PUT /proc/nothing HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 404);
    assert_int_equal(number, 42);
}

// put_bytes: PUT of n bytes, whole or in one chunk.
static void put_bytes(size_t n, bool chunked)
{
    char *request = calloc(1, n + 512);
    const int head =
        sprintf(request,
                chunked ? "PUT /proc/ctl/sink HTTP/1.1\r\n" WRITE
                          "Transfer-Encoding: chunked\r\n\r\n%zx\r\n"
                        : "PUT /proc/ctl/sink HTTP/1.1\r\n" WRITE "Content-Length: %zu\r\n\r\n",
                n);
    memset(request + head, 'x', n);
    strcpy(request + head + n, chunked ? "\r\n0\r\n\r\n" : "");
    ask_bytes(request, (size_t)head + n + strlen(request + head + n));
    free(request);
}

static void a_write_has_a_limit(void **state)
{
    put_bytes(TREE_WRITE_BYTES_MAX, false);
    assert_int_equal(status(), 204);
    assert_int_equal(sink_bytes, TREE_WRITE_BYTES_MAX);
    put_bytes(TREE_WRITE_BYTES_MAX, true);
    assert_int_equal(status(), 204);
    assert_int_equal(sink_calls, 2);
    put_bytes(TREE_WRITE_BYTES_MAX + 1, true);
    assert_int_equal(status(), 413);
    put_bytes(TREE_WRITE_BYTES_MAX + 1, false);
    assert_int_equal(status(), 413);
    put_bytes(2 * HTTP_DISCARD_BYTES, true);
    assert_int_equal(status(), -1);
    assert_int_equal(sink_calls, 2);
    assert_int_equal(http->web.counts.too_large, 2);
}

static void other_methods_are_405(void **state)
{
    static const char *const methods[] = {"DELETE", "OPTIONS", "PATCH", "TRACE", "MKCOL", "get"};
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        char request[256];
        snprintf(request, sizeof(request), "%s /proc/n HTTP/1.1\r\n" CLOSE "\r\n", methods[i]);
        ask(request);
        assert_int_equal(status(), 405);
        assert_true(has("Allow: GET, HEAD, PUT, POST\r\n"));
    }
    ask("PUT /metrics HTTP/1.1\r\n" WRITE "Content-Length: 1\r\n\r\n1");
    assert_int_equal(status(), 405);
    assert_true(has("Allow: GET, HEAD\r\n"));
}

// ---- who may ask

static void hosts_that_a_page_could_have_made_up_are_421(void **state)
{
    static const char *const good[] = {"127.0.0.1",  "127.0.0.1:9910", "localhost", "LocalHost:80",
                                       "[::1]:9910", "[::1]",          "box",       "10.1.2.3:1"};
    static const char *const bad[] = {"evil.example",
                                      "evil.example:9910",
                                      "localhost.evil",
                                      "127.0.0.1.evil.example",
                                      "::1",
                                      "[127.0.0.1]",
                                      "[::1",
                                      "[box]",
                                      "127.0.0.1:x",
                                      "127.0.0.1:123456",
                                      "",
                                      ":80"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_true(web_host_good(good[i], "box"));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(web_host_good(bad[i], "box"));
    assert_false(web_host_good(NULL, "box"));
    ask("GET /proc/n HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_int_equal(status(), 421);
    assert_int_equal(http->web.counts.refused_host, 1);
    ask("GET /proc/n HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    assert_int_equal(status(), 400);
    ask("GET /proc/n HTTP/1.1\r\nConnection: close\r\n\r\n");
    assert_int_equal(status(), 400);
    ask("GET /proc/n HTTP/1.0\r\n\r\n");
    assert_non_null(strstr(got, "value 42\n"));
}

static void only_the_token_is_the_token(void **state)
{
    assert_true(web_token_good("Bearer " TOKEN, TOKEN));
    assert_true(web_token_good("bearer " TOKEN, TOKEN));
    assert_false(web_token_good("Bearer " TOKEN "x", TOKEN));
    assert_false(web_token_good("Bearer " TOKEN "0", TOKEN));  // its first character
    assert_false(web_token_good("Bearer 0123456789abcdefXYZ", TOKEN));
    assert_false(web_token_good("Bearer 0123456789abcdefXYZ_", TOKEN));
    assert_false(web_token_good("Bearer ", TOKEN));
    assert_false(web_token_good("Bearer", TOKEN));
    assert_false(web_token_good("Basic " TOKEN, TOKEN));
    assert_false(web_token_good(TOKEN, TOKEN));
    assert_false(web_token_good("", TOKEN));
    assert_false(web_token_good(NULL, TOKEN));
    assert_false(web_token_good("Bearer ", ""));
}

static void without_the_token_nothing_is_told(void **state)
{
    static const char *const paths[] = {"/proc/n", "/proc/nothing", "/metrics", "/nowhere"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        expect_status(paths[i], 401);
        assert_true(has("WWW-Authenticate: Bearer realm=\"c10m\"\r\n"));
    }
    ask("PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: 2\r\n\r\n77");
    assert_int_equal(status(), 401);
    ask("GET /proc/n HTTP/1.1\r\n" CLOSE "Authorization: Bearer 0123456789abcdefXYZ_\r\n\r\n");
    assert_int_equal(status(), 401);
    assert_int_equal(number, 42);
    assert_int_equal(http->web.counts.refused_token, 6);
    expect_status("/", 200);  // the page, which asks for the token
    ask("PUT / HTTP/1.1\r\n" WRITE "Content-Length: 2\r\n\r\n77");
    assert_int_equal(status(), 401);
}

static void the_token_has_the_rights_of_root(void **state)
{
#define BEARER CLOSE "Authorization: Bearer " TOKEN "\r\n"
    ask("GET /proc/secret HTTP/1.1\r\n" BEARER "\r\n");
    assert_string_equal(content(), "value 42\n");
    ask("GET /proc/private/x HTTP/1.1\r\n" BEARER "\r\n");
    assert_int_equal(status(), 200);
    ask("PUT /proc/ctl/number HTTP/1.1\r\n" BEARER "X-C10M: 1\r\nContent-Length: 1\r\n\r\n9");
    assert_int_equal(status(), 204);
    assert_int_equal(number, 9);
    ask("PUT /proc/ctl/number HTTP/1.1\r\n" BEARER "Content-Length: 1\r\n\r\n8");
    assert_int_equal(status(), 403);
    ask("GET /proc/ctl/sink HTTP/1.1\r\n" BEARER "\r\n");  // nobody can read it
    assert_int_equal(status(), 403);
}

// ---- limits

static void connections_are_limited_each_address_apart(void **state)
{
    enum { OTHERS = HTTP_CONNECTIONS_MAX - HTTP_CONNECTIONS_ROOT };
    int fds[OTHERS], more;
    for (int i = 0; i < OTHERS; i++)
        assert_int_equal(client_from(1 + (unsigned)i / HTTP_ADDRESS_CONNECTIONS_MAX, &fds[i]), 0);
    turn();
    assert_int_equal(client_from(9, &more), -1);
    receive_all(more);
    assert_int_equal(status(), 503);
    assert_int_equal(http->limits.refused_connections, 1);
    close(fds[0]);
    close(fds[OTHERS - 1]);
    for (int i = 0; i < 10; i++)
        turn();
    assert_int_equal(client_from(1, &fds[0]), 0);
    assert_int_equal(client_from(1, &more), -1);
    receive_all(more);
    assert_int_equal(status(), 503);
    assert_int_equal(http->limits.refused_address, 1);
    for (int i = 0; i < OTHERS - 1; i++)
        close(fds[i]);
    for (int i = 0; i < 10; i++)
        turn();
    get("/proc/control/http");
    assert_non_null(strstr(content(), "\nrefused_connections 1\nrefused_address_connections 1\n"));
    assert_non_null(strstr(content(), "\nconnections_now 1\n"));
}

static void headers_have_a_limit(void **state)
{
    char *request = calloc(1, 2 * HTTP_MEMORY_BYTES);
    strcpy(request, "GET /proc/n HTTP/1.1\r\n" CLOSE);
    while (strlen(request) < HTTP_MEMORY_BYTES + 100)
        strcat(request, "X-Filler: 0123456789012345678901234567890123456789\r\n");
    strcat(request, "\r\n");
    ask(request);
    assert_true(status() == 431 || status() == -1);
    assert_null(strstr(got, "value 42"));
    free(request);
    get("/proc/n");
    assert_int_equal(status(), 200);
}

static void what_is_no_http_is_refused_and_counted(void **state)
{
    static const char *const bad[] = {
        "\r\n\r\n\r\n",
        "GET\r\n\r\n",
        "GET /proc/n HTTP/9.9\r\n" CLOSE "\r\n",
        "PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: 1x\r\n\r\n1",
        "PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: -1\r\n\r\n1",
        "PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Transfer-Encoding: chunked\r\n\r\nzz\r\n1\r\n",
        "PUT /proc/ctl/open HTTP/1.1\r\n" WRITE "Content-Length: 99999999999999999999999\r\n\r\n1",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const int fd = client();
        send_all(fd, bad[i], strlen(bad[i]));
        shutdown(fd, SHUT_WR);
        receive_all(fd);
        assert_null(strstr(got, " 200 "));
        assert_null(strstr(got, " 204 "));
    }
    assert_int_equal(number, 42);
    assert_true(http->limits.malformed >= 4);
}

// Bytes one by one do not make a request longer than HTTP_TIMEOUT_S.
static void a_request_has_to_be_there_in_time(void **state)
{
    const int fd = client();
    send_all(fd, "GET /proc/n HT", 14);
    turn();
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        if (http->conns[i].fd >= 0) {
            assert_true(http->conns[i].due_ms <= now_ms() + HTTP_TIMEOUT_S * 1000);
            http->conns[i].due_ms = now_ms();
        }
    receive_all(fd);
    assert_int_equal(got_bytes, 0);
    assert_int_equal(http->limits.timeouts, 1);
}

// libmicrohttpd itself misses an end that comes together with the request.
static void a_client_that_has_ended_is_not_waited_for(void **state)
{
    static const char request[] = "GET /proc/n HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const int fd = client();
    assert_int_equal(send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL), sizeof(request) - 1);
    shutdown(fd, SHUT_WR);
    const uint64_t begin_ms = now_ms();
    receive_all(fd);
    assert_string_equal(content(), "value 42\n");
    assert_true(now_ms() - begin_ms < HTTP_TIMEOUT_S * 1000 / 3);
    assert_int_equal(http->limits.timeouts, 0);
}

static void clients_that_go_in_the_middle_leave_nothing_behind(void **state)
{
    static const char *const begun[] = {"",
                                        "GET",
                                        "GET /proc/n HTTP/1.1\r\nHost: loc",
                                        "GET /proc/endless HTTP/1.1\r\n" CLOSE "\r\n",
                                        "GET /proc/long HTTP/1.1\r\n" CLOSE "\r\n",
                                        "GET /proc/never HTTP/1.1\r\n" CLOSE "\r\n",
                                        "PUT /proc/ctl/open HTTP/1.1\r\n" WRITE
                                        "Content-Length: 5\r\n\r\n7"};
    for (size_t i = 0; i < ARRAY_LEN(begun); i++) {
        const int fd = client();
        send_all(fd, begun[i], strlen(begun[i]));
        turn();
        close(fd);
    }
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    bool open = true;
    while (open || tree_usage(tree).handles != 0) {
        turn();
        open = false;
        for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
            open |= http->conns[i].fd >= 0;
        assert_true(now_ms() < end_ms);
    }
    assert_int_equal(number, 42);
}

static void a_file_may_go_while_it_is_sent(void **state)
{
    const int fd = client();
    static const char request[] = "GET /proc/long HTTP/1.1\r\n" CLOSE "\r\n";
    send_all(fd, request, sizeof(request) - 1);
    turn();
    assert_int_equal(tree_remove(root, "long"), 0);
    receive_all(fd);
    assert_int_equal(strlen(content()), LONG_BYTES);
    expect_status("/proc/long", 404);
}

// One that is asked later, one that is asked at once, one whose client does not read.
static void the_server_stops_in_the_middle_of_streams(void **state)
{
    static const char *const paths[] = {"never", "slow", "endless", "never", "slow"};
    int fds[ARRAY_LEN(paths)];
    for (int turns = 0; turns < 6; turns++) {
        for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
            char request[128];
            const int n = snprintf(request, sizeof(request),
                                   "GET /proc/%s HTTP/1.1\r\n" CLOSE "\r\n", paths[i]);
            fds[i] = client();
            assert_int_equal(send(fds[i], request, (size_t)n, MSG_NOSIGNAL), n);
        }
        for (int i = 0; i < turns; i++)
            turn();
        ctl_http_stop(http);
        assert_int_equal(tree_usage(tree).handles, 0);
        for (size_t i = 0; i < ARRAY_LEN(paths); i++)
            close(fds[i]);
        const struct ctl_http_params p = {.name = "box", .token = ""};
        http = ctl_http_start(&loop, tree, &p, &e);
        assert_non_null(http);
    }
}

static void an_address_in_use_is_told(void **state)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof(at);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(listen(fd, 1), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
    struct ctl_http_params p = {
        .at = {ip_from_v4(INADDR_LOOPBACK), ntohs(at.sin_port)}, .name = "box", .token = ""};
    ctl_http_stop(http);
    http = NULL;
    assert_null(ctl_http_start(&loop, tree, &p, &e));
    assert_non_null(strstr(e.text, "127.0.0.1:"));
    assert_non_null(strstr(e.text, "Address already in use"));
    close(fd);
    http = ctl_http_start(&loop, tree, &p, &e);
    assert_non_null(http);
    const int c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(c, (struct sockaddr *)&at, sizeof(at)), 0);
    fcntl(c, F_SETFL, O_NONBLOCK);
    send_all(c, "GET /proc/n HTTP/1.1\r\n" CLOSE "\r\n", 22 + sizeof(CLOSE) + 1);
    receive_all(c);
    assert_string_equal(content(), "value 42\n");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(a_file_comes_byte_for_byte_with_its_length),
        T(head_says_the_same_without_the_content),
        T(a_connection_is_used_again),
        T(directories_are_lists),
        T(names_may_be_escaped),
        T(no_path_leads_out_of_the_tree),
        T(links_are_followed_inside_the_tree),
        T(what_is_not_there_is_404),
        T(what_others_may_not_read_is_403),
        T(limits_of_the_tree_are_503),
        T(strangers_do_not_get_at_what_is_kept_for_root),
        T(a_path_that_is_too_long_is_refused),
        T(a_stream_comes_in_chunks_and_whole),
        T(a_stream_that_fails_ends_without_its_last_chunk),
        T(an_idle_stream_neither_spins_nor_outlives_its_client),
        T(a_slow_reader_waits_for_nobody_but_himself),
        T(two_streams_take_turns),
        T(a_turn_makes_few_pieces_however_many_ask),
        T(a_body_is_one_write),
        T(a_write_without_the_header_is_403),
        T(a_write_that_is_refused_says_why),
        T(a_write_has_a_limit),
        T(other_methods_are_405),
        T(hosts_that_a_page_could_have_made_up_are_421),
        T(connections_are_limited_each_address_apart),
        T(headers_have_a_limit),
        T(what_is_no_http_is_refused_and_counted),
        T(a_request_has_to_be_there_in_time),
        T(a_client_that_has_ended_is_not_waited_for),
        T(clients_that_go_in_the_middle_leave_nothing_behind),
        T(a_file_may_go_while_it_is_sent),
        T(the_server_stops_in_the_middle_of_streams),
        T(an_address_in_use_is_told),
        cmocka_unit_test(only_the_token_is_the_token),
        cmocka_unit_test_setup_teardown(without_the_token_nothing_is_told, setup_token, teardown),
        cmocka_unit_test_setup_teardown(the_token_has_the_rights_of_root, setup_token, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
