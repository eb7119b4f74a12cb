// SPDX-License-Identifier: BSD-3-Clause
// dump_capture.h: one capture: from its parameters to the bytes of its pcapng.
//
//     IDLE --first read--> ATTACH --every ring is there--> AWAIT --every worker knows--> RUN
//     RUN --limit, stop--> DRAIN --every worker has let go, rings empty--> END
#pragma once
#include "ctl/dump/dump_files.h"
#include "server/capture_reader.h"
#include "worker/capture.h"

enum capture_state {
    CAPTURE_IDLE,
    CAPTURE_ATTACH,
    CAPTURE_AWAIT,
    CAPTURE_RUN,
    CAPTURE_DRAIN,
    CAPTURE_END
};

// capture_params: program: of capture_filter_new(), NULL: none; filter: its text.
struct capture_params {
    uint32_t snap_bytes;
    uint32_t ports;
    uint8_t directions;
    uint64_t frames_max;  // 0: no limit
    uint32_t ring_bytes;
    const char *program, *filter;
};

struct capture;

// capture_new: NULL: *e.
struct capture *capture_new(struct server *s, const struct capture_params *p, struct err *e);
void capture_free(struct capture *c);

// capture_next: as a stream's next().
int capture_next(struct capture *c, struct tree_out *out);

// capture_stop: no frames that are not in the rings already.
void capture_stop(struct capture *c);

// capture_frames: handed over so far. capture_began: it has been read.
uint64_t capture_frames(const struct capture *c);
bool capture_began(const struct capture *c);

// capture_counts: over its ports.
struct capture_ring_counts capture_counts(const struct capture *c);
