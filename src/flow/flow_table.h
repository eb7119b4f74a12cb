// SPDX-License-Identifier: BSD-3-Clause
// flow_table.h: finds a connection by its hash in one cache line, or two if the first is full.
// Fixed size, without pointers and keys: the caller compares the key in the record that the index
// names, which it reads anyway. One table per worker, which alone accesses it.
//
//   bucket (64 bytes)  [ 10 tags of 16 bits | overflow | second | 10 indices of 32 bits ]
//
//   first bucket   b1 = upper 32 bits of the hash, scaled to the number of buckets
//   tag            lower 16 bits of the hash; 0 marks a free slot and becomes 1
//   second bucket  b2 = c(tag) - b1 mod buckets. Either bucket and the tag give the other one, so
//                  that an entry can be moved without its key
//
// An entry goes to b1; if that is full, to b2; if both are full, entries are moved to their other
// bucket until a slot is free. b1.overflow counts the entries of b1 that are in their b2: a look-up
// without a match reads the second line only if it is not zero. Source: Pagh, Rodler, "Cuckoo
// hashing", 2004; Fan et al., "Cuckoo filter" (partial-key), 2014.
//
// Cost at capacity: 64 / (10 * 0.85) = 7.53 bytes for each entry: 75 MB for ten million.
//
// Use, in passes over a burst:
//   flow_hash_burst()  hashes, prefetches first buckets
//   flow_find_burst()  one candidate each; the caller prefetches its record and compares keys later
//   flow_next()        after a mismatch (a few in 100,000): all candidates of one hash, one by one
#pragma once
#include "base/addr.h"
#include "base/base.h"
#include "flow/flow_hash.h"

#define FLOW_NONE UINT32_MAX

enum {
    FLOW_SLOTS = 10,
    FLOW_LOAD_PERCENT = 85,  // at capacity; cuckoo buckets of 10 fill to above 95
    FLOW_PROBES_MAX = 128,   // buckets that one insert searches for a free slot
    FLOW_CAPACITY_MAX = 1 << 30,
};

// flow_kind: the upper two bits of an index: the kind of record that the lower 30 bits select.
// FLOW_NONE is the last index of the last kind; no record has it.
enum flow_kind { FLOW_BLOCK, FLOW_SYN, FLOW_TIME_WAIT, FLOW_TIME_WAIT6 };

static inline uint32_t flow_index(enum flow_kind kind, uint32_t ix)
{
    return (uint32_t)kind << 30 | ix;
}

static inline enum flow_kind flow_index_kind(uint32_t index)
{
    return (enum flow_kind)(index >> 30);
}

// flow_is_time_wait: whether it is a TIME-WAIT record of either family; false for FLOW_NONE.
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
    uint16_t overflow;         // entries of this first bucket that are in their second one
    uint16_t second;           // bit i: this is the second bucket of the entry in slot i
    uint32_t index[FLOW_SLOTS];
} CACHE_ALIGNED;

static_assert(sizeof(struct flow_bucket) == CACHE_LINE, "a look-up is one line");

struct flow_table {
    struct flow_bucket *buckets;
    uint32_t n_buckets;
    uint32_t capacity;  // entries it was sized for; more are accepted while they fit
    struct flow_hash_key key;
    uint32_t count;
    uint32_t in_second;  // entries that are in their second bucket
    // Counters since init.
    uint64_t displaced;      // entries moved to make room
    uint64_t insert_failed;  // inserts that found no room within FLOW_PROBES_MAX
};

// flow_footprint: bytes for `capacity` entries, 1..FLOW_CAPACITY_MAX.
size_t flow_footprint(uint32_t capacity);

// flow_init: makes an empty table in mem, 64-byte aligned, flow_footprint() bytes. The secret must
// not be known to peers: with it they could fill one bucket.
void flow_init(struct flow_table *t, void *mem, uint32_t capacity, struct siphash_key secret);

// flow_hash: the hash of one key, the same as flow_hash_burst().
static inline uint64_t flow_hash(const struct flow_table *t, const struct flow_key *key)
{
    return flow_hash_of(&t->key, key);
}

// flow_hash_burst: hashes n keys and prefetches their first buckets. Key i is i * stride_bytes
// after `first` (an array of keys, or of structs that begin with one); the stride is a multiple of
// 8.
void flow_hash_burst(const struct flow_table *t, const struct flow_key *first, size_t stride_bytes,
                     unsigned n, uint64_t *hash);

// flow_prefetch: prefetches the first bucket of a hash for writing.
void flow_prefetch(const struct flow_table *t, uint64_t hash);

// flow_find_burst: for n hashes, n <= BURST_MAX, sets cand[i] to the first index with the tag of
// hash[i] in its buckets. FLOW_NONE: the key is not in the table. One in several thousand
// candidates is another connection: compare the key, then use flow_next().
void flow_find_burst(const struct flow_table *t, const uint64_t *hash, unsigned n, uint32_t *cand);

// flow_next: returns the candidates of one hash, one for each call, then FLOW_NONE. *at is 0 before
// the first call. The first candidate is flow_find_burst()'s. The table must not change between the
// calls.
uint32_t flow_next(const struct flow_table *t, uint64_t hash, unsigned *at);

// flow_insert: adds index (not FLOW_NONE) under hash. False: no room, which is counted. Adding the
// same pair twice makes two entries.
bool flow_insert(struct flow_table *t, uint64_t hash, uint32_t index);

// flow_replace: replaces old_index by new_index when a connection changes its kind of record.
// False: there is no (hash, old_index).
bool flow_replace(struct flow_table *t, uint64_t hash, uint32_t old_index, uint32_t new_index);

// flow_remove: removes (hash, index). False: it is not there.
bool flow_remove(struct flow_table *t, uint64_t hash, uint32_t index);
