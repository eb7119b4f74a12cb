// SPDX-License-Identifier: BSD-3-Clause
// examples_bench.c: what the examples compute, measured without a server: `make bench`. Prints Go's
// benchmark format, for benchstat and scripts/bench-compare:
//
//     ./examples_bench 10 >old; (a change) make bench && ./examples_bench 10 >new; benchstat old
//     new
//
// The argument is the number of repetitions, of SECONDS each. malloc() and calloc() are counted, by
// the linker's --wrap.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "flow_graph.h"
#include "fractal.h"
#include "havlak.h"
#include "padding.h"
#include "primes.h"
#include "replace.h"

enum { REPETITIONS_MAX = 100, PAD_LEN = 1000, STREAM_BYTES = 65536 };

static const double SECONDS = 0.2;

// ---- allocations

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);

static uint64_t calls, bytes_asked;

void *__wrap_malloc(size_t bytes)
{
    calls++;
    bytes_asked += bytes;
    return __real_malloc(bytes);
}

// ---- the benchmarks: each runs one operation

static struct flow_graph graph;
static struct havlak_work *work;
static struct fractal picture = {.width = 512, .height = 512, .steps = 128};
static uint8_t *stream, *replaced;
static volatile size_t kept;  // so that nothing is optimized away

static void leftpad(void)
{
    char out[PADDING_JSON_MAX];
    kept = padding_slow("test", PAD_LEN, '*', out);
}

static void leftpad_fast(void)
{
    char out[PADDING_JSON_MAX];
    kept = padding_fast("test", PAD_LEN, '*', out);
}

static void loops(void)
{
    struct loops_found found;
    kept = havlak_slow(&graph, &found);
    kept = found.loops;
}

static void loops_fast(void)
{
    struct loops_found found;
    havlak_fast(&graph, work, &found);
    kept = found.loops;
}

static void mandelbrot_row(void)
{
    const uint32_t y = picture.height / 2;
    fractal_pixels(&picture, y * picture.width, (y + 1) * picture.width);
}

static void sieve(void)
{
    static struct primes p;
    primes_begin(&p, PRIMES_MAX);
    while (!primes_step(&p))
        ;
    kept = p.found;
}

static void elvis(void)
{
    struct replace_stream s = {0};
    kept = replace_feed(&s, stream, STREAM_BYTES, replaced);
}

static const struct {
    const char *name;
    void (*run)(void);
    size_t bytes;  // handled by an operation; 0: not measured
} benches[] = {
    {"Leftpad", leftpad, 0},        {"LeftpadFast", leftpad_fast, 0},     {"Loops", loops, 0},
    {"LoopsFast", loops_fast, 0},   {"MandelbrotRow", mandelbrot_row, 0}, {"Sieve", sieve, 0},
    {"Elvis", elvis, STREAM_BYTES},
};

enum { BENCHES = sizeof(benches) / sizeof(benches[0]) };

// CPU time of the process: other programs on the machine do not count.
static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Runs lots of doubling size until one takes SECONDS.
static void measure(unsigned i)
{
    uint64_t n = 1;
    double ns = 0;
    for (;; n *= 2) {
        calls = bytes_asked = 0;
        const double begin = now_ns();
        for (uint64_t op = 0; op < n; op++)
            benches[i].run();
        ns = now_ns() - begin;
        if (ns >= SECONDS * 1e9 / 2)
            break;
    }
    printf("Benchmark%s-1\t%llu\t%.1f ns/op", benches[i].name, (unsigned long long)n,
           ns / (double)n);
    if (benches[i].bytes != 0)
        printf("\t%.2f MB/s", (double)benches[i].bytes * (double)n / ns * 1e3);
    printf("\t%.0f B/op\t%.0f allocs/op\n", (double)bytes_asked / (double)n,
           (double)calls / (double)n);
}

static bool prepare(void)
{
    work = malloc(havlak_work_bytes());
    picture.png = malloc(fractal_bytes(&picture));
    stream = malloc(STREAM_BYTES);
    replaced = malloc(STREAM_BYTES + REPLACE_HELD_MAX);
    if (work == NULL || picture.png == NULL || stream == NULL || replaced == NULL)
        return false;
    for (size_t i = 0; i < STREAM_BYTES; i++)
        stream[i] = (uint8_t) "the king is elvis "[i % 18];
    return flow_graph_program(&graph, 4);
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1;
    if (n < 1 || n > REPETITIONS_MAX || !prepare()) {
        fprintf(stderr, "usage: examples_bench [REPETITIONS]   (1 to %d)\n", REPETITIONS_MAX);
        return 2;
    }
    printf("goos: linux\ngoarch: amd64\npkg: c10m/examples\n");
    for (unsigned i = 0; i < BENCHES; i++)
        for (int r = 0; r < n; r++)
            measure(i);
    return 0;
}
