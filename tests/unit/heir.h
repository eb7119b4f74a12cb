// SPDX-License-Identifier: BSD-3-Clause
// heir.h: the process that comes after the one of an end (tcp_pair.h): a TCP of its own, just
// started, over the blocks, records and buffers of that end. It adopts what a process leaves that
// ends at a store, and all it stores is undone (store_hook.h), so that one heir serves every store.
#pragma once
#include "store_hook.h"
#include "tcp_pair.h"

enum { HEIR_RANGES = 16, HEIR_BUFS_MAX = 4096 };

struct heir {
    struct end end;
    struct end *of;
    // What of the end decides what an heir finds: its lasting memory, and what worker/hand.h reads.
    struct store_range lasting[HEIR_RANGES];
    unsigned n_lasting;
    // free_bufs: the lists of free buffers, which an adoption writes before it reads them: they are
    // not put back.
    uint32_t free_bufs[HEIR_BUFS_MAX];
};

// heir_new: of an end whose configuration is complete. heir_free: NULL: nothing.
struct heir *heir_new(struct end *e);
void heir_free(struct heir *h);

// heir_start: it starts at now_us. Not in a call of the hook.
void heir_start(struct heir *h, uint64_t now_us);

// heir_keep: store_hook_keep() for an adoption by the heir.
void heir_keep(const struct heir *h);

// heir_sum: a sum of all memory of the end and its heir that an adoption leaves as it was. Slow.
uint64_t heir_sum(const struct heir *h);
