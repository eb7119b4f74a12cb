// SPDX-License-Identifier: BSD-3-Clause
// flow_table.h: finds a connection by its hash in one cache line, two when the first is full. Fixed
// size, no resize, no pointers, no keys: the caller compares the key in the record that the index
// names, which it fetches anyway. One table per worker; nobody else touches it.
//
//   bucket (64 bytes)  [ 10 tags of 16 bits | overflow | second | 10 indices of 32 bits ]
//
//   first bucket   b1 = top 32 bits of the hash, scaled to the number of buckets
//   tag            low 16 bits of the hash; 0, which marks a free slot, becomes 1
//   second bucket  b2 = c(tag) - b1 mod buckets: from either bucket and the tag follows the other,
//   so
//                  that an entry can be moved although its key is not here
//
// An entry goes to b1; when that is full, to b2; when both are, entries are moved to their other
// bucket until a slot is free. b1.overflow counts the entries of b1 that live in their b2: a miss
// reads the second line only where that is not zero.
// Source: Pagh, Rodler, "Cuckoo hashing", 2004; Fan et al., "Cuckoo filter" (partial-key), 2014.
//
// Cost at capacity: 64 / (10 * 0.85) = 7.53 bytes an entry: 75 MB at ten million.
//
// Use in passes over a burst:
//   flow_hash_burst()  hashes, prefetches first buckets
//   flow_find_burst()  one candidate each; the caller prefetches what it names, later compares keys
//   flow_next()        after a mismatch (a few in 100,000): all candidates of one hash, in turn
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "flow/flow_hash.h"

#define FLOW_NONE UINT32_MAX

enum {
    FLOW_SLOTS = 10,
    FLOW_LOAD_PERCENT = 85,  // at capacity; cuckoo buckets of 10 fill to above 95
    FLOW_PROBES_MAX = 128,   // buckets looked at for a free slot by one insert
    FLOW_CAPACITY_MAX = 1 << 30,
};

// flow_kind: the top two bits of an index say which kind of record the lower 30 name.
// FLOW_NONE is the last index of the last kind: no record has it.
enum flow_kind { FLOW_BLOCK, FLOW_SYN, FLOW_TIME_WAIT, FLOW_TIME_WAIT6 };

static inline uint32_t flow_index(enum flow_kind kind, uint32_t ix)
{
    return (uint32_t)kind << 30 | ix;
}

static inline enum flow_kind flow_index_kind(uint32_t index)
{
    return (enum flow_kind)(index >> 30);
}

// flow_is_time_wait: of one family or the other; false for FLOW_NONE.
static inline bool flow_is_time_wait(uint32_t index)
{
    return index >> 31 != 0 && index != FLOW_NONE;
}

static inline uint32_t flow_index_ix(uint32_t index)
{
    return index & ((1u << 30) - 1);
}

struct flow_bucket {
    uint16_t tag[FLOW_SLOTS];  // 0: slot free
    uint16_t overflow;         // entries whose first bucket this is and that live in their second
    uint16_t second;           // bit i: slot i's entry has its first bucket elsewhere
    uint32_t index[FLOW_SLOTS];
} CACHE_ALIGNED;

static_assert(sizeof(struct flow_bucket) == CACHE_LINE, "a look-up is one line");

struct flow_table {
    struct flow_bucket *buckets;
    uint32_t n_buckets;
    uint32_t capacity;  // entries it was sized for; more are taken while they fit
    struct flow_hash_key key;
    uint32_t count;
    uint32_t in_second;  // entries that live in their second bucket now
    // Counters since init.
    uint64_t displaced;      // entries moved to make room
    uint64_t insert_failed;  // inserts that found no room within FLOW_PROBES_MAX
};

// flow_footprint: bytes of memory for `capacity` entries, 1..FLOW_CAPACITY_MAX.
size_t flow_footprint(uint32_t capacity);

// flow_init: an empty table in mem, 64-byte aligned, flow_footprint() bytes. `secret`: who knows
// it can aim at one bucket.
void flow_init(struct flow_table *t, void *mem, uint32_t capacity, struct siphash_key secret);

// flow_hash: the hash of one key; flow_hash_burst() gives the same.
static inline uint64_t flow_hash(const struct flow_table *t, const struct flow_key *key)
{
    return flow_hash_of(&t->key, key);
}

// flow_hash_burst: for i in [0,n) sets hash[i] to the hash of the key that lies i * stride_bytes
// behind `first` (an array of keys, or of structs that begin with one; stride a multiple of 8), and
// prefetches each first bucket.
void flow_hash_burst(const struct flow_table *t, const struct flow_key *first, size_t stride_bytes,
                     unsigned n, uint64_t *hash);

// flow_prefetch: fetches the first bucket of a hash, to be written.
void flow_prefetch(const struct flow_table *t, uint64_t hash);

// flow_find_burst: for i in [0,n), n <= BURST_MAX, sets cand[i] to the first index stored under
// hash[i]'s buckets and tag, or FLOW_NONE: then the key is not in the table. Once in several
// thousand times a candidate is another connection's: compare the key, then use flow_next().
void flow_find_burst(const struct flow_table *t, const uint64_t *hash, unsigned n, uint32_t *cand);

// flow_next: the candidates of one hash, one a call, FLOW_NONE after the last. *at is 0 before the
// first call. The first one is flow_find_burst()'s. The table must not change between the calls.
uint32_t flow_next(const struct flow_table *t, uint64_t hash, unsigned *at);

// flow_insert: adds index (not FLOW_NONE) under hash. False: no room, counted. The same pair twice
// is two entries.
bool flow_insert(struct flow_table *t, uint64_t hash, uint32_t index);

// flow_replace: puts new_index in the place of old_index: a connection changes its kind of record.
// False: (hash, old_index) is not there.
bool flow_replace(struct flow_table *t, uint64_t hash, uint32_t old_index, uint32_t new_index);

// flow_remove: takes (hash, index) out. False: it is not there.
bool flow_remove(struct flow_table *t, uint64_t hash, uint32_t index);
