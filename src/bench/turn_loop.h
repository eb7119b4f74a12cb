// SPDX-License-Identifier: BSD-3-Clause
// turn_loop.h: measures how fast a server's turns handle packets, whatever the client's speed is.
//
//   client core:  build a batch . publish it . wait ........................ check replies . build
//   ... server core:  (idle turns)                | busy turns, counted | idle: publish the sums |
//
// The two never work at the same time, so the server's rate is its own: packets received in busy
// turns over the cycles of those turns.
#pragma once
#include "base/base.h"

// turn_loop_work: what one turn did. A turn that received or sent something is busy.
struct turn_loop_work {
    uint32_t rx, tx;  // packets
};

struct turn_loop_sums {
    uint64_t packets;  // received
    uint64_t cycles;   // of busy turns
    uint64_t turns;    // busy ones
};

// turn_loop: one turn function and its context; the rest belongs to turn_loop.c and is zero at
// start.
struct turn_loop {
    struct turn_loop_work (*turn)(void *ctx);
    void *ctx;
    // What the client does while it waits, again and again; NULL: nothing. The client's own.
    void (*meanwhile)(void *arg);
    void *arg;
    const uint32_t *hold;  // while it is not 0 the server stands still; NULL: it never does
    // Written by the client.
    uint32_t stop CACHE_ALIGNED;
    // Written by the server when it turns idle, `published` last (release; the client acquires).
    struct turn_loop_sums sums CACHE_ALIGNED;
    uint64_t published;  // = sums.packets
};

// turn_loop_run: turns until turn_loop_stop(), from where the last run ended; arg is the struct
// turn_loop. On the server core.
int turn_loop_run(void *arg);

// turn_loop_turn: one turn: a busy one is added to *sums, the first idle one after it publishes
// them. For a server that has no core of its own. Both start zeroed and are the caller's.
void turn_loop_turn(struct turn_loop *s, struct turn_loop_sums *sums, bool *unpublished);

void turn_loop_stop(struct turn_loop *s);

// turn_loop_wait: on the client core: until the server has received `packets` in all and is idle.
// False: it was not so within timeout_s seconds.
bool turn_loop_wait(const struct turn_loop *s, uint64_t packets, unsigned timeout_s);
