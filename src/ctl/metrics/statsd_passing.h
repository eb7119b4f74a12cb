// SPDX-License-Identifier: BSD-3-Clause
// statsd_passing.h: the names of samples that come and go (METRIC_PASSING). A StatsD server keeps
// the last value of a gauge forever: one that is not there any more has to be sent as zero. It is
// sent so in STATSD_ZEROS pushes, because a datagram may be lost on the way. There are at most as
// many names as samples in STATSD_ZEROS + 1 pushes.
#pragma once
#include "base/base.h"

enum { STATSD_ZEROS = 3 };

struct statsd_passing {
    struct statsd_passing_name {
        char *name;
        uint64_t hash;
        bool seen;       // in this push
        uint32_t zeros;  // still to be sent when it is gone
    } * at;
    uint32_t n, room;
};

// statsd_passing_see: this name is in this push. Without memory it is not kept.
void statsd_passing_see(struct statsd_passing *p, const char *name);

// statsd_passing_next: at the end of a push, from *i = 0 on: the next name to be sent as zero;
// valid until the next call. NULL: that was all, and the next push begins.
const char *statsd_passing_next(struct statsd_passing *p, uint32_t *i);

void statsd_passing_free(struct statsd_passing *p);
