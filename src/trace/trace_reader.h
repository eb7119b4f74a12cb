// SPDX-License-Identifier: BSD-3-Clause
// trace_reader.h: what happened, in order of time over all cores, from the records of a log. Turns
// and stages become pairs of begin and end; what has no time of its own gets that of its stage. A
// request lasts from the begin of the turn that received it to the end of the sending of the turn
// that queued its answer.
//
// Records are believed only from the first whole turn on, and after a loss from the next one on;
// but those with a time of their own always, such as the levels of pools, the first that a worker
// writes.
#pragma once
#include "trace/trace_log.h"

// Requests of a core at the same time: open ones, and those that a turn receives while it answers.
enum { TRACE_SLOTS = TRACE_OPEN_MAX + TRACE_REQUESTS_MAX };

// trace_event: kind and its fields are those of a record (stat/trace_ring.h). end: of TRACE_turn,
// TRACE_stage and TRACE_LOST. TRACE_request begins and TRACE_answer ends request number `request`,
// which has `slot` alone; forgotten: nobody knows when it ended; closed: its connection did,
// or the application was done with the datagram, without an answer.
struct trace_event {
    int64_t ns;        // since the workers' clock was 0; never less than that of the event before
    int64_t until_ns;  // of a turn or stage that begins: when it ends
    uint8_t core, kind, small, slot;
    bool end, forgotten, closed;
    uint16_t mid;
    uint32_t id;
    uint64_t request;  // from 1
};

struct trace_reader;

// trace_reader_new: reads l, which stays as it is, from from_ns on: first the levels that the pools
// had then. NULL: no memory.
struct trace_reader *trace_reader_new(const struct trace_log *l, int64_t from_ns);
void trace_reader_free(struct trace_reader *r);

// TRACE_LOST: id records of the core were lost here; the answers of requests that were open may be
// among them. With `end` they are the last events of a reader, which say what it does not have: mid
// is enum trace_tells.
enum { TRACE_LOST = TRACE_KINDS };

// trace_tells: up to id requests were not followed; id records were lost in all; the file or the
// log has no room for the rest.
enum trace_tells {
    TRACE_NOT_FOLLOWED,
    TRACE_LOST_IN_ALL,
    TRACE_FILE_FULL,
    TRACE_LOG_FULL,
    TRACE_TELLS
};

// trace_reader_next: the next event; false: there are no more. trace_reader_cut: the events are cut
// off here, at the same time on all cores: those that follow end what is open, which are at most
// trace_reader_ends(), and say so.
bool trace_reader_next(struct trace_reader *r, struct trace_event *e);
void trace_reader_cut(struct trace_reader *r);
unsigned trace_reader_ends(const struct trace_reader *r);
