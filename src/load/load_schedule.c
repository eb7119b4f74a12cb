// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_schedule.h"

#define SECOND_NS UINT64_C(1000000000)

void load_schedule_begin(struct load_schedule *d, uint64_t rate, uint64_t now_ns)
{
    *d = (struct load_schedule){.rate = rate, .start_ns = now_ns};
}

// The time at which request k is due. Cannot overflow for ten thousand years.
static uint64_t due_ns(const struct load_schedule *d, uint64_t k)
{
    return d->start_ns + k / d->rate * SECOND_NS + k % d->rate * SECOND_NS / d->rate;
}

// The number of requests due at now_ns; the first one is due at start_ns.
static uint64_t due_at(const struct load_schedule *d, uint64_t now_ns)
{
    const uint64_t ns = now_ns - d->start_ns;
    return ns / SECOND_NS * d->rate + ns % SECOND_NS * d->rate / SECOND_NS + 1;
}

// Records that requests d->due to `end` became due before this turn, which is late.
static void note_late(struct load_schedule *d, uint64_t end, uint64_t now_ns)
{
    d->late += due_at(d, now_ns - LOAD_SCHEDULE_LATE_NS) - d->due;
    d->late_max_ns = MAX(d->late_max_ns, now_ns - due_ns(d, d->due));
    const bool room = d->n < LOAD_SCHEDULE_TURNS_MAX;
    d->n += room;
    struct load_late_turn *t = &d->turns[(d->head + d->n - 1) % LOAD_SCHEDULE_TURNS_MAX];
    if (room)
        t->begin = d->due;
    t->end = end;
    t->from_ns = now_ns;
}

uint64_t load_schedule_backlog(struct load_schedule *d, uint64_t now_ns)
{
    const uint64_t end = due_at(d, now_ns);
    if (end > d->due) {
        if (unlikely(now_ns - due_ns(d, d->due) > LOAD_SCHEDULE_LATE_NS))
            note_late(d, end, now_ns);
        d->due = end;
    }
    return d->due - d->started;
}

uint64_t load_schedule_skip(struct load_schedule *d, uint64_t now_ns, uint32_t late_ms)
{
    const uint64_t late_ns = late_ms * (SECOND_NS / 1000);
    if (now_ns - d->start_ns <= late_ns)
        return 0;
    const uint64_t until = due_at(d, now_ns - late_ns - 1);
    const uint64_t n = until - MIN(until, d->started);
    d->started += n;
    d->skipped += n;
    return n;
}

uint64_t load_schedule_take(struct load_schedule *d)
{
    const uint64_t k = d->started++;
    while (unlikely(d->n != 0) && d->turns[d->head].end <= k) {
        d->head = (d->head + 1) % LOAD_SCHEDULE_TURNS_MAX;
        d->n--;
    }
    const struct load_late_turn *t = &d->turns[d->head];
    return unlikely(d->n != 0 && t->begin <= k) ? MAX(t->from_ns, due_ns(d, k)) : due_ns(d, k);
}
