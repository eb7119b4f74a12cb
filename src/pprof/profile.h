// SPDX-License-Identifier: BSD-3-Clause
// profile.h: a profile in Go's format: samples, each a call stack with values and labels.
// Equal samples are added up. profile_encode.h writes the file that `go tool pprof` reads.
//
//     struct profile *p = profile_new(&params);
//     profile_add(p, &(struct profile_sample){.stack = stack, .depth = 3, .values = values});
//     profile_encode(p, symbols, &out);
//     profile_free(p);
//
// A profile belongs to one thread at a time. It allocates, so it is nothing for workers. Source of
// the format: github.com/google/pprof, proto/profile.proto.
#pragma once
#include "base/base.h"

enum {
    PROFILE_TYPES_MAX = 8,
    PROFILE_LABELS_MAX = 8,       // of a sample
    PROFILE_DEPTH_MAX = 128,      // frames of a sample
    PROFILE_SAMPLES_MAX = 65536,  // different ones; more than these limits allow are lost
    PROFILE_KEY_BYTES_MAX = 32 * 1024 * 1024,    // stacks and labels of different samples
    PROFILE_STRING_BYTES_MAX = 8 * 1024 * 1024,  // of different strings
    PROFILE_BYTES_MAX = 64 * 1024 * 1024,        // before gzip
};

// profile_type: what a value counts: {"cpu", "nanoseconds"}, {"inuse_space", "bytes"}.
struct profile_type {
    const char *type, *unit;
};

// profile_frame: one frame. address: in the code of this process; that of a caller lies in its call
// instruction (return address less 1), so that the line is the call's. 0: the frame has the name
// `function` and optionally a place in a file.
struct profile_frame {
    uint64_t address;
    const char *function, *file;  // file may be NULL
    unsigned line;
};

// profile_label: text, or if text is NULL the number in `unit` (may be NULL). pprof selects by text
// (-tagfocus), so a core is the text "c1" and not a number.
struct profile_label {
    const char *key, *text, *unit;
    int64_t number;
};

// profile_sample: stack[0] is the innermost frame. values: as many as the profile has types.
struct profile_sample {
    const struct profile_frame *stack;
    unsigned depth;
    const int64_t *values;
    const struct profile_label *labels;
    unsigned n_labels;
};

// profile_params: default_type: index of the type that pprof shows without -sample_index. period:
// of period_type, between two samples; 0: none. All is copied.
struct profile_params {
    unsigned n_types, default_type;
    struct profile_type types[PROFILE_TYPES_MAX];
    struct profile_type period_type;
    int64_t period;
    int64_t time_ns;      // since 1970: when it began
    int64_t duration_ns;  // 0: a state, not a time
};

struct profile;

// profile_new: an empty profile; NULL: no memory. profile_free: NULL is allowed.
struct profile *profile_new(const struct profile_params *params);
void profile_free(struct profile *p);

// profile_add: adds the values to the sample with this stack and these labels; deeper frames than
// PROFILE_DEPTH_MAX are left out. Strings are copied. Without memory, or if it is a new sample
// beyond one of the limits above, it is counted as lost.
void profile_add(struct profile *p, const struct profile_sample *s);

// profile_lose: counts n samples as lost that never reached the profile. profile_lost: the count.
void profile_lose(struct profile *p, uint64_t n);
uint64_t profile_lost(const struct profile *p);

// profile_took: sets the duration, when it is known.
void profile_took(struct profile *p, int64_t duration_ns);

// profile_comment: adds a line that `pprof -comments` shows.
void profile_comment(struct profile *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
