// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/free_packets.h"

#include <stdlib.h>

struct free_packets {
    struct pkt_pool *pool;
    unsigned n;
    struct pkt *pkts[];
};

// The mark of a noted packet lies in its hash. A driver that reports hashes sets that of each
// packet it receives.
enum { UNMARKED, MARKED };

static struct free_packets *note(struct pkt_pool *pool, uint32_t mark)
{
    const unsigned most = pool->mp.size;
    struct free_packets *f = malloc(sizeof(*f) + most * sizeof(f->pkts[0]));
    CHECK(f != NULL);
    f->pool = pool;
    f->n = 0;
    while (f->n < most && pkt_alloc_bulk(pool, &f->pkts[f->n], 1))
        f->pkts[f->n++]->m.hash.usr = mark;
    pkt_free_bulk(f->pkts, f->n);
    return f;
}

struct free_packets *free_packets_note(struct pkt_pool *pool)
{
    return note(pool, MARKED);
}

void free_packets_restore(struct free_packets *f)
{
    free_packets_forget(note(f->pool, UNMARKED));
    for (unsigned i = 0; i < f->n; i++)
        if (f->pkts[i]->m.hash.usr == MARKED)
            pkt_free(f->pkts[i]);
    free_packets_forget(f);
}

void free_packets_forget(struct free_packets *f)
{
    free(f);
}
