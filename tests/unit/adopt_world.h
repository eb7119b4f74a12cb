// SPDX-License-Identifier: BSD-3-Clause
// adopt_world.h: connections that a process leaves, for tests of tcp/tcp_adopt.h and
// tcp/tcp_move.h. A test file includes it after its own includes.
#pragma once
#include <string.h>

#include "check.h"
#include "seed.h"
#include "tcp/tcp_adopt.h"
#include "tcp_pair.h"

enum { A, B, BYTES = 300000 };

static inline unsigned refused(const struct tcp_adopted *out)
{
    unsigned n = 0;
    for (unsigned r = 0; r < TCP_REFUSAL_COUNT; r++)
        n += out->refused[r];
    return n;
}

static inline void assert_whole(const struct end *e)
{
    char what[TCP_CHECK_BYTES];
    end_check_pools(e);
    if (!tcp_check_wheel(&e->tcp, e->sizes.blocks, what))
        check_failed(__FILE__, __LINE__, what);
}

// busy: connections over a bad link, in both directions.
static inline struct pair *busy(uint64_t seed, unsigned connections)
{
    struct pair *p = pair_new(seed);
    p->loss_pm = 30;
    p->reorder_pm = 100;
    for (unsigned i = 0; i < 2; i++)
        p->e[i].role = (struct role){.source = BYTES, .shut = true};
    for (unsigned i = 0; i < connections; i++)
        end_connect(&p->e[i % 2], p->e[!(i % 2)].v4, PAIR_PORT);
    return p;
}

// scribble: a few bytes anywhere in what the process before wrote.
static inline void scribble(struct rng *rng, const struct end *e)
{
    const struct tcp *t = &e->tcp;
    struct {
        void *at;
        size_t bytes;
    } parts[] = {
        {t->blocks, 8 * offsetof(struct block, app)},
        {t->exts, 4 * sizeof(struct ext)},
        {t->bufs.bufs, 64 * sizeof(struct buf)},
        {t->flights.small, 4 * FLIGHT_BYTES},
        {t->syns, 4 * sizeof(struct syn_record)},
        {t->tw4.records, 4 * sizeof(struct time_wait)},
    };
    for (unsigned i = rng_below(rng, 8); i-- > 0;) {
        const unsigned part = rng_below(rng, ARRAY_LEN(parts));
        uint8_t *byte = (uint8_t *)parts[part].at + rng_below(rng, (uint32_t)parts[part].bytes);
        *byte = (uint8_t)(rng_below(rng, 2) ? *byte ^ 1u << rng_below(rng, 8) : rng_u64(rng));
    }
}

// assert_go_on: no connection and no byte is lost although processes end again and again. next: the
// process of an end ends, and another one goes on.
static inline void assert_go_on(struct rng rng, struct tcp_adopted (*next)(struct end *e))
{
    enum { CONNECTIONS = 6 };
    struct pair *p = busy(rng_u64(&rng), CONNECTIONS);
    for (unsigned i = 0; i < 200; i++) {
        pair_run_for(p, 1 + rng_below(&rng, 20));
        struct end *e = &p->e[rng_below(&rng, 2)];
        const struct tcp_adopted out = next(e);
        assert_int_equal(refused(&out) + out.half_open_refused + out.time_wait_refused, 0);
        assert_whole(e);
    }
    pair_run(p, 4000 * 1000);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(p->e[i].role.received, (uint64_t)BYTES * CONNECTIONS);
        assert_int_equal(p->e[i].role.closed, CONNECTIONS);
        assert_false(p->e[i].role.wrong);
    }
    pair_free(p, true);
}
