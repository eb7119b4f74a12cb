// SPDX-License-Identifier: BSD-3-Clause
// sample.h: what one interruption of a thread saw, and the ring through which it reaches the
// reader.
#pragma once
#include "base/own_thread.h"
#include "pprof/unwind.h"

enum {
    SAMPLE_DEPTH_MAX = 64,    // addresses; the outermost are left out
    SAMPLE_RING = 64,         // of one thread: 640 ms at 100 Hz; 37 KB
    SAMPLE_COUNTERS_MAX = 4,  // of hardware
    SAMPLE_NS_A_SECOND = 1000000000,
};

// sample: of the thread `thread` in the list of sampler_start(). periods: of the rate, that passed
// since the sample before; more than one after a long system call. depth SAMPLE_DEPTH_MAX: there
// are perhaps more callers. word, byte: what the thread's two words were. counters: the growth
// since the sample before.
struct sample {
    uint32_t thread, periods, word, depth;
    uint8_t byte;
    uint64_t counters[SAMPLE_COUNTERS_MAX];
    uint64_t addresses[SAMPLE_DEPTH_MAX];
};

// sample_counters: where hardware counters come from. open: for a thread; false: there are none.
// read: all of them, as they are now; also called in the signal handler of that thread. close: ends
// them. fds: theirs.
struct sample_counters {
    bool (*open)(uint32_t tid, int fds[SAMPLE_COUNTERS_MAX]);
    bool (*read)(const int fds[SAMPLE_COUNTERS_MAX], uint64_t out[SAMPLE_COUNTERS_MAX]);
    void (*close)(const int fds[SAMPLE_COUNTERS_MAX]);
};

// sample_ring: of one thread; the handler in it writes, the reader of the sampler reads.
struct sample_ring {
    // Constant while the thread is armed.
    struct own_thread *owner;
    struct unwind_memory memory;
    const struct shared_u32 *word;  // may be NULL, as byte
    const struct shared_u8 *byte;
    const struct sample_counters *counters;  // NULL: there are none
    int counter_fds[SAMPLE_COUNTERS_MAX];
    int clock_fd;  // reads the CPU time of the thread in ns since it was armed; -1: signals say it
    uint64_t period_ns;
    uint32_t tid;
    uint32_t thread;  // in the list of sampler_start()

    // Written by the handler. written: release in sample_take(), acquire in sample_next().
    struct shared_u32 written CACHE_ALIGNED;
    struct shared_u32 lost;  // did not fit
    uint64_t periods;        // of clock_fd, those that have a sample
    uint64_t before[SAMPLE_COUNTERS_MAX];

    // Written by the reader. Release in sample_done(), acquire in sample_take().
    struct shared_u32 read CACHE_ALIGNED;
    struct sample samples[SAMPLE_RING];
};

// stack_seen: what a thread writes down for a single look at its stack (stack_look.h). memory, max
// and the place of the addresses: the reader's. done: release in the handler; then depth of them
// are valid.
struct stack_seen {
    struct unwind_memory memory;
    unsigned max, depth;
    uint64_t *addresses;
    struct shared_bool done;
};

// sample_signal_install: the handler of SIGPROF; it stays installed, because a signal may be under
// way when a profile ends. It does nothing in a thread whose samples go nowhere, and with signals
// that another process sent.
int sample_signal_install(void);

// sample_take: one sample, in the interrupted thread. Async-signal-safe. periods: what the signal
// says; where there is a clock, that says it, because signals that wait merge into one.
void sample_take(struct sample_ring *r, struct unwind_registers registers, uint32_t periods);

// sample_next: the oldest sample; NULL: there is none. sample_done: it is not used any more.
const struct sample *sample_next(const struct sample_ring *r);
void sample_done(struct sample_ring *r);
