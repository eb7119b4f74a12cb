// SPDX-License-Identifier: BSD-3-Clause
#include "bench/turn_loop.h"

#include <rte_cycles.h>
#include <rte_pause.h>

#include "base/clock.h"

static void publish(struct turn_loop *s, const struct turn_loop_sums *sums)
{
    s->sums = *sums;
    __atomic_store_n(&s->published, sums->packets, __ATOMIC_RELEASE);
}

int turn_loop_run(void *arg)
{
    struct turn_loop *s = arg;
    struct turn_loop_sums sums = s->sums;
    bool unpublished = false;
    while (!__atomic_load_n(&s->stop, __ATOMIC_RELAXED)) {
        if (s->hold != NULL && __atomic_load_n(s->hold, __ATOMIC_ACQUIRE) != 0) {
            rte_pause();
            continue;
        }
        uint64_t start = tsc_read();
        struct turn_loop_work w = s->turn(s->ctx);
        if (w.rx != 0 || w.tx != 0) {
            sums.cycles += tsc_read() - start;
            sums.packets += w.rx;
            sums.turns++;
            unpublished = true;
        } else if (unpublished) {
            publish(s, &sums);
            unpublished = false;
        } else {
            rte_pause();
        }
    }
    return 0;
}

void turn_loop_turn(struct turn_loop *s, struct turn_loop_sums *sums, bool *unpublished)
{
    const uint64_t start = tsc_read();
    const struct turn_loop_work w = s->turn(s->ctx);
    if (w.rx != 0 || w.tx != 0) {
        sums->cycles += tsc_read() - start;
        sums->packets += w.rx;
        sums->turns++;
        *unpublished = true;
    } else if (*unpublished) {
        publish(s, sums);
        *unpublished = false;
    }
}

void turn_loop_stop(struct turn_loop *s)
{
    __atomic_store_n(&s->stop, 1, __ATOMIC_RELAXED);
}

bool turn_loop_wait(const struct turn_loop *s, uint64_t packets, unsigned timeout_s)
{
    uint64_t end = tsc_read() + timeout_s * rte_get_tsc_hz();
    while (__atomic_load_n(&s->published, __ATOMIC_ACQUIRE) < packets) {
        if (tsc_read() > end)
            return false;
        if (s->meanwhile != NULL)
            s->meanwhile(s->arg);
        else
            rte_pause();
    }
    return true;
}
