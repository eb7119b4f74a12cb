// SPDX-License-Identifier: BSD-3-Clause
// prof_kind.h: one kind of profile or trace of a running server. prof.h runs them.
//
//     request --> begin() --> tick(), tick(), ... --> stop() --> write() --> release()
//                 control thread, brief, each         its own thread, may take seconds
//
// A request's run is one call of begin, any number of calls of tick, possibly none, and then stop
// and write. A client may go, or the server stop, at any time: then release() follows begin, a tick
// or write at once, and undoes what begin() has armed. Several runs may exist at the same time,
// also of one kind; each has its own state.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "server/server.h"

struct fill_levels;
struct recorder;
struct stage_watch;
struct stalls;

enum {
    PROF_SECONDS_DEFAULT = 30,
    PROF_SECONDS_MAX = 3600,
    PROF_TICK_MS = 20,
    PROF_SLICE_MS = 2,  // between two calls of a stop() that returned PROF_LATER
};

enum { PROF_LATER = 1 };  // result of stop()

// prof_shown: what profiles are taken of. It outlives all runs.
struct prof_shown {
    const struct server *server;
    const char *version;
    struct stalls *stalls;             // NULL: none are watched (load, bench)
    struct fill_levels *fill;          // NULL: the same
    const struct stage_watch *stages;  // NULL: the same
    struct recorder *recorder;         // NULL: there is no flight recorder
};

// prof_query: the parameters of a request, checked. Strings are valid until release().
struct prof_query {
    unsigned seconds;    // of a timed kind: 1 to PROF_SECONDS_MAX. Of the others: 0, or the
                         // difference over so many seconds
    unsigned debug;      // 0: for go tool pprof; 1: text; 2: more text
    const char *format;  // of a trace: "go", "perfetto", "chrome"; NULL: not given
    const char *filter;  // of connections: words as in net/tcp's filter; of symbol: addresses,
                         // separated by +; NULL: not given
};

// prof_kind: begin, tick and stop run on the control thread and must not take longer than a
// millisecond, because all readers of the tree wait. write runs on a thread of its own; beside
// *state it reads only what any thread may read while the workers run (tcp/tcp_view.h, counters and
// fill levels), so that it has to end before the server's memory does. A walk over ten million
// connections takes a second there. Functions that fail return -1 with *err; release is called in
// any case once begin has returned 0.
struct prof_kind {
    const char *name, *help;
    bool timed;
    unsigned seconds_default;  // of a timed kind; 0: PROF_SECONDS_DEFAULT
    // begin: also returns -EINVAL with *err: the query has a value that this kind does not take;
    // -EBUSY: it cannot run beside another run.
    int (*begin)(const struct prof_shown *s, const struct prof_query *q, void **state,
                 struct err *err);
    void (*tick)(void *state);  // NULL: nothing to do every PROF_TICK_MS
    // stop: also returns PROF_LATER: a part was done, call again after PROF_SLICE_MS. For what
    // takes longer than a millisecond, such as a walk over all connections.
    int (*stop)(void *state, struct err *err);
    int (*write)(void *state, struct text *out, struct err *err);
    // hurry: nobody wants the result of write() any more: it may fail at once. Called by the
    // control thread while write() runs. NULL: the failure of out is enough.
    void (*hurry)(void *state);
    void (*release)(void *state);
    // type: the media type of what write() writes.
    const char *(*type)(const struct prof_query *q);
    // count: what the index page shows beside the name: how many things the profile would have
    // now. NULL: nothing is shown.
    uint64_t (*count)(const struct prof_shown *s);
};
