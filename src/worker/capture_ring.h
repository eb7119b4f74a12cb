// SPDX-License-Identifier: BSD-3-Clause
// capture_ring.h: what lies in a tap's ring: a record in one unit, its frame in whole units behind
// it.
#pragma once
#include "worker/capture.h"

struct capture_record {
    uint64_t tsc;
    uint32_t bytes, orig_bytes;
    uint8_t port, way;
    uint8_t unused[14];
};

static_assert(sizeof(struct capture_record) == CAPTURE_UNIT_BYTES, "the head is one unit");
static_assert((CAPTURE_SNAP_MAX + 2 * CAPTURE_UNIT_BYTES) * 3 < CAPTURE_RING_BYTES_MIN,
              "the largest frame fits");

// The ring has one producer and one consumer: told so, the compiler leaves out the ways of
// rte_ring_peek_zc.h that lock.
#define CAPTURE_RING_ONE(ring, side)                                                               \
    do {                                                                                           \
        if ((ring)->side.sync_type != RTE_RING_SYNC_ST)                                            \
            __builtin_unreachable();                                                               \
    } while (0)

static inline unsigned capture_units(uint32_t bytes)
{
    return (bytes + CAPTURE_UNIT_BYTES - 1) / CAPTURE_UNIT_BYTES;
}
