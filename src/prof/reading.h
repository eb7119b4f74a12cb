// SPDX-License-Identifier: BSD-3-Clause
// reading.h: profiles of a state, such as the memory in use: one reading of it, or with seconds=N
// the second of two readings less the first, as Go's.
//
//   without seconds    begin --------------------> stop, write: reading
//   with seconds       begin: reading, negative --> stop, write: reading      the sum is the result
//
// A brief kind reads on the control thread, in begin() and stop(). Another one walks over all
// connections: on a thread of its own behind begin(), and in write().
#pragma once
#include <pthread.h>

#include "pprof/profile.h"
#include "prof/prof_kind.h"

// reading: the state of a run.
struct reading {
    const struct reading_kind *kind;
    struct prof_shown shown;
    struct prof_query query;
    struct profile *profile;
    uint64_t began_ns;  // of the monotonic clock
    pthread_t thread;   // of the first reading, with has_thread
    bool has_thread;
    struct shared_bool over;  // written by the control thread: the run ends, a walk stops
};

// reading_kind: read: adds to r->profile what there is, times sign. list, may be NULL: writes what
// debug=2 asks for, in place of the profile. check, may be NULL: returns -EINVAL with *err for a
// query that this kind does not take.
struct reading_kind {
    const char *title;  // of the text
    struct profile_params params;
    bool brief;
    void (*read)(const struct reading *r, int64_t sign);
    void (*list)(const struct reading *r, struct text *out);
    int (*check)(const struct prof_shown *s, const struct prof_query *q, struct err *err);
};

int reading_begin(const struct reading_kind *kind, const struct prof_shown *s,
                  const struct prof_query *q, void **state, struct err *err);

// The other functions of a prof_kind.
int reading_stop(void *state, struct err *err);
int reading_write(void *state, struct text *out, struct err *err);
void reading_hurry(void *state);
void reading_release(void *state);
const char *reading_type(const struct prof_query *q);

// READING_KIND: defines prof_kind_NAME from the reading_kind NAME. The further arguments initialize
// .help, and .count if there is one.
#define READING_KIND(label, ...)                                                                   \
    static int begin_##label(const struct prof_shown *s, const struct prof_query *q, void **state, \
                             struct err *err)                                                      \
    {                                                                                              \
        return reading_begin(&label, s, q, state, err);                                            \
    }                                                                                              \
    const struct prof_kind prof_kind_##label = {.name = #label,                                    \
                                                .begin = begin_##label,                            \
                                                .stop = reading_stop,                              \
                                                .write = reading_write,                            \
                                                .hurry = reading_hurry,                            \
                                                .release = reading_release,                        \
                                                .type = reading_type,                              \
                                                __VA_ARGS__}

// contention: the values of the kinds block and mutex.
enum contention { CONTENTIONS, DELAY, CONTENTION_TYPES };
#define CONTENTION_PARAMS(default_value)                                                           \
    {                                                                                              \
        .n_types = CONTENTION_TYPES, .default_type = (default_value),                              \
        .types = {{"contentions", "count"}, {"delay", "nanoseconds"}},                             \
        .period_type = {"contentions", "count"}, .period = 1                                       \
    }
