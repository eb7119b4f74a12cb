// SPDX-License-Identifier: BSD-3-Clause
// prof.h: runs of the kinds of profiles (prof_kind.h) of one server, for several clients at a time:
//
//     prof_start --> TAKES --------> STOPS ----------> WRITES -------> READY --> prof_end
//                    its seconds;    stop() until it   write() on a
//                    tick()          has all           thread          FAILED
//
// What the callers promise: prof_turn() is called again after the time that it asks for. All
// functions run on one thread, the control thread; now_ms is the time of any clock that does not go
// back. No thread of a run outlives prof_free().
#pragma once
#include "prof/prof_kind.h"
#include "prof/prof_query.h"

enum {
    PROF_RUNS_MAX = 8,         // at a time; those that a client has left count until they end
    PROF_RUNS_ROOT = 2,        // of these, reserved for root
    PROF_RUNS_CLIENT_MAX = 4,  // of one client; root has no such limit
    PROF_CLIENT_BYTES = 64,
    PROF_RESULT_BYTES_MAX = 128 * 1024 * 1024,   // of one run
    PROF_RESULTS_BYTES_MAX = 256 * 1024 * 1024,  // of all runs together
};

// prof_params: kinds: all that a server has; the array outlives the prof. started: called when a
// run begins or is left by its client, so that the caller makes sure that prof_turn() is called.
struct prof_params {
    struct prof_shown shown;
    const struct prof_kind *const *kinds;
    unsigned n_kinds;
    void (*started)(void *arg);  // NULL: the caller calls prof_turn() at all times
    void *arg;
};

// prof_order: what is to be run. client: who asks, for the limit of one client and for the list of
// runs. whole: not for the query's seconds, but until prof_stop().
struct prof_order {
    const struct prof_kind *kind;
    struct prof_query query;
    const char *client;
    bool root, whole;
};

struct prof;
struct prof_run;

enum prof_phase { PROF_TAKES, PROF_STOPS, PROF_WRITES, PROF_READY, PROF_FAILED };

// prof_clock_ms: now, for the callers that have no time of their own: CLOCK_MONOTONIC.
uint64_t prof_clock_ms(void);

// prof_new: NULL: no memory, with *err. prof_free: ends all runs, and tells what is being
// written to fail and waits for that; the runs are then gone. NULL is allowed.
struct prof *prof_new(const struct prof_params *params, struct err *err);
void prof_free(struct prof *p);

// prof_shown_of: of what the profiles are taken. prof_kind_at: kind i, NULL after the last.
// prof_kind_named: the kind of this name; NULL: there is none.
const struct prof_shown *prof_shown_of(const struct prof *p);
const struct prof_kind *prof_kind_at(const struct prof *p, unsigned i);
const struct prof_kind *prof_kind_named(const struct prof *p, const char *name);

// prof_start: begins a run. Returns 0 with *run, or with *err -EBUSY: a limit of runs is reached,
// or the kind cannot run beside another run; -EAGAIN: the client begins runs too often
// (prof_starts.h); -EINVAL: the kind does not take a value of the query;
// -EIO: another failure. The query's strings are copied.
int prof_start(struct prof *p, const struct prof_order *order, uint64_t now_ms,
               struct prof_run **run, struct err *err);

// prof_stop: the time of the run is over now, whatever its seconds. prof_end: the caller leaves the
// run, in any phase. Does not wait: what is being written ends by itself.
void prof_stop(struct prof_run *run);
void prof_end(struct prof_run *run);

// prof_phase: where the run is. prof_result: of a run that is READY, valid until prof_end().
// prof_error: of one that is FAILED. prof_type: the media type of the result.
enum prof_phase prof_phase(struct prof_run *run);
const struct text *prof_result(const struct prof_run *run);
const char *prof_error(const struct prof_run *run);
const char *prof_type(const struct prof_run *run);

// prof_turn: does what is due. Returns after how many ms it wants to be called again; 0: not before
// the next prof_start().
uint32_t prof_turn(struct prof *p, uint64_t now_ms);

// prof_render: counters and limits, `name value` lines. prof_render_runs: one line a run: kind,
// client, seconds, phase, how long it has been running in ms.
void prof_render(const struct prof *p, struct text *out);
void prof_render_runs(const struct prof *p, uint64_t now_ms, struct text *out);
