// SPDX-License-Identifier: BSD-3-Clause
// Full connections: opened at a rate, each on the next free address and port. During this, requests
// on held connections and a flood of SYNs.
#include "load/load_internal.h"

enum {
    AT_ONCE = 64,       // connections opened in a turn
    ASKS_AT_ONCE = 32,  // requests on held connections in a turn
    FLOOD_AT_ONCE = 64,
    BUSY_MAX = 256,    // addresses and ports in use that are skipped in a turn
    ENTRIES_EACH = 4,  // most entries of a full connection in the ring of level 0
};

// The number of events, at `rate` per second since from_ns, that were due before_ns ago.
static uint64_t due_before(const struct load *l, uint32_t rate, uint64_t before_ns)
{
    const uint64_t ns = l->now_ns - l->full.from_ns;
    const unsigned __int128 n = (unsigned __int128)(ns - MIN(before_ns, ns)) * rate;
    return (uint64_t)(n / 1000000000);
}

static uint64_t due(const struct load *l, uint32_t rate)
{
    return due_before(l, rate, 0);
}

static uint64_t full_due(const struct load *l)
{
    const uint64_t n = l->p.rate != 0 ? due(l, l->p.rate) : UINT64_MAX;
    return l->stop_asking ? MIN(n, l->full.last) : n;
}

void load_full_stop(struct load *l)
{
    l->full.last = l->p.rate != 0 ? due(l, l->p.rate) : l->full.slots;
}

bool load_full_ended(const struct load *l)
{
    return l->full.slots >= l->full.last && l->in_flight == 0 && l->full.lives_n == 0;
}

int load_full_init(struct load *l)
{
    if (l->p.life_ms == 0 || l->p.tuples == 0)
        return 0;
    l->full.lives = calloc(l->p.tuples, sizeof(l->full.lives[0]));
    return l->full.lives == NULL ? -1 : 0;
}

bool load_full_lives(struct load *l, uint32_t i)
{
    struct load_full *f = &l->full;
    if (f->lives == NULL || f->lives_n == l->p.tuples)
        return false;
    const uint32_t at = (uint32_t)(((uint64_t)f->lives_first + f->lives_n++) % l->p.tuples);
    l->conns[i].sent_ms = l->now_ms;
    f->lives[at] = (struct load_life){i, l->now_ms};
    l->c.lives_most = MAX(l->c.lives_most, f->lives_n);
    return true;
}

static bool is_free(const struct load *l, const struct load_conn *c)
{
    return c->state == LOAD_TIME_WAIT ? l->now_ms - c->sent_ms >= l->p.time_wait_ms
                                      : load_is_over(c->state);
}

// The next free address and port; UINT32_MAX: none. They are used in rotation, so those after one
// in TIME-WAIT are in TIME-WAIT for longer. Those still in use are skipped.
static uint32_t next_tuple(struct load *l)
{
    for (unsigned n = 0; n < BUSY_MAX; n++) {
        const uint32_t i = l->full.next;
        const struct load_conn *c = &l->conns[i];
        const bool is_ours = is_free(l, c);
        if (!is_ours && c->state == LOAD_TIME_WAIT)
            break;
        l->full.next = i + 1 == l->p.connections ? l->held : i + 1;
        if (is_ours)
            return i;
    }
    return UINT32_MAX;
}

// Gives up connections that have been due for more than LOAD_LATE_US, or give_up_ms.
static void give_up_late(struct load *l, uint64_t n_due)
{
    const uint64_t late_us = l->p.give_up_ms != 0 ? l->p.give_up_ms * 1000 : LOAD_LATE_US;
    const uint64_t late = MIN(due_before(l, l->p.rate, 1000 * late_us), n_due);
    if (likely(late <= l->full.slots))
        return;
    l->c.client_late += late - l->full.slots;
    l->full.slots = late;
}

static uint64_t since_ns(const struct load *l)
{
    return l->p.rate == 0 ? l->now_ns
                          : l->full.from_ns + (uint64_t)((unsigned __int128)l->full.slots *
                                                         1000000000 / l->p.rate);
}

// The number of connections that may be opened or used now, apart from the window.
static uint32_t room(const struct load *l)
{
    const uint32_t entries = load_wait_room(l) / ENTRIES_EACH;
    const uint32_t taken = l->in_flight + AT_ONCE;
    return entries <= taken ? 0 : LOAD_OUT_MAX - l->n_out;
}

// Closes connections after life_ms, which is the same for all, so that the oldest one is at the
// head of the ring. Entries of failed connections are skipped.
static void end_lives(struct load *l)
{
    struct load_full *f = &l->full;
    uint32_t n = MIN(load_asks_more(l), (uint32_t)AT_ONCE);
    n = MIN(n, room(l));
    while (n != 0 && f->lives_n != 0) {
        const struct load_life *life = &f->lives[f->lives_first];
        if (l->now_ms - life->since_ms < l->p.life_ms)
            break;
        const struct load_conn *c = &l->conns[life->conn];
        if (c->state == LOAD_IDLE && c->sent_ms == life->since_ms) {
            load_start(l, life->conn, LOAD_FIN_WAIT, c->sent_ns);
            n--;
        }
        f->lives_first = f->lives_first + 1 == l->p.tuples ? 0 : f->lives_first + 1;
        f->lives_n--;
        if (f->lives_n > AT_ONCE)
            prefetch0_w(&l->conns[f->lives[(f->lives_first + 16) % l->p.tuples].conn]);
    }
}

static void begin_full(struct load *l)
{
    const uint64_t n_due = full_due(l);
    uint32_t n = MIN(load_asks_more(l), (uint32_t)AT_ONCE);
    n = MIN(n, room(l));
    for (uint32_t k = 0; k < n && l->full.slots < n_due && load_give_up_room(l); k++) {
        const uint32_t i = next_tuple(l);
        if (unlikely(i == UINT32_MAX)) {
            l->c.client_no_tuple++;
            break;
        }
        prefetch0_w(&l->conns[i] + 16);
        load_start(l, i, LOAD_OPENING, since_ns(l));
        load_give_up_note(l, i, since_ns(l));
        l->c.full_begun++;
        l->full.slots++;
    }
    give_up_late(l, n_due);
}

// Sends requests on held connections in random order, in passes with one request for each.
static void ask_held(struct load *l)
{
    const uint64_t n_due = due(l, l->p.asks);
    uint32_t pick[ASKS_AT_ONCE];
    uint32_t n = (uint32_t)MIN(n_due - l->full.asks, (uint64_t)ASKS_AT_ONCE);
    n = MIN(n, MIN(room(l), load_asks_more(l)));
    for (uint32_t k = 0; k < n; k++) {
        pick[k] = load_permute((uint32_t)((l->full.asks + k) % l->held), l->held,
                               l->p.seed + (l->full.asks + k) / l->held);
        prefetch0_w(&l->conns[pick[k]]);
    }
    for (uint32_t k = 0; k < n; k++)
        if (l->conns[pick[k]].state == LOAD_IDLE)
            load_start(l, pick[k], LOAD_ASKED, l->now_ns);
    l->full.asks += n;
}

bool load_is_flood(const struct load *l, uint32_t low)
{
    const uint32_t behind = low - l->first_low - (load_host(l->p.connections - 1) + 1);
    return l->p.flood != 0 && behind < LOAD_FLOOD_HOSTS;
}

static void flood(struct load *l)
{
    const uint64_t n_due = due(l, l->p.flood);
    const uint32_t first = load_host(l->p.connections - 1) + 1;
    uint32_t n = (uint32_t)MIN(n_due - l->full.floods, (uint64_t)FLOOD_AT_ONCE);
    n = MIN(n, LOAD_OUT_MAX - l->n_out);
    for (uint32_t k = 0; k < n; k++) {
        const uint64_t r = (l->full.rng += 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        load_flood_syn(l, first + (uint32_t)(r >> 48),
                       (uint16_t)(LOAD_PORT_FIRST + (r >> 32 & 0xffff) % LOAD_PORTS),
                       (uint32_t)(r >> 16));
    }
    l->c.flood_syns += n;
    // If the flood is behind its rate, it does not catch up in bursts.
    l->full.floods = MAX(l->full.floods + n, n_due - MIN(n_due, (uint64_t)FLOOD_AT_ONCE * 16));
}

static_assert(LOAD_FLOOD_HOSTS == 1 << 16, "16 bits of a random number");

void load_full_turn(struct load *l)
{
    if (l->full.lives != NULL)
        end_lives(l);
    load_give_up_late(l);
    begin_full(l);
    if (l->p.asks != 0 && l->held != 0 && !l->stop_asking)
        ask_held(l);
    if (l->p.flood != 0 && !l->stop_asking)
        flood(l);
}
