// SPDX-License-Identifier: BSD-3-Clause
// sampler.h: where threads of this process spend their CPU time: interrupts each of them `hz` times
// a second of its CPU time and notes its call stack.
//
//     thread:   own_thread_begin(), and from then on nothing, until SIGPROF interrupts it
//     reader:   sampler_start() -> sampler_arm() and sampler_next() until NULL, every 500 ms at
//               least -> sampler_stop() -> sampler_next() until NULL -> sampler_free()
//
// Nothing is armed without a sampler: no timer, no signal. There is one at a time, because a thread
// has one ring. The reader is one thread at a time.
#pragma once
#include "base/err.h"
#include "pprof/sample_trigger.h"

enum {
    SAMPLER_HZ = 100,
    SAMPLER_HZ_MAX = 1000,
    SAMPLER_THREADS_MAX = 160,
    SAMPLER_ARM = 8,  // threads in one sampler_arm(): some 50 us each
};

// sampler_thread: one thread. word, byte: noted in each sample; NULL: 0 is.
struct sampler_thread {
    struct own_thread *thread;
    const struct shared_u32 *word;
    const struct shared_u8 *byte;
};

// sampler_params: threads outlives the sampler. hz in [1, SAMPLER_HZ_MAX]. trigger: the first kind
// to be tried; all threads have the kind that the first one gets. counters: sample_pmu or a test's.
struct sampler_params {
    const struct sampler_thread *threads;
    unsigned n;
    unsigned hz;
    enum sample_trigger_kind trigger;
    const struct sample_counters *counters;
};

struct sampler;

// sampler_prepare: maps what the first sampler_start() would have to read from the disk, some 20
// ms. Optional.
void sampler_prepare(void);

// sampler_start: *out interrupts the first threads, those that run. Returns 0; -EBUSY: there is
// another one; -1, also if none of them can be interrupted; both with *err. sampler_arm: the next
// threads, until it returns false.
int sampler_start(const struct sampler_params *p, struct sampler **out, struct err *err);
bool sampler_arm(struct sampler *s);

// sampler_stop: interrupts no more, waits for handlers that are at work (microseconds). Samples
// that were taken can still be read. sampler_free: stops it, too. NULL is allowed.
void sampler_stop(struct sampler *s);
void sampler_free(struct sampler *s);

// sampler_next: a sample of any thread; NULL: there is none now. Valid until the next call.
const struct sample *sampler_next(struct sampler *s);

// sampler_lost: periods that found no room. sampler_trigger: what interrupts them. sampler_counts:
// whether all threads have hardware counters. sampler_missed: threads that could not be armed.
uint64_t sampler_lost(const struct sampler *s);
enum sample_trigger_kind sampler_trigger(const struct sampler *s);
bool sampler_counts(const struct sampler *s);
unsigned sampler_missed(const struct sampler *s);
