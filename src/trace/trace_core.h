// SPDX-License-Identifier: BSD-3-Clause
// trace_core.h: what happened on one core: its records become events. For trace_reader.c, which
// merges the cores.
//
//     chunks of records --> trace_core.c: what of them is wanted and believed
//                               |
//                               v
//     pending[], stages[], turn --> trace_turns.c: times, requests --> happened[] --> ready[]
#pragma once
#include "trace/trace_cut.h"
#include "trace/trace_slots.h"

enum {
    TRACE_PENDING_MAX = 128,  // records before the turn that they belong to; more: set free untimed
    TRACE_STAGES_MAX = STAGE_housekeeping + 1,
    TRACE_HAPPENED_MAX = 2 * TRACE_PENDING_MAX,  // a request may end a forgotten one
    // The levels before, what is missing, a turn. Or what is pending, and who is forgotten.
    TRACE_READY_MAX =
        TRACE_POOLS + 1 + TRACE_HAPPENED_MAX + MAX(2 * TRACE_STAGES_MAX + 2, TRACE_SLOTS),
};

// trace_scope: what all cores of a reader share. requests: numbered so far. not_followed: the sum
// of what the workers say.
struct trace_scope {
    const struct trace_log *log;
    int64_t from_ns;
    uint64_t requests, not_followed;
};

// trace_core: the records of a turn are gathered in `pending`, become events in `happened`, and
// those in `ready` together with the turn and its stages.
struct trace_core {
    struct trace_scope *scope;
    const struct trace_chunk *chunk;
    uint32_t at;
    bool in_order;     // a whole turn was seen
    bool in_gap;       // no timed record was seen since
    uint32_t missing;  // records, in this gap
    bool begun;        // a record of the time that is wanted was seen; until then:
    struct trace_record levels[TRACE_POOLS];  // the last of each pool; when 0: there is none
    struct trace_record pending[TRACE_PENDING_MAX], stages[TRACE_STAGES_MAX], turn;
    struct trace_record packed;  // of stages[]
    unsigned n_pending, n_stages;
    bool in_turn, has_stages;
    struct trace_event happened[TRACE_HAPPENED_MAX], ready[TRACE_READY_MAX];
    unsigned n_happened, n_ready, next_ready;
    int64_t last_ns;
    struct trace_slots slots;
    struct trace_cut cut;
};

// trace_scope_ns: a TSC value as a time of an event.
int64_t trace_scope_ns(const struct trace_scope *s, uint64_t tsc);

// trace_core_init: *c, which is zeroed, reads the records of a core of the scope's log.
void trace_core_init(struct trace_core *c, struct trace_scope *scope, unsigned core);

// trace_core_refill: reads until there is an event in ready[next_ready..n_ready). False: there are
// no more.
bool trace_core_refill(struct trace_core *c);
