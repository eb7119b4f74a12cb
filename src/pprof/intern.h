// SPDX-License-Identifier: BSD-3-Clause
// intern.h: a set of byte strings that are numbered in the order in which they came.
#pragma once
#include "base/siphash.h"

enum { INTERN_FAILED = 0xffffffff };  // no memory

// intern: starts zeroed.
struct intern {
    struct siphash_key hash_key;
    uint8_t *bytes;  // of all keys, one after the other
    size_t n_bytes, bytes_room;
    struct intern_entry *entries;
    uint32_t n, entries_room;
    uint32_t *slots;  // number of an entry plus one; 0: free
    uint32_t n_slots;
};

void intern_free(struct intern *t);

// intern_put: the number of the key key[0..n); a new key is copied. INTERN_FAILED: no memory.
// intern_find: the same, and INTERN_FAILED if the key is new.
uint32_t intern_put(struct intern *t, const void *key, size_t n);
uint32_t intern_find(const struct intern *t, const void *key, size_t n);

// intern_get: key i < t->n; valid until the next intern_put(). *n (may be NULL): its bytes.
const void *intern_get(const struct intern *t, uint32_t i, size_t *n);
