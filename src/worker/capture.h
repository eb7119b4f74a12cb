// capture.h: copies of frames for the control thread (c10m dump). One dump has one tap per worker:
// a filter, and a bounded ring that the worker fills and the control thread empties.
//
//     worker:  rx burst -> filter -> [ ring ] --+
//              tx burst -> filter -> [ ring ] --+--> control thread: tap_dump_peek, tap_dump_take
//
// The worker never waits: what finds no room in the ring is counted and not copied. A worker that
// is not tapped pays a branch a burst, and a look at what it is ordered every WORKER_HOUSE_TURNS
// turns. A list of taps is never changed: the control thread publishes another one, and frees the
// old one when the worker has said that it uses the new one. A worker that never says so (it is
// stuck in a turn) keeps it.
#pragma once
#include "base/err.h"
#include "pkt/pkt.h"

enum {
    TAP_DUMPS_MAX = 4,                        // at a time, of one server
    TAP_PORTS_MAX = 32,                       // bits of a mask
    TAP_UNIT_BYTES = 32,                      // of a ring's element
    TAP_SNAP_MAX = PKT_CHAIN_MAX * PKT_ROOM,  // bytes of a frame that are copied, at most
    TAP_RING_BYTES_MIN = 256 * 1024,          // holds several of the largest
    TAP_RING_BYTES_MAX = 256 * 1024 * 1024,
    TAP_TOUCH_BYTES = 1024 * 1024,  // of a ring that are made present at once: 0.3 ms
    TAP_PROGRAM_MAX = 1024,         // instructions of a filter
    TAP_NOT_ATTACHED_MS = 1000,     // how long a worker's first or last turn is waited for
};

enum tap_way { TAP_IN = 1, TAP_OUT = 2 };

// tap_counts: of one worker and port, written by the worker.
struct tap_counts {
    uint64_t seen;     // of a way that is asked for
    uint64_t matched;  // accepted by the filter
    uint64_t dropped;  // of those, for want of room in the ring
};

struct rte_ring;
struct tap_filter;

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

// tap_filter_new: a program of classic BPF in tcpdump -ddd's form, blanks or commas between the
// numbers: "COUNT CODE JT JF K CODE JT JF K ...", checked, converted and verified.
// NULL: *err. Control thread.
struct tap_filter *tap_filter_new(const char *program, struct err *err);
void tap_filter_free(struct tap_filter *f);

// tap_filter_run: how many bytes of p the filter wants; 0: it does not want p. Any thread.
uint32_t tap_filter_run(const struct tap_filter *f, struct pkt *p);

// tap_params: of one dump.
struct tap_params {
    const char *program;  // of tap_filter_new(); NULL: every frame
    uint32_t snap_bytes;  // 1..TAP_SNAP_MAX
    uint32_t ports;       // mask
    uint8_t ways;
    uint32_t ring_bytes;  // a worker; rounded down to a power of two
};

// tap_frame: what is said of a copied frame.
struct tap_frame {
    uint64_t tsc;
    uint32_t bytes;       // copied
    uint32_t orig_bytes;  // of the frame
    uint8_t port, way;
    uint16_t worker;
};

struct server;
struct tap_dump;

// tap_dump_new: a dump at every worker of s, not attached yet. NULL: *err (TAP_DUMPS_MAX are there,
// filter, memory). Control thread, as all below.
struct tap_dump *tap_dump_new(struct server *s, const struct tap_params *p, struct err *err);

// tap_dump_attach: a bounded piece of work towards being attached; true: nothing is left to do.
// From then on tap_dump_acked() tells whether each worker knows of it.
bool tap_dump_attach(struct tap_dump *d);

// tap_dump_detach: the workers are to stop copying; tap_dump_acked(): they did. What lies in the
// rings can still be taken.
void tap_dump_detach(struct tap_dump *d);

// tap_dump_acked: every worker follows what was ordered last; one that has stopped, too.
bool tap_dump_acked(const struct tap_dump *d);

// tap_dump_peek: the oldest frame in the rings; false: they are empty. tap_dump_take: the frame
// that was peeked at goes; its f->bytes are copied to `to`, unless that is NULL.
bool tap_dump_peek(struct tap_dump *d, struct tap_frame *f);
void tap_dump_take(struct tap_dump *d, uint8_t *to);

// tap_dump_counts: of a port, the sum of all workers.
struct tap_counts tap_dump_counts(const struct tap_dump *d, unsigned port);

// tap_dump_free: detaches; d is gone. Its memory is given back when the workers let go of it
// (taps_reap). NULL: nothing.
void tap_dump_free(struct tap_dump *d);

// taps_usage: what the dumps of a server hold.
struct taps_usage {
    unsigned dumps;       // at work
    unsigned waiting;     // over, but a worker has not let go of it
    uint64_t ring_bytes;  // of both
    uint64_t refused;     // TAP_DUMPS_MAX
};
struct taps_usage taps_usage(const struct server *s);

// taps_reap: frees what no worker looks at any more; every now and then.
void taps_reap(struct server *s);

// taps_stop: frees everything; the workers have stopped.
void taps_stop(struct server *s);

// tap_dump_ns: nanoseconds since 1970 of a TSC value that is not long ago.
uint64_t tap_dump_ns(const struct tap_dump *d, uint64_t tsc);
