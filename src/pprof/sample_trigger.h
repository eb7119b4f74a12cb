// SPDX-License-Identifier: BSD-3-Clause
// sample_trigger.h: sends SIGPROF to a thread each time it has used so much CPU time, and counts
// with hardware, where the CPU has counters.
#pragma once
#include <time.h>

#include "pprof/sample.h"

// sample_trigger: of one thread. perf_event_open: exact, by a timer of high resolution; where the
// kernel refuses that, a timer on the thread's CPU clock, which the kernel looks at in its ticks
// only.
enum sample_trigger_kind {
    TRIGGER_NONE,
    TRIGGER_PERF,       // CPU time of user and kernel
    TRIGGER_PERF_USER,  // of user only: kernel.perf_event_paranoid allows no more
    TRIGGER_TIMER,
};

struct sample_trigger {
    enum sample_trigger_kind kind;
    int fd;
    timer_t timer;
};

// sample_trigger_start: of this kind. Returns 0 or -errno. sample_trigger_refused: whether that
// error says that the kernel has or allows no such kind, so that another one may be tried.
// sample_trigger_stop: a signal may still be under way.
int sample_trigger_start(struct sample_trigger *t, enum sample_trigger_kind kind, uint32_t tid,
                         unsigned hz);
bool sample_trigger_refused(int rc);
void sample_trigger_stop(struct sample_trigger *t);

// sample_pmu: cycles, instructions, cache misses and branch misses, in this order, by one group of
// perf events. There are none in most virtual machines.
extern const struct sample_counters sample_pmu;
