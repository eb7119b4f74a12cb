// SPDX-License-Identifier: BSD-3-Clause
#include "flow/flow_table.h"

#include <string.h>

enum { SLOTS_MASK = (1 << FLOW_SLOTS) - 1 };

// bucket_match: a mask with bit i set where tag[i] == tag. The second 16-byte load also reads the
// beginning of index[].
#ifdef __SSE2__
#include <emmintrin.h>

static inline uint32_t bucket_match(const struct flow_bucket *b, uint16_t tag)
{
    const __m128i *v = (const __m128i *)(const void *)b;
    __m128i want = _mm_set1_epi16((short)tag);
    __m128i lo = _mm_cmpeq_epi16(_mm_load_si128(v), want);
    __m128i hi = _mm_cmpeq_epi16(_mm_load_si128(v + 1), want);
    return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(lo, hi)) & SLOTS_MASK;
}
#else
static inline uint32_t bucket_match(const struct flow_bucket *b, uint16_t tag)
{
    uint32_t m = 0;
    for (unsigned i = 0; i < FLOW_SLOTS; i++)
        m |= (uint32_t)(b->tag[i] == tag) << i;
    return m;
}
#endif

static inline uint16_t hash_tag(uint64_t hash)
{
    uint16_t tag = (uint16_t)hash;
    return (uint16_t)(tag + (tag == 0));
}

static inline uint32_t first_of(const struct flow_table *t, uint64_t hash)
{
    return (uint32_t)((hash >> 32) * t->n_buckets >> 32);
}

// other_of: the second bucket in which the entry may be. other_of(other_of(b)) is b. Both buckets
// are the same for one of n_buckets buckets.
static inline uint32_t other_of(const struct flow_table *t, uint32_t bucket, uint16_t tag)
{
    uint32_t c = (uint32_t)((uint64_t)(tag * 0x9e3779b1u) * t->n_buckets >> 32);
    return c - bucket + (c < bucket ? t->n_buckets : 0);
}

static uint32_t buckets_for(uint32_t capacity)
{
    uint64_t per_100 = (uint64_t)FLOW_SLOTS * FLOW_LOAD_PERCENT;
    return (uint32_t)(((uint64_t)capacity * 100 + per_100 - 1) / per_100);
}

size_t flow_footprint(uint32_t capacity)
{
    CHECK(capacity >= 1 && capacity <= FLOW_CAPACITY_MAX);
    return (size_t)buckets_for(capacity) * sizeof(struct flow_bucket);
}

void flow_init(struct flow_table *t, void *mem, uint32_t capacity, struct siphash_key secret)
{
    CHECK((uintptr_t)mem % CACHE_LINE == 0);
    memset(mem, 0, flow_footprint(capacity));
    *t = (struct flow_table){.buckets = mem,
                             .n_buckets = buckets_for(capacity),
                             .capacity = capacity,
                             .key = flow_hash_key_from(secret)};
}

static inline const struct flow_key *key_at(const struct flow_key *first, size_t offset)
{
    return (const struct flow_key *)((const char *)first + offset);
}

void flow_hash_burst(const struct flow_table *t, const struct flow_key *first, size_t stride_bytes,
                     unsigned n, uint64_t *hash)
{
    const struct flow_table own = *t;  // a copy, which the writes to hash[] cannot alias
    for (unsigned i = 0; i < n; i++) {
        const uint64_t h = flow_hash(&own, key_at(first, i * stride_bytes));
        hash[i] = h;
        prefetch0(&own.buckets[first_of(&own, h)]);
    }
}

// lowest_index: the index in the lowest slot of the mask m, or FLOW_NONE if m is 0. Branch-free.
static inline uint32_t lowest_index(const struct flow_bucket *b, uint32_t m)
{
    uint32_t index = b->index[__builtin_ctz(m | 1u << (FLOW_SLOTS - 1))];
    return m != 0 ? index : FLOW_NONE;
}

void flow_prefetch(const struct flow_table *t, uint64_t hash)
{
    prefetch0_w(&t->buckets[first_of(t, hash)]);
}

void flow_find_burst(const struct flow_table *t, const uint64_t *hash, unsigned n, uint32_t *cand)
{
    uint8_t at_second[BURST_MAX];
    const struct flow_bucket *second[BURST_MAX];
    unsigned n_second = 0;
    DCHECK(n <= BURST_MAX);
    const struct flow_table own = *t;
    for (unsigned i = 0; i < n; i++) {
        const struct flow_bucket *b = &own.buckets[first_of(&own, hash[i])];
        uint32_t m = bucket_match(b, hash_tag(hash[i]));
        cand[i] = lowest_index(b, m);
        at_second[n_second] = (uint8_t)i;
        n_second += (m == 0) & (b->overflow != 0);
    }
    for (unsigned j = 0; j < n_second; j++) {
        uint64_t h = hash[at_second[j]];
        second[j] = &t->buckets[other_of(t, first_of(t, h), hash_tag(h))];
        prefetch0(second[j]);
    }
    for (unsigned j = 0; j < n_second; j++) {
        unsigned i = at_second[j];
        cand[i] = lowest_index(second[j], bucket_match(second[j], hash_tag(hash[i])));
    }
}

uint32_t flow_next(const struct flow_table *t, uint64_t hash, unsigned *at)
{
    uint16_t tag = hash_tag(hash);
    uint32_t b1 = first_of(t, hash);
    uint32_t b2 = other_of(t, b1, tag);
    uint32_t m1 = bucket_match(&t->buckets[b1], tag), m2 = 0;
    if (t->buckets[b1].overflow != 0 && b2 != b1)
        m2 = bucket_match(&t->buckets[b2], tag);
    uint32_t left = (m1 | m2 << FLOW_SLOTS) >> *at;
    if (left == 0)
        return FLOW_NONE;
    unsigned slot = *at + (unsigned)__builtin_ctz(left);
    *at = slot + 1;
    return slot < FLOW_SLOTS ? t->buckets[b1].index[slot] : t->buckets[b2].index[slot - FLOW_SLOTS];
}

struct place {
    uint32_t bucket, slot;
};

static void put(struct flow_table *t, struct place p, uint32_t first, uint16_t tag, uint32_t index)
{
    struct flow_bucket *b = &t->buckets[p.bucket], *f = &t->buckets[first];
    b->tag[p.slot] = tag;
    b->index[p.slot] = index;
    if (p.bucket == first)
        return;
    CHECK(f->overflow != UINT16_MAX);
    b->second |= (uint16_t)(1u << p.slot);
    f->overflow++;
    t->in_second++;
}

static void clear(struct flow_table *t, struct place p, uint32_t first)
{
    struct flow_bucket *b = &t->buckets[p.bucket];
    b->tag[p.slot] = 0;
    if ((b->second >> p.slot & 1) == 0)
        return;
    b->second &= (uint16_t) ~(1u << p.slot);
    t->buckets[first].overflow--;
    t->in_second--;
}

// move: moves an entry to a free slot of its other bucket.
static void move(struct flow_table *t, struct place from, struct place to)
{
    const struct flow_bucket *b = &t->buckets[from.bucket];
    uint16_t tag = b->tag[from.slot];
    uint32_t index = b->index[from.slot];
    uint32_t first = (b->second >> from.slot & 1) != 0 ? to.bucket : from.bucket;
    clear(t, from, first);
    put(t, to, first, tag, index);
    t->displaced++;
}

// probe: a bucket in the search for a free slot. The entry in slot `slot` of the bucket of probe
// `parent` could move to this bucket.
struct probe {
    uint32_t bucket;
    uint8_t parent, slot;
};

// shift_back: moves the entry in slot `slot` of probe `at` to the slot `free` of its other bucket,
// then the parent's entry to the slot that became free, and so on up to a root. Returns the slot
// that is now free in the root's bucket.
static struct place shift_back(struct flow_table *t, const struct probe *q, unsigned roots,
                               unsigned at, uint32_t slot, struct place free)
{
    for (;;) {
        struct place from = {q[at].bucket, slot};
        move(t, from, free);
        free = from;
        if (at < roots)
            return free;
        slot = q[at].slot;
        at = q[at].parent;
    }
}

// make_room: breadth-first search from both buckets, so that the fewest entries move. Returns false
// if it finds no free slot within FLOW_PROBES_MAX buckets.
static bool make_room(struct flow_table *t, uint32_t b1, uint32_t b2, struct place *out)
{
    struct probe q[FLOW_PROBES_MAX] = {{b1, 0, 0}, {b2, 0, 0}};
    const unsigned roots = 2;
    unsigned n = roots;
    for (unsigned at = 0; at < n; at++) {
        const struct flow_bucket *b = &t->buckets[q[at].bucket];
        for (uint32_t slot = 0; slot < FLOW_SLOTS; slot++)
            prefetch0_w(&t->buckets[other_of(t, q[at].bucket, b->tag[slot])]);
        for (uint32_t slot = 0; slot < FLOW_SLOTS; slot++) {
            uint32_t other = other_of(t, q[at].bucket, b->tag[slot]);
            uint32_t free = bucket_match(&t->buckets[other], 0);
            if (free != 0) {
                struct place hole = {other, (uint32_t)__builtin_ctz(free)};
                *out = shift_back(t, q, roots, at, slot, hole);
                return true;
            }
            if (n == FLOW_PROBES_MAX)
                return false;
            q[n++] = (struct probe){other, (uint8_t)at, (uint8_t)slot};
        }
    }
    return false;
}

static_assert(FLOW_PROBES_MAX <= 256, "struct probe names its parent in 8 bits");

bool flow_insert(struct flow_table *t, uint64_t hash, uint32_t index)
{
    DCHECK(index != FLOW_NONE);
    uint16_t tag = hash_tag(hash);
    uint32_t b1 = first_of(t, hash), b2 = other_of(t, b1, tag);
    struct place p = {b1, 0};
    uint32_t free = bucket_match(&t->buckets[b1], 0);
    if (unlikely(free == 0)) {
        p.bucket = b2;
        free = bucket_match(&t->buckets[b2], 0);
    }
    if (likely(free != 0)) {
        p.slot = (uint32_t)__builtin_ctz(free);
    } else if (!make_room(t, b1, b2, &p)) {
        t->insert_failed++;
        return false;
    }
    put(t, p, b1, tag, index);
    t->count++;
    return true;
}

static bool locate_in(const struct flow_table *t, uint32_t bucket, uint16_t tag, uint32_t index,
                      struct place *out)
{
    const struct flow_bucket *b = &t->buckets[bucket];
    for (uint32_t m = bucket_match(b, tag); m != 0; m &= m - 1) {
        *out = (struct place){bucket, (uint32_t)__builtin_ctz(m)};
        if (b->index[out->slot] == index)
            return true;
    }
    return false;
}

static bool locate(const struct flow_table *t, uint64_t hash, uint32_t index, struct place *out)
{
    uint16_t tag = hash_tag(hash);
    uint32_t b1 = first_of(t, hash);
    return locate_in(t, b1, tag, index, out) ||
           (t->buckets[b1].overflow != 0 && locate_in(t, other_of(t, b1, tag), tag, index, out));
}

bool flow_replace(struct flow_table *t, uint64_t hash, uint32_t old_index, uint32_t new_index)
{
    DCHECK(new_index != FLOW_NONE);
    struct place p;
    if (!locate(t, hash, old_index, &p))
        return false;
    t->buckets[p.bucket].index[p.slot] = new_index;
    return true;
}

bool flow_remove(struct flow_table *t, uint64_t hash, uint32_t index)
{
    struct place p;
    if (!locate(t, hash, index, &p))
        return false;
    clear(t, p, first_of(t, hash));
    t->count--;
    return true;
}
