// SPDX-License-Identifier: BSD-3-Clause
// tcp_adopt_judge.h: for tcp_adopt.c: whether a connection that an earlier process left is whole.
//
// A process may end between any two stores, so no field of a block is trusted without a check: an
// index must be in range, a queue must end, and its buffers must have the sequence numbers that the
// block says. A connection claims what it holds, one bit each. If another one has claimed a part
// before, the connection is refused.
#pragma once
#include "tcp/tcp_adopt.h"

struct tcp_judge {
    struct tcp *t;
    const struct tcp_adopt_params *p;
    uint8_t service;                        // of the block that is being judged
    uint64_t *bufs, *exts, *small, *large;  // one bit each: it is held
};

// tcp_judge_footprint: bytes of the bits of t. tcp_judge_init: nothing is held; mem is zeroed.
size_t tcp_judge_footprint(const struct tcp *t);
void tcp_judge_init(struct tcp_judge *j, struct tcp *t, const struct tcp_adopt_params *p,
                    void *mem);

// tcp_judge_block: whether block ix, which is not FREE, is whole, apart from the flow table and
// snd_cur. If it is, everything that it names is claimed for it. tcp_judge_release: gives back what
// a whole block has claimed. Neither writes to what is judged.
enum tcp_refusal tcp_judge_block(struct tcp_judge *j, uint32_t ix);
void tcp_judge_release(struct tcp_judge *j, uint32_t ix);

// tcp_judge_half_open, tcp_judge_time_wait: the same for a live record; it holds nothing.
bool tcp_judge_half_open(const struct tcp_judge *j, const struct syn_record *r);
bool tcp_judge_time_wait(const struct tcp_judge *j, const struct time_wait *w, bool v6);
