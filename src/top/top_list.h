// SPDX-License-Identifier: BSD-3-Clause
// top_list.h: lists from files of the tree with lines `name value`, in the order of the file.
// Values are found by name, so a server of another version shows the values that it has. No side
// effects.
#pragma once
#include "base/base.h"

enum {
    TOP_NAME_BYTES = 48,      // longer names are truncated
    TOP_PAIRS_MAX = 1 << 13,  // most lines of a file; later ones are ignored
};

struct top_pair {
    char name[TOP_NAME_BYTES];
    uint64_t value;
};

// top_list: the lines of a file. present: the file could be read. All zero: empty.
struct top_list {
    struct top_pair *pairs;
    unsigned n, room;
    bool present;
};

// top_list_parse: fills *l with the lines of `text` that consist of a name, blanks, and a whole
// number below 2^64; other lines are ignored. Reuses the memory of *l. Returns 0, or -ENOMEM with
// *l empty.
int top_list_parse(struct top_list *l, const char *text);

// top_list_clear: removes all lines; present becomes false. top_list_free: also frees the memory.
void top_list_clear(struct top_list *l);
void top_list_free(struct top_list *l);

// top_list_find: sets *value to the value of `name`. False: there is none. top_list_get: the value
// of `name`, or 0.
bool top_list_find(const struct top_list *l, const char *name, uint64_t *value);
uint64_t top_list_get(const struct top_list *l, const char *name);

// top_list_same: the pair of `name` in l. The search begins at index `at`, because two readings of
// a file usually have the same order. NULL: there is none, or l is NULL.
const struct top_pair *top_list_same(const struct top_list *l, unsigned at, const char *name);

// top_grown: the growth of pair `at` of `now` since `before` (NULL: since zero).
uint64_t top_grown(const struct top_list *now, const struct top_list *before, unsigned at);

// top_grown_name: the growth of `name`; 0 if `now` has no such line.
uint64_t top_grown_name(const struct top_list *now, const struct top_list *before,
                        const char *name);

// top_list_fell: whether a counter of `now` is lower than in `before`, because the server has reset
// its counters. Gauges (NAME_now), `balance` and shares of other lines are ignored.
bool top_list_fell(const struct top_list *now, const struct top_list *before);
