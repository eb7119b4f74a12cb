// SPDX-License-Identifier: BSD-3-Clause
// wake.h: wakes a worker that sleeps (worker/idle.h), for whoever has something for it.
//
//     worker                               the other thread
//     asleep = 1                           puts it where the worker looks for it
//     fence                                fence
//     looks everywhere: nothing            asleep? --> writes to `fd`
//     sleeps until `fd` is readable
//
// Whichever fence comes second, the thread behind it sees what the other one has written. So
// nothing is slept over. Without [cpu] idle = interrupt a call costs one branch.
#pragma once
#include <emmintrin.h>

#include "base/shared.h"

// wake: of one worker. fd: an eventfd, constant while the worker runs; -1: it never sleeps.
struct wake {
    struct shared_u32 asleep CACHE_ALIGNED;  // written by the worker, read by any thread
    int fd;
};

// wake_write: writes to the descriptor: a system call.
void wake_write(const struct wake *w);

// wake_worker: wakes the worker if it sleeps. Call it after what is for the worker is in its place.
// Any thread.
static inline void wake_worker(const struct wake *w)
{
    if (likely(w->fd < 0))
        return;
    _mm_mfence();
    if (shared_u32_load(&w->asleep) != 0)
        wake_write(w);
}
