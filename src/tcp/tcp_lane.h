// SPDX-License-Identifier: BSD-3-Clause
// tcp_lane.h: room for output by port. All segments of a connection leave by one port, its lane,
// which its local address determines. While every lane has room for all segments of a turn, there
// is one dirty list, and this code is not used. Otherwise, and while connections still wait for a
// lane, each lane has its own dirty list and a count of the segments that it accepts. A connection
// that waits for a full lane then delays no other.
//
//   dirty list --tcp_lanes_sort()--> a list of each lane --> tcp_output()
//
// A block in a lane's list stays there when its connection ends. It is free, but not reused until
// it leaves the list (BF_HELD), because a new connection might belong to another lane.
#pragma once
#include "base/base.h"

enum {
    TCP_LANES_MAX = 8,
    TCP_LANES_SORT_MAX = 512,  // blocks that a turn moves from the dirty list
    TCP_LANES_FREE_MAX = 8,    // blocks of a full lane that a turn checks for free ones
};

struct tcp;
struct block;

struct tcp_lane {
    uint32_t room;        // segments that it still accepts in this turn
    uint32_t head, tail;  // list of its dirty blocks, linked by dirty_next
    uint32_t n;
};

struct tcp_lanes {
    const uint8_t *of_local;  // by local_ix
    uint32_t count;
    bool separate;     // in this turn lanes have separate lists and room
    uint32_t counted;  // segments of tcp.out already subtracted from the lanes' room
    uint32_t waiting;  // blocks in the lanes' lists
    uint32_t held;     // of them free blocks
    uint32_t next;     // the lane that is first in this turn
    struct tcp_lane at[TCP_LANES_MAX];
    bool sized;                                        // the lanes differ in the next two
    uint16_t mss[TCP_LANES_MAX], mss6[TCP_LANES_MAX];  // largest payload of a segment
};

// tcp_lanes_init: sets up `count` lanes, at most TCP_LANES_MAX. of_local belongs to the caller and
// stays valid.
void tcp_lanes_init(struct tcp *t, const uint8_t *of_local, uint32_t count);

// tcp_lanes_mss: sets the largest payload of a segment over IPv4 and IPv6 of all lanes, and of
// cfg.mss and cfg.mss6, which are the largest of any lane.
void tcp_lanes_mss(struct tcp *t, const uint16_t *mss, const uint16_t *mss6);

// tcp_lanes_begin: begins a turn in which lane i accepts room[i] segments. Sets out_room.
void tcp_lanes_begin(struct tcp *t, const uint32_t *room);

// tcp_lane_room: segments that `lane` still accepts in this turn, if lanes are separate.
// tcp_lane_take: a packet other than a TCP segment has used one place of the lane.
uint32_t tcp_lane_room(struct tcp *t, uint32_t lane);
void tcp_lane_take(struct tcp *t, uint32_t lane);

// tcp_lanes_sort: if lanes are separate, moves at most TCP_LANES_SORT_MAX blocks from the dirty
// list to the lists of their lanes.
void tcp_lanes_sort(struct tcp *t);

// tcp_lanes_drain: calls tcp_output() for the blocks in the lanes' lists, each once. Each lane
// first gets an equal share of the turn's segments, then, in the same order, what others have left.
void tcp_lanes_drain(struct tcp *t);

// tcp_lanes_hold: whether block b, just freed, may be in a lane's list and must not return to its
// pool yet. tcp_lanes_release: free block ix has left its list.
bool tcp_lanes_hold(struct tcp *t, struct block *b);
void tcp_lanes_release(struct tcp *t, uint32_t ix);
