// SPDX-License-Identifier: BSD-3-Clause
// profile_internal.h: how a profile lies in memory, for the files that write it.
#pragma once
#include "base/text.h"
#include "pprof/intern.h"
#include "pprof/profile.h"

// packed_frame: strings are numbers in `strings`; 0 is "". One of address and function is not 0.
struct packed_frame {
    uint64_t address;
    uint32_t function, file, line, unused;
};

// packed_label: text 0: it is a number.
struct packed_label {
    uint32_t key, text, unit, unused;
    int64_t number;
};

// packed_sample: the key of a sample: this head, its frames, its labels.
struct packed_sample {
    uint32_t depth, n_labels;
};

struct profile {
    struct profile_params params;  // its strings are not used: types and period_type are below
    uint32_t types[PROFILE_TYPES_MAX], units[PROFILE_TYPES_MAX];
    uint32_t period_type, period_unit;
    struct intern strings, samples;
    int64_t *values;  // [sample][type]
    uint32_t values_room;
    uint64_t lost;
    struct text comments;  // each with a terminator
};

// packed_is_zero: whether all values of sample i are 0: samples that added up to nothing are not
// written.
static inline bool packed_is_zero(const struct profile *p, uint32_t i)
{
    const int64_t *values = &p->values[i * p->params.n_types];
    for (unsigned k = 0; k < p->params.n_types; k++)
        if (values[k] != 0)
            return false;
    return true;
}

static inline const struct packed_sample *packed_sample(const struct profile *p, uint32_t i)
{
    return intern_get(&p->samples, i, NULL);
}

static inline const struct packed_frame *packed_frames(const struct packed_sample *s)
{
    return (const struct packed_frame *)(s + 1);
}

static inline const struct packed_label *packed_labels(const struct packed_sample *s)
{
    return (const struct packed_label *)(packed_frames(s) + s->depth);
}

// packed_string: string i, terminated.
static inline const char *packed_string(const struct profile *p, uint32_t i)
{
    return intern_get(&p->strings, i, NULL);
}
