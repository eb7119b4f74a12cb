// SPDX-License-Identifier: BSD-3-Clause
// Claims about the CPU profile of a server whose worker and whose application's thread burn CPU
// time in functions planted here.
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "hosts.h"
#include "pkt_env.h"
#include "prof/prof_kinds.h"
#include "prof_take.h"
#include "server/app_threads.h"
#include "server/core_name.h"

enum { MS = 1000000 };

static struct hosts *h;
static struct shared_bool stop;
static volatile uint64_t sink;

static NOINLINE void burn(unsigned ms)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    const uint64_t until = (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec + ms * 1ull * MS;
    do {
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while ((uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec < until);
}

static NOINLINE void planted_in_app(void)
{
    burn(40);
    __asm__ volatile("");
}

static NOINLINE void planted_in_rx(void)
{
    burn(20);
    __asm__ volatile("");
}

static NOINLINE void planted_in_thread(void)
{
    burn(10);
    __asm__ volatile("");
}

static void *work(void *worker)
{
    struct worker *w = worker;
    own_thread_begin(&w->thread);
    while (!shared_bool_load(&stop)) {
        shared_u32_store(&w->at, STAGE_rx);
        planted_in_rx();
        shared_u8_store(&w->sock.serving, 0);
        shared_u32_store(&w->at, STAGE_app);
        planted_in_app();
        shared_u8_store(&w->sock.serving, SOCK_SERVING_NONE);
    }
    own_thread_end();
    return NULL;
}

static void app_thread(struct c10m_service *s)
{
    while (!c10m_thread_stopping(s))
        planted_in_thread();
}

static const struct c10m_app planted = {.name = "planted", .thread = app_thread};
static const struct c10m_app other = {.name = "other"};
static const struct c10m_app *const both[2][3] = {{&planted}, {&other}};
static pthread_t worker;

static void begin(void)
{
    struct err err = {.text = ""};
    h = hosts_new(both, NULL);
    shared_bool_store(&stop, false);
    own_thread_begin(&h->e[0].server.control);
    assert_int_equal(server_threads_start(&h->e[0].server, &err), 0);
    assert_int_equal(pthread_create(&worker, NULL, work, h->e[0].w), 0);
    while (shared_u32_load_acquire(&h->e[0].w->thread.tid) == 0)
        usleep(1000);
}

static void end(void)
{
    shared_bool_store(&stop, true);
    pthread_join(worker, NULL);
    server_threads_stop(&h->e[0].server);
    own_thread_end();
    hosts_free(h);
}

static void *profile_begun(unsigned debug)
{
    const struct prof_shown s = {.server = &h->e[0].server};
    const struct prof_query q = {.debug = debug, .seconds = 1};
    return prof_begun(&prof_kind_profile, &s, &q);
}

static uint64_t cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / MS;
}

// run_ms: ticks until the process has used so much CPU time. Returns how much it was.
static uint64_t run_ms(void *state, unsigned ms)
{
    const uint64_t from = cpu_ms();
    while (cpu_ms() < from + ms) {
        usleep(PROF_TICK_MS * 1000);
        prof_kind_profile.tick(state);
    }
    return cpu_ms() - from;
}

static void assert_about(int64_t n, uint64_t expected)
{
    assert_in_range(n, expected * 8 / 10, expected * 12 / 10);
}

// samples: how many of the text's samples have all of these words.
static int64_t samples(const char *text, const char *a, const char *b, const char *c)
{
    int64_t n = 0;
    const char *at = strchr(text, '\n');
    while (at != NULL && at[1] != '\0' && at[1] != '#') {
        const char *end = strstr(at + 1, "\n\n");
        CHECK(end != NULL);
        char *copy = strndup(at + 1, (size_t)(end - at));
        if (strstr(copy, a) != NULL && strstr(copy, b) != NULL && strstr(copy, c) != NULL)
            n += strtoll(copy, NULL, 10);
        free(copy);
        at = end + 1;
    }
    return n;
}

static void samples_have_the_place_and_the_cause(void **state)
{
    char name[CORE_NAME_BYTES], core[64];
    begin();
    server_core_name(&h->e[0].server, 0, name);
    snprintf(core, sizeof(core), "\"core\":\"c%s\"", name);
    void *p = profile_begun(1);
    const uint64_t ms = run_ms(p, 1500);
    char *text = prof_ended(&prof_kind_profile, p);
    const int64_t all = samples(text, "", "", "");
    const int64_t rx = samples(text, "planted_in_rx", "\"stage\":\"rx\"", core);
    const int64_t app = samples(text, "planted_in_app", "\"stage\":\"app\"", "\"app\":\"planted\"");
    const int64_t thread = samples(text, "planted_in_thread", "\"thread\":\"app ", "\"planted\"");
    fprintf(stderr, "%ld samples: rx %ld, app %ld, thread %ld\n", all, rx, app, thread);
    assert_about(all, ms / 10);
    assert_in_range(rx + app + thread, all * 9 / 10, all);
    assert_in_range(100 * rx / (rx + app), 24, 42);
    assert_true(thread > 10);
    assert_int_equal(samples(text, "planted_in_app", "\"thread\":\"worker\"", "\"service\":\""),
                     app);
    assert_int_equal(samples(text, "planted_in_rx", "\"service\":\"", ""), 0);
    assert_non_null(strstr(text, "# 0 samples lost, 0 of 3 threads not sampled\n"));
    free(text);
    end();
}

static void two_profiles_at_a_time_see_the_same(void **state)
{
    begin();
    void *first = profile_begun(1);
    const uint64_t before = run_ms(first, 400);
    void *second = profile_begun(1);
    const uint64_t both_ms = run_ms(first, 400);
    assert_int_equal(prof_kind_profile.stop(first, NULL), 0);
    const uint64_t after = run_ms(second, 800);
    assert_int_equal(prof_kind_profile.stop(second, NULL), 0);
    char *one = prof_written(&prof_kind_profile, first);
    char *two = prof_written(&prof_kind_profile, second);
    assert_about(samples(one, "", "", ""), (before + both_ms) / 10);
    assert_about(samples(two, "", "", ""), (both_ms + after) / 10);
    free(one);
    free(two);
    end();
}

// A client goes: nothing is armed any more, and the next profile begins as the first did.
static void a_profile_may_end_at_any_time(void **state)
{
    begin();
    for (unsigned i = 0; i < 20; i++) {
        void *first = profile_begun(0), *second = profile_begun(0);
        if (i % 2 == 0)
            run_ms(first, 1);
        prof_kind_profile.release(i % 3 == 0 ? first : second);
        prof_kind_profile.release(i % 3 == 0 ? second : first);
        assert_null(atomic_load(&h->e[0].w->thread.samples.v));
    }
    end();
}

static void a_server_without_running_threads_is_refused(void **state)
{
    struct err err = {.text = ""};
    void *p = NULL;
    h = hosts_new(both, NULL);
    const struct prof_shown s = {.server = &h->e[1].server};
    const struct prof_query q = {.seconds = 1};
    assert_int_equal(prof_kind_profile.begin(&s, &q, &p, &err), -1);
    assert_non_null(strstr(err.text, "no thread can be sampled"));
    hosts_free(h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_have_the_place_and_the_cause),
        cmocka_unit_test(two_profiles_at_a_time_see_the_same),
        cmocka_unit_test(a_profile_may_end_at_any_time),
        cmocka_unit_test(a_server_without_running_threads_is_refused),
    };
    pkt_env_start(1);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    eal_stop();
    return failed;
}
