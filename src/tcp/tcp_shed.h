// SPDX-License-Identifier: BSD-3-Clause
// tcp_shed.h: selects connections to reset while buffers are scarce, so that others can be served.
//
// Data that a peer does not acknowledge holds buffers of the worker, and a peer may acknowledge as
// little as a byte a minute. While fewer buffers are free than the reserve and an eighth
// (TCP_SCARCE_SHARE), these steps follow each other, a slice at a time:
//
//   count   the buffers of each send queue with a running timer, by source
//   watch   connections of the source with the most: what each holds, and its snd_una
//   wait    TCP_SHED_WATCH_MS
//   judge   which connection has drained too little for what it and its source hold
//   shed    resets, of the source that now holds most, the connection that drained least in
//           proportion to what it holds, and of equals the one that holds most; repeated while
//           buffers are scarce
//
// A connection that drains what it holds within TCP_SHED_DRAIN_MS is never reset if its source
// holds no more than its share; with k times the share it has a k-th of the time. If no connection
// of the largest source drains too slowly, sources that hold half as much are watched next, and so
// on: a slow peer cannot hide behind a large source that drains. A source that lost half of its
// buffers is spared until the next count. Sources are the places of TCP_OOO_SOURCES.
//
// Connections are examined only while buffers are scarce. Data that waits without a timer (a corked
// send) is the application's decision and does not count.
#pragma once
#include "tcp/tcp_internal.h"

enum {
    TCP_SHED_WATCH_MS = 3000,
    // Twice the time that a slow peer needs, because it acknowledges whole segments: one that
    // drains 64 KiB in 120 s acknowledges at least one segment of 1,460 bytes in each watch.
    TCP_SHED_DRAIN_MS = 240 * 1000,
    TCP_SHED_SOURCE_SHARE = 8,  // divisor of the worker's buffers
    // A slice, at most one a millisecond: blocks, buffers of their queues, and words of the timer
    // bitmap (64 blocks each) that are examined. TCP_SHED_QUEUE buffers of one queue are examined;
    // the rest is extrapolated.
    TCP_SHED_BLOCKS = 128,
    TCP_SHED_BUFS = 512,
    TCP_SHED_WORDS = 2048,
    TCP_SHED_QUEUE = 256,
    TCP_SHED_LATE_MS = 1000,  // the wheel did not wake the chosen block: choose another
};

// tcp_shed_next_ms: when tcp_shed() has work; 0: none.
uint32_t tcp_shed_next_ms(const struct tcp *t);

// tcp_shed_confirm: whether block ix, which a timer woke, was chosen and still has to be reset by
// the caller. The choice ends in any case.
bool tcp_shed_confirm_victim(struct tcp *t, const struct block *b);
static inline bool tcp_shed_confirm(struct tcp *t, const struct block *b, uint32_t ix)
{
    return unlikely(t->shed.victim == ix + 1) && tcp_shed_confirm_victim(t, b);
}
