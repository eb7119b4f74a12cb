// capture.h: copies of frames for the control thread (c10m dump). One dump has one tap per worker:
// a filter, and a bounded ring that the worker fills and the control thread empties.
//
//     worker:  rx burst -> filter -> [ ring ] --+
//              tx burst -> filter -> [ ring ] --+--> control thread: server/capture_reader.h
//
// The worker never waits: what finds no room in the ring is counted and not copied. A worker that
// is not tapped pays a branch a burst, and a look at what it is ordered every WORKER_HOUSE_TURNS
// turns. A list of taps is never changed: the control thread publishes another one, and frees the
// old one when the worker has said that it uses the new one. A worker that never says so (it is
// stuck in a turn) keeps it.
#pragma once
#include "pkt/pkt.h"

enum {
    TAP_DUMPS_MAX = 4,                        // at a time, of one server
    TAP_PORTS_MAX = 32,                       // bits of a mask
    TAP_UNIT_BYTES = 32,                      // of a ring's element
    TAP_SNAP_MAX = PKT_CHAIN_MAX * PKT_ROOM,  // bytes of a frame that are copied, at most
    TAP_RING_BYTES_MIN = 256 * 1024,          // holds several of the largest
};

enum tap_way { TAP_IN = 1, TAP_OUT = 2 };

// tap_counts: of one worker and port, written by the worker.
struct tap_counts {
    uint64_t seen;     // of a way that is asked for
    uint64_t matched;  // accepted by the filter
    uint64_t dropped;  // of those, for want of room in the ring
};

struct rte_bpf;
struct rte_ring;

// tap_filter: written by the control thread (server/capture_filter.h), constant while a tap has it.
struct tap_filter {
    struct rte_bpf *bpf;
};

// tap: one dump at one worker; all but counts is constant while the worker has it.
struct tap {
    const struct tap_filter *filter;  // NULL: every frame
    struct rte_ring *ring;
    uint32_t snap_bytes;
    uint32_t ports;  // bit p: port p
    uint8_t ways;    // enum tap_way, or-ed
    bool quiet;      // frames that go to every worker are some other worker's to copy
    struct tap_counts counts[TAP_PORTS_MAX] CACHE_ALIGNED;
};

struct tap_list {
    unsigned n;
    struct tap *at[TAP_DUMPS_MAX];
};

// tap_burst: copies what of n packets each tap of l wants. Worker.
void tap_burst(const struct tap_list *l, unsigned port, enum tap_way way, struct pkt *const *pkts,
               uint32_t n);

// tap_filter_run: how many bytes of p the filter wants; 0: it does not want p. Any thread.
uint32_t tap_filter_run(const struct tap_filter *f, struct pkt *p);
