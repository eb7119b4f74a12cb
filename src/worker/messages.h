// SPDX-License-Identifier: BSD-3-Clause
// messages.h: messages between a worker and the threads of applications (c10m/thread.h), the
// worker's side. The server creates the rings before the worker runs (server/app_threads.h).
#pragma once
#include "base/shared.h"

struct rte_ring;
struct worker;

// worker_box: two SPSC rings for a service with a thread; both NULL: it has none. The rings are
// written at start only; each count is written by the one who fills the ring.
struct worker_box {
    struct rte_ring *in;        // filled by the service's thread, emptied by the worker
    struct rte_ring *out;       // filled by the worker, emptied by the service's thread
    struct shared_u64 in_full;  // messages refused because the ring was full
    struct shared_u64 out_full;
};

// worker_messages: passes at most C10M_MESSAGES_TURN_MAX messages of each service to its `message`
// callback. In the worker's turn.
void worker_messages(struct worker *w);
