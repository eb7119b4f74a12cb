// SPDX-License-Identifier: BSD-3-Clause
// heap and allocs: one profile, of which pprof shows another value first.
#include "prof/heap_memory.h"
#include "prof/prof_kinds.h"

#define HEAP_SAMPLE_TYPES                                                                          \
    {"alloc_objects", "count"}, {"alloc_space", "bytes"}, {"inuse_objects", "count"},              \
        {"inuse_space", "bytes"},                                                                  \
    {                                                                                              \
        "reserved_space", "bytes"                                                                  \
    }

static const struct reading_kind heap = {
    .title = "heap",
    .params = {.n_types = HEAP_TYPES,
               .default_type = HEAP_INUSE_SPACE,
               .types = {HEAP_SAMPLE_TYPES},
               .period_type = {"space", "bytes"},
               .period = 1},
    .read = heap_memory,
};

static const struct reading_kind allocs = {
    .title = "allocs",
    .params = {.n_types = HEAP_TYPES,
               .default_type = HEAP_ALLOC_SPACE,
               .types = {HEAP_SAMPLE_TYPES},
               .period_type = {"space", "bytes"},
               .period = 1},
    .read = heap_memory,
};

READING_KIND(
    heap,
    .help = "the memory in use: pools, tables and buffers by owner: connections' state, "
            "application and service. All are counted, none sampled. seconds=N: what N seconds "
            "changed. debug=1: text.",
    .count = heap_objects);

READING_KIND(
    allocs,
    .help = "the same profile as heap; its first value is what was taken since the start, where "
            "that is counted.",
    .count = heap_objects);
