// SPDX-License-Identifier: BSD-3-Clause
// tcp_output.h: blocks that have something to send, and the room for it.
#pragma once
#include "tcp/tcp_worker.h"

// tcp_dirty: puts the block on the dirty list, once. tcp_dirty_block: the same; b is block ix.
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

// tcp_window_update: after data was consumed: marks the block dirty if the window may open enough
// to be worth a segment (RFC 9293 3.8.6.2.2).
void tcp_window_update(struct tcp *t, uint32_t ix);

// tcp_room: how many segments from local_ix may be made yet in this turn. tcp_lane_left: the same
// of a lane.
static inline uint32_t tcp_room(struct tcp *t, uint16_t local_ix)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    if (likely(!t->lanes.apart))
        return room;
    return MIN(room, tcp_lane_room(t, t->lanes.of_local[local_ix]));
}

static inline uint32_t tcp_lane_left(struct tcp *t, uint32_t lane)
{
    const uint32_t room = t->out_room - MIN(t->n_out, t->out_room);
    return t->lanes.apart ? MIN(room, tcp_lane_room(t, lane)) : room;
}

// tcp_output: there is room for a segment; appends what the connection may send now to t->out: data
// within window, cwnd and the room of this turn, FIN, or a bare acknowledgement that is due.
// The block is not dirty then, whose place in the list the caller has taken it out of; true: more
// could be sent but for that room, and it has to be dirty again.
bool tcp_output(struct tcp *t, uint32_t ix);

// tcp_output_dirty: tcp_output() of the dirty blocks, each once, as long as there is room for
// segments, and of TCP_VISITS_MAX at most; the rest stays for the next turn.
void tcp_output_dirty(struct tcp *t);
