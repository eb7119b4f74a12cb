// SPDX-License-Identifier: BSD-3-Clause
// The malloc of c10m-bench: glibc's malloc with a count of its calls, so that the allocations of a
// benchmark are measured. Not part of c10m, which uses glibc's malloc directly.
#include <errno.h>

#include "bench/micro.h"

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *p, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);

void *malloc(size_t bytes);
void *calloc(size_t n, size_t bytes);
void *realloc(void *p, size_t bytes);
void *aligned_alloc(size_t align, size_t bytes);
int posix_memalign(void **p, size_t align, size_t bytes);

static uint64_t calls, asked_bytes;

static void note(size_t bytes)
{
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&asked_bytes, bytes, __ATOMIC_RELAXED);
}

void *malloc(size_t bytes)
{
    note(bytes);
    return __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    note(n * bytes);
    return __libc_calloc(n, bytes);
}

void *realloc(void *p, size_t bytes)
{
    note(bytes);
    return __libc_realloc(p, bytes);
}

void *aligned_alloc(size_t align, size_t bytes)
{
    note(bytes);
    return __libc_memalign(align, bytes);
}

int posix_memalign(void **p, size_t align, size_t bytes)
{
    note(bytes);
    *p = __libc_memalign(align, bytes);
    return *p == NULL ? ENOMEM : 0;
}

void bench_allocations(uint64_t *n, uint64_t *bytes)
{
    *n = __atomic_load_n(&calls, __ATOMIC_RELAXED);
    *bytes = __atomic_load_n(&asked_bytes, __ATOMIC_RELAXED);
}
