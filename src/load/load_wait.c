// SPDX-License-Identifier: BSD-3-Clause
#include <stdlib.h>

#include "load/load_internal.h"

int load_wait_init(struct load *l)
{
    l->rto_ms = LOAD_RTO_INITIAL_MS;
    for (unsigned n = 0; n < LOAD_LEVELS; n++) {
        struct load_level *v = &l->levels[n];
        v->slots = n == 0 ? LOAD_WAIT_FIRST : LOAD_WAIT_AGAIN;
        v->tries = calloc(v->slots, sizeof(v->tries[0]));
        if (v->tries == NULL)
            return -1;
    }
    return 0;
}

void load_wait_free(struct load *l)
{
    for (unsigned n = 0; n < LOAD_LEVELS; n++)
        free(l->levels[n].tries);
}

static uint32_t room(const struct load_level *v)
{
    return v->slots - (v->tail - v->head);
}

uint32_t load_wait_room(const struct load *l)
{
    return room(&l->levels[0]);
}

static unsigned level_of(unsigned tries)
{
    return MIN(tries, (unsigned)LOAD_LEVELS) - 1;
}

void load_wait_add(struct load *l, uint32_t i)
{
    struct load_level *v = &l->levels[level_of(l->conns[i].tries)];
    CHECK(room(v) != 0);
    v->tries[v->tail++ % v->slots] = (struct load_try){i, l->now_ms};
}

// RFC 6298 2.2 and 2.3, with one estimate for all connections. RFC 6298 3 (Karn's algorithm): only
// segments that were sent once are measured.
void load_wait_answered(struct load *l, const struct load_conn *c, uint32_t us)
{
    if (c->tries != 1)
        return;
    if (l->srtt_us == 0) {
        l->srtt_us = MAX(us, 1u);
        l->rttvar_us = us / 2;
    } else {
        const int32_t off = (int32_t)(us - l->srtt_us);
        l->rttvar_us += (uint32_t)((abs(off) - (int32_t)l->rttvar_us) / 4);
        l->srtt_us = MAX((uint32_t)((int32_t)l->srtt_us + off / 8), 1u);
    }
    const uint32_t rto_ms = (l->srtt_us + 4 * l->rttvar_us) / 1000 + 1;
    l->rto_ms = MIN(MAX(rto_ms, (uint32_t)LOAD_RTO_MIN_MS), (uint32_t)LOAD_RTO_MAX_MS);
}

// Processes the first entry of level n. False: it is not due, or the next level is full.
static bool expire_one(struct load *l, unsigned n)
{
    struct load_level *v = &l->levels[n];
    if (v->head == v->tail)
        return false;
    const struct load_try t = v->tries[v->head % v->slots];
    struct load_conn *c = &l->conns[t.conn];
    const bool mine = load_waits(c->state) && c->sent_ms == t.sent_ms && level_of(c->tries) == n;
    if (mine) {
        const uint32_t timeout = MIN(l->rto_ms << n, (uint32_t)LOAD_RTO_MAX_MS);
        const unsigned next = level_of(c->tries + 1u);
        if (l->now_ms - t.sent_ms < timeout || (next != n && room(&l->levels[next]) == 0))
            return false;
    }
    v->head++;
    if (!mine)
        return true;
    if (c->tries == LOAD_TRIES_MAX) {
        load_fail(l, t.conn);
        return true;
    }
    c->tries++;
    l->c.retransmitted += load_ask(l, t.conn);
    return true;
}

void load_wait_expire(struct load *l)
{
    const uint64_t limit = l->c.retransmitted + LOAD_AGAIN_MAX;
    // highest level first, which makes room for the lower ones
    for (unsigned n = LOAD_LEVELS; n-- != 0;)
        while (l->c.retransmitted < limit && expire_one(l, n))
            ;
}
