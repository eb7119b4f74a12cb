// SPDX-License-Identifier: BSD-3-Clause
// hang_watch.h: workers whose turn does not end: which function of which application keeps them,
// and what is done about it. Control thread, and a thread of its own while a worker hangs.
//
//     liveness: stalled for the ms of its rule
//         --> a thread looks at the worker's stack and names its functions (some 100 ms)
//         --> one line in the log; cores/N/state and the verdict have the function
//         --> rule.abort: SIGABRT in that worker: the process ends with its last line
//         (base/crash.h)
//
// A worker that goes on is mentioned once more. A hang is counted once, however long it lasts.
#pragma once
#include "prof/stack_names.h"
#include "server/liveness.h"

enum {
    HANG_MS = 500,         // where no application is at work: no rule applies
    HANG_LOOK_MS = 400,    // the line of the log does not wait longer for the names,
    HANG_NAMES_MS = 1500,  // and the abort not longer than this
    HANG_ABORT_MS = 4000   // a worker that does not take the signal: abort() in the control thread
};

// hang_rule: of a service.
struct hang_rule {
    uint32_t ms;
    bool abort;
};

// hang_now: of one worker that hangs and was mentioned in the log.
struct hang_now {
    uint64_t hangs;            // so far
    struct stack_names names;  // function "-": it does not hang, or the function is not known
};

struct server;
struct hang_watch;

// hang_watch_new: of all workers of s, which outlives it, as l. NULL: no memory. hang_watch_free:
// waits for the thread, if there is one.
struct hang_watch *hang_watch_new(const struct server *s, struct liveness *l);
void hang_watch_free(struct hang_watch *h);

// hang_watch_poll: every LIVENESS_POLL_MS. rules: [service], those of the server's services with a
// number below n_rules; the others have HANG_MS and no abort. Returns whether a hang was mentioned
// by this call.
bool hang_watch_poll(struct hang_watch *h, const struct hang_rule *rules, unsigned n_rules);

// hang_watch_look: of one worker; valid until the next poll.
const struct hang_now *hang_watch_look(const struct hang_watch *h, unsigned worker);
