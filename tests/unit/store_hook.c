// SPDX-License-Identifier: BSD-3-Clause
#include "store_hook.h"

#include <stddef.h>
#include <string.h>

uint64_t store_hook_n, store_hook_end;
jmp_buf store_hook_dead;

static void before_store(void)
{
    if (++store_hook_n == store_hook_end)
        longjmp(store_hook_dead, 1);
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
    before_store();
}

#define PLAIN(n)                                                                                   \
    void __tsan_read##n(void *at) {}                                                               \
    void __tsan_unaligned_read##n(void *at) {}                                                     \
    void __tsan_write##n(void *at)                                                                 \
    {                                                                                              \
        before_store();                                                                            \
    }                                                                                              \
    void __tsan_unaligned_write##n(void *at)                                                       \
    {                                                                                              \
        before_store();                                                                            \
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
        before_store();                                                                            \
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

// memcpy and memset are instrumented by their callers: a copy is one store.
void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    before_store();
    return memcpy(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
    before_store();
    return memmove(to, from, n);
}

void *__tsan_memset(void *to, int c, size_t n)
{
    before_store();
    return memset(to, c, n);
}
