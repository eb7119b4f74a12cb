// SPDX-License-Identifier: BSD-3-Clause
// dump_capture.h: one capture, which converts frames of the workers to pcapng.
//
//     IDLE --first read--> ATTACH --all rings allocated--> AWAIT --all workers copy--> RUN
//     RUN --limit, stop--> DRAIN --all workers have released the rings, rings empty--> END
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

// capture_params: the parameters. program: of capture_filter_new(), or NULL; filter: its text.
struct capture_params {
    uint32_t snap_bytes;
    uint32_t ports;
    uint8_t directions;
    uint64_t frames_max;  // 0: no limit
    uint32_t ring_bytes;
    const char *program, *filter;
};

struct capture;

// capture_new: returns NULL with the reason in *e on failure.
struct capture *capture_new(struct server *s, const struct capture_params *p, struct err *e);
void capture_free(struct capture *c);

// capture_next: as next() in struct tree_ops.
int capture_next(struct capture *c, struct tree_out *out);

// capture_stop: ends the capture; frames already in the rings are still passed on.
void capture_stop(struct capture *c);

// capture_frames: the number of frames passed to the reader so far. capture_began: whether it was
// read.
uint64_t capture_frames(const struct capture *c);
bool capture_began(const struct capture *c);

// capture_counts: the sums of its ports.
struct capture_ring_counts capture_counts(const struct capture *c);
