// SPDX-License-Identifier: BSD-3-Clause
// tcp_seek.h: where in a send queue a sequence number lies. A queue is a list of buffers, and what
// leaves again, in an order that the peer chooses, would be looked for from its head: a step for
// each small answer that waits to be acknowledged. Here a worker remembers one buffer for each
// 2 KiB of the queues that it has walked along, in a table that forgets: a place that is gone costs
// a longer walk.
//
//   queue    |--|-|---|--|-|-|----|--|-----|-|--|
//   2 KiB    ^         ^          ^        ^
#pragma once
#include "base/base.h"

struct block;
struct tcp;

enum {
    TCP_SEEK_BYTES = 2048,   // of a queue for each place
    TCP_SEEK_PLACES = 4096,  // of a worker: 32 queues of 256 KiB; a power of two
    TCP_SEEK_TRIES = 4,      // places looked at for one number: a file lies in few buffers
};

// tcp_place: `buf` begins at `seq` in the queue of this life of the block.
struct tcp_place {
    uint64_t life;
    uint32_t block, seq, buf, in_use;
};

// tcp_seek: the buffer of the send queue that holds seq, which is in [snd_una, snd_end).
uint32_t tcp_seek(const struct tcp *t, const struct block *b, uint32_t seq);
