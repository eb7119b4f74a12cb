// SPDX-License-Identifier: BSD-3-Clause
// Requests at a fixed rate on the open connections: each uses the next idle connection in the
// load's order. If none is idle, requests that are due wait, and this time is part of their
// latency. With give_up_ms those that have waited for longer are not sent any more.
#include "load/load_internal.h"

void load_start_scheduled(struct load *l)
{
    enum { AT_ONCE = 64, LOOKS = 4 * AT_ONCE };
    if (l->schedule.rate == 0)
        load_schedule_begin(&l->schedule, l->p.rate, l->now_ns);
    uint64_t n = load_schedule_backlog(&l->schedule, l->now_ns);
    if (l->p.give_up_ms != 0) {
        const uint64_t skipped = load_schedule_skip(&l->schedule, l->now_ns, l->p.give_up_ms);
        l->c.given_up += skipped;
        n -= skipped;
    }
    n = MIN(n, (uint64_t)load_asks_more(l));
    n = MIN(n, (uint64_t)load_wait_room(l));
    // if the port is full, queued packets are sent first
    n = MIN(n, (uint64_t)LOAD_OUT_MAX - l->n_out);
    n = MIN(n, (uint64_t)AT_ONCE);
    for (uint32_t looks = LOOKS; n != 0 && looks != 0; looks--) {
        const uint32_t i = load_choose(l, l->cursor++);
        if (l->cursor == l->held) {
            l->cursor = 0;
            l->round++;
        }
        if (l->conns[i].state != LOAD_IDLE)
            continue;
        l->from_ns[i] = load_schedule_take(&l->schedule);
        load_start(l, i, LOAD_ASKED, l->now_ns);
        n--;
    }
}
