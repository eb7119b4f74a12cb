// SPDX-License-Identifier: BSD-3-Clause
// capture.h: copies of frames for the control thread (c10m dump). A dump has one sink on each
// worker: a filter, and a bounded ring that the worker fills and the control thread empties.
//
//     worker:  rx burst -> filter -> [ ring ] --+
//              tx burst -> filter -> [ ring ] --+--> control thread: server/capture_reader.h
//
// The worker never waits: a frame without room in the ring is counted and not copied. Without a
// sink the cost is one branch for each burst, and a check of captures_ordered every
// WORKER_HOUSE_TURNS turns. A list of captures is never changed: the control thread publishes a new
// one, and frees the old one after the worker has acknowledged the new one. If the worker hangs,
// the old one is kept.
#pragma once
#include "pkt/pkt.h"

enum {
    CAPTURE_READERS_MAX = 4,                      // at a time, in one server
    CAPTURE_PORTS_MAX = 32,                       // bits of capture_sink.ports
    CAPTURE_UNIT_BYTES = 32,                      // of a ring element
    CAPTURE_SNAP_MAX = PKT_CHAIN_MAX * PKT_ROOM,  // limit of the bytes copied of a frame
    CAPTURE_RING_BYTES_MIN = 256 * 1024,          // room for several of the largest frames
};

enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

// capture_ring_counts: of one worker and port, written by the worker.
struct capture_ring_counts {
    uint64_t seen;     // frames in a requested direction
    uint64_t matched;  // frames that the filter accepted
    uint64_t dropped;  // of those, without room in the ring
};

struct rte_bpf;
struct rte_ring;

// capture_filter: created by the control thread (server/capture_filter.h); constant while a sink
// uses it.
struct capture_filter {
    struct rte_bpf *bpf;
};

// capture_sink: one dump on one worker. All but counts is constant while the worker uses it.
struct capture_sink {
    const struct capture_filter *filter;  // NULL: every frame
    struct rte_ring *ring;
    uint32_t snap_bytes;
    uint32_t ports;      // bit p: port p
    uint8_t directions;  // enum capture_direction, or-ed
    bool quiet;          // another worker copies the frames that go to every worker
    // By port: the tag of a VLAN that the filter and the copy are to have, as on the wire. 0: none.
    uint16_t tags[CAPTURE_PORTS_MAX];
    struct capture_ring_counts counts[CAPTURE_PORTS_MAX] CACHE_ALIGNED;
};

struct capture_list {
    unsigned n;
    struct capture_sink *at[CAPTURE_READERS_MAX];
};

// capture_burst: copies n packets to each sink of l whose filter accepts them. Worker.
void capture_burst(const struct capture_list *l, unsigned port, enum capture_direction direction,
                   struct pkt *const *pkts, uint32_t n);

// capture_filter_run: how many bytes of p to copy; 0: the filter rejects p. Any thread.
uint32_t capture_filter_run(const struct capture_filter *f, struct pkt *p);
