// capture_reader.h: dumps (worker/capture.h) as the control thread sees them: it makes their rings,
// tells the workers of them, empties them, and frees them when no worker looks at them any more.
#pragma once
#include "base/err.h"
#include "worker/capture.h"

enum {
    TAP_RING_BYTES_MAX = 256 * 1024 * 1024,
    TAP_TOUCH_BYTES = 1024 * 1024,  // of a ring that are made present at once: 0.3 ms
};

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
