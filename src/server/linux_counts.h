// SPDX-License-Identifier: BSD-3-Clause
// linux_counts.h: what Linux counts of a worker's thread and of its CPU, from /proc. Control
// thread.
#pragma once
#include "base/base.h"

enum { LINUX_INTERRUPTS_MAX = 128, LINUX_NAME_BYTES = 24, LINUX_TICK_NS = 10000000 };

// linux_interrupt: a line of /proc/interrupts: its name is that of the device, or what stands
// before the colon where no device does (LOC, RES, TLB).
struct linux_interrupt {
    char name[LINUX_NAME_BYTES];
    uint64_t count;  // on the CPU
};

struct linux_counts {
    uint64_t wait_ns;  // ready, while others were on the CPU
    int64_t lost_ns;   // neither on the CPU nor ready: asleep, or the hypervisor's, where Linux
                       // knows of it (it takes it off a thread's time); may go back a little
    uint64_t forced, slept;  // times that it left the CPU: for another; to wait
    uint64_t faults_minor, faults_major;
    uint64_t steal_ticks;  // of 10 ms, of the CPU: the hypervisor ran somebody else
    unsigned n_interrupts;
    struct linux_interrupt interrupts[LINUX_INTERRUPTS_MAX];
};

// linux_counts_read: of thread `tid` of this process on `cpu`; proc is "/proc". What cannot be read
// is 0.
void linux_counts_read(struct linux_counts *out, const char *proc, int tid, unsigned cpu);

// linux_counts_softirqs: of that CPU, into out->interrupts; all else is 0.
void linux_counts_softirqs(struct linux_counts *out, const char *proc, unsigned cpu);

// linux_counts_since: what *now has more than *before; a line that *before lacks began at 0.
void linux_counts_since(struct linux_counts *now, const struct linux_counts *before);
