// SPDX-License-Identifier: BSD-3-Clause
// tcp_move.h: copies the connections that an earlier process left in memory of another layout to
// the workers of this one: other numbers of workers and records, other services and addresses.
//
//   tcp_move_look()   one worker of the earlier process: which of its connections are whole
//                     (tcp_adopt_judge.h). What it left is only read, so that it stays if this
//                     start fails
//   tcp_move_take()   one worker of this process: copies those that RSS directs to it
//   tcp_adopt()       as if they had been there before
//
// Control thread, or a thread for each worker, before the worker runs.
#pragma once
#include "tcp/tcp_adopt.h"

enum { TCP_MOVE_NONE = UINT8_MAX };

// tcp_left: what a worker of an earlier process left: where, and how many of each.
struct tcp_left {
    struct block *blocks;
    struct syn_record *syns;
    struct time_wait *time_wait;
    struct time_wait6 *time_wait6;
    struct ext *exts;
    uint8_t *flights, *buffers;  // flight_footprint(n_flights), buf_footprint(n_buffers, n_refs)
    uint32_t n_blocks, n_syns, n_time_wait, n_time_wait6, n_exts, n_flights, n_buffers, n_refs;
    const uint32_t *hand;  // blocks that it had in hand (worker/hand.h)
    unsigned n_hand;
};

// tcp_move_map: the numbers that this process has for services and local addresses of the earlier
// one. TCP_MOVE_NONE: there is no such service or address any more, or the application of the
// service cannot go on in another block.
struct tcp_move_map {
    uint32_t n_services, n_locals;  // of the earlier process
    uint8_t service[TCP_SERVICES_MAX];
    uint8_t local[TCP_LOCALS_MAX];
    struct ip_addr addr[TCP_LOCALS_MAX];  // by number of the earlier process
};

// tcp_move_look: fills fate[n_blocks] with what becomes of each block, for tcp_move_take(), and
// counts those refused in *out. like: a worker of this process, for its configuration and time. -1:
// no memory.
int tcp_move_look(const struct tcp_left *left, const struct tcp_move_map *map,
                  const struct tcp *like, uint8_t *fate, struct tcp_adopted *out);

// tcp_move_take: copies what is at home with t from each of n workers. t is set up as for a start,
// and empty. Counts in *out what found no room. -1: no memory.
int tcp_move_take(struct tcp *t, const struct tcp_left *left, uint8_t *const *fate, unsigned n,
                  const struct tcp_move_map *map, struct tcp_adopted *out);
