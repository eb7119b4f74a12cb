// SPDX-License-Identifier: BSD-3-Clause
// stalls.h: the causes of turns over 100 us: what a worker wrote down about them (stat/stall.h),
// laid beside what Linux counted of its thread and its CPU meanwhile. Control thread.
//
//     worker: stall_put() --> ring --> stalls_poll(), every STALLS_POLL_MS --> cores/N/stalls
//                                         ^
//                /proc: schedstat, status, stat, interrupts
//
// Linux gives counts, not times: a stall is laid to what grew between two readings, most certain
// evidence first, the longest stall first, and what explains one is used up.
#pragma once
#include "base/text.h"
#include "server/linux_counts.h"
#include "stat/stall.h"
#include "tcp/tcp_service.h"

enum {
    STALLS_KEPT = 256,      // shown, of each worker: the last ones
    STALLS_POLL_MS = 20,    // between two looks at the rings
    STALLS_CALM_MS = 1000,  // between two readings of /proc while nothing happens
    STALLS_ALERT_S = 10,    // after a stall, every look reads
    STALLS_DETAIL_BYTES = 32,
    STALLS_UNUSUAL = 20,  // so many times the usual is own work only where no interrupt came, and
                          // where the machine did not stop the core untold for STALLS_ALERT_S
};

// X(name, help): in the order in which they are thought of.
#define STALL_CAUSE_TABLE(X)                                                                       \
    X(preempted, "the worker was ready and Linux ran another thread on its CPU")                   \
    X(slept, "a system call that waits, of a port's driver or an application")                     \
    X(page_fault, "memory that was not there yet")                                                 \
    X(steal, "the hypervisor ran somebody else on the CPU")                                        \
    X(own_work, "what there was to do took so long: the stage tells where")                        \
    X(interrupt, "interrupts beside the timer's came to the CPU; the most frequent one is named")  \
    X(unknown, "nothing that Linux counts: the hypervisor, firmware, the timer's interrupt")

enum stall_cause {
#define STALL_CAUSE_ENUM(name, help) STALL_##name,
    STALL_CAUSE_TABLE(STALL_CAUSE_ENUM)
#undef STALL_CAUSE_ENUM
        STALL_CAUSES
};

struct stall_named {
    struct stall s;
    uint64_t usual_cycles;  // of that stage for so many packets, by the worker's mean
    enum stall_cause cause;
    char detail[STALLS_DETAIL_BYTES];  // one word: the interrupt; "-"
};

// stall_evidence: what was counted and has not explained a stall yet.
struct stall_evidence {
    uint64_t wait_ns, slept, faults, steal_ns;
    uint64_t untold_tsc;  // when the machine last stopped a turn whose work cannot take so long,
                          // and Linux counted nothing or steal; 0: never
};

// stalls_name: finds the causes of named[0..n), of which the first two fields are given, from what
// grew since the reading before (linux_counts_since) and what was left then. *left gets what is
// left now: at most what has grown since, for a stall may be written down a moment after it was
// counted.
void stalls_name(struct stall_named *named, unsigned n, const struct linux_counts *grown,
                 struct stall_evidence *left, uint64_t tsc_hz);

struct server;
struct stalls;

// stalls_new: of all workers of s, which outlives it. NULL: no memory.
struct stalls *stalls_new(const struct server *s);
void stalls_free(struct stalls *st);

// stalls_poll: every STALLS_POLL_MS or so, once the workers run. stalls_restart: the next one only
// takes a reading: the workers had stood still.
void stalls_poll(struct stalls *st);
void stalls_restart(struct stalls *st);

// stalls_reset: the two below begin at zero again; stalls_by_cause() does not.
void stalls_reset(struct stalls *st);

// stalls_render: of one worker: the head line `time_s length_us stage cause detail packets events
// timers segments`, then a line for each of the last STALLS_KEPT, oldest first. time_s counts from
// the worker's start; the last four are what the turn had to do.
// stalls_causes_render: CAUSE_stalls and CAUSE_us (their sum) for each cause, longest_us,
// longest_stage, longest_cause ("-": there was none) and missed_stalls: more than the ring takes.
void stalls_render(const struct stalls *st, unsigned worker, struct text *out);
void stalls_causes_render(const struct stalls *st, unsigned worker, struct text *out);

// stalls_by_cause: how many there were of one worker; *ns: their sum.
uint64_t stalls_by_cause(const struct stalls *st, unsigned worker, enum stall_cause cause,
                         uint64_t *ns);

// stalls_by: the same of one stage (STAGE_COUNT: untimed) and of one service (TCP_SERVICES_MAX:
// none is known). Not reset either.
enum { STALL_STAGES = STAGE_COUNT + 1, STALL_SERVICES = TCP_SERVICES_MAX + 1 };
struct stall_tally {
    uint64_t count, cycles, ns;
};
struct stall_tally stalls_by(const struct stalls *st, unsigned worker, enum stall_cause cause,
                             unsigned stage, unsigned service);

// stalls_cause_name: as in cores/N/stall_causes.
const char *stalls_cause_name(enum stall_cause cause);

// stalls_host: what Linux had counted of the worker and its CPU when it was last looked at: within
// STALLS_CALM_MS. stalls_host_ns: when that was, on a clock of its own; 0: never.
const struct linux_counts *stalls_host(const struct stalls *st, unsigned worker);
uint64_t stalls_host_ns(const struct stalls *st, unsigned worker);
