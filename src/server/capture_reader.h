// SPDX-License-Identifier: BSD-3-Clause
// capture_reader.h: dumps (worker/capture.h) as the control thread sees them: it makes their rings,
// tells the workers of them, empties them, and frees them when no worker looks at them any more.
#pragma once
#include "base/err.h"
#include "worker/capture.h"

enum {
    CAPTURE_RING_BYTES_MAX = 256 * 1024 * 1024,
    CAPTURE_TOUCH_BYTES = 1024 * 1024,  // of a ring that are made present at once: 0.3 ms
};

// capture_reader_params: of one dump.
struct capture_reader_params {
    const char *program;  // of capture_filter_new(); NULL: every frame
    uint32_t snap_bytes;  // 1..CAPTURE_SNAP_MAX
    uint32_t ports;       // mask
    uint8_t directions;
    uint32_t ring_bytes;  // a worker; rounded down to a power of two
};

// capture_frame: what is said of a copied frame.
struct capture_frame {
    uint64_t tsc;
    uint32_t bytes;       // copied
    uint32_t orig_bytes;  // of the frame
    uint8_t port, direction;
    uint16_t worker;
};

struct server;
struct capture_reader;

// capture_reader_new: a dump at every worker of s, not attached yet. NULL: *err
// (CAPTURE_READERS_MAX are there, filter, memory). Control thread, as all below.
struct capture_reader *capture_reader_new(struct server *s, const struct capture_reader_params *p,
                                          struct err *err);

// capture_reader_attach: a bounded piece of work toward being attached; true: nothing is left to
// do. From then on capture_reader_acked() tells whether each worker knows of it.
bool capture_reader_attach(struct capture_reader *d);

// capture_reader_detach: the workers are to stop copying; capture_reader_acked(): they did. What
// lies in the rings can still be taken.
void capture_reader_detach(struct capture_reader *d);

// capture_reader_acked: every worker follows what was ordered last; one that has stopped, too.
bool capture_reader_acked(const struct capture_reader *d);

// capture_reader_peek: the oldest frame in the rings; false: they are empty. capture_reader_take:
// the frame that was peeked at goes; its f->bytes are copied to `to`, unless that is NULL.
bool capture_reader_peek(struct capture_reader *d, struct capture_frame *f);
void capture_reader_take(struct capture_reader *d, uint8_t *to);

// capture_reader_counts: of a port, the sum of all workers.
struct capture_ring_counts capture_reader_counts(const struct capture_reader *d, unsigned port);

// capture_reader_free: detaches; d is gone. Its memory is given back when the workers let go of it
// (capture_readers_reap). NULL: nothing.
void capture_reader_free(struct capture_reader *d);

// capture_readers_usage: what the dumps of a server hold.
struct capture_readers_usage {
    unsigned dumps;       // at work
    unsigned waiting;     // over, but a worker has not let go of it
    uint64_t ring_bytes;  // of both
    uint64_t refused;     // CAPTURE_READERS_MAX
};
struct capture_readers_usage capture_readers_usage(const struct server *s);

// capture_bytes: of the rings of all dumps. Any thread.
uint64_t capture_bytes(const struct server *s);

// capture_readers_reap: frees what no worker looks at any more; every now and then.
void capture_readers_reap(struct server *s);

// capture_readers_stop: frees everything; the workers have stopped.
void capture_readers_stop(struct server *s);

// capture_reader_ns: nanoseconds since 1970 of a TSC value that is not long ago.
uint64_t capture_reader_ns(const struct capture_reader *d, uint64_t tsc);
