// SPDX-License-Identifier: BSD-3-Clause
// base.h: limits of the data path, small macros, and the check that is always on.
#pragma once
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    CACHE_LINE = 64,
    BURST_MAX = 64,  // packets of one rx_burst(), the size of a turn's arrays
};

#define likely(x)       __builtin_expect(!!(x), 1)
#define unlikely(x)     __builtin_expect(!!(x), 0)
#define ARRAY_LEN(a)    (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b)       ((a) < (b) ? (a) : (b))
#define MAX(a, b)       ((a) > (b) ? (a) : (b))
#define ALIGN_UP(n, to) (((n) + (to)-1) / (to) * (to))
#define NOINLINE        __attribute__((noinline))  // keeps a rare path out of a frequent one
#define ALWAYS_INLINE   inline __attribute__((always_inline))
#define CACHE_ALIGNED   __attribute__((aligned(CACHE_LINE)))

// check_failed: prints file, line and the broken assumption to stderr and aborts. Never returns.
_Noreturn void check_failed(const char *file, int line, const char *what);

// CHECK: always on. It is for errors of c10m itself, not for what a peer or a user can cause.
#define CHECK(cond)                                                                                \
    do {                                                                                           \
        if (unlikely(!(cond)))                                                                     \
            check_failed(__FILE__, __LINE__, #cond);                                               \
    } while (0)

// DCHECK: a CHECK on the fast path, compiled into test builds only (meson -Dchecks=true,
// -Dfuzz=true).
#ifdef C10M_DEBUG
#define DCHECK(cond) CHECK(cond)
#else
#define DCHECK(cond) ((void)sizeof(cond))
#endif

static inline void prefetch0(const void *p)
{
    __builtin_prefetch(p, 0, 3);
}

static inline void prefetch0_w(const void *p)
{
    __builtin_prefetch(p, 1, 3);
}
