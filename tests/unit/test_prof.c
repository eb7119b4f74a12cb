// SPDX-License-Identifier: BSD-3-Clause
// Claims about runs of profiles, tried with kinds that note what is called, in time that the test
// supplies.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/shared.h"
#include "prof/prof_files.h"
#include "prof/prof_starts.h"
#include "unit/check.h"

// ---- a kind that notes its calls

struct noted {
    char filter[32];
};

static char calls[512];  // a letter for each call: b, t, s, w, r
static unsigned slices;  // stop() returns PROF_LATER so often
static int begin_fails, stop_fails, write_fails;
static bool too_large;
static unsigned write_mib;       // write() writes so much
static struct shared_bool gate;  // write() waits for it
static struct shared_bool hurried;
static bool hurried_ends;  // ... or for hurry()
static int write_error;    // of the last text that was written
static char thread_name[16];
static sigset_t thread_mask;

static void note(char c)
{
    const size_t n = strlen(calls);
    assert_true(n + 1 < sizeof(calls));
    calls[n] = c;
}

static int fake_begin(const struct prof_shown *s, const struct prof_query *q, void **state,
                      struct err *err)
{
    note('b');
    if (begin_fails != 0) {
        err_set(err, "begin: no");
        return begin_fails;
    }
    struct noted *n = calloc(1, sizeof(*n));
    snprintf(n->filter, sizeof(n->filter), "%s", q->filter == NULL ? "-" : q->filter);
    *state = n;
    return 0;
}

static void fake_tick(void *state)
{
    note('t');
}

static int fake_stop(void *state, struct err *err)
{
    note('s');
    if (slices > 0) {
        slices--;
        return PROF_LATER;
    }
    return stop_fails == 0 ? 0 : err_set(err, "stop: no");
}

static int fake_write(void *state, struct text *out, struct err *err)
{
    const struct noted *n = state;
    prctl(PR_GET_NAME, thread_name);
    pthread_sigmask(SIG_BLOCK, NULL, &thread_mask);
    while (!shared_bool_load_acquire(&gate) &&
           !(hurried_ends && shared_bool_load_acquire(&hurried)))
        usleep(100);
    if (write_fails != 0)
        return err_set(err, "write: no");
    static const char mib[1 << 20];
    for (unsigned i = 0; i < write_mib; i++)
        text_put(out, mib, sizeof(mib));
    write_error = text_printf(out, "of %s", n->filter);
    if (too_large)
        out->error = -EFBIG;
    return 0;
}

static void fake_hurry(void *state)
{
    shared_bool_store_release(&hurried, true);
}

static void fake_release(void *state)
{
    note('r');
    free(state);
}

static const char *fake_type(const struct prof_query *q)
{
    return q->debug == 0 ? "application/octet-stream" : "text/plain; charset=utf-8";
}

#define FAKE(kind_name)                                                                            \
    .name = kind_name, .help = "a fake", .begin = fake_begin, .stop = fake_stop,                   \
    .write = fake_write, .hurry = fake_hurry, .release = fake_release, .type = fake_type

static const struct prof_kind timed = {FAKE("timed"), .timed = true, .tick = fake_tick};
static const struct prof_kind brief = {FAKE("brief"), .timed = true, .seconds_default = 1,
                                       .tick = fake_tick};
static const struct prof_kind state_now = {FAKE("state")};
static const struct prof_kind cpu = {FAKE("profile"), .timed = true, .tick = fake_tick};
static const struct prof_kind heap = {FAKE("heap")};
static const struct prof_kind trace = {FAKE("trace"), .timed = true, .tick = fake_tick};
static const struct prof_kind *const kinds[] = {&timed, &brief, &state_now, &cpu, &heap, &trace};

static struct prof *prof;
static unsigned started;
static struct err e;

static void on_start(void *arg)
{
    ++*(unsigned *)arg;
}

static int setup(void **test)
{
    const struct prof_params p = {
        .kinds = kinds, .n_kinds = ARRAY_LEN(kinds), .started = on_start, .arg = &started};
    memset(calls, 0, sizeof(calls));
    memset(&e, 0, sizeof(e));
    slices = started = 0;
    begin_fails = stop_fails = write_fails = 0;
    too_large = false;
    write_mib = 0;
    hurried_ends = false;
    shared_bool_store(&hurried, false);
    shared_bool_store(&gate, true);
    prof = prof_new(&p, &e);
    return prof == NULL;
}

static int teardown(void **test)
{
    prof_free(prof);
    return 0;
}

static int start_as(const struct prof_kind *k, unsigned seconds, const char *client, bool root,
                    struct prof_run **run)
{
    const struct prof_order order = {
        .kind = k, .query = {.seconds = seconds}, .client = client, .root = root};
    return prof_start(prof, &order, 1000, run, &e);
}

static struct prof_run *start(const struct prof_kind *k, unsigned seconds)
{
    struct prof_run *run = NULL;
    assert_int_equal(start_as(k, seconds, "test", true, &run), 0);
    return run;
}

// over: waits for the thread that writes.
static enum prof_phase over(struct prof_run *run)
{
    while (prof_phase(run) == PROF_WRITES)
        usleep(100);
    return prof_phase(run);
}

static uint64_t counter(const char *name)
{
    struct text t;
    char line[64];
    text_init(&t, 1 << 16);
    prof_render(prof, &t);
    snprintf(line, sizeof(line), "%s ", name);
    const char *at = strstr(text_str(&t), line);
    assert_non_null(at);
    const uint64_t value = strtoull(at + strlen(line), NULL, 10);
    text_free(&t);
    return value;
}

// ---- one run

static void a_timed_run_takes_its_seconds(void **test)
{
    struct prof_run *run = start(&timed, 2);
    assert_int_equal(prof_turn(prof, 1020), PROF_TICK_MS);
    assert_int_equal(prof_turn(prof, 2999), PROF_TICK_MS);
    assert_int_equal(prof_phase(run), PROF_TAKES);
    assert_string_equal(calls, "bttt");
    prof_turn(prof, 3000);
    assert_int_equal(over(run), PROF_READY);
    assert_string_equal(text_str(prof_result(run)), "of -");
    assert_string_equal(calls, "btttsr");
    prof_end(run);
    assert_string_equal(calls, "btttsr");
    assert_int_equal(prof_turn(prof, 3000), 0);
    assert_int_equal(counter("ready"), 1);
}

static void a_state_is_taken_at_once(void **test)
{
    struct prof_run *run = start(&state_now, 0);
    assert_int_equal(over(run), PROF_READY);
    assert_string_equal(calls, "bsr");
    prof_end(run);
    assert_int_equal(counter("runs_now"), 0);
}

static void a_difference_takes_its_seconds(void **test)
{
    struct prof_run *run = start(&state_now, 1);
    prof_turn(prof, 1999);
    assert_string_equal(calls, "b");
    prof_turn(prof, 2000);
    assert_int_equal(over(run), PROF_READY);
    prof_end(run);
}

static void a_stop_in_slices_is_called_soon_again(void **test)
{
    slices = 3;
    struct prof_run *run = start(&state_now, 0);
    assert_int_equal(prof_phase(run), PROF_STOPS);
    assert_int_equal(prof_turn(prof, 1002), PROF_SLICE_MS);
    assert_int_equal(prof_turn(prof, 1004), PROF_SLICE_MS);
    assert_int_equal(prof_phase(run), PROF_STOPS);
    prof_turn(prof, 1006);
    assert_int_equal(over(run), PROF_READY);
    assert_string_equal(calls, "bssssr");
    prof_end(run);
}

static void a_whole_run_ends_when_it_is_told(void **test)
{
    struct prof_run *run;
    const struct prof_order order = {
        .kind = &timed, .query = {.seconds = 1}, .client = "test", .root = true, .whole = true};
    assert_int_equal(prof_start(prof, &order, 0, &run, &e), 0);
    prof_turn(prof, 3600u * 1000 * 24);
    assert_int_equal(prof_phase(run), PROF_TAKES);
    prof_stop(run);
    prof_turn(prof, 3600u * 1000 * 24);
    assert_int_equal(over(run), PROF_READY);
    prof_end(run);
}

static void the_thread_has_a_name_and_no_signals(void **test)
{
    struct prof_run *run = start(&state_now, 0);
    over(run);
    assert_string_equal(thread_name, "prof-state");
    assert_true(sigismember(&thread_mask, SIGTERM) == 1 && sigismember(&thread_mask, SIGPROF) == 1);
    prof_end(run);
}

static void the_strings_of_the_query_are_copied(void **test)
{
    char filter[] = "state=open", format[] = "chrome";
    struct prof_run *run;
    const struct prof_order order = {
        .kind = &state_now, .query = {.filter = filter, .format = format}, .client = "test"};
    assert_int_equal(prof_start(prof, &order, 0, &run, &e), 0);
    memset(filter, 'x', sizeof(filter));
    memset(format, 'x', sizeof(format));
    assert_int_equal(over(run), PROF_READY);
    assert_string_equal(text_str(prof_result(run)), "of state=open");
    prof_end(run);
}

static void every_start_asks_for_turns(void **test)
{
    struct prof_run *run = start(&timed, 1);
    assert_int_equal(started, 1);
    prof_end(run);
    assert_int_equal(prof_turn(prof, 1000), 0);
}

// ---- failures

static void a_refusal_of_begin_is_told_apart(void **test)
{
    struct prof_run *run;
    static const struct {
        int fails, says;
    } rows[] = {{-EINVAL, -EINVAL}, {-EBUSY, -EBUSY}, {-1, -EIO}, {-ENOMEM, -EIO}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        begin_fails = rows[i].fails;
        assert_int_equal(start_as(&timed, 1, "test", true, &run), rows[i].says);
        assert_string_equal(e.text, "begin: no");
    }
    assert_string_equal(calls, "bbbb");  // nothing to release
    assert_int_equal(counter("refused_kind"), 4);
    assert_int_equal(counter("runs_now"), 0);
}

static void a_failed_stop_is_released_and_says_why(void **test)
{
    stop_fails = 1;
    struct prof_run *run = start(&state_now, 0);
    assert_int_equal(prof_phase(run), PROF_FAILED);
    assert_string_equal(prof_error(run), "stop: no");
    assert_string_equal(calls, "bsr");
    prof_end(run);
    assert_int_equal(counter("failed"), 1);
}

static void a_failed_write_is_released_and_says_why(void **test)
{
    write_fails = 1;
    struct prof_run *run = start(&state_now, 0);
    assert_int_equal(over(run), PROF_FAILED);
    assert_string_equal(prof_error(run), "write: no");
    assert_string_equal(calls, "bsr");
    prof_end(run);
}

static void a_result_over_the_limit_fails(void **test)
{
    too_large = true;
    struct prof_run *run = start(&state_now, 0);
    assert_int_equal(over(run), PROF_FAILED);
    assert_non_null(strstr(prof_error(run), "128 MiB"));
    assert_int_equal(prof_result(run)->len, 0);
    prof_end(run);
}

static void all_results_together_have_a_limit_and_leave_room_when_they_are_taken(void **test)
{
    enum { LARGE_MIB = 100, SMALL_MIB = 1 };
    struct prof_run *run[4];
    write_mib = LARGE_MIB;
    for (unsigned i = 0; i < 3; i++) {
        run[i] = start(&state_now, 0);
        assert_int_equal(over(run[i]), i < 2 ? PROF_READY : PROF_FAILED);
    }
    assert_non_null(strstr(prof_error(run[2]), "together may have 256 MiB"));
    assert_int_equal(counter("results_bytes_max"), 256 << 20);
    assert_in_range(counter("results_bytes_now"), 2 * LARGE_MIB << 20, 256 << 20);
    write_mib = SMALL_MIB;
    run[3] = start(&state_now, 0);
    assert_int_equal(over(run[3]), PROF_READY);  // what is small still fits
    prof_end(run[0]);
    write_mib = LARGE_MIB;
    run[0] = start(&state_now, 0);
    assert_int_equal(over(run[0]), PROF_READY);
    for (unsigned i = 0; i < ARRAY_LEN(run); i++)
        prof_end(run[i]);
    assert_int_equal(counter("results_bytes_now"), 0);
}

// ---- clients that go

static void a_client_that_goes_ends_what_is_taken(void **test)
{
    struct prof_run *run = start(&timed, 5);
    prof_end(run);
    assert_string_equal(calls, "btr");
    assert_int_equal(counter("left"), 1);
    assert_int_equal(counter("runs_now"), 0);
}

static void a_client_that_goes_between_slices_ends_it(void **test)
{
    slices = 100;
    struct prof_run *run = start(&state_now, 0);
    prof_end(run);
    assert_string_equal(calls, "bsr");
    assert_int_equal(counter("runs_now"), 0);
}

static void a_client_that_goes_does_not_wait_for_the_thread(void **test)
{
    shared_bool_store(&gate, false);
    struct prof_run *run = start(&state_now, 0);
    prof_end(run);  // would never return if it joined
    assert_int_equal(counter("runs_now"), 1);
    assert_int_equal(prof_turn(prof, 1000), PROF_TICK_MS);
    shared_bool_store_release(&gate, true);
    while (prof_turn(prof, 1000) != 0)
        usleep(100);
    assert_int_equal(counter("runs_now"), 0);
    assert_int_equal(counter("left"), 1);
    assert_string_equal(calls, "bsr");
}

static void a_server_that_stops_ends_runs_in_every_phase(void **test)
{
    slices = 1;
    start(&state_now, 0);
    slices = 0;
    start(&timed, 5);
    start(&state_now, 0);
    over(start(&state_now, 0));
    prof_free(prof);
    prof = NULL;
    unsigned begun = 0, released = 0;
    for (const char *c = calls; *c != '\0'; c++) {
        begun += *c == 'b';
        released += *c == 'r';
    }
    assert_int_equal(begun, 4);
    assert_int_equal(released, 4);
}

static void a_server_that_stops_tells_what_is_being_written_to_fail(void **test)
{
    shared_bool_store(&gate, false);
    hurried_ends = true;
    start(&state_now, 0);
    prof_free(prof);  // would never return without it
    prof = NULL;
    assert_int_equal(write_error, -ECANCELED);
    assert_string_equal(calls, "bsr");
}

// ---- limits

static void one_client_cannot_take_all_runs(void **test)
{
    struct prof_run *run;
    for (unsigned i = 0; i < PROF_RUNS_CLIENT_MAX; i++)
        assert_int_equal(start_as(&timed, 3600, "greedy", false, &run), 0);
    assert_int_equal(start_as(&timed, 3600, "greedy", false, &run), -EBUSY);
    assert_non_null(strstr(e.text, "most of one client"));
    assert_int_equal(start_as(&timed, 1, "other", false, &run), 0);
    assert_int_equal(counter("refused_client"), 1);
}

static void the_last_runs_are_for_root(void **test)
{
    struct prof_run *run;
    char client[] = "c0";
    for (unsigned i = 0; i < PROF_RUNS_MAX - PROF_RUNS_ROOT; i++, client[1]++)
        assert_int_equal(start_as(&timed, 1, client, false, &run), 0);
    assert_int_equal(start_as(&timed, 1, client, false, &run), -EBUSY);
    for (unsigned i = 0; i < PROF_RUNS_ROOT; i++)
        assert_int_equal(start_as(&timed, 1, "root", true, &run), 0);
    assert_int_equal(start_as(&timed, 1, "root", true, &run), -EBUSY);
    assert_int_equal(counter("refused_full"), 2);
    assert_int_equal(counter("runs_now"), PROF_RUNS_MAX);
}

static void a_client_that_begins_too_often_waits_and_others_do_not(void **test)
{
    struct prof_run *run;
    for (unsigned i = 0; i < PROF_STARTS_BURST; i++) {
        run = start(&state_now, 0);
        over(run);
        prof_end(run);
    }
    const uint64_t before = counter("started");
    assert_int_equal(start_as(&state_now, 0, "test", true, &run), -EAGAIN);
    assert_non_null(strstr(e.text, "again in 250 ms"));
    assert_int_equal(counter("refused_often"), 1);
    assert_int_equal(counter("started"), before);
    assert_int_equal(counter("runs_now"), 0);
    assert_int_equal(start_as(&state_now, 0, "other", false, &run), 0);
}

static void a_start_that_finds_no_room_uses_up_nothing(void **test)
{
    struct prof_run *run[PROF_RUNS_CLIENT_MAX], *more;
    for (unsigned i = 0; i < PROF_RUNS_CLIENT_MAX; i++)
        assert_int_equal(start_as(&timed, 1, "greedy", false, &run[i]), 0);
    for (unsigned i = 0; i < 2 * PROF_STARTS_BURST; i++)
        assert_int_equal(start_as(&timed, 1, "greedy", false, &more), -EBUSY);
    prof_end(run[0]);
    assert_int_equal(start_as(&timed, 1, "greedy", false, &more), 0);
}

static void starts_of_a_client_are_a_burst_and_then_so_many_a_second(void **test)
{
    static struct prof_starts s;
    unsigned n = 0;
    for (unsigned ms = 0; ms < 10000; ms++)
        n += prof_starts_take(&s, "a", ms) == 0;
    assert_int_equal(n, PROF_STARTS_BURST + (10000 - 1) / PROF_STARTS_MS);
    const uint32_t wait = prof_starts_take(&s, "a", 10000);
    assert_int_equal(wait, 0);
    assert_int_equal(prof_starts_take(&s, "a", 10001), PROF_STARTS_MS - 1);
    assert_int_equal(prof_starts_take(&s, "a", 10000 + PROF_STARTS_MS), 0);
    assert_int_equal(prof_starts_take(&s, "a", 3600000), 0);  // no more than a burst is saved up
    for (unsigned i = 1; i < PROF_STARTS_BURST; i++)
        assert_int_equal(prof_starts_take(&s, "a", 3600000), 0);
    assert_int_equal(prof_starts_take(&s, "a", 3600000), PROF_STARTS_MS);
}

static void of_too_many_clients_the_one_that_rested_longest_is_forgotten(void **test)
{
    static struct prof_starts s;
    char name[] = "c0";
    for (unsigned i = 0; i < PROF_STARTS_BURST; i++)
        assert_int_equal(prof_starts_take(&s, "greedy", 1000), 0);
    for (unsigned i = 0; i < 3 * PROF_STARTS_CLIENTS; i++, name[1]++)
        assert_int_equal(prof_starts_take(&s, name, 1000), 0);
    assert_int_equal(prof_starts_take(&s, "greedy", 1000), PROF_STARTS_MS);
}

// A client that opens and leaves cannot make more threads than runs.
static void runs_that_were_left_count_until_they_end(void **test)
{
    struct prof_run *run;
    shared_bool_store(&gate, false);
    for (unsigned i = 0; i < PROF_RUNS_MAX; i++)
        prof_end(start(&state_now, 0));
    assert_int_equal(start_as(&state_now, 0, "test", true, &run), -EBUSY);
    shared_bool_store_release(&gate, true);
    while (prof_turn(prof, 1000) != 0)
        usleep(100);
    prof_end(start(&state_now, 0));
}

static void the_list_names_kind_client_and_phase(void **test)
{
    struct prof_run *run;
    struct text t;
    text_init(&t, 1 << 16);
    assert_int_equal(start_as(&timed, 7, "127.0.0.1", false, &run), 0);
    prof_render_runs(prof, 1250, &t);
    assert_non_null(strstr(text_str(&t), "\ntimed 127.0.0.1 7 takes 250\n"));
    text_free(&t);
}

// ---- queries

static struct prof_words words;

static int parse(const struct prof_kind *k, const char *text, struct prof_query *q)
{
    memset(&e, 0, sizeof(e));
    return prof_query_parse(k, text, q, &words, &e);
}

static void a_query_has_gos_defaults(void **test)
{
    struct prof_query q;
    assert_int_equal(parse(&timed, "", &q), 0);
    assert_int_equal(q.seconds, PROF_SECONDS_DEFAULT);
    assert_int_equal(parse(&brief, "seconds=0", &q), 0);
    assert_int_equal(q.seconds, 1);
    assert_int_equal(parse(&state_now, "", &q), 0);
    assert_int_equal(q.seconds, 0);
    assert_true(q.debug == 0 && q.format == NULL && q.filter == NULL);
}

static void a_query_is_decoded(void **test)
{
    struct prof_query q;
    assert_int_equal(parse(&timed,
                           "gc=1&seconds=5&unknown=%zz&seconds=7&debug=2&format=perfetto&"
                           "filter=state%3Destablished+port%3d80",
                           &q),
                     0);
    assert_int_equal(q.seconds, 5);
    assert_int_equal(q.debug, 2);
    assert_string_equal(q.format, "perfetto");
    assert_string_equal(q.filter, "state=established port=80");
}

static void a_malformed_value_is_refused_by_its_name(void **test)
{
    static const char *const bad[] = {
        "seconds=x",
        "seconds=-1",
        "seconds=3601",
        "seconds=1.5",
        "seconds=+5",
        "seconds=5%0",
        "debug=3",
        "debug=1e1",
        "format=svg",
        "format=g%6f%00",
        "filter=%",
        "filter=%0a",
        "filter=%7f",
        "filter=a%zz",
        "seconds=0x5",
        "seconds=5 6",
        "debug=%31%32%33%34%35%36%37%38%39%30%31%32%33%34%35%36%37%38%39%30%31%32%33",
        "seconds=99999999999999999999999999999999",
        "debug=\xff",
        "format=perfettoperfetto",
    };
    struct prof_query q;
    for (unsigned i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(parse(&timed, bad[i], &q), -1);
        assert_memory_equal(e.text, bad[i], strcspn(bad[i], "="));
        assert_non_null(strstr(e.text, "expected"));
    }
}

static void a_filter_is_bounded(void **test)
{
    char text[PROF_QUERY_BYTES_MAX] = "filter=";
    struct prof_query q;
    memset(text + 7, 'a', PROF_FILTER_BYTES - 1);
    assert_int_equal(parse(&timed, text, &q), 0);
    assert_int_equal(strlen(q.filter), PROF_FILTER_BYTES - 1);
    text[7 + PROF_FILTER_BYTES - 1] = 'a';
    assert_int_equal(parse(&timed, text, &q), -1);
}

static void names_are_found_whole_only(void **test)
{
    struct prof_query q;
    assert_int_equal(parse(&state_now, "xseconds=9&seconds&second=9&secondss=9", &q), 0);
    assert_int_equal(q.seconds, 0);
    assert_ptr_equal(prof_kind_named(prof, "state"), &state_now);
    assert_null(prof_kind_named(prof, "stat"));
    assert_null(prof_kind_named(prof, ""));
    assert_ptr_equal(prof_kind_at(prof, 0), &timed);
    assert_null(prof_kind_at(prof, ARRAY_LEN(kinds)));
}

// ---- files of the flags

// profiled: a command with these files, whose paths are below a directory of its own.
struct profiled {
    char dir[32], paths[PROF_FILE_KINDS][64];
    struct prof_files files;
};

static void make_paths(struct profiled *p)
{
    static const char *const names[] = {"cpu", "mem", "trace"};
    memset(p, 0, sizeof(*p));
    snprintf(p->dir, sizeof(p->dir), "/tmp/test_prof.XXXXXX");
    assert_non_null(mkdtemp(p->dir));
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++) {
        snprintf(p->paths[i], sizeof(p->paths[i]), "%s/%s", p->dir, names[i]);
        p->files.paths[i] = p->paths[i];
    }
}

static void remove_paths(struct profiled *p)
{
    for (unsigned i = 0; i < PROF_FILE_KINDS; i++)
        unlink(p->paths[i]);
    assert_int_equal(rmdir(p->dir), 0);
}

static void expect_file(const char *path, const char *want)
{
    char text[64] = "";
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, f), strlen(want));
    fclose(f);
    assert_string_equal(text, want);
}

static void every_flag_writes_its_file(void **test)
{
    struct profiled p;
    make_paths(&p);
    assert_int_equal(prof_files_open(&p.files, &e), 0);
    assert_int_equal(prof_files_begin(&p.files, prof, &e), 0);
    assert_int_equal(counter("runs_now"), 2);
    assert_int_equal(prof_files_memory(&p.files, &e), 0);
    expect_file(p.paths[PROF_FILE_MEM], "of -");
    expect_file(p.paths[PROF_FILE_CPU], "");
    assert_int_equal(prof_files_end(&p.files, &e), 0);
    expect_file(p.paths[PROF_FILE_CPU], "of -");
    expect_file(p.paths[PROF_FILE_TRACE], "of -");
    assert_int_equal(counter("started"), 3);
    assert_int_equal(counter("runs_now"), 0);
    assert_int_equal(prof_files_end(&p.files, &e), 0);  // again: nothing to do
    remove_paths(&p);
}

static void memory_is_taken_at_the_end_at_last(void **test)
{
    struct profiled p;
    make_paths(&p);
    p.files.paths[PROF_FILE_CPU] = p.files.paths[PROF_FILE_TRACE] = NULL;
    assert_int_equal(prof_files_open(&p.files, &e), 0);
    assert_int_equal(prof_files_begin(&p.files, prof, &e), 0);
    assert_int_equal(prof_files_end(&p.files, &e), 0);
    expect_file(p.paths[PROF_FILE_MEM], "of -");
    remove_paths(&p);
}

static void without_flags_nothing_runs(void **test)
{
    struct prof_files none = {0};
    assert_false(prof_files_any(&none));
    assert_int_equal(prof_files_open(&none, &e), 0);
    assert_int_equal(prof_files_begin(&none, prof, &e), 0);
    assert_int_equal(prof_files_memory(&none, &e), 0);
    assert_int_equal(prof_files_end(&none, &e), 0);
    assert_int_equal(prof_files_begin(NULL, prof, &e), 0);
    assert_int_equal(prof_files_end(NULL, &e), 0);
    assert_string_equal(calls, "");
}

static void a_file_that_cannot_be_made_ends_the_command(void **test)
{
    struct prof_files f = {.paths = {NULL, "/nowhere/x/mem", NULL}};
    assert_int_equal(prof_files_open(&f, &e), -1);
    assert_non_null(strstr(e.text, "--memprofile /nowhere/x/mem: No such file"));
    assert_int_equal(prof_files_end(&f, &e), 0);
}

static void a_file_that_cannot_be_written_is_told(void **test)
{
    struct prof_files f = {.paths = {NULL, "/dev/full", NULL}};
    assert_int_equal(prof_files_open(&f, &e), 0);
    assert_int_equal(prof_files_begin(&f, prof, &e), 0);
    assert_int_equal(prof_files_end(&f, &e), -1);
    assert_non_null(strstr(e.text, "--memprofile /dev/full: No space left"));
}

static void a_profile_that_fails_is_told_and_the_others_are_written(void **test)
{
    struct profiled p;
    make_paths(&p);
    p.files.paths[PROF_FILE_TRACE] = NULL;
    assert_int_equal(prof_files_open(&p.files, &e), 0);
    assert_int_equal(prof_files_begin(&p.files, prof, &e), 0);
    write_fails = 1;
    assert_int_equal(prof_files_memory(&p.files, &e), -1);
    assert_non_null(strstr(e.text, "mem: write: no"));
    write_fails = 0;
    assert_int_equal(prof_files_end(&p.files, &e), 0);
    expect_file(p.paths[PROF_FILE_CPU], "of -");
    remove_paths(&p);
}

static int files_polled(struct prof_files *f)
{
    prof_turn(prof, prof_clock_ms());
    return prof_files_poll(f, &e);
}

// The reader of a pipe takes nothing until the pipe is full, and then all.
static void a_pipe_that_is_full_is_not_waited_for(void **test)
{
    static char taken[1 << 16];
    struct prof_files f = {.paths = {NULL, "/proc/self/fd/77", NULL}};
    int pipe_fds[2], rc;
    size_t n = 0;
    assert_int_equal(pipe(pipe_fds), 0);
    assert_int_equal(dup2(pipe_fds[1], 77), 77);
    assert_int_equal(prof_files_open(&f, &e), 0);
    close(pipe_fds[1]);
    close(77);
    assert_int_equal(prof_files_begin(&f, prof, &e), 0);
    write_mib = 1;
    prof_files_stop(&f, &e);
    for (int full = 0; full < 10; full += f.written[PROF_FILE_MEM] != 0)
        assert_int_equal(files_polled(&f), PROF_FILES_WAIT);
    do {
        rc = files_polled(&f);
        n += (size_t)read(pipe_fds[0], taken, sizeof(taken));
    } while (rc == PROF_FILES_WAIT);
    assert_int_equal(rc, 0);
    while ((rc = (int)read(pipe_fds[0], taken, sizeof(taken))) > 0)
        n += (size_t)rc;
    assert_int_equal(n, (1 << 20) + 4);
    close(pipe_fds[0]);
}

static void files_that_are_left_are_named_and_end_their_runs(void **test)
{
    struct profiled p;
    make_paths(&p);
    p.files.paths[PROF_FILE_TRACE] = NULL;
    assert_int_equal(prof_files_open(&p.files, &e), 0);
    assert_int_equal(prof_files_begin(&p.files, prof, &e), 0);
    shared_bool_store(&gate, false);
    prof_files_stop(&p.files, &e);
    assert_int_equal(files_polled(&p.files), PROF_FILES_WAIT);
    assert_int_equal(prof_files_leave(&p.files, "not now", &e), -1);
    assert_non_null(strstr(e.text, "mem: not now"));
    assert_int_equal(prof_files_leave(&p.files, "not now", &e), 0);  // they are closed
    shared_bool_store_release(&gate, true);
    while (counter("runs_now") != 0)
        prof_turn(prof, prof_clock_ms());
    expect_file(p.paths[PROF_FILE_CPU], "");
    remove_paths(&p);
}

static void flags_have_the_names_of_gos(void **test)
{
    assert_int_equal(prof_files_option("cpuprofile"), PROF_FILE_CPU);
    assert_int_equal(prof_files_option("memprofile"), PROF_FILE_MEM);
    assert_int_equal(prof_files_option("trace"), PROF_FILE_TRACE);
    assert_int_equal(prof_files_option("profile"), -1);
}

#define CLAIM(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CLAIM(a_timed_run_takes_its_seconds),
        CLAIM(a_state_is_taken_at_once),
        CLAIM(a_difference_takes_its_seconds),
        CLAIM(a_stop_in_slices_is_called_soon_again),
        CLAIM(a_whole_run_ends_when_it_is_told),
        CLAIM(the_thread_has_a_name_and_no_signals),
        CLAIM(the_strings_of_the_query_are_copied),
        CLAIM(every_start_asks_for_turns),
        CLAIM(a_refusal_of_begin_is_told_apart),
        CLAIM(a_failed_stop_is_released_and_says_why),
        CLAIM(a_failed_write_is_released_and_says_why),
        CLAIM(a_result_over_the_limit_fails),
        CLAIM(all_results_together_have_a_limit_and_leave_room_when_they_are_taken),
        CLAIM(a_client_that_goes_ends_what_is_taken),
        CLAIM(a_client_that_goes_between_slices_ends_it),
        CLAIM(a_client_that_goes_does_not_wait_for_the_thread),
        CLAIM(a_server_that_stops_ends_runs_in_every_phase),
        CLAIM(a_server_that_stops_tells_what_is_being_written_to_fail),
        CLAIM(one_client_cannot_take_all_runs),
        CLAIM(the_last_runs_are_for_root),
        CLAIM(a_client_that_begins_too_often_waits_and_others_do_not),
        CLAIM(a_start_that_finds_no_room_uses_up_nothing),
        CLAIM(starts_of_a_client_are_a_burst_and_then_so_many_a_second),
        CLAIM(of_too_many_clients_the_one_that_rested_longest_is_forgotten),
        CLAIM(runs_that_were_left_count_until_they_end),
        CLAIM(the_list_names_kind_client_and_phase),
        CLAIM(a_query_has_gos_defaults),
        CLAIM(a_query_is_decoded),
        CLAIM(a_malformed_value_is_refused_by_its_name),
        CLAIM(a_filter_is_bounded),
        CLAIM(names_are_found_whole_only),
        CLAIM(every_flag_writes_its_file),
        CLAIM(memory_is_taken_at_the_end_at_last),
        CLAIM(without_flags_nothing_runs),
        CLAIM(a_file_that_cannot_be_made_ends_the_command),
        CLAIM(a_file_that_cannot_be_written_is_told),
        CLAIM(a_profile_that_fails_is_told_and_the_others_are_written),
        CLAIM(a_pipe_that_is_full_is_not_waited_for),
        CLAIM(files_that_are_left_are_named_and_end_their_runs),
        CLAIM(flags_have_the_names_of_gos),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
