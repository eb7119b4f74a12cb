// SPDX-License-Identifier: BSD-3-Clause
#include "server/conn_walk.h"

#include "tcp/tcp_view.h"

enum { FETCH_AHEAD = 16, FETCH_REST_AHEAD = 6 };  // blocks

static const struct time_wait_ring *ring(const struct tcp *t, enum conn_kind kind)
{
    return kind == CONN_TIME_WAIT6 ? &t->tw6 : &t->tw4;
}

// copy: of the entry at a place. False: there is none.
static bool copy(struct conn_seen *seen)
{
    const struct tcp *t = seen->view;
    if (seen->kind == CONN_SYN)
        return tcp_view_syn(t, seen->ix, &seen->syn);
    if (seen->kind == CONN_BLOCK)
        return tcp_view_block(t, seen->ix, &seen->block);
    return tcp_view_time_wait(ring(t, seen->kind), seen->ix, &seen->time_wait);
}

// places: how many places of one kind may hold something. next_place: the first of them from
// `place` on.
static uint32_t places(const struct tcp *t, enum conn_kind kind)
{
    if (kind >= CONN_TIME_WAIT)
        return ring(t, kind)->capacity;
    return tcp_view_used(kind == CONN_SYN ? t->syn_pool : t->block_pool);
}

static uint32_t next_place(const struct tcp *t, enum conn_kind kind, uint32_t place)
{
    return kind >= CONN_TIME_WAIT ? tcp_view_tw_next(ring(t, kind), place) : place;
}

static void fetch(const struct tcp *t, uint32_t ix, uint32_t end)
{
    if (ix + FETCH_AHEAD < end)
        tcp_view_fetch(t, ix + FETCH_AHEAD);
    if (ix + FETCH_REST_AHEAD < end)
        tcp_view_fetch_rest(t, ix + FETCH_REST_AHEAD);
}

// walk_kind: shows the entries of one kind of one worker. False: it stopped before the end.
static bool walk_kind(const struct server *s, struct conn_place *at, unsigned *looks, conn_see *see,
                      void *arg)
{
    struct tcp t;
    struct conn_seen seen = {.worker = at->step / CONN_KINDS,
                             .kind = (enum conn_kind)(at->step % CONN_KINDS),
                             .view = &t};
    tcp_view_begin(&t, &server_worker(s, seen.worker)->tcp);
    const uint32_t end = places(&t, seen.kind);
    for (; (at->ix = next_place(&t, seen.kind, at->ix)) < end; at->ix++) {
        if (*looks == 0)
            return false;
        --*looks;
        if (seen.kind == CONN_BLOCK)
            fetch(&t, at->ix, end);
        seen.ix = at->ix;
        if (copy(&seen) && !see(arg, &seen))
            return false;
    }
    return true;
}

bool conn_walk(const struct server *s, struct conn_place *at, unsigned *looks, conn_see *see,
               void *arg)
{
    const uint32_t end = server_workers(s) * CONN_KINDS;
    while (at->step < end && walk_kind(s, at, looks, see, arg)) {
        at->step++;
        at->ix = 0;
    }
    return at->step < end;
}

void conn_walk_all(const struct server *s, const struct shared_bool *over, conn_see *see, void *arg)
{
    struct conn_place at = {0};
    unsigned looks = CONN_LOOKS_MAX;
    while (!shared_bool_load(over) && conn_walk(s, &at, &looks, see, arg))
        looks = CONN_LOOKS_MAX;
}
