// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/intern.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 64, GROWTH = 2 };

struct intern_entry {
    size_t at, n;  // in bytes
    uint64_t hash;
};

void intern_free(struct intern *t)
{
    free(t->bytes);
    free(t->entries);
    free(t->slots);
    *t = (struct intern){.bytes = NULL};
}

const void *intern_get(const struct intern *t, uint32_t i, size_t *n)
{
    const struct intern_entry *e = &t->entries[i];
    if (n != NULL)
        *n = e->n;
    return t->bytes + e->at;
}

// slot_of: where the key is, or the free slot for it. One slot at least is free.
static uint32_t slot_of(const struct intern *t, uint64_t hash, const void *key, size_t n)
{
    uint32_t slot = (uint32_t)hash & (t->n_slots - 1);
    for (; t->slots[slot] != 0; slot = (slot + 1) & (t->n_slots - 1)) {
        const struct intern_entry *e = &t->entries[t->slots[slot] - 1];
        if (e->hash == hash && e->n == n && memcmp(t->bytes + e->at, key, n) == 0)
            break;
    }
    return slot;
}

static bool grow_slots(struct intern *t)
{
    const uint32_t n_slots = t->n_slots == 0 ? SLOTS_FIRST : t->n_slots * GROWTH;
    uint32_t *slots = calloc(n_slots, sizeof(*slots));
    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < t->n; i++) {
        uint32_t slot = (uint32_t)t->entries[i].hash & (n_slots - 1);
        while (slots[slot] != 0)
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = i + 1;
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    return true;
}

static bool make_room(struct intern *t, size_t n)
{
    if (t->n == t->entries_room) {
        const uint32_t room = t->entries_room == 0 ? SLOTS_FIRST : t->entries_room * GROWTH;
        struct intern_entry *entries = realloc(t->entries, room * sizeof(*entries));
        if (entries == NULL)
            return false;
        t->entries = entries;
        t->entries_room = room;
    }
    if (t->n_bytes + n > t->bytes_room) {
        const size_t room = (t->n_bytes + n) * GROWTH;
        uint8_t *bytes = realloc(t->bytes, room);
        if (bytes == NULL)
            return false;
        t->bytes = bytes;
        t->bytes_room = room;
    }
    return t->n * GROWTH < t->n_slots || grow_slots(t);
}

uint32_t intern_find(const struct intern *t, const void *key, size_t n)
{
    if (t->n_slots == 0)
        return INTERN_FAILED;
    const uint32_t slot = slot_of(t, siphash_bytes(&t->hash_key, key, n), key, n);
    return t->slots[slot] == 0 ? (uint32_t)INTERN_FAILED : t->slots[slot] - 1;
}

uint32_t intern_put(struct intern *t, const void *key, size_t n)
{
    if (!make_room(t, n))
        return INTERN_FAILED;
    const uint64_t hash = siphash_bytes(&t->hash_key, key, n);
    const uint32_t slot = slot_of(t, hash, key, n);
    if (t->slots[slot] != 0)
        return t->slots[slot] - 1;
    if (n != 0)
        memcpy(t->bytes + t->n_bytes, key, n);
    t->entries[t->n] = (struct intern_entry){t->n_bytes, n, hash};
    t->n_bytes += n;
    t->slots[slot] = ++t->n;
    return t->n - 1;
}
