// SPDX-License-Identifier: BSD-3-Clause
// frame_ring.h: a bounded ring of frames between two threads, one that puts and one that takes.
// Neither waits. A frame with its head of FRAME_HEAD_BYTES takes whole units of a DPDK ring in
// SP/SC mode. The ring is in the caller's memory.
#pragma once
#include "pkt/pkt.h"

struct rte_ring;

enum {
    FRAME_UNIT_BYTES = 64,
    FRAME_HEAD_BYTES = 8,
    FRAME_BYTES_MAX = 65535 + 14,  // the longest IP packet and its Ethernet header
};

// frame_ring_footprint: bytes of a ring with `units` units, a power of two; a multiple of
// CACHE_LINE. frame_ring_init: places it in mem.
uint64_t frame_ring_footprint(uint32_t units);
struct rte_ring *frame_ring_init(void *mem, uint32_t units);

// frame_ring_units: units that a frame of len bytes takes. frame_ring_room: units that are free.
static inline uint32_t frame_ring_units(uint32_t len)
{
    return (FRAME_HEAD_BYTES + len + FRAME_UNIT_BYTES - 1) / FRAME_UNIT_BYTES;
}
uint32_t frame_ring_room(const struct rte_ring *r);

// frame_ring_put: copies a frame of 1 to FRAME_BYTES_MAX bytes into the ring. frame_ring_put_pkt:
// the same of a packet, which may be a chain. False: no room, or too long.
bool frame_ring_put(struct rte_ring *r, const uint8_t *frame, uint32_t len);
bool frame_ring_put_pkt(struct rte_ring *r, const struct pkt *p);

// frame_ring_next: the length of the oldest frame; 0: the ring is empty. frame_ring_take: removes
// it and copies its bytes to `to`; NULL: nowhere. There must be one.
uint32_t frame_ring_next(struct rte_ring *r);
void frame_ring_take(struct rte_ring *r, uint8_t *to);
