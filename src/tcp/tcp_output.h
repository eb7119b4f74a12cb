// SPDX-License-Identifier: BSD-3-Clause
// tcp_output.h: blocks that may have something to send, and the room for it.
#pragma once
#include "tcp/tcp_worker.h"

// tcp_dirty: appends the block to the dirty list unless it is there. tcp_dirty_block: the same; b
// is block ix.
static inline void tcp_dirty_block(struct tcp *t, struct block *b, uint32_t ix)
{
    if (b->flags & BF_DIRTY)
        return;
    b->flags |= BF_DIRTY;
    b->dirty_next = BLOCK_NONE;
    if (t->dirty_tail == BLOCK_NONE)
        t->dirty_head = ix;
    else
        t->blocks[t->dirty_tail].dirty_next = ix;
    t->dirty_tail = ix;
    t->n_dirty++;
}

static inline void tcp_dirty(struct tcp *t, uint32_t ix)
{
    tcp_dirty_block(t, &t->blocks[ix], ix);
}

// tcp_touch: from now on this turn works on block ix, until the next call; BLOCK_NONE: on none. A
// process that adopts connections refuses that one if this process ends meanwhile (tcp_adopt.h):
// the stores of the work come after this one, because x86 keeps their order, and the compiler has
// to.
static inline void tcp_touch(struct tcp *t, uint32_t ix)
{
    __asm__ volatile("movl %1, %0" : "=m"(t->touched) : "ri"(ix) : "memory");
}

// tcp_window_update: after data was consumed: marks the block dirty if the window has opened enough
// for a segment (RFC 9293 3.8.6.2.2).
void tcp_window_update(struct tcp *t, uint32_t ix);

// tcp_room: how many more segments from local_ix may be sent in this turn. tcp_lane_left: the same
// for a lane.
static inline uint32_t tcp_room(struct tcp *t, uint16_t local_ix)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    if (likely(!t->lanes.separate))
        return room;
    return MIN(room, tcp_lane_room(t, t->lanes.of_local[local_ix]));
}

static inline uint32_t tcp_lane_left(struct tcp *t, uint32_t lane)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    return t->lanes.separate ? MIN(room, tcp_lane_room(t, lane)) : room;
}

// tcp_output: appends to t->out what the connection may send: data within window, cwnd and the room
// of this turn, FIN, or a bare acknowledgment. There is room for one segment; the caller has
// removed the block from the dirty list. True: it could send more with more room and must be made
// dirty again.
bool tcp_output(struct tcp *t, uint32_t ix);

// tcp_output_dirty: calls tcp_output() for dirty blocks, each once, while there is room and for at
// most TCP_VISITS_MAX blocks; the others wait for the next turn.
void tcp_output_dirty(struct tcp *t);
