// SPDX-License-Identifier: BSD-3-Clause
// capture_ring.h: the format of the ring of a sink: a record in one unit, then its frame in whole
// units.
#pragma once
#include "worker/capture.h"

struct capture_record {
    uint64_t tsc;
    uint32_t bytes, orig_bytes;
    uint8_t port, direction;
    uint8_t unused[14];
};

static_assert(sizeof(struct capture_record) == CAPTURE_UNIT_BYTES, "the head is one unit");
static_assert((CAPTURE_SNAP_MAX + 2 * CAPTURE_UNIT_BYTES) * 3 < CAPTURE_RING_BYTES_MIN,
              "the largest frame fits");

// The ring has one producer and one consumer. This removes the locking code of rte_ring_peek_zc.h
// at compile time.
#define CAPTURE_RING_ONE(ring, side)                                                               \
    do {                                                                                           \
        if ((ring)->side.sync_type != RTE_RING_SYNC_ST)                                            \
            __builtin_unreachable();                                                               \
    } while (0)

static inline unsigned capture_units(uint32_t bytes)
{
    return (bytes + CAPTURE_UNIT_BYTES - 1) / CAPTURE_UNIT_BYTES;
}
