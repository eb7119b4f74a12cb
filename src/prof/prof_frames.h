// SPDX-License-Identifier: BSD-3-Clause
// prof_frames.h: stacks whose frames are words and not code: `service web`, `state ESTABLISHED`.
#pragma once
#include "pprof/profile.h"
#include "server/server.h"

enum { FRAMES_MAX = 8, FRAME_BYTES = 64, FRAMES_LABELS_MAX = 4 };

// frames: a stack and its labels; starts zeroed. The innermost frame is added first.
struct frames {
    unsigned n, n_labels;
    const char *keys[FRAMES_LABELS_MAX];
    char names[FRAMES_MAX][FRAME_BYTES];
    char label_texts[FRAMES_LABELS_MAX][FRAME_BYTES];
};

// frames_add: adds a frame; a name that is too long is cut off. frames_label: adds a label.
void frames_add(struct frames *f, const char *format, ...) __attribute__((format(printf, 2, 3)));
void frames_label(struct frames *f, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// frames_service: adds `app NAME` and `service NAME` of service ix, as frames and as labels.
void frames_service(struct frames *f, const struct server *s, unsigned ix);

// frames_core: adds the label `core`, with the name N of cores/N: `cN`; returns that text.
const char *frames_core(struct frames *f, const struct server *s, unsigned worker);

// frames_put: adds the values to the profile's sample with this stack and these labels.
void frames_put(const struct frames *f, struct profile *p, const int64_t *values);
