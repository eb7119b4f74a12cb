// SPDX-License-Identifier: BSD-3-Clause
// trace_slots.h: the requests of a core that are open, each in a slot that no other has meanwhile.
// Records of requests and answers are paired in the order in which they were written. What a turn
// has answered keeps its slot until the turn is over: it lasts until the end of the sending, and
// the requests that the turn received began before.
#pragma once
#include "trace/trace_reader.h"

struct trace_slot {
    uint32_t block;
    uint16_t generation;
    uint8_t service;
    bool answered;     // in this turn
    uint64_t request;  // 0: the slot is free
};

struct trace_slots {
    struct trace_slot at[TRACE_SLOTS];
};

// trace_slots_find: the open request of the connection of this record; NULL: it has none.
struct trace_slot *trace_slots_find(struct trace_slots *s, const struct trace_record *of);

// trace_slots_take: the slot for one more request. If TRACE_OPEN_MAX are open it is that of the
// oldest one, which has to be forgotten; a datagram, which is answered at once, replaces none.
// NULL: the turn has too many; no worker writes that.
struct trace_slot *trace_slots_take(struct trace_slots *s, const struct trace_record *request);

// trace_slots_settle: the turn is over: what it answered is gone.
void trace_slots_settle(struct trace_slots *s);
