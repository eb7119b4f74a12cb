// SPDX-License-Identifier: BSD-3-Clause
#include "server/stage_watch.h"

#include <inttypes.h>
#include <stdlib.h>

#include "server/server.h"

// watched: one worker. turns: those that had ended at the last look.
struct watched {
    uint64_t turns;
    struct stage_looks looks;
};

struct stage_watch {
    const struct server *server;
    unsigned n;
    struct watched of[];
};

struct stage_watch *stage_watch_new(const struct server *s)
{
    const unsigned n = server_workers(s);
    struct stage_watch *p = calloc(1, sizeof(*p) + n * sizeof(p->of[0]));
    if (p == NULL)
        return NULL;
    p->server = s;
    p->n = n;
    return p;
}

void stage_watch_free(struct stage_watch *p)
{
    free(p);
}

// has_work: whether the turn has found work so far; before its rx stage has ended, the turn before.
static bool has_work(const struct worker *w)
{
    return (peek_u32(&w->n_rx) | peek_u32(&w->tcp.n_out) | peek_u32(&w->n_expired) |
            peek_u32(&w->ordered)) != 0;
}

static void look(const struct worker *w, struct watched *of, uint64_t periods)
{
    const uint32_t at = shared_u32_load(&w->at);
    const uint8_t serving = shared_u8_load(&w->sock.serving);
    const uint64_t turns = stat_load(&w->stats->c.turns);
    const bool served = serving < TCP_SERVICES_MAX;
    const bool sleeps = shared_u32_load(&w->idle_wait.wake.asleep) != 0;
    const bool hangs = turns == of->turns && turns != 0 && !sleeps;
    const bool works = served || hangs || has_work(w);
    const uint32_t stage = at < STAGE_COUNT && works ? at : STAGE_idle;
    of->looks.n[stage][served ? serving : TCP_SERVICES_MAX] += periods;
    of->turns = turns;
}

void stage_watch_poll(struct stage_watch *p, uint64_t periods)
{
    for (unsigned i = 0; i < p->n; i++) {
        const struct worker *w = server_worker(p->server, i);
        if (shared_u32_load_acquire(&w->state) == WORKER_RUNNING)  // release in begin()
            look(w, &p->of[i], periods);
    }
}

const struct stage_looks *stage_watch_looks(const struct stage_watch *p, unsigned worker)
{
    return &p->of[worker].looks;
}

static uint64_t looks_of(const struct stage_looks *l, unsigned stage)
{
    uint64_t sum = 0;
    for (unsigned s = 0; s < STAGE_WATCH_SERVICES; s++)
        sum += l->n[stage][s];
    return sum;
}

void stage_watch_render(const struct stage_watch *p, unsigned worker, struct text *out)
{
    const struct stage_looks *l = &p->of[worker].looks;
    uint64_t all = 0;
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        all += looks_of(l, i);
    for (unsigned i = 0; i < STAGE_COUNT; i++) {
        const uint64_t n = looks_of(l, i);
        text_printf(out, "%s_looks %" PRIu64 "\n%s_share_percent %.2f\n", stat_stage_names[i].name,
                    n, stat_stage_names[i].name, all == 0 ? 0 : 100 * (double)n / (double)all);
    }
    text_printf(out, "looks %" PRIu64 "\n", all);
}
