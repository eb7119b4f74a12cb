// SPDX-License-Identifier: BSD-3-Clause
// tcp_shed.h: who is reset so that others can be sent to while buffers are scarce.
//
// What a peer does not acknowledge holds buffers of the worker in its send queue, and a peer may
// acknowledge a byte a minute for as long as it likes. So while fewer buffers are free than the
// reserve and an eighth of them (TCP_SCARCE_SHARE) one step follows the other, a slice at a time:
//
//   count   the buffers of each send queue whose timer runs, by source
//   watch   connections of the source that holds most: how much each holds, and its snd_una
//   wait    for TCP_SHED_WATCH_MS
//   judge   who has taken less than he has to, for what he and his source hold
//   shed    of the source that holds most now: who took least for what he holds, of equals who
//           holds most; one after the other, while buffers are scarce
//
// Who takes what he holds within TCP_SHED_DRAIN_MS is never reset, if his source holds no more than
// its share; one that holds k times the share has a k-th of the time. If nobody of the source that
// holds most takes too little, the next time those that hold half as much are watched too, and so
// on: nobody hides behind a large source that takes its data. A source of which half is gone
// is left alone until the next count. The sources are the places of TCP_OOO_SOURCES.
//
// Nothing is noted while data goes in and out: a connection is looked at only while buffers are
// scarce. What waits without a timer (a corked send) is the application's, and does not count.
#pragma once
#include "tcp/tcp_internal.h"

enum {
    TCP_SHED_WATCH_MS = 3000,
    // Twice what a slow peer is to have, for he acknowledges whole segments: who takes 64 KiB in
    // 120 s takes one of 1,460 bytes at least in each time of watching.
    TCP_SHED_DRAIN_MS = 240 * 1000,
    TCP_SHED_SOURCE_SHARE = 8,  // of the worker's buffers
    // A slice, at most one a millisecond: blocks that are looked at, buffers of their queues, words
    // of the bitmap of timers (64 blocks each). Of one queue: what lies behind counts as what lies
    // before.
    TCP_SHED_BLOCKS = 128,
    TCP_SHED_BUFS = 512,
    TCP_SHED_WORDS = 2048,
    TCP_SHED_QUEUE = 256,
    TCP_SHED_LATE_MS = 1000,  // the wheel has not woken who is to be reset: the next one is chosen
};

// tcp_shed_next_ms: when tcp_shed() has something to do; 0: nothing.
uint32_t tcp_shed_next_ms(const struct tcp *t);

// tcp_shed_confirm: block ix, which a timer woke, was chosen to be reset: ends the choice. True: it
// still deserves it, and the caller resets it.
bool tcp_shed_confirm_victim(struct tcp *t, const struct block *b);
static inline bool tcp_shed_confirm(struct tcp *t, const struct block *b, uint32_t ix)
{
    return unlikely(t->shed.victim == ix + 1) && tcp_shed_confirm_victim(t, b);
}
