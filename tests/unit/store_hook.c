// SPDX-License-Identifier: BSD-3-Clause
#include "store_hook.h"

#include <string.h>

#include "base/base.h"

// What --wrap of the linker leaves of these functions.
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int c, size_t n);

enum { KEPT_BYTES = 16 << 20, STACK_BYTES = 1 << 20 };

// stored: lies in `kept` behind the n bytes that were at `at`, of which it has a multiple of 8.
struct stored {
    uint8_t *at;
    size_t n;
};

uint64_t store_hook_n;
static enum { IDLE, WATCHING, KEEPING } mode;
static const struct store_range *ranges;
static unsigned n_ranges;
static uint64_t skip;
static uint64_t (*before)(void);
static uintptr_t frame;  // of the call of before()
static struct store_range except;
static uint8_t kept[KEPT_BYTES];
static size_t n_kept;  // bytes

void store_hook_watch(const struct store_range *r, unsigned n, uint64_t to_skip,
                      uint64_t (*call)(void))
{
    ranges = r;
    n_ranges = n;
    skip = to_skip;
    before = call;
    store_hook_n = 0;
    mode = n != 0 ? WATCHING : IDLE;
}

void store_hook_keep(struct store_range not_kept)
{
    n_kept = 0;
    except = not_kept;
    mode = KEEPING;
}

// put_back: the sizes of plain stores are constants, for which there is no call.
static void put_back(uint8_t *at, const uint8_t *was, size_t n)
{
    switch (n) {
    case 1:
        memcpy(at, was, 1);
        break;
    case 2:
        memcpy(at, was, 2);
        break;
    case 4:
        memcpy(at, was, 4);
        break;
    case 8:
        memcpy(at, was, 8);
        break;
    default:
        __real_memcpy(at, was, n);
    }
}

void store_hook_undo(void)
{
    struct stored s;
    while (n_kept != 0) {
        n_kept -= sizeof(s);
        memcpy(&s, kept + n_kept, sizeof(s));
        n_kept -= ALIGN_UP(s.n, 8);
        put_back(s.at, kept + n_kept, s.n);
    }
    mode = IDLE;
}

static inline bool is_within(const struct store_range *r, const void *at)
{
    return (uintptr_t)at - (uintptr_t)r->at < r->bytes;
}

static bool is_watched(const void *at)
{
    for (unsigned i = 0; i < n_ranges; i++)
        if (is_within(&ranges[i], at))
            return true;
    return false;
}

static void watch(const void *at)
{
    if (!is_watched(at))
        return;
    store_hook_n++;
    if (skip-- != 0)
        return;
    frame = (uintptr_t)__builtin_frame_address(0);
    mode = IDLE;
    const uint64_t next = before();
    skip = next;
    mode = n_ranges != 0 ? WATCHING : IDLE;
}

// room_for: where the n bytes at `at` are to be kept.
static inline uint8_t *room_for(void *at, size_t n)
{
    const struct stored s = {at, n};
    const size_t from = n_kept, behind = from + ALIGN_UP(n, 8);
    CHECK(behind + sizeof(s) <= sizeof(kept));
    memcpy(kept + behind, &s, sizeof(s));
    n_kept = behind + sizeof(s);
    return kept + from;
}

static inline bool is_kept(const void *at)
{
    return frame - (uintptr_t)at >= STACK_BYTES && !is_within(&except, at);
}

static inline void before_store(void *at, size_t n)
{
    if (mode == WATCHING)
        watch(at);
    else if (mode == KEEPING && is_kept(at))
        __real_memcpy(room_for(at, n), at, n);
}

// before_plain: for a constant n, without a call.
static inline void before_plain(void *at, size_t n)
{
    if (mode == WATCHING)
        watch(at);
    else if (mode == KEEPING && is_kept(at))
        memcpy(room_for(at, n), at, n);
}

// What gcc and clang call; its names, and what its arguments mean, are of LLVM's
// compiler-rt/lib/tsan/rtl/tsan_interface.h.
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-parameter"

void __tsan_init(void) {}

void __tsan_func_entry(void *pc) {}

void __tsan_func_exit(void) {}

void __tsan_read_range(void *at, unsigned long n) {}

void __tsan_write_range(void *at, unsigned long n)
{
    before_store(at, n);
}

#define PLAIN(n)                                                                                   \
    void __tsan_read##n(void *at) {}                                                               \
    void __tsan_unaligned_read##n(void *at) {}                                                     \
    void __tsan_write##n(void *at)                                                                 \
    {                                                                                              \
        before_plain(at, n);                                                                       \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *at)                                                       \
    {                                                                                              \
        before_plain(at, n);                                                                       \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define ATOMIC(bits, type)                                                                         \
    type __tsan_atomic##bits##_load(const volatile type *at, int order)                            \
    {                                                                                              \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *at, type v, int order)                         \
    {                                                                                              \
        before_plain((void *)(uintptr_t)at, sizeof(v));                                            \
        __atomic_store_n(at, v, __ATOMIC_SEQ_CST);                                                 \
    }
ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)

void __tsan_atomic_thread_fence(int order)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

// The linker calls these for memcpy(), memmove() and memset() (--wrap), and clang calls them by
// other names: a copy is one store.
#define COPY(name, type, with)                                                                     \
    void *__wrap_##name(void *to, type with, size_t n)                                             \
    {                                                                                              \
        before_store(to, n);                                                                       \
        return __real_##name(to, with, n);                                                         \
    }                                                                                              \
    void *__tsan_##name(void *to, type with, size_t n)                                             \
    {                                                                                              \
        return __wrap_##name(to, with, n);                                                         \
    }
COPY(memcpy, const void *, from)
COPY(memmove, const void *, from)
COPY(memset, int, c)
