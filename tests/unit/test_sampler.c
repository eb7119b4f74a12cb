// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "pprof/sampler.h"
#include "pprof/stack_look.h"
#include "pprof/symbols.h"

enum { THREADS = 3, MANY = SAMPLER_ARM + 2, HZ = 1000, MS = 1000000 };

// spinner: a thread that burns CPU time in one of two functions.
struct spinner {
    pthread_t thread;
    struct own_thread own;
    struct shared_u32 word;
    struct shared_u8 byte;
    struct shared_bool stop, ready;
};

static struct spinner spinners[MANY];
static volatile uint64_t sink;
static int zero_fd;

static uint64_t ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static NOINLINE void burn(uint64_t ns_cpu)
{
    const uint64_t until = ns(CLOCK_THREAD_CPUTIME_ID) + ns_cpu;
    while (ns(CLOCK_THREAD_CPUTIME_ID) < until)
        for (unsigned i = 0; i < 20000; i++)
            sink += i;
}

static NOINLINE void planted_heavy(void)
{
    burn(21 * MS);
    __asm__ volatile("");
}

static NOINLINE void planted_light(void)
{
    burn(7 * MS);
    __asm__ volatile("");
}

// planted_kernel: spends its time in one system call, as a worker of a kernel port does.
static NOINLINE void planted_kernel(void)
{
    static char zeros[1 << 20];
    if (read(zero_fd, zeros, sizeof(zeros)) < 0)
        abort();
}

static void *call_kernel(void *arg)
{
    struct spinner *s = arg;
    own_thread_begin(&s->own);
    shared_bool_store_release(&s->ready, true);
    while (!shared_bool_load(&s->stop))
        planted_kernel();
    own_thread_end();
    return NULL;
}

// planted_long_call: one system call that no signal interrupts, of some 100 ms.
static NOINLINE void planted_long_call(void)
{
    enum { BYTES = 512 << 20 };
    void *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                   -1, 0);
    if (p == MAP_FAILED || munmap(p, BYTES) != 0)
        abort();
}

static void *call_long(void *arg)
{
    struct spinner *s = arg;
    own_thread_begin(&s->own);
    shared_bool_store_release(&s->ready, true);
    while (!shared_bool_load(&s->stop))
        planted_long_call();
    own_thread_end();
    return NULL;
}

// planted_wait: waits in one system call, and burns nothing.
static NOINLINE void planted_wait(void)
{
    usleep(1000);
    __asm__ volatile("");
}

static void *sleep_only(void *arg)
{
    struct spinner *s = arg;
    own_thread_begin(&s->own);
    shared_bool_store_release(&s->ready, true);
    while (!shared_bool_load(&s->stop))
        planted_wait();
    own_thread_end();
    return NULL;
}

static void *spin(void *arg)
{
    struct spinner *s = arg;
    own_thread_begin(&s->own);
    shared_bool_store_release(&s->ready, true);
    while (!shared_bool_load(&s->stop)) {
        shared_u32_store(&s->word, 7);
        planted_heavy();
        shared_u32_store(&s->word, 8);
        planted_light();
    }
    own_thread_end();
    return NULL;
}

static void begin(unsigned n, void *(*fn)(void *))
{
    for (unsigned i = 0; i < n; i++) {
        memset(&spinners[i], 0, sizeof(spinners[i]));
        shared_u8_store(&spinners[i].byte, (uint8_t)(i + 1));
        assert_int_equal(pthread_create(&spinners[i].thread, NULL, fn, &spinners[i]), 0);
        while (!shared_bool_load_acquire(&spinners[i].ready))
            usleep(100);
    }
}

static void spin_begin(unsigned n)
{
    begin(n, spin);
}

static void spin_end(unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        shared_bool_store(&spinners[i].stop, true);
    for (unsigned i = 0; i < n; i++)
        pthread_join(spinners[i].thread, NULL);
}

static struct sampler *start(unsigned n, enum sample_trigger_kind kind,
                             const struct sample_counters *counters)
{
    static struct sampler_thread threads[MANY];
    struct sampler_params p = {
        .threads = threads, .n = n, .hz = HZ, .trigger = kind, .counters = counters};
    struct sampler *s = NULL;
    struct err err = {.text = ""};
    for (unsigned i = 0; i < n; i++)
        threads[i] =
            (struct sampler_thread){&spinners[i].own, &spinners[i].word, &spinners[i].byte};
    assert_int_equal(sampler_start(&p, &s, &err), 0);
    return s;
}

// seen: what samples said. all, heavy, light: periods. A sample may stand for several.
struct seen {
    uint64_t samples, all, heavy, light, other, wrong, cpu_ns;
    uint64_t counters[SAMPLE_COUNTERS_MAX];
};

static bool has(struct symbols *symbols, const struct sample *s, const char *function)
{
    struct symbol_frame f;
    for (uint32_t i = 0; i < s->depth; i++)
        if (symbols_at(symbols, s->addresses[i], &f, 1) == 1 && strcmp(f.function, function) == 0)
            return true;
    return false;
}

static void look(struct seen *seen, struct symbols *symbols, const struct sample *s)
{
    const bool heavy = has(symbols, s, "planted_heavy"), light = has(symbols, s, "planted_light");
    seen->samples++;
    seen->all += s->periods;
    seen->heavy += heavy ? s->periods : 0;
    seen->light += light ? s->periods : 0;
    seen->other += !heavy && !light;
    seen->wrong += s->byte != s->thread + 1 || (heavy && s->word != 7) || (light && s->word != 8) ||
                   !has(symbols, s, "spin");
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++)
        seen->counters[i] += s->counters[i];
}

static void drain(struct seen *seen, struct symbols *symbols, struct sampler *s)
{
    for (const struct sample *sample; (sample = sampler_next(s)) != NULL;)
        look(seen, symbols, sample);
}

static uint64_t cpu_of(const struct spinner *s)
{
    clockid_t clock;
    assert_int_equal(pthread_getcpuclockid(s->thread, &clock), 0);
    return ns(clock);
}

// watch: samples n threads until each used about ms of CPU time.
static struct seen watch(unsigned n, unsigned ms, struct sampler *s)
{
    struct seen seen = {.all = 0};
    struct symbols *symbols = symbols_open(NULL);
    uint64_t before = 0, now = 0;
    for (unsigned i = 0; i < n; i++)
        before += cpu_of(&spinners[i]);
    do {
        usleep(10000);
        drain(&seen, symbols, s);
        now = 0;
        for (unsigned i = 0; i < n; i++)
            now += cpu_of(&spinners[i]);
    } while (now - before < (uint64_t)n * ms * MS);
    sampler_stop(s);
    drain(&seen, symbols, s);
    seen.cpu_ns = now - before;
    symbols_close(symbols);
    return seen;
}

// The parts are longer than a tick of the kernel, in which it looks at timers.
static void samples_are_where_the_cpu_time_goes(void **state)
{
    (void)state;
    for (enum sample_trigger_kind kind = TRIGGER_PERF; kind <= TRIGGER_TIMER; kind++) {
        spin_begin(THREADS);
        struct sampler *s = start(THREADS, kind, NULL);
        assert_int_equal(sampler_trigger(s), kind);
        const struct seen seen = watch(THREADS, 500, s);
        const uint64_t expected = seen.cpu_ns / (1000 * MS / HZ);
        fprintf(stderr, "trigger %d: %lu samples of %lu, heavy %lu, light %lu, lost %lu\n", kind,
                seen.all, expected, seen.heavy, seen.light, sampler_lost(s));
        assert_in_range(seen.all + sampler_lost(s), expected * 8 / 10, expected * 12 / 10);
        // Ticks come at the same places of the work again and again.
        const unsigned off = kind == TRIGGER_TIMER ? 15 : 7;
        assert_in_range(100 * seen.heavy / (seen.heavy + seen.light), 75 - off, 75 + off);
        assert_in_range(seen.other, 0, seen.all / 50);
        assert_in_range(seen.wrong, 0, seen.all / 50);
        assert_int_equal(sampler_missed(s), 0);
        sampler_free(s);
        spin_end(THREADS);
    }
}

static void time_in_the_kernel_is_its_callers(void **state)
{
    (void)state;
    zero_fd = open("/dev/zero", O_RDONLY);
    for (enum sample_trigger_kind kind = TRIGGER_PERF; kind <= TRIGGER_TIMER; kind++) {
        uint64_t all = 0, named = 0;
        struct symbols *symbols = symbols_open(NULL);
        begin(1, call_kernel);
        struct sampler *s = start(1, kind, NULL);
        const uint64_t before = cpu_of(&spinners[0]);
        while (cpu_of(&spinners[0]) - before < 200ull * MS) {
            usleep(10000);
            for (const struct sample *sample; (sample = sampler_next(s)) != NULL;) {
                all += sample->periods;
                named += has(symbols, sample, "planted_kernel") ? sample->periods : 0;
            }
        }
        fprintf(stderr, "trigger %d: %lu samples, %lu named\n", kind, all, named);
        if (kind == TRIGGER_PERF_USER)  // all but nothing
            assert_in_range(all, 0, 100);
        else
            assert_true(all >= 100 && named >= all * 9 / 10);
        sampler_free(s);
        spin_end(1);
        symbols_close(symbols);
    }
    close(zero_fd);
}

// Signals that wait merge into one: the clock tells how many periods it stands for. A start may
// wait for the mappings of the process, and with them for some of the calls.
static void a_long_system_call_counts_whole(void **state)
{
    uint64_t all = 0, samples = 0;
    (void)state;
    begin(1, call_long);
    const uint64_t begun = cpu_of(&spinners[0]);
    struct sampler *s = start(1, TRIGGER_PERF, NULL);
    const uint64_t before = cpu_of(&spinners[0]);
    while (cpu_of(&spinners[0]) - before < 1500ull * MS) {
        usleep(10000);
        for (const struct sample *sample; (sample = sampler_next(s)) != NULL; samples++)
            all += sample->periods;
    }
    const uint64_t after = cpu_of(&spinners[0]);
    const uint64_t expected = (after - before) / (1000 * MS / HZ);
    const uint64_t most = (after - begun) / (1000 * MS / HZ) * 2;
    shared_bool_store(&spinners[0].stop, true);
    while (shared_u32_load(&spinners[0].own.tid) != 0)  // the call ends, and is seen
        usleep(1000);
    for (const struct sample *sample; (sample = sampler_next(s)) != NULL; samples++)
        all += sample->periods;
    fprintf(stderr, "%lu periods in %lu samples, of %lu and a call\n", all, samples, expected);
    assert_in_range(all, expected * 9 / 10, most);
    assert_in_range(samples, 1, all / 10);  // so the calls were long
    sampler_free(s);
    spin_end(1);
}

static void many_threads_are_armed_a_few_at_a_time(void **state)
{
    unsigned armed = 0;
    (void)state;
    begin(MANY, sleep_only);
    struct sampler *s = start(MANY, TRIGGER_PERF, NULL);
    for (unsigned i = 0; i < MANY; i++)
        armed += atomic_load(&spinners[i].own.samples.v) != NULL;
    assert_int_equal(armed, SAMPLER_ARM);
    assert_false(sampler_arm(s));
    for (unsigned i = 0; i < MANY; i++)
        assert_non_null(atomic_load(&spinners[i].own.samples.v));
    assert_int_equal(sampler_missed(s), 0);
    sampler_stop(s);
    for (unsigned i = 0; i < MANY; i++)
        assert_null(atomic_load(&spinners[i].own.samples.v));
    sampler_free(s);
    spin_end(MANY);
}

static void there_is_one_sampler_at_a_time(void **state)
{
    struct sampler_params p = {.hz = HZ, .trigger = TRIGGER_PERF};
    struct sampler *second = NULL;
    struct err err = {.text = ""};
    (void)state;
    spin_begin(1);
    struct sampler *s = start(1, TRIGGER_PERF, NULL);
    assert_int_equal(sampler_start(&p, &second, &err), -EBUSY);
    assert_non_null(strstr(err.text, "already"));
    sampler_free(s);
    sampler_free(start(1, TRIGGER_PERF, NULL));
    spin_end(1);
}

static void a_sampler_that_is_not_read_counts_what_it_loses(void **state)
{
    struct seen seen = {.all = 0};
    (void)state;
    spin_begin(1);
    struct sampler *s = start(1, TRIGGER_PERF, NULL);
    const uint64_t before = cpu_of(&spinners[0]);
    while (cpu_of(&spinners[0]) - before < 400ull * MS)
        usleep(1000);
    sampler_stop(s);
    while (sampler_next(s) != NULL)
        seen.samples++;
    assert_int_equal(seen.samples, SAMPLE_RING);
    assert_in_range(sampler_lost(s), 200, 600);
    sampler_free(s);
    spin_end(1);
}

static void a_thread_that_does_not_run_is_missed(void **state)
{
    const struct timespec later = {.tv_nsec = 30 * MS};
    (void)state;
    spin_begin(2);
    shared_bool_store(&spinners[1].stop, true);
    while (shared_u32_load(&spinners[1].own.tid) != 0)
        nanosleep(&later, NULL);
    struct sampler *s = start(2, TRIGGER_PERF, NULL);
    assert_int_equal(sampler_missed(s), 1);
    const struct seen seen = watch(1, 50, s);
    assert_true(seen.all != 0);
    sampler_free(s);
    spin_end(2);
}

static void a_thread_may_end_while_it_is_sampled(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 20; i++) {
        spin_begin(2);
        struct sampler *s = start(2, i % 2 == 0 ? TRIGGER_PERF : TRIGGER_TIMER, NULL);
        usleep(5000);
        spin_end(2);
        sampler_free(s);
    }
}

static void no_thread_to_sample_is_an_error(void **state)
{
    static struct own_thread nobody;
    const struct sampler_thread thread = {&nobody, NULL, NULL};
    const struct sampler_params p = {.threads = &thread, .n = 1, .hz = 1, .trigger = TRIGGER_PERF};
    struct sampler *s = NULL;
    struct err err = {.text = ""};
    (void)state;
    assert_int_equal(sampler_start(&p, &s, &err), -1);
    assert_non_null(strstr(err.text, "no thread"));
    assert_null(s);
}

static struct sampler *start_hz(unsigned hz, enum sample_trigger_kind kind)
{
    static struct sampler_thread thread;
    const struct sampler_params p = {.threads = &thread, .n = 1, .hz = hz, .trigger = kind};
    struct sampler *s = NULL;
    struct err err = {.text = ""};
    thread = (struct sampler_thread){&spinners[0].own, &spinners[0].word, &spinners[0].byte};
    assert_int_equal(sampler_start(&p, &s, &err), 0);
    return s;
}

// At one period a second the sampler's own signals do not come within the test.
static void signals_of_others_are_no_samples(void **state)
{
    (void)state;
    spin_begin(1);
    for (enum sample_trigger_kind kind = TRIGGER_PERF; kind <= TRIGGER_TIMER; kind++) {
        struct sampler *s = start_hz(1, kind);
        for (unsigned i = 0; i < 100; i++) {
            pthread_kill(spinners[0].thread, SIGPROF);
            kill(getpid(), SIGPROF);
            usleep(500);
        }
        assert_null(sampler_next(s));
        sampler_free(s);
    }
    spin_end(1);
}

// At the begin and at the end of samplers.
static void late_signals_do_nothing(void **state)
{
    (void)state;
    spin_begin(2);
    for (unsigned i = 0; i < 200; i++) {
        struct sampler *s = start(2, TRIGGER_PERF + i % 3, NULL);
        usleep(500);
        sampler_free(s);
        pthread_kill(spinners[i % 2].thread, SIGPROF);
    }
    spin_end(2);
}

// Counters that a test supplies: they grow by 10, 20, 30 and 40 from one look to the next.
static struct shared_u32 opened, closed;
static uint64_t looks[THREADS];

static bool fake_open(uint32_t tid, int fds[SAMPLE_COUNTERS_MAX])
{
    (void)tid;
    fds[0] = (int)shared_u32_load(&opened);
    shared_u32_store(&opened, shared_u32_load(&opened) + 1);
    return true;
}

static bool fake_read(const int fds[SAMPLE_COUNTERS_MAX], uint64_t out[SAMPLE_COUNTERS_MAX])
{
    const uint64_t n = ++looks[fds[0]];
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++)
        out[i] = 1000000 + n * 10 * (i + 1);
    return true;
}

static void fake_close(const int fds[SAMPLE_COUNTERS_MAX])
{
    (void)fds;
    shared_u32_store(&closed, shared_u32_load(&closed) + 1);
}

static void hardware_counters_come_with_each_sample(void **state)
{
    const struct sample_counters fake = {fake_open, fake_read, fake_close};
    (void)state;
    spin_begin(THREADS);
    struct sampler *s = start(THREADS, TRIGGER_PERF, &fake);
    assert_true(sampler_counts(s));
    const struct seen seen = watch(THREADS, 50, s);
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++)
        assert_int_equal(seen.counters[i], seen.samples * 10 * (i + 1));
    sampler_free(s);
    assert_int_equal(shared_u32_load(&opened), THREADS);
    assert_int_equal(shared_u32_load(&closed), THREADS);
    spin_end(THREADS);
}

static bool fake_refuse(uint32_t tid, int fds[SAMPLE_COUNTERS_MAX])
{
    (void)tid;
    (void)fds;
    return false;
}

static void without_hardware_counters_there_are_samples(void **state)
{
    const struct sample_counters none = {fake_refuse, NULL, NULL};
    (void)state;
    spin_begin(1);
    struct sampler *s = start(1, TRIGGER_PERF, &none);
    assert_false(sampler_counts(s));
    const struct seen seen = watch(1, 50, s);
    assert_true(seen.all != 0 && seen.counters[0] == 0);
    sampler_free(s);
    spin_end(1);
}

// is_in: whether a function of that name is among the addresses.
static bool is_in(const uint64_t *addresses, unsigned n, const char *name)
{
    struct symbol_frame frames[SYMBOL_INLINED_MAX];
    struct err err;
    struct symbols *symbols = symbols_open(&err);
    bool found = false;
    assert_non_null(symbols);
    for (unsigned i = 0; i < n; i++) {
        const unsigned k = symbols_at(symbols, addresses[i], frames, SYMBOL_INLINED_MAX);
        for (unsigned f = 0; f < k; f++)
            found |= strcmp(frames[f].function, name) == 0;
    }
    symbols_close(symbols);
    return found;
}

// looked_in: whether one of some looks at the only spinner finds it in that function.
static bool looked_in(const char *name)
{
    enum { LOOKS = 20, WAIT_MS = 10000 };
    uint64_t addresses[STACK_LOOK_DEPTH];
    bool found = false;
    for (unsigned i = 0; i < LOOKS && !found; i++) {
        const unsigned n = stack_look(&spinners[0].own, addresses, STACK_LOOK_DEPTH, WAIT_MS);
        assert_in_range(n, 1, STACK_LOOK_DEPTH);
        found = is_in(addresses, n, name);
    }
    return found;
}

static void a_look_finds_where_a_thread_computes(void **state)
{
    begin(1, spin);
    assert_true(looked_in("planted_heavy"));
    spin_end(1);
}

static void a_look_finds_where_a_thread_waits(void **state)
{
    begin(1, sleep_only);
    assert_true(looked_in("planted_wait"));
    spin_end(1);
}

static void a_look_at_a_thread_that_does_not_run_finds_nothing(void **state)
{
    struct own_thread none = {.stack_low = 0};
    uint64_t addresses[STACK_LOOK_DEPTH];
    assert_int_equal(stack_look(&none, addresses, STACK_LOOK_DEPTH, 1), 0);
}

// A look keeps no more than it was given room for, and a profile goes on beside it.
static void a_look_does_not_disturb_a_sampler(void **state)
{
    begin(1, spin);
    const struct sampler_thread threads[] = {{&spinners[0].own, NULL, NULL}};
    const struct sampler_params p = {
        .threads = threads, .n = 1, .hz = HZ, .trigger = TRIGGER_TIMER};
    struct sampler *s;
    struct err err;
    uint64_t address;
    assert_int_equal(sampler_start(&p, &s, &err), 0);
    assert_int_equal(stack_look(&spinners[0].own, &address, 1, 10000), 1);
    while (sampler_next(s) == NULL)
        usleep(1000);
    sampler_free(s);
    spin_end(1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_are_where_the_cpu_time_goes),
        cmocka_unit_test(time_in_the_kernel_is_its_callers),
        cmocka_unit_test(a_long_system_call_counts_whole),
        cmocka_unit_test(many_threads_are_armed_a_few_at_a_time),
        cmocka_unit_test(there_is_one_sampler_at_a_time),
        cmocka_unit_test(a_sampler_that_is_not_read_counts_what_it_loses),
        cmocka_unit_test(a_thread_that_does_not_run_is_missed),
        cmocka_unit_test(a_thread_may_end_while_it_is_sampled),
        cmocka_unit_test(no_thread_to_sample_is_an_error),
        cmocka_unit_test(signals_of_others_are_no_samples),
        cmocka_unit_test(late_signals_do_nothing),
        cmocka_unit_test(hardware_counters_come_with_each_sample),
        cmocka_unit_test(without_hardware_counters_there_are_samples),
        cmocka_unit_test(a_look_finds_where_a_thread_computes),
        cmocka_unit_test(a_look_finds_where_a_thread_waits),
        cmocka_unit_test(a_look_at_a_thread_that_does_not_run_finds_nothing),
        cmocka_unit_test(a_look_does_not_disturb_a_sampler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
