// SPDX-License-Identifier: BSD-3-Clause
// tcp_seek.h: finds a sequence number in a send queue. The queue is a list of buffers, and a peer
// can choose the order of retransmissions, so that each would be a search from its head. A worker
// stores one buffer for every 2 KiB of the queues that it has searched, in a table whose entries
// may be overwritten; without an entry the search is longer.
//
//   queue    |--|-|---|--|-|-|----|--|-----|-|--|
//   2 KiB    ^         ^          ^        ^
#pragma once
#include "base/base.h"

struct block;
struct tcp;

enum {
    TCP_SEEK_BYTES = 2048,   // of a queue for each entry
    TCP_SEEK_PLACES = 4096,  // of a worker: 32 queues of 256 KiB; a power of two
    TCP_SEEK_TRIES = 4,      // entries that one search tries: a file has few buffers
};

// tcp_place: `buf` begins at `seq` in the queue of this life of the block.
struct tcp_place {
    uint64_t life;
    uint32_t block, seq, buf, in_use;
};

// tcp_seek: the buffer of the send queue that holds seq, which is in [snd_una, snd_end).
uint32_t tcp_seek(const struct tcp *t, const struct block *b, uint32_t seq);
