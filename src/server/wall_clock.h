// SPDX-License-Identifier: BSD-3-Clause
// wall_clock.h: the time of day for the workers, which make no system call. Their own clock counts
// the TSC at the rate that was measured at the start: it never goes back, and is parts of a million
// wrong, seconds a day. What is added to it for the time of day is looked at again and again:
//
//     control thread: CLOCK_REALTIME, TSC --server_wall_set()--> server.wall_us
//                                                                     | each worker, every
//                                                                     v WORKER_HOUSE_TURNS
//     worker: c10m_unix_us() = sock.wall_us + the turn's protocol clock
//
// So it follows the host's clock within WALL_FOLLOW_MS, also where somebody sets that; it may go
// back then. The protocol clock does not.
#pragma once
#include "server/server.h"

enum { WALL_FOLLOW_MS = 100 };

// server_wall_set: at tsc it is unix_us, microseconds since 1970. server_wall_follow: now it is
// what CLOCK_REALTIME says. Control thread; first before the workers run.
void server_wall_set(struct server *s, uint64_t unix_us, uint64_t tsc);
void server_wall_follow(struct server *s);
