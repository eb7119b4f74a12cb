// SPDX-License-Identifier: BSD-3-Clause
// goroutine.h: connections in the place of goroutines: what there is of them, and a list.
#pragma once
#include "prof/reading.h"
#include "server/conn_walk.h"
#include "worker/order.h"

enum { GOROUTINE_LIST_MAX = 10000, GOROUTINE_FILTER_BYTES = 256 };

// goroutine_filter: the query's filter (server/conn_filter.h); none: everything matches, also
// half-open and TIME-WAIT records, which no filter selects. Returns 0, or -EINVAL with *err.
struct goroutine_filter {
    bool any;
    struct kill_filter by;
};
int goroutine_filter_parse(const struct prof_shown *s, const struct prof_query *q,
                           struct goroutine_filter *out, struct err *err);

// goroutine_matches: whether an entry is selected; it may change the copy of the block.
bool goroutine_matches(const struct goroutine_filter *f, const struct server *s,
                       struct conn_seen *seen);

// goroutine_list: the list of debug=2: at most GOROUTINE_LIST_MAX connections, each as Go shows a
// goroutine:
//
//     goroutine 17 [data, 3 minutes]:
//     ESTABLISHED(unacked 0, unsent 0, unread 0 bytes)
//     	10.0.0.1:80 <-> 10.0.0.2:41234
//     app http(service web)
//     	idle 182 s, timer in 57.0 s
//     created by service web on core c1
void goroutine_list(const struct reading *r, struct text *out);
