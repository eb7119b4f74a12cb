// SPDX-License-Identifier: BSD-3-Clause
#include "worker/accounting.h"

// find_stage: the longest of the stages that were timed in this turn.
static void find_stage(const struct worker *w, struct stall *s)
{
    s->stage = STAGE_COUNT;
    for (unsigned i = 0; w->timed && i <= STAGE_housekeeping; i++)
        if (w->marks[i + 1] - w->marks[i] >= s->stage_cycles) {
            s->stage = (uint8_t)i;
            s->stage_cycles = w->marks[i + 1] - w->marks[i];
        }
}

// served: the services that a turn has served.
struct served {
    unsigned n;  // events, datagrams and lots of messages
    uint8_t service;
};

static void add_service(struct served *s, uint8_t service)
{
    s->service = s->n++ == 0 || s->service == service ? service : STALL_NO_SERVICE;
}

// service_of: the service of all events, datagrams and messages of the turn; STALL_NO_SERVICE: of
// several. A block may have a new connection by now, of the same service or of another one.
static uint8_t service_of(const struct worker *w)
{
    struct served s = {0, STALL_NO_SERVICE};
    for (uint32_t i = 0; i < w->n_events; i++) {
        const uint32_t ix = w->verdicts[w->events[i]].block;
        if (ix < w->block_count)
            add_service(&s, w->tcp.blocks[ix].service);
    }
    for (uint32_t i = 0; i < w->rx.n_udp; i++)
        add_service(&s, w->rx.udp[i].service);
    if (w->n_messages != 0)
        add_service(&s, w->told_several ? STALL_NO_SERVICE : w->told);
    return s.service;
}

static void note_stall(struct worker *w, uint64_t cycles, bool worked)
{
    struct stall s = {.end_tsc = w->tsc_end,
                      .cycles = cycles,
                      .stage_cycles = 0,
                      .packets = (uint16_t)w->n_rx,
                      .events = (uint16_t)(w->n_events + w->n_messages),
                      .timers = (uint16_t)w->n_expired,
                      .segments = (uint16_t)w->tcp.n_out,
                      .stage = STAGE_idle,
                      .service = STALL_NO_SERVICE};
    if (worked)
        find_stage(w, &s);
    if (s.stage == STAGE_app)  // in other stages the service is not what took long
        s.service = service_of(w);
    stall_put(&w->stalls, &s);
    turn_trace_stall(w, &s);
    w->stats->c.turns_over_100us++;
}

void account_unusual(struct worker *w, struct latency *l, uint64_t cycles, uint32_t n)
{
    if (n != 0 && cycles > l->max_cycles)
        l->max_cycles = cycles;
    l->notice_cycles = MIN(l->max_cycles, w->stall_cycles);
    if (cycles > w->stall_cycles)
        note_stall(w, cycles, l == &w->busy);
}

static inline void raise(uint32_t *highest, uint32_t now)
{
    *highest = MAX(*highest, now);
}

void account_highest(struct worker *w)
{
    struct worker_highest *h = &w->highest;
    raise(&h->time_wait, w->tcp.tw4.used);
    raise(&h->time_wait6, w->tcp.tw6.used);
    raise(&h->timers, w->tcp.wheel->entries);
    raise(&h->flow_entries, w->tcp.table->count);
    raise(&h->dirty, w->tcp.n_dirty);
    const struct buf_pool *b = &w->tcp.bufs;
    raise(&h->references, b->count - b->data_count - b->n_free_refs);
    for (unsigned p = 0; p < w->n_ports; p++)
        raise(&h->tx, w->ports[p].tx.n);
}

void account_gauges(struct worker *w)
{
    w->stats->c.timers_refused = w->tcp.wheel->refused;
    w->stats->c.buffers_now = w->tcp.bufs.data_count - w->tcp.bufs.n_free_data;
}
