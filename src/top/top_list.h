// SPDX-License-Identifier: BSD-3-Clause
// top_list.h: the files of the tree that are `name value` a line, as lists in the file's order.
// What the server counts is taken by name: a server of another version shows what it has. Pure.
#pragma once
#include "base/base.h"

enum {
    TOP_NAME_BYTES = 48,      // a longer name is cut
    TOP_PAIRS_MAX = 1 << 13,  // lines of a file that are kept; what is behind them is not shown
};

struct top_pair {
    char name[TOP_NAME_BYTES];
    uint64_t value;
};

// top_list: `present` says that its file could be read. Zeroed: empty.
struct top_list {
    struct top_pair *pairs;
    unsigned n, room;
    bool present;
};

// top_list_parse: *l gets the lines of `text` that are a name, one or more blanks, and a whole
// number below 2^64; others are left out. Keeps the memory it had. 0, or -ENOMEM with *l empty.
int top_list_parse(struct top_list *l, const char *text);

// top_list_clear: no lines, and its file not there. top_list_free: its memory as well.
void top_list_clear(struct top_list *l);
void top_list_free(struct top_list *l);

// top_list_find: the value of `name` in *value; false where there is none. top_list_get: 0 there.
bool top_list_find(const struct top_list *l, const char *name, uint64_t *value);
uint64_t top_list_get(const struct top_list *l, const char *name);

// top_list_same: the pair of `name` in l, looked for at place `at` first: two readings of a file
// have the same order. NULL where there is none, or l is NULL.
const struct top_pair *top_list_same(const struct top_list *l, unsigned at, const char *name);

// top_grown: by how much pair `at` of `now` has grown since `before` (NULL: since zero).
uint64_t top_grown(const struct top_list *now, const struct top_list *before, unsigned at);

// top_grown_name: the same of `name`; 0 where `now` has no such line.
uint64_t top_grown_name(const struct top_list *now, const struct top_list *before,
                        const char *name);

// top_list_fell: a line of `now` is below what it was: the server began to count anew. Gauges
// (NAME_now), `balance` and shares of other lines do not count.
bool top_list_fell(const struct top_list *now, const struct top_list *before);
