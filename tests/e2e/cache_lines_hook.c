// SPDX-License-Identifier: BSD-3-Clause
// cache_lines_hook.c: which cache lines are written by two threads. Stands in for the thread
// sanitizer's runtime: code compiled with -fsanitize=thread calls it before each write. While
// LINES_WORKERS workers run, the last writer of each 64-byte line of the address space is kept;
// where another thread writes the same line, the two places in the code are noted. At the end they
// go to the file LINES_OUT: "pair PC PC TIMES", and a line for each thread with what it wrote.
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { LINE_SHIFT = 6, ADDRESS_BITS = 47, PAIRS = 1 << 12, THREADS_MAX = 256 };

static uint64_t *writer;  // [address >> LINE_SHIFT] thread << 48 | pc; 0: nobody yet
static struct {
    uint64_t before, now, times;
} pairs[PAIRS];
static struct {
    uint64_t writes, lines;
    bool is_worker;
} threads[THREADS_MAX];
static int thread_count, workers_running, workers_wanted;
static bool recording;
static bool pairs_busy;
static __thread int self;  // from 1
static __thread bool is_worker;
extern const char __executable_start[];

static void note(uint64_t before, uint64_t now)
{
    while (__atomic_test_and_set(&pairs_busy, __ATOMIC_ACQUIRE))
        ;
    unsigned i = (unsigned)((before * 31 + now) % PAIRS);
    while (pairs[i].times != 0 && (pairs[i].before != before || pairs[i].now != now))
        i = (i + 1) % PAIRS;
    pairs[i].before = before;
    pairs[i].now = now;
    pairs[i].times++;
    __atomic_clear(&pairs_busy, __ATOMIC_RELEASE);
}

static void wrote(const void *at, size_t bytes, const void *pc)
{
    if (!__atomic_load_n(&recording, __ATOMIC_RELAXED) || bytes == 0)
        return;
    if (self == 0) {
        self = __atomic_add_fetch(&thread_count, 1, __ATOMIC_RELAXED);
        threads[self % THREADS_MAX].is_worker = is_worker;
    }
    const uint64_t mine = (uint64_t)self << 48 | (uint64_t)(uintptr_t)pc;
    threads[self % THREADS_MAX].writes++;
    const uint64_t first = (uintptr_t)at >> LINE_SHIFT;
    const uint64_t last = ((uintptr_t)at + bytes - 1) >> LINE_SHIFT;
    for (uint64_t line = first; line <= last; line++) {
        const uint64_t before = __atomic_exchange_n(&writer[line], mine, __ATOMIC_RELAXED);
        if (before == 0)
            threads[self % THREADS_MAX].lines++;
        else if (before >> 48 != (uint64_t)self)
            note(before & ((1ull << 48) - 1), (uint64_t)(uintptr_t)pc);
    }
}

static __attribute__((constructor)) void begin(void)
{
    const char *wanted = getenv("LINES_WORKERS");
    workers_wanted = wanted == NULL ? 0 : atoi(wanted);
    writer = mmap(NULL, 1ull << (ADDRESS_BITS - LINE_SHIFT + 3), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (writer == MAP_FAILED) {
        perror("lines_hook: mmap");
        exit(3);
    }
}

static __attribute__((destructor)) void end(void)
{
    const char *path = getenv("LINES_OUT");
    FILE *f = path == NULL ? NULL : fopen(path, "w");
    if (f == NULL)
        return;
    for (int i = 1; i <= thread_count && i < THREADS_MAX; i++)
        fprintf(f, "thread %d %d %lu %lu\n", i, threads[i].is_worker, threads[i].writes,
                threads[i].lines);
    for (unsigned i = 0; i < PAIRS; i++)
        if (pairs[i].times != 0)
            fprintf(f, "pair %#lx %#lx %lu\n",
                    pairs[i].before - (uint64_t)(uintptr_t)__executable_start,
                    pairs[i].now - (uint64_t)(uintptr_t)__executable_start, pairs[i].times);
    fclose(f);
}

// Steady state: from the moment when the last worker runs until the first one ends.
static int worker(int (*run)(void *), void *arg)
{
    is_worker = true;
    if (__atomic_add_fetch(&workers_running, 1, __ATOMIC_SEQ_CST) == workers_wanted)
        __atomic_store_n(&recording, true, __ATOMIC_SEQ_CST);
    const int rc = run(arg);
    __atomic_store_n(&recording, false, __ATOMIC_SEQ_CST);
    return rc;
}

int __real_worker_run(void *arg);
int __real_worker_run_shared(void *arg);
int __wrap_worker_run(void *arg);
int __wrap_worker_run_shared(void *arg);
int __wrap_worker_run(void *arg)
{
    return worker(__real_worker_run, arg);
}
int __wrap_worker_run_shared(void *arg)
{
    return worker(__real_worker_run_shared, arg);
}

#define PC __builtin_extract_return_addr(__builtin_return_address(0))

// What -fno-builtin leaves as calls.
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int c, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n)
{
    wrote(to, n, PC);
    return __real_memcpy(to, from, n);
}
void *__wrap_memmove(void *to, const void *from, size_t n)
{
    wrote(to, n, PC);
    return __real_memmove(to, from, n);
}
void *__wrap_memset(void *to, int c, size_t n)
{
    wrote(to, n, PC);
    return __real_memset(to, c, n);
}

#pragma GCC diagnostic ignored "-Wmissing-prototypes"
void __tsan_init(void) {}
void __tsan_func_entry(void *pc)
{
    (void)pc;
}
void __tsan_func_exit(void) {}
void __tsan_read_range(void *p, unsigned long n)
{
    (void)p, (void)n;
}
void __tsan_write_range(void *p, unsigned long n)
{
    wrote(p, n, PC);
}
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define PLAIN(n)                                                                                   \
    void __tsan_read##n(void *p)                                                                   \
    {                                                                                              \
        (void)p;                                                                                   \
    }                                                                                              \
    void __tsan_unaligned_read##n(void *p)                                                         \
    {                                                                                              \
        (void)p;                                                                                   \
    }                                                                                              \
    void __tsan_volatile_read##n(void *p)                                                          \
    {                                                                                              \
        (void)p;                                                                                   \
    }                                                                                              \
    void __tsan_write##n(void *p)                                                                  \
    {                                                                                              \
        wrote(p, n, PC);                                                                           \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *p)                                                        \
    {                                                                                              \
        wrote(p, n, PC);                                                                           \
    }                                                                                              \
    void __tsan_volatile_write##n(void *p)                                                         \
    {                                                                                              \
        wrote(p, n, PC);                                                                           \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define FETCH(bits, name)                                                                          \
    uint##bits##_t __tsan_atomic##bits##_fetch_##name(void *p, uint##bits##_t v, int order)        \
    {                                                                                              \
        (void)order;                                                                               \
        wrote(p, bits / 8, PC);                                                                    \
        return __atomic_fetch_##name((uint##bits##_t *)p, v, __ATOMIC_SEQ_CST);                    \
    }
#define EXCHANGE_IF(bits, name)                                                                    \
    bool __tsan_atomic##bits##_compare_exchange_##name(void *p, void *want, uint##bits##_t v,      \
                                                       int order, int failed)                      \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        wrote(p, bits / 8, PC);                                                                    \
        return __atomic_compare_exchange_n((uint##bits##_t *)p, (uint##bits##_t *)want, v, false,  \
                                           __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                    \
    }
#define ATOMIC(bits)                                                                               \
    uint##bits##_t __tsan_atomic##bits##_load(const void *p, int order)                            \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_load_n((const uint##bits##_t *)p, __ATOMIC_SEQ_CST);                       \
    }                                                                                              \
    void __tsan_atomic##bits##_store(void *p, uint##bits##_t v, int order)                         \
    {                                                                                              \
        (void)order;                                                                               \
        wrote(p, bits / 8, PC);                                                                    \
        __atomic_store_n((uint##bits##_t *)p, v, __ATOMIC_RELEASE);                                \
    }                                                                                              \
    uint##bits##_t __tsan_atomic##bits##_exchange(void *p, uint##bits##_t v, int order)            \
    {                                                                                              \
        (void)order;                                                                               \
        wrote(p, bits / 8, PC);                                                                    \
        return __atomic_exchange_n((uint##bits##_t *)p, v, __ATOMIC_SEQ_CST);                      \
    }                                                                                              \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(                                     \
        void *p, uint##bits##_t want, uint##bits##_t v, int order, int failed)                     \
    {                                                                                              \
        (void)order, (void)failed;                                                                 \
        wrote(p, bits / 8, PC);                                                                    \
        __atomic_compare_exchange_n((uint##bits##_t *)p, &want, v, false, __ATOMIC_SEQ_CST,        \
                                    __ATOMIC_SEQ_CST);                                             \
        return want;                                                                               \
    }                                                                                              \
    EXCHANGE_IF(bits, strong)                                                                      \
    EXCHANGE_IF(bits, weak)                                                                        \
    FETCH(bits, add)                                                                               \
    FETCH(bits, sub)                                                                               \
    FETCH(bits, and)                                                                               \
    FETCH(bits, or)                                                                                \
    FETCH(bits, xor)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
