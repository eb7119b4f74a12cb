// SPDX-License-Identifier: BSD-3-Clause
// capture.h: copies of frames for the control thread (c10m dump). One dump has one tap per worker:
// a filter, and a bounded ring that the worker fills and the control thread empties.
//
//     worker:  rx burst -> filter -> [ ring ] --+
//              tx burst -> filter -> [ ring ] --+--> control thread: server/capture_reader.h
//
// The worker never waits: what finds no room in the ring is counted and not copied. A worker that
// is not tapped pays a branch a burst, and a look at what it is ordered every WORKER_HOUSE_TURNS
// turns. A list of captures is never changed: the control thread publishes another one, and
// frees the old one when the worker has said that it uses the new one. A worker that never says so
// (it is stuck in a turn) keeps it.
#pragma once
#include "pkt/pkt.h"

enum {
    CAPTURE_READERS_MAX = 4,                      // at a time, of one server
    CAPTURE_PORTS_MAX = 32,                       // bits of a mask
    CAPTURE_UNIT_BYTES = 32,                      // of a ring's element
    CAPTURE_SNAP_MAX = PKT_CHAIN_MAX * PKT_ROOM,  // bytes of a frame that are copied, at most
    CAPTURE_RING_BYTES_MIN = 256 * 1024,          // holds several of the largest
};

enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

// capture_ring_counts: of one worker and port, written by the worker.
struct capture_ring_counts {
    uint64_t seen;     // of a way that is asked for
    uint64_t matched;  // accepted by the filter
    uint64_t dropped;  // of those, for want of room in the ring
};

struct rte_bpf;
struct rte_ring;

// capture_filter: written by the control thread (server/capture_filter.h), constant while a tap has
// it.
struct capture_filter {
    struct rte_bpf *bpf;
};

// tap: one dump at one worker; all but counts is constant while the worker has it.
struct tap {
    const struct capture_filter *filter;  // NULL: every frame
    struct rte_ring *ring;
    uint32_t snap_bytes;
    uint32_t ports;  // bit p: port p
    uint8_t ways;    // enum capture_direction, or-ed
    bool quiet;      // frames that go to every worker are some other worker's to copy
    struct capture_ring_counts counts[CAPTURE_PORTS_MAX] CACHE_ALIGNED;
};

struct capture_list {
    unsigned n;
    struct tap *at[CAPTURE_READERS_MAX];
};

// capture_burst: copies what of n packets each tap of l wants. Worker.
void capture_burst(const struct capture_list *l, unsigned port, enum capture_direction way,
                   struct pkt *const *pkts, uint32_t n);

// capture_filter_run: how many bytes of p the filter wants; 0: it does not want p. Any thread.
uint32_t capture_filter_run(const struct capture_filter *f, struct pkt *p);
