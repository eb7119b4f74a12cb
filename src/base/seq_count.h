// SPDX-License-Identifier: BSD-3-Clause
// seq_count.h: a sequence count: one thread changes data rarely, others copy it and see whether it
// changed meanwhile. The writer never waits. A reader tries again, at most SEQ_COUNT_TRIES times,
// so that it never waits long for a writer that was interrupted:
//
//     for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
//         n = seq_count_read(c);
//         ... copy ...
//         if (seq_count_same(c, n))
//             break;
//     }
#pragma once
#include "base/shared.h"

enum { SEQ_COUNT_TRIES = 100 };

// seq_count: even: nobody changes the data. Written by the one thread that does.
struct seq_count {
    struct shared_u32 n;
};

// seq_count_begin, seq_count_end: enclose a change.
static inline void seq_count_begin(struct seq_count *c)
{
    shared_u32_store(&c->n, shared_u32_load(&c->n) + 1);
    atomic_thread_fence(memory_order_release);  // the count is odd before the data changes
}

static inline void seq_count_end(struct seq_count *c)
{
    shared_u32_store_release(&c->n, shared_u32_load(&c->n) + 1);  // pairs with seq_count_read()
}

// seq_count_read: before a copy. seq_count_same: after it: whether it is a copy of one state; n is
// what seq_count_read() returned.
static inline unsigned seq_count_read(const struct seq_count *c)
{
    return shared_u32_load_acquire(&c->n);  // pairs with seq_count_end()
}

static inline bool seq_count_same(const struct seq_count *c, unsigned n)
{
    atomic_thread_fence(memory_order_acquire);  // the copy is complete before the count is read
    return (n & 1) == 0 && shared_u32_load(&c->n) == n;
}
