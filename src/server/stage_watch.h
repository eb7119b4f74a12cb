// SPDX-License-Identifier: BSD-3-Clause
// stage_watch.h: samples the stage that each worker publishes (worker.at), every STAGE_WATCH_MS. It
// costs the worker nothing. Control thread.
//
// A look finds the stage that runs, or ran a moment ago, even if the worker hangs or is not on its
// CPU. The look counts as idle, whatever the stage, if no callback runs, the turn has found no work
// yet, and a turn has ended since the last look.
//
// If the control thread is late, it looks once, and this look counts for all that it has missed.
// The shares are then still shares of the time, but what happened meanwhile is not known.
//
// Limits. A look does not show which function runs within a stage. A worker on the control thread's
// core never runs during a look: a look finds the end of a turn there. It takes minutes until
// shares of some thousandths are accurate. cores/N/cycles measures the stages, but not those of a
// turn that does not end.
#pragma once
#include "base/text.h"
#include "sock/sock.h"
#include "stat/counters.h"

enum { STAGE_WATCH_MS = 20, STAGE_WATCH_SERVICES = TCP_SERVICES_MAX + 1 };

// stage_looks: of one worker: looks, and the missed ones, by stage, and by the service whose
// callback ran: TCP_SERVICES_MAX: none did.
struct stage_looks {
    uint64_t n[STAGE_COUNT][STAGE_WATCH_SERVICES];
};

struct server;
struct stage_watch;

// stage_watch_new: of all workers of s, which outlives it. NULL: no memory.
struct stage_watch *stage_watch_new(const struct server *s);
void stage_watch_free(struct stage_watch *p);

// stage_watch_poll: one look at each worker that runs, for `periods` of STAGE_WATCH_MS: more than 1
// if the caller is late.
void stage_watch_poll(struct stage_watch *p, uint64_t periods);

// stage_watch_looks: of one worker since the start; valid until the next poll.
const struct stage_looks *stage_watch_looks(const struct stage_watch *p, unsigned worker);

// stage_watch_render: cores/N/stages: STAGE_looks and STAGE_share_percent for each stage, looks.
void stage_watch_render(const struct stage_watch *p, unsigned worker, struct text *out);
