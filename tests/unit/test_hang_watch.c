// SPDX-License-Identifier: BSD-3-Clause
// test_hang_watch.c: what is said and done about a callback that does not return. The worker's
// turns run in a thread, the looks at it in the test's.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/signals.h"
#include "hosts.h"
#include "pkt_env.h"
#include "prof/hang_watch.h"

enum { RULE_MS = 100, NEVER_MS = 3600 * 1000, TRIES = 60 * 1000 / LIVENESS_POLL_MS };

static struct {
    struct hosts *h;
    struct liveness *live;
    struct hang_watch *watch;
    pthread_t thread;
    struct shared_bool inside, release, ended;
    FILE *said;
    int before;  // what stderr was
} t;

// No call in it: without inlining, as under sanitizers, it would be the innermost function.
static NOINLINE void planted_loop(void)
{
    while (!atomic_load_explicit(&t.release.v, memory_order_relaxed))
        __asm__ volatile("");
}

static size_t loops(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    shared_bool_store_release(&t.inside, true);
    planted_loop();
    return len;
}

static void say(struct c10m_conn *c)
{
    c10m_send(c, "hello", 5);
}

static size_t nothing(struct c10m_conn *c, const uint8_t *bytes, size_t len)
{
    return len;
}

static const struct c10m_app looping = {.name = "looping", .data = loops},
                             peer = {.name = "peer", .open = say, .data = nothing};
static const struct c10m_app *const both[2][3] = {{&looping}, {&peer}};

static void *turns(void *arg)
{
    own_thread_begin(&t.h->e[0].w->thread);
    hosts_connect(t.h, 1, HOSTS_PORT);
    hosts_run(t.h, 100);
    own_thread_end();
    shared_bool_store_release(&t.ended, true);
    return NULL;
}

static void begin(void)
{
    memset(&t, 0, sizeof(t));
    t.h = hosts_new(both, NULL);
    t.h->e[0].server.params.n_workers = 1;
    t.live = liveness_new(&t.h->e[0].server, liveness_clock_ns());
    t.watch = hang_watch_new(&t.h->e[0].server, t.live);
    assert_non_null(t.watch);
    shared_u32_store(&t.h->e[0].w->state, WORKER_RUNNING);
    t.said = tmpfile();
    t.before = dup(STDERR_FILENO);
    dup2(fileno(t.said), STDERR_FILENO);
    assert_int_equal(pthread_create(&t.thread, NULL, turns, NULL), 0);
    // Nobody looks before: a thread that waits for a CPU elsewhere looks as if it hung there.
    while (!shared_bool_load_acquire(&t.inside))
        usleep(1000);
}

static void end(void)
{
    shared_bool_store(&t.release, true);
    pthread_join(t.thread, NULL);
    dup2(t.before, STDERR_FILENO);
    close(t.before);
    fclose(t.said);
    hang_watch_free(t.watch);
    liveness_free(t.live);
    hosts_free(t.h);
}

// poll: as the control thread does. Returns whether a hang was mentioned.
static bool poll(struct hang_rule rule)
{
    usleep(LIVENESS_POLL_MS * 1000);
    liveness_poll(t.live, liveness_clock_ns());
    return hang_watch_poll(t.watch, &rule, 1);
}

static const char *said(void)
{
    static char text[4096];
    const ssize_t n = pread(fileno(t.said), text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

static const struct hang_now *look(void)
{
    return hang_watch_look(t.watch, 0);
}

static bool is_known(void)
{
    return strcmp(look()->names.function, "-") != 0;
}

static void a_callback_that_hangs_is_named_once_with_its_function(void **state)
{
    const struct hang_rule rule = {.ms = RULE_MS};
    unsigned mentioned = 0;
    begin();
    for (unsigned i = 0; i < TRIES && (mentioned == 0 || !is_known()); i++)
        mentioned += poll(rule);
    for (unsigned i = 0; i < 10; i++)
        mentioned += poll(rule);
    assert_int_equal(mentioned, 1);
    assert_int_equal(look()->hangs, 1);
    assert_string_equal(look()->names.function, "planted_loop");
    assert_non_null(strstr(look()->names.calls, "planted_loop, called by loops, "));
    assert_non_null(strstr(said(), " hangs for "));
    assert_non_null(strstr(said(), " ms in stage app of service looping, application looping"));
    assert_non_null(strstr(said(), " in planted_loop, called by loops, "));
    shared_bool_store(&t.release, true);
    for (unsigned i = 0; i < TRIES && is_known(); i++)
        poll(rule);
    assert_false(is_known());
    assert_non_null(strstr(said(), " goes on"));
    assert_int_equal(look()->hangs, 1);
    end();
}

static void a_callback_that_may_take_longer_is_not_mentioned(void **state)
{
    begin();
    for (unsigned i = 0; i < 2 * HANG_MS / LIVENESS_POLL_MS; i++)
        assert_false(poll((struct hang_rule){.ms = NEVER_MS, .abort = true}));
    assert_int_equal(look()->hangs, 0);
    assert_string_equal(said(), "");
    end();
}

// In a child: it ends by SIGABRT, from the worker, whose last line says where it was.
static void abort_ends_the_process_from_within_the_callback(void **state)
{
    int fds[2], status;
    char text[4096];
    size_t n = 0;
    assert_int_equal(pipe(fds), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none);
        signals_hold();
        crash_catch();
        begin();
        dup2(fds[1], STDERR_FILENO);
        for (unsigned i = 0; i < TRIES; i++)
            poll((struct hang_rule){.ms = RULE_MS, .abort = true});
        _exit(1);
    }
    close(fds[1]);
    for (ssize_t got;
         n < sizeof(text) - 1 && (got = read(fds[0], text + n, sizeof(text) - 1 - n)) > 0;)
        n += (size_t)got;
    text[n] = '\0';
    close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(
        strstr(text, "service looping hangs and has watchdog = abort: the process ends"));
    assert_non_null(strstr(text, ": SIGABRT, instruction 0x"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_that_hangs_is_named_once_with_its_function),
        cmocka_unit_test(a_callback_that_may_take_longer_is_not_mentioned),
        cmocka_unit_test(abort_ends_the_process_from_within_the_callback),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
