// SPDX-License-Identifier: BSD-3-Clause
#include "mem/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void ledger_add(struct ledger *l, const char *name, uint64_t count, uint64_t bytes,
                bool per_connection, const char *purpose)
{
    for (unsigned i = 0; i < l->n; i++) {
        struct ledger_row *r = &l->rows[i];
        if (strcmp(r->name, name) == 0) {
            CHECK(r->per_connection == per_connection);
            r->count += count;
            r->bytes += bytes;
            return;
        }
    }
    CHECK(l->n < LEDGER_ROWS_MAX);
    l->rows[l->n++] = (struct ledger_row){name, purpose, count, bytes, per_connection};
}

uint64_t ledger_bytes(const struct ledger *l)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->n; i++)
        sum += l->rows[i].bytes;
    return sum;
}

uint64_t ledger_connection_bytes(const struct ledger *l)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < l->n; i++)
        sum += l->rows[i].per_connection ? l->rows[i].bytes : 0;
    return sum;
}

const char *ledger_grouped(char out[LEDGER_GROUPED_BYTES], uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), at = 0;
    for (int i = 0; i < len; i++) {
        if (i != 0 && (len - i) % 3 == 0)
            out[at++] = ',';
        out[at++] = digits[i];
    }
    out[at] = '\0';
    return out;
}

static double each(uint64_t bytes, uint64_t count)
{
    return count != 0 ? (double)bytes / (double)count : 0;
}

static void render_row(const struct ledger_row *r, struct text *out)
{
    char count[LEDGER_GROUPED_BYTES], bytes[LEDGER_GROUPED_BYTES];
    text_printf(out, "%-18s %13s %10.2f %17s  %-14s  %s\n", r->name,
                ledger_grouped(count, r->count), each(r->bytes, r->count),
                ledger_grouped(bytes, r->bytes), r->per_connection ? "per connection" : "apart",
                r->purpose);
}

void ledger_render(const struct ledger *l, uint64_t connections, struct text *out)
{
    char bytes[LEDGER_GROUPED_BYTES], count[LEDGER_GROUPED_BYTES];
    text_printf(out, "%-18s %13s %10s %17s  %-14s  %s\n", "name", "count", "bytes each", "bytes",
                "counts as", "purpose");
    for (unsigned i = 0; i < l->n; i++)
        render_row(&l->rows[i], out);
    text_printf(out, "%-18s %13s %10s %17s\n", "total", "", "",
                ledger_grouped(bytes, ledger_bytes(l)));
    if (connections != 0)
        text_printf(out, "%-18s %13s %10.2f %17s\n", "per connection",
                    ledger_grouped(count, connections),
                    each(ledger_connection_bytes(l), connections),
                    ledger_grouped(bytes, ledger_connection_bytes(l)));
}
