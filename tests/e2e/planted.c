// SPDX-License-Identifier: BSD-3-Clause
// planted.c: an application out of tree for tests/e2e/profile.sh, whose CPU time is known: it
// answers each line `go` after work in two functions, and a line `?` with the CPU time in
// nanoseconds that it has spent in planted_hot(), and in both.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "c10m/main.h"

enum { HOT_LOOPS = 60000, OTHER_LOOPS = 20000 };

static uint64_t hot_ns, work_ns;
static volatile uint32_t sink;

static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline uint32_t planted_step(uint32_t x)
{
    return (x ^ x >> 3) * 2654435761u;  // HOT LINE
}

static __attribute__((noinline)) void planted_hot(void)
{
    uint32_t x = sink;
    for (unsigned i = 0; i < HOT_LOOPS; i++)
        x = planted_step(x);
    sink = x;
}

static __attribute__((noinline)) void planted_other(void)
{
    uint32_t x = sink;
    for (unsigned i = 0; i < OTHER_LOOPS; i++)
        x = x * 2654435761u + (x >> 2);
    sink = x;
}

static void work(void)
{
    const uint64_t before = cpu_ns();
    planted_hot();
    hot_ns += cpu_ns() - before;
    planted_other();
    work_ns += cpu_ns() - before;
}

static size_t planted_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    const uint8_t *end = memchr(data, '\n', len);
    char answer[64];
    if (end == NULL)
        return 0;
    if (data[0] == '?') {
        snprintf(answer, sizeof(answer), "%llu %llu\n", (unsigned long long)hot_ns,
                 (unsigned long long)work_ns);
    } else {
        work();
        strcpy(answer, "ok\n");
    }
    c10m_send(c, answer, strlen(answer));
    return (size_t)(end + 1 - data);
}

static const struct c10m_app app_planted = {
    .name = "planted",
    .data = planted_data,
    .end = c10m_shutdown,
};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_planted, NULL};
    return c10m_main(argc, argv, own);
}
