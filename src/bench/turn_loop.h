// SPDX-License-Identifier: BSD-3-Clause
// turn_loop.h: measures how fast the turns of a server process packets, independent of the speed of
// the client.
//
//   client core:  build a batch . publish it . wait ........................ check replies . build
//   server core:  (idle turns)               | busy turns, counted | idle: publish the sums |
//
// Client and server never work at the same time, so the rate depends only on the server: packets
// received in busy turns, divided by the cycles of these turns.
#pragma once
#include "base/base.h"

// turn_loop_work: the work of one turn. A turn that received or sent packets is busy.
struct turn_loop_work {
    uint32_t rx, tx;  // packets
};

struct turn_loop_sums {
    uint64_t packets;  // received
    uint64_t cycles;   // of busy turns
    uint64_t turns;    // busy turns
};

// turn_loop: a turn function and its context. The other fields are used by turn_loop.c and must be
// zero at the start.
struct turn_loop {
    struct turn_loop_work (*turn)(void *ctx);
    void *ctx;
    // Called repeatedly by the client while it waits; may be NULL. Used by the client only.
    void (*meanwhile)(void *arg);
    void *arg;
    const uint32_t *hold;  // the server stands still while it is not 0; may be NULL
    // Written by the client.
    uint32_t stop CACHE_ALIGNED;
    // Written by the server when it becomes idle, `published` last (release; the client acquires).
    struct turn_loop_sums sums CACHE_ALIGNED;
    uint64_t published;  // = sums.packets
};

// turn_loop_run: runs turns until turn_loop_stop(), and continues the sums of the last run. arg is
// the struct turn_loop. Call it on the server core.
int turn_loop_run(void *arg);

// turn_loop_turn: runs one turn, for a server without its own core. A busy turn is added to *sums;
// the first idle turn after it publishes the sums. *sums and *unpublished belong to the caller and
// must be zero at the start.
void turn_loop_turn(struct turn_loop *s, struct turn_loop_sums *sums, bool *unpublished);

void turn_loop_stop(struct turn_loop *s);

// turn_loop_wait: waits on the client core until the server has received `packets` in total and is
// idle. Returns false after timeout_s seconds.
bool turn_loop_wait(const struct turn_loop *s, uint64_t packets, unsigned timeout_s);
