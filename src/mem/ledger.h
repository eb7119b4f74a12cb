// SPDX-License-Identifier: BSD-3-Clause
// ledger.h: a list of all memory to reserve, made before anything is reserved. Arithmetic only.
// Control thread.
#pragma once
#include "base/base.h"
#include "base/text.h"

enum { LEDGER_ROWS_MAX = 64 };

struct ledger_row {
    const char *name;
    const char *purpose;
    uint64_t count;  // objects: connections, records, buffers
    uint64_t bytes;  // of all objects together
    bool per_connection;
};

// ledger: starts zeroed. The strings belong to the caller and outlive it.
struct ledger {
    unsigned n;
    struct ledger_row rows[LEDGER_ROWS_MAX];
};

// ledger_add: adds a row, or adds count and bytes to the row with that name. per_connection: it
// grows with the number of connections and counts as memory per connection.
void ledger_add(struct ledger *l, const char *name, uint64_t count, uint64_t bytes,
                bool per_connection, const char *purpose);

// ledger_bytes: the sum of all rows. ledger_connection_bytes: of the rows with per_connection.
uint64_t ledger_bytes(const struct ledger *l);
uint64_t ledger_connection_bytes(const struct ledger *l);

// ledger_render: the rows as a table, their sum, and the bytes per connection for `connections` (0:
// omitted).
void ledger_render(const struct ledger *l, uint64_t connections, struct text *out);

enum { LEDGER_GROUPED_BYTES = 32 };

// ledger_grouped: writes n with a comma before every three digits into out, which it returns.
const char *ledger_grouped(char out[LEDGER_GROUPED_BYTES], uint64_t n);
