// SPDX-License-Identifier: BSD-3-Clause
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pprof/sample_trigger.h"

static const uint64_t events[SAMPLE_COUNTERS_MAX] = {
    PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CACHE_MISSES,
    PERF_COUNT_HW_BRANCH_MISSES};

// counted: what read() of the group's first event returns; enabled and running are times.
struct counted {
    uint64_t n, enabled, running, values[SAMPLE_COUNTERS_MAX];
};

static void close_first(const int fds[SAMPLE_COUNTERS_MAX], unsigned n)
{
    while (n-- > 0)
        close(fds[n]);
}

static bool open_group(uint32_t tid, int fds[SAMPLE_COUNTERS_MAX])
{
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++) {
        struct perf_event_attr attr = {.type = PERF_TYPE_HARDWARE,
                                       .size = sizeof(attr),
                                       .config = events[i],
                                       .read_format = PERF_FORMAT_GROUP |
                                                      PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                      PERF_FORMAT_TOTAL_TIME_RUNNING,
                                       .exclude_kernel = 1,
                                       .exclude_hv = 1};
        fds[i] = (int)syscall(SYS_perf_event_open, &attr, tid, -1, i == 0 ? -1 : fds[0],
                              PERF_FLAG_FD_CLOEXEC);
        if (fds[i] < 0) {
            close_first(fds, i);
            return false;
        }
    }
    return true;
}

static bool read_group(const int fds[SAMPLE_COUNTERS_MAX], uint64_t out[SAMPLE_COUNTERS_MAX])
{
    struct counted counted;
    if (read(fds[0], &counted, sizeof(counted)) != sizeof(counted) || counted.running == 0)
        return false;
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++)
        out[i] =
            (uint64_t)((unsigned __int128)counted.values[i] * counted.enabled / counted.running);
    return true;
}

static void close_group(const int fds[SAMPLE_COUNTERS_MAX])
{
    close_first(fds, SAMPLE_COUNTERS_MAX);
}

const struct sample_counters sample_pmu = {open_group, read_group, close_group};
