// bench_flow.c: cycles of a look-up in bursts of 64: hash and find alone; the same with the block's
// first line prefetched and its key compared, as the loop does it; insert and remove; the wheel.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/rng.h"
#include "flow/flow_table.h"
#include "flow/wheel.h"

enum { BLOCK_BYTES = 256, BURSTS = 20000 };

static const uint32_t SIZES[] = {1000, 100000, 1000000, 10000000};

// memory: huge pages where the kernel has some free, else transparent ones. Never given back.
static void *memory(size_t bytes)
{
    const size_t rounded = ALIGN_UP(bytes, (size_t)2 << 20);
    const int prot = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
    void *p = mmap(NULL, rounded, prot, flags | MAP_HUGETLB, -1, 0);
    if (p == MAP_FAILED) {
        p = mmap(NULL, rounded, prot, flags, -1, 0);
        CHECK(p != MAP_FAILED);
        madvise(p, rounded, MADV_HUGEPAGE);
    }
    return p;
}

static struct flow_key key_of(uint32_t i)
{
    struct flow_key k = {.remote = ip_from_v4(0x0a000000 + i / 60000), .local_port = 80};
    k.remote_port = (uint16_t)(1024 + i % 60000);
    return k;
}

// seg: a parsed segment in place of wire/seg.h's: begins with its key, one line.
struct seg {
    struct flow_key key;
} CACHE_ALIGNED;

static void report(const char *what, uint32_t n, uint64_t cycles, uint64_t ops)
{
    printf("%-28s %10u entries %8.1f cycles\n", what, n, (double)cycles / (double)ops);
}

static void look_up(const struct flow_table *t, const uint8_t *blocks, uint32_t n, bool compare)
{
    struct rng r = {1};
    struct seg segs[BURST_MAX];
    uint64_t hash[BURST_MAX], cycles = 0, wrong = 0;
    uint32_t cand[BURST_MAX];
    for (unsigned b = 0; b < BURSTS; b++) {
        for (unsigned i = 0; i < BURST_MAX; i++)
            segs[i].key = key_of(rng_below(&r, n));
        const uint64_t start = tsc_read();
        flow_hash_burst(t, &segs[0].key, sizeof(segs[0]), BURST_MAX, hash);
        flow_find_burst(t, hash, BURST_MAX, cand);
        for (unsigned i = 0; compare && i < BURST_MAX; i++)
            prefetch0(blocks + (size_t)cand[i] * BLOCK_BYTES);
        for (unsigned i = 0; compare && i < BURST_MAX; i++)
            wrong += !flow_key_equal(
                &segs[i].key,
                (const struct flow_key *)(const void *)(blocks + (size_t)cand[i] * BLOCK_BYTES));
        cycles += tsc_read() - start;
    }
    report(compare ? "hash, find, compare" : "hash, find", n, cycles, (uint64_t)BURSTS * BURST_MAX);
    if (compare)
        printf("%-28s %10u entries %8.4f %%\n", "first candidate not it", n,
               100.0 * (double)wrong / BURSTS / BURST_MAX);
}

static void churn(struct flow_table *t, uint32_t n)
{
    struct rng r = {2};
    const uint32_t ops = MIN(n, 500000u);
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < ops; i++) {
        const uint32_t at = rng_below(&r, n);
        const struct flow_key k = key_of(at);
        const uint64_t hash = flow_hash(t, &k);
        CHECK(flow_remove(t, hash, at));
        CHECK(flow_insert(t, hash, at));
    }
    report("remove and insert, serial", n, tsc_read() - start, ops);
}

static void table(uint32_t n)
{
    struct flow_table t;
    uint8_t *blocks = memory((size_t)n * BLOCK_BYTES);
    flow_init(&t, memory(flow_footprint(n)), n, (struct siphash_key){1, 2});
    for (uint32_t i = 0; i < n; i++) {
        const struct flow_key k = key_of(i);
        memcpy(blocks + (size_t)i * BLOCK_BYTES, &k, sizeof(k));
        CHECK(flow_insert(&t, flow_hash(&t, &k), i));
    }
    printf("%-28s %10u entries %8.2f %%\n", "in second bucket", n, 100.0 * t.in_second / n);
    look_up(&t, blocks, n, false);
    look_up(&t, blocks, n, true);
    churn(&t, n);
    munmap(blocks, ALIGN_UP((size_t)n * BLOCK_BYTES, (size_t)2 << 20));
    munmap(t.buckets, ALIGN_UP(flow_footprint(n), (size_t)2 << 20));
}

static void timers(uint32_t n)
{
    struct rng r = {3};
    struct wheel *w = wheel_init(memory(wheel_footprint(n)), n, 0);
    uint32_t out[256], got = 0;
    uint64_t start = tsc_read();
    for (uint32_t i = 0; i < n; i++)
        CHECK(wheel_add(w, 200 + rng_below(&r, 3000), i) != 0);
    report("wheel_add", n, tsc_read() - start, n);
    start = tsc_read();
    for (uint32_t now = 1; got < n; now += time_before(now, wheel_next_ms(w)))
        got += wheel_expire(w, now, out, ARRAY_LEN(out));
    report("wheel_expire, a handle", n, tsc_read() - start, n);
    munmap(w, ALIGN_UP(wheel_footprint(n), (size_t)2 << 20));
}

int main(void)
{
    for (unsigned i = 0; i < ARRAY_LEN(SIZES); i++)
        table(SIZES[i]);
    for (unsigned i = 0; i < ARRAY_LEN(SIZES); i++)
        timers(SIZES[i]);
    return 0;
}
