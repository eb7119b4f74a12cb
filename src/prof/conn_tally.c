// SPDX-License-Identifier: BSD-3-Clause
#include "prof/conn_tally.h"

const struct tally_name tally_names[TALLIES] = {
#define CONN_TALLY_NAME(name, pool, what) {pool, what},
    CONN_TALLY_TABLE(CONN_TALLY_NAME)
#undef CONN_TALLY_NAME
};

// queue: counts the buffers of a queue as `kind`, and its references as TALLY_REFERENCE. The worker
// changes the queue meanwhile, so that an index may belong to another queue by now: the walk is
// bounded, and each index is checked.
static void queue(const struct buf_pool *p, uint32_t head, enum tally kind, uint64_t n[TALLIES])
{
    uint32_t ix = head;
    for (unsigned i = 0; i < TALLY_QUEUE_MAX && ix < p->count; i++) {
        n[buf_is_ref(p, ix) ? TALLY_REFERENCE : kind]++;
        ix = peek_u32(&p->bufs[ix].next);
    }
}

static void extension(const struct tcp *t, uint32_t ix, uint64_t n[TALLIES])
{
    if (ix >= t->ext_pool->count)
        return;
    n[TALLY_EXT]++;
    if (peek_u32(&t->exts[ix].ooo_head) != BUF_NONE)
        n[TALLY_OUT_OF_ORDER] += MIN(peek_u32(&t->exts[ix].ooo_bufs), t->bufs.data_count);
}

static void block(const struct tcp *t, const struct block *b, uint64_t n[TALLIES])
{
    n[TALLY_BLOCK]++;
    if (b->flags & BF_EXT)
        extension(t, b->ext, n);
    if (b->has_flight)
        n[b->flight & FLIGHT_LARGE ? TALLY_FLIGHT_LARGE : TALLY_FLIGHT]++;
    queue(&t->bufs, b->snd_head, TALLY_SEND, n);
    if (b->rcvq_bytes != 0)
        queue(&t->bufs, b->rcvq_head, TALLY_RECEIVE, n);
}

// taking: a walk. *over is looked at for each connection, because its queues may be long.
struct taking {
    const struct shared_bool *over;
    struct conn_tally *of_workers;
};

static bool see(void *arg, const struct conn_seen *seen)
{
    const struct taking *taking = arg;
    struct conn_tally *t = &taking->of_workers[seen->worker];
    switch (seen->kind) {
    case CONN_SYN:
        t->n[MIN(seen->syn.service, TALLY_NO_SERVICE)][TCP_SYN_RECEIVED][TALLY_SYN]++;
        break;
    case CONN_BLOCK:
        block(seen->view, &seen->block,
              t->n[seen->block.service][MIN(seen->block.state, TCP_STATE_COUNT - 1)]);
        break;
    default:
        t->n[TALLY_NO_SERVICE][TCP_TIME_WAIT]
            [seen->kind == CONN_TIME_WAIT ? TALLY_TIME_WAIT : TALLY_TIME_WAIT6]++;
    }
    return !shared_bool_load(taking->over);
}

void conn_tally_take(const struct server *s, const struct shared_bool *over,
                     struct conn_tally *of_workers)
{
    conn_walk_all(s, over, see, &(struct taking){over, of_workers});
}
