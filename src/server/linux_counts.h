// linux_counts.h: what Linux counts of a worker's thread and of its CPU, from /proc. Control
// thread.
#pragma once
#include "base/base.h"

enum { HOST_INTERRUPTS_MAX = 128, HOST_NAME_BYTES = 24, HOST_TICK_NS = 10000000 };

// host_interrupt: a line of /proc/interrupts: its name is that of the device, or what stands before
// the colon where no device does (LOC, RES, TLB).
struct host_interrupt {
    char name[HOST_NAME_BYTES];
    uint64_t count;  // on the CPU
};

struct host_counts {
    uint64_t wait_ns;  // ready, while others were on the CPU
    int64_t lost_ns;   // neither on the CPU nor ready: asleep, or the hypervisor's, where Linux
                       // knows of it (it takes it off a thread's time); may go back a little
    uint64_t forced, slept;  // times that it left the CPU: for another; to wait
    uint64_t faults_minor, faults_major;
    uint64_t steal_ticks;  // of 10 ms, of the CPU: the hypervisor ran somebody else
    unsigned n_interrupts;
    struct host_interrupt interrupts[HOST_INTERRUPTS_MAX];
};

// host_read: of thread `tid` of this process on `cpu`; proc is "/proc". What cannot be read is 0.
void host_read(struct host_counts *out, const char *proc, int tid, unsigned cpu);

// host_softirqs: of that CPU, into out->interrupts; all else is 0.
void host_softirqs(struct host_counts *out, const char *proc, unsigned cpu);

// host_since: what *now has more than *before; a line that *before lacks began at 0.
void host_since(struct host_counts *now, const struct host_counts *before);
