// SPDX-License-Identifier: BSD-3-Clause
// tcp_lane.h: room for output, port by port. A connection's segments leave by one port, its lane,
// which follows from its local address. While every lane has room for all that a turn may make
// there is one dirty list, and nothing here is used. As soon as one has less, or connections still
// wait for one, each lane has a dirty list of its own and a count of the segments that it still
// takes: who has to wait for a full lane stands in nobody's way.
//
//   dirty list --tcp_lanes_sort()--> a list of each lane --> tcp_output()
//
// A block in a lane's list stays there when its connection ends: it is free, but is not given to
// another connection, maybe of another lane, before it has left the list (BF_HELD).
#pragma once
#include "base/base.h"

enum {
    TCP_LANES_MAX = 8,
    TCP_LANES_SORT_MAX = 512,  // blocks that a turn takes from the one dirty list
    TCP_LANES_FREE_MAX = 8,    // blocks of a full lane that a turn looks at, to give back free ones
};

struct tcp;
struct block;

struct tcp_lane {
    uint32_t room;        // segments that may still be made in this turn
    uint32_t head, tail;  // its dirty blocks, through dirty_next
    uint32_t n;
};

struct tcp_lanes {
    const uint8_t *of_local;  // by local_ix
    uint32_t count;
    bool apart;        // in this turn each lane has its own list and room
    uint32_t counted;  // segments of tcp.out that the lanes' room knows of
    uint32_t waiting;  // blocks in the lanes' lists
    uint32_t held;     // of them free ones
    uint32_t next;     // whose turn it is first
    struct tcp_lane at[TCP_LANES_MAX];
};

// tcp_lanes_init: count lanes, TCP_LANES_MAX at most; of_local stays the caller's.
void tcp_lanes_init(struct tcp *t, const uint8_t *of_local, uint32_t count);

// tcp_lanes_begin: a turn begins in which lane i takes room[i] segments. Sets out_room.
void tcp_lanes_begin(struct tcp *t, const uint32_t *room);

// tcp_lane_room: what `lane` still takes in this turn, with lanes apart. tcp_lane_take: one less,
// apart or not: something that is no segment of TCP has taken the place.
uint32_t tcp_lane_room(struct tcp *t, uint32_t lane);
void tcp_lane_take(struct tcp *t, uint32_t lane);

// tcp_lanes_sort: with lanes apart, moves blocks from the dirty list to those of their lanes, at
// most TCP_LANES_SORT_MAX.
void tcp_lanes_sort(struct tcp *t);

// tcp_lanes_drain: tcp_output() of the lanes' blocks: each lane with room for an equal part of what
// the turn may make, then, in the same order, for what others left of theirs. Each block once.
void tcp_lanes_drain(struct tcp *t);

// tcp_lanes_hold: block b, just freed, may be in a lane's list: true: it is not to be given back to
// its pool yet. tcp_lanes_release: free block ix has left its list.
bool tcp_lanes_hold(struct tcp *t, struct block *b);
void tcp_lanes_release(struct tcp *t, uint32_t ix);
