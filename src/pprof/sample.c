// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/sample.h"

#include <string.h>
#include <unistd.h>

// grow: what the counters counted since the sample before. A group that shares the hardware with
// others is extrapolated, so that a count may fall.
static void grow(struct sample_ring *r, uint64_t out[SAMPLE_COUNTERS_MAX])
{
    uint64_t now[SAMPLE_COUNTERS_MAX];
    const bool counted = r->counters != NULL && r->counters->read(r->counter_fds, now);
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++) {
        out[i] = counted && now[i] > r->before[i] ? now[i] - r->before[i] : 0;
        if (counted)
            r->before[i] = now[i];
    }
}

// elapsed: the periods since the sample before.
static uint32_t elapsed(struct sample_ring *r, uint32_t periods)
{
    uint64_t ns;
    if (r->clock_fd < 0 || read(r->clock_fd, &ns, sizeof(ns)) != sizeof(ns))
        return periods;
    periods = (uint32_t)(ns / r->period_ns - r->periods);
    r->periods += periods;
    return periods;
}

void sample_take(struct sample_ring *r, struct unwind_registers registers, uint32_t periods)
{
    const uint32_t written = shared_u32_load(&r->written);
    uint64_t counters[SAMPLE_COUNTERS_MAX];
    periods = elapsed(r, periods);
    if (periods == 0)
        return;
    grow(r, counters);
    if (written - shared_u32_load_acquire(&r->read) == SAMPLE_RING) {
        shared_u32_store(&r->lost, shared_u32_load(&r->lost) + periods);
        return;
    }
    struct sample *s = &r->samples[written % SAMPLE_RING];
    s->thread = r->thread;
    s->periods = periods;
    s->word = r->word == NULL ? 0 : shared_u32_load(r->word);
    s->byte = r->byte == NULL ? 0 : shared_u8_load(r->byte);
    memcpy(s->counters, counters, sizeof(counters));
    s->depth = unwind(&r->memory, registers, s->addresses, SAMPLE_DEPTH_MAX);
    shared_u32_store_release(&r->written, written + 1);
}

const struct sample *sample_next(const struct sample_ring *r)
{
    const uint32_t read = shared_u32_load(&r->read);
    return shared_u32_load_acquire(&r->written) == read ? NULL : &r->samples[read % SAMPLE_RING];
}

void sample_done(struct sample_ring *r)
{
    shared_u32_store_release(&r->read, shared_u32_load(&r->read) + 1);
}
