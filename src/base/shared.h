// SPDX-License-Identifier: BSD-3-Clause
// shared.h: words that two threads access. The types have no plain access: every access names its
// memory order. All functions are plain moves on x86, none is a locked instruction.
//
//     shared_u32_store           relaxed: only the value matters
//     shared_u32_store_release   publishes what the writer wrote before to a thread that reads with
//     shared_u32_load_acquire    this function; a comment at each names the other
//     shared_u32_load            relaxed; also for the owner, which reads what it wrote
//
// Each such word has one writer at a time. Its declaration names that thread.
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

// peek_u8, peek_u32, peek_u64: reads an aligned word that another thread writes plainly as its only
// writer, such as a counter or fill level of the fast path. The value was stored at some time; it
// implies nothing about other words. The owner reads its words plainly.
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
