// SPDX-License-Identifier: BSD-3-Clause
// micro.h: one part of the data path at a time, where there is one beside DPDK's of the same
// purpose.
#pragma once
#include "base/err.h"

enum { MICRO_SIZES_MAX = 5, MICRO_LOT = 64 };  // MICRO_LOT: as many at a time as a burst has

// micro_run: what a lot did.
struct micro_run {
    uint64_t ops, cycles;
};

// micro: one benchmark. `name` as Go's are; size: entries, or bytes.
struct micro {
    const char *name;
    const char *peer;  // name of the one that it is compared with; NULL: none
    const char *help;
    uint32_t sizes[MICRO_SIZES_MAX];  // 0: no more
    bool bytes;
    // open: a context for that size, NULL and *err. run: a lot of operations, added to *r. close
    // may be NULL: the process ends.
    void *(*open)(uint32_t size, struct err *err);
    void (*run)(void *ctx, struct micro_run *r);
    void (*close)(void *ctx);
};

// Lists, each ended by a row without a name.
extern const struct micro micro_wire[], micro_flow[], micro_timer[], micro_ooo[], micro_sack[],
    micro_turn[];

// micro_eal: EAL for a benchmark that needs DPDK's heap, with so many bytes: in huge pages where so
// many are free, else in ordinary ones.
int micro_eal(uint64_t bytes, struct err *err);

// bench_allocations: calls of malloc and its like since the program began, and bytes asked for. Is
// there in c10m-bench only, whose malloc counts; NULL elsewhere.
void bench_allocations(uint64_t *calls, uint64_t *bytes) __attribute__((weak));
