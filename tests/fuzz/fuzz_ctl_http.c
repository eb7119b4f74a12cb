// SPDX-License-Identifier: BSD-3-Clause
// fuzz_ctl_http.c: what a client can send to the control interface over HTTP, through libmicrohttpd
// on the real loop, and how it is cut.
//
//   input: [bit 0: a token is needed; bits 1..7: size of the pieces, 0: whole] bytes of the client
//
// Whatever comes: nothing that others may not read goes out without the token, nothing is written
// without the header that a page cannot send, every answer is one, and when the client goes nothing
// is left open and no profile runs on.
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ctl/http/control_http.h"
#include "ctl/http/control_http_conn.h"
#include "ctl/http/web_static.h"
#include "prof/prof.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define TOKEN "0123456789abcdef"

enum { TURNS_MAX = 4000, ANSWER_BYTES = 1 << 20, INPUT_BYTES_MAX = 1 << 17 };

static struct ctl_loop loop;
static struct tree *tree;
static struct ctl_http *servers[2];  // without a token, with one
static struct prof *prof;
static unsigned writes;
static char answer[ANSWER_BYTES], sent[INPUT_BYTES_MAX + 1];

static void need(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "fuzz_ctl_http: not so: %s\n", what);
    abort();
}

static int open_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "\nOPEN\n");
}

static int secret_read(struct tree_out *out, void *data)
{
    return tree_printf(out, "\nSECRET\n");
}

static int any_write(const char *buf, size_t n, void *data)
{
    need(n > 0 && n <= TREE_WRITE_BYTES_MAX, "a write is bounded");
    writes++;
    return buf[0] == 'r' ? -ERANGE : 0;
}

static int pieces_next(struct tree_out *out, void *cursor, void *data)
{
    unsigned *at = cursor;
    tree_printf(out, "piece %u\n", *at);
    return ++*at < 3;
}

// ---- a kind of profile

static int quick_begin(const struct prof_shown *s, const struct prof_query *q, void **state,
                       struct err *err)
{
    need(q->seconds <= PROF_SECONDS_MAX && q->debug <= 2, "numbers are in their ranges");
    need(q->filter == NULL || strlen(q->filter) < PROF_FILTER_BYTES, "a filter is bounded");
    return 0;
}

static int quick_stop(void *state, struct err *err)
{
    return 0;
}

static int quick_write(void *state, struct text *out, struct err *err)
{
    return text_printf(out, "\nPROFILE\n");
}

static void quick_release(void *state) {}

static const char *quick_type(const struct prof_query *q)
{
    return "text/plain; charset=utf-8";
}

static void start_profiles(void)
{
    static const struct prof_kind quick = {.name = "quick",
                                           .help = "",
                                           .begin = quick_begin,
                                           .stop = quick_stop,
                                           .write = quick_write,
                                           .release = quick_release,
                                           .type = quick_type};
    static const struct prof_kind *const kinds[] = {&quick};
    const struct prof_params p = {.kinds = kinds, .n_kinds = 1};
    struct err e;
    prof = prof_new(&p, &e);
    need(prof != NULL, e.text);
}

static unsigned runs_now(void)
{
    struct text t;
    text_init(&t, 1 << 16);
    prof_render(prof, &t);
    const unsigned n = (unsigned)atoi(strstr(text_str(&t), "runs_now ") + 9);
    text_free(&t);
    return n;
}

static void start(void)
{
    static const struct tree_ops file = {.read = open_read, .write = any_write};
    static const struct tree_ops secret = {.read = secret_read, .write = any_write};
    static const struct tree_ops pieces = {.next = pieces_next, .cursor_bytes = sizeof(unsigned)};
    struct err e;
    tree = tree_create();
    struct tree_node *root = tree_root(tree);
    tree_file(root, "a/open", 0666, &file, NULL);
    tree_file(root, "secret", 0600, &secret, NULL);
    tree_file(root, "dir/secret", 0444, &secret, NULL);
    tree_chmod(tree_lookup(root, "dir"), 0700);
    tree_file(root, "stream", 0444, &pieces, NULL);
    tree_link(root, "link", "a/../secret");
    tree_link(root, "out", "../../etc/passwd");
    need(ctl_loop_init(&loop, &e) == 0, "the loop");
    start_profiles();
    for (int i = 0; i < 2; i++) {
        const struct ctl_http_params p = {.name = "n",
                                          .token = i == 0 ? "" : TOKEN,
                                          .statics = web_statics,
                                          .n_statics = web_n_statics,
                                          .prof = prof};
        servers[i] = ctl_http_start(&loop, tree, &p, &e);
        need(servers[i] != NULL, e.text);
        tree_remove(root, "control/http");  // the second server has one of the same name
        servers[i]->entry = NULL;
    }
}

static size_t turns(int fd, size_t got)
{
    for (int calm = 0, i = 0; calm < 2 && i < TURNS_MAX; i++) {
        calm = ctl_loop_turn(&loop, 0) == 0 ? calm + 1 : 0;
        prof_turn(prof, prof_clock_ms());
        const ssize_t n = recv(fd, answer + got, sizeof(answer) - 1 - got, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
    }
    answer[got] = '\0';
    return got;
}

// holds: somewhere, in letters of either case, what a byte 0 before it does not hide.
static bool holds(const char *bytes, const char *what)
{
    for (size_t i = 0; i + strlen(what) <= INPUT_BYTES_MAX; i++)
        if (strncasecmp(bytes + i, what, strlen(what)) == 0)
            return true;
    return false;
}

// told: the answer has the word, between newlines: an error that repeats the path has none.
static bool told(const char *word)
{
    return strstr(answer, word) != NULL;
}

static void check(size_t n, bool token)
{
    const bool knows = memmem(sent, INPUT_BYTES_MAX, TOKEN, strlen(TOKEN)) != NULL;
    need(n == 0 || strncmp(answer, "HTTP/1.", 7) == 0, "an answer begins as one");
    need(!told("\ndaemon:x:"), "no file of the host");
    need((token && knows) || !told("\nSECRET\n"), "the secret stays one");
    need(!token || knows || !told("\nOPEN\n"), "nothing is told without the token");
    need(!token || knows || holds(sent, "Basic ") || !told("\nPROFILE\n"),
         "no profile is told without the token");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    const struct sockaddr_in from = {.sin_family = AF_INET};
    int pair[2];
    if (len < 1 || len > INPUT_BYTES_MAX)
        return 0;
    if (tree == NULL)
        start();
    const bool token = (data[0] & 1) != 0;
    const size_t piece = data[0] >> 1 == 0 ? len : data[0] >> 1;
    memset(sent, 0, sizeof(sent));
    memcpy(sent, data + 1, len - 1);
    writes = 0;
    need(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0, "sockets");
    need(ctl_http_adopt(servers[token], pair[1], (const struct sockaddr *)&from, sizeof(from)) == 0,
         "nobody else is connected");
    size_t got = 0;
    for (size_t at = 1; at < len; at += piece) {
        if (send(pair[0], data + at, MIN(piece, len - at), MSG_NOSIGNAL) < 0)
            break;
        got = turns(pair[0], got);
    }
    shutdown(pair[0], SHUT_WR);
    got = turns(pair[0], got);
    check(got, token);
    need(writes == 0 || holds(sent, "X-C10M:"), "only what was confirmed is written");
    close(pair[0]);
    turns(-1, 0);
    for (int i = 0; i < TURNS_MAX && runs_now() != 0; i++) {
        usleep(1000);
        turns(-1, 0);
    }
    need(runs_now() == 0, "no profile runs on");
    need(tree_usage(tree).handles == 0, "no handle is left");
    need(tree_usage(tree).snapshot_bytes == 0, "no snapshot is left");
    return 0;
}
