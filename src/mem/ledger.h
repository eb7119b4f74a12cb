// SPDX-License-Identifier: BSD-3-Clause
// ledger.h: what is to be reserved, row by row, before anything is. Arithmetic only; control
// thread.
#pragma once
#include "base/base.h"
#include "base/text.h"

enum { LEDGER_ROWS_MAX = 64 };

struct ledger_row {
    const char *name;
    const char *purpose;
    uint64_t count;  // of things: connections, records, buffers
    uint64_t bytes;  // of all of them
    bool per_connection;
};

// ledger: starts zeroed. Strings stay the caller's and outlive it.
struct ledger {
    unsigned n;
    struct ledger_row rows[LEDGER_ROWS_MAX];
};

// ledger_add: one more row, or, for a name that is there, count and bytes added to it.
// per_connection: it grows with the capacity for connections and counts against the bytes promised
// for each.
void ledger_add(struct ledger *l, const char *name, uint64_t count, uint64_t bytes,
                bool per_connection, const char *purpose);

// ledger_bytes: sum of all rows; ledger_connection_bytes: of those that grow with connections.
uint64_t ledger_bytes(const struct ledger *l);
uint64_t ledger_connection_bytes(const struct ledger *l);

// ledger_render: the rows as a table, the sum, and bytes per connection of `connections` (0: left
// out) to two places.
void ledger_render(const struct ledger *l, uint64_t connections, struct text *out);

enum { LEDGER_GROUPED_BYTES = 32 };

// ledger_grouped: n with a comma before each three digits, in `out`, which it returns.
const char *ledger_grouped(char out[LEDGER_GROUPED_BYTES], uint64_t n);
