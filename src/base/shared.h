// SPDX-License-Identifier: BSD-3-Clause
// shared.h: words that two threads touch. The types have no plain access: every access names its
// memory order. No function here is a locked instruction: all are plain moves on x86.
//
//     shared_u32_store           relaxed: the value alone matters
//     shared_u32_store_release   what the writer wrote before it is seen by whoever reads it with
//     ... shared_u32_load_acquire    ... this one; both name their partner in a comment
//     shared_u32_load            relaxed; also for the owner, which reads back what it wrote
//
// Each such word has one writer at a time. Its declaration says which thread writes it.
#pragma once
#include <stdatomic.h>

#include "base/base.h"

#define SHARED_WORD(name, type)                                                                    \
    struct shared_##name {                                                                         \
        _Atomic(type) v;                                                                           \
    };                                                                                             \
    static inline type shared_##name##_load(const struct shared_##name *s)                         \
    {                                                                                              \
        return atomic_load_explicit(&s->v, memory_order_relaxed);                                  \
    }                                                                                              \
    static inline type shared_##name##_load_acquire(const struct shared_##name *s)                 \
    {                                                                                              \
        return atomic_load_explicit(&s->v, memory_order_acquire);                                  \
    }                                                                                              \
    static inline void shared_##name##_store(struct shared_##name *s, type v)                      \
    {                                                                                              \
        atomic_store_explicit(&s->v, v, memory_order_relaxed);                                     \
    }                                                                                              \
    static inline void shared_##name##_store_release(struct shared_##name *s, type v)              \
    {                                                                                              \
        atomic_store_explicit(&s->v, v, memory_order_release);                                     \
    }                                                                                              \
    static_assert(sizeof(struct shared_##name) == sizeof(type), "a plain move reads or writes it")

SHARED_WORD(bool, bool);
SHARED_WORD(u8, uint8_t);
SHARED_WORD(u32, uint32_t);
SHARED_WORD(u64, uint64_t);
SHARED_WORD(ptr, const void *);

// peek_u8, peek_u32, peek_u64: one aligned word that another thread, its only writer, writes
// plainly: counters and fill levels of the hot path. The value is one that was there; it says
// nothing about other words. Only for the reader: the owner reads its words plainly.
static inline uint8_t peek_u8(const uint8_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint32_t peek_u32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline uint64_t peek_u64(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}
