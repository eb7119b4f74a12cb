// SPDX-License-Identifier: BSD-3-Clause
#include "server/orders.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "server/server_memory.h"

// job: an order that is being executed. `open` has a bit for each worker that has not answered.
struct job {
    TAILQ_ENTRY(job) link;
    struct order order;
    orders_done *done;
    void *arg;
    uint64_t open;
    struct order_answer answer;
};

enum holds { HOLDS_NOTHING, HOLDS_SETTINGS, HOLDS_JOB };

// desk: the control thread's view of one worker.
struct desk {
    struct worker *w;
    struct job *job;    // in its slot, with HOLDS_JOB; NULL: its job was given up
    enum holds holds;   // what is in its slot
    uint64_t version;   // of the settings that it has, or has in its slot
    uint32_t looked;    // at the last look
    uint64_t moved_ms;  // when it did something last, or was given something
};

struct orders {
    const struct server *server;
    unsigned n_jobs, n_desks;
    TAILQ_HEAD(job_list, job) jobs;  // the oldest first
    struct order_settings settings;
    uint64_t version;
    struct desk desks[SERVER_WORKERS_MAX];
};

static struct order_settings settings_of(const struct server_params *p)
{
    struct order_settings s = {.cfg = p->tcp};
    for (unsigned i = 0; i < p->n_services; i++) {
        const struct tcp_service *sv = &p->services[i].tcp;
        s.services[i].state = sv->state;
        s.services[i].connections_max = sv->connections_max;
        s.services[i].source_max = sv->source_max;
        s.services[i].keepalive_ms = sv->keepalive_ms;
        s.services[i].keepalive_interval_ms = sv->keepalive_interval_ms;
        s.services[i].keepalive_probes = sv->keepalive_probes;
        s.services[i].user_timeout_ms = sv->user_timeout_ms;
    }
    return s;
}

struct orders *orders_new(const struct server *s)
{
    struct orders *o = calloc(1, sizeof(*o));
    if (o == NULL)
        return NULL;
    o->server = s;
    o->settings = settings_of(server_params_of(s));
    o->n_desks = server_workers(s);
    TAILQ_INIT(&o->jobs);
    for (unsigned i = 0; i < o->n_desks; i++)
        o->desks[i].w = server_worker(s, i);
    return o;
}

static void job_end(struct orders *o, struct job *j)
{
    TAILQ_REMOVE(&o->jobs, j, link);
    o->n_jobs--;
    for (unsigned i = 0; i < o->n_desks; i++)
        if (o->desks[i].job == j)
            o->desks[i].job = NULL;
}

void orders_free(struct orders *o)
{
    if (o == NULL)
        return;
    for (struct job *j; (j = TAILQ_FIRST(&o->jobs)) != NULL; free(j))
        job_end(o, j);
    free(o);
}

int orders_post(struct orders *o, const struct order *order, orders_done *done, void *arg)
{
    struct job *j = o->n_jobs == ORDERS_MAX ? NULL : calloc(1, sizeof(*j));
    if (j == NULL)
        return -EBUSY;
    j->order = *order;
    j->done = done;
    j->arg = arg;
    j->open = o->n_desks == 64 ? UINT64_MAX : (UINT64_C(1) << o->n_desks) - 1;
    j->answer.workers = o->n_desks;
    TAILQ_INSERT_TAIL(&o->jobs, j, link);
    o->n_jobs++;
    return 0;
}

struct order_settings *orders_settings(struct orders *o)
{
    return &o->settings;
}

void orders_set(struct orders *o)
{
    o->version++;
}

int orders_lagging(const struct orders *o)
{
    for (unsigned i = 0; i < o->n_desks; i++)
        if (o->desks[i].version != o->version || o->desks[i].holds == HOLDS_SETTINGS)
            return (int)i;
    return -1;
}

static void answered(struct job *j, unsigned desk, const struct order_box *box)
{
    struct order_answer *a = &j->answer;
    j->open &= ~(UINT64_C(1) << desk);
    a->count += box->count;
    a->looked += shared_u32_load(&box->looked);
    a->done += box->error == 0;
    if (a->error == 0)
        a->error = box->error;
}

// Only called while the control thread owns the slot: the previous order is done.
static void take(struct orders *o, unsigned i)
{
    struct desk *d = &o->desks[i];
    if (d->holds == HOLDS_JOB && d->job != NULL)
        answered(d->job, i, &d->w->box);
    d->holds = HOLDS_NOTHING;
    d->job = NULL;
}

static void give(struct desk *d, const struct order *order, enum holds holds, uint64_t now_ms)
{
    struct order_box *box = &d->w->box;
    box->order = *order;
    shared_u32_store(&box->looked, 0);
    box->count = 0;
    box->error = 0;
    d->holds = holds;
    d->looked = 0;
    d->moved_ms = now_ms;
    // Release: pairs with the worker's acquire.
    shared_u32_store_release(&box->asked, shared_u32_load(&box->asked) + 1);
    worker_wake(d->w);
}

static void give_settings(struct orders *o, unsigned i, uint64_t now_ms)
{
    const struct server_params *p = server_params_of(o->server);
    struct order order = {.kind = ORDER_SETTINGS, .settings = o->settings};
    for (unsigned k = 0; k < p->n_services; k++) {
        order.settings.services[k].connections_max =
            server_part(p, o->settings.services[k].connections_max, i);
        order.settings.services[k].source_max =
            server_part(p, o->settings.services[k].source_max, i);
    }
    give(&o->desks[i], &order, HOLDS_SETTINGS, now_ms);
    o->desks[i].version = o->version;
}

static void hand_out(struct orders *o, unsigned i, uint64_t now_ms)
{
    struct desk *d = &o->desks[i];
    struct job *j;
    if (d->version != o->version) {
        give_settings(o, i, now_ms);
        return;
    }
    TAILQ_FOREACH(j, &o->jobs, link)
    if (j->open >> i & 1)
        break;
    if (j == NULL)
        return;
    d->job = j;
    give(d, &j->order, HOLDS_JOB, now_ms);
}

static void look(struct orders *o, unsigned i, uint64_t now_ms)
{
    struct desk *d = &o->desks[i];
    const struct order_box *box = &d->w->box;
    // Acquire: pairs with the worker's release, which follows the writing of the answer.
    if (shared_u32_load_acquire(&box->done) == shared_u32_load(&box->asked)) {
        take(o, i);
        hand_out(o, i, now_ms);
        return;
    }
    const uint32_t looked = shared_u32_load(&box->looked);
    if (looked != d->looked)
        d->moved_ms = now_ms;
    d->looked = looked;
}

static bool hangs(const struct desk *d, uint64_t now_ms)
{
    return d->holds != HOLDS_NOTHING && now_ms - d->moved_ms >= ORDERS_TIMEOUT_MS;
}

// Stops waiting for workers that do not answer.
static void give_up(struct orders *o, struct job *j, uint64_t now_ms)
{
    for (unsigned i = 0; i < o->n_desks; i++) {
        if ((j->open >> i & 1) == 0 || !hangs(&o->desks[i], now_ms))
            continue;
        j->open &= ~(UINT64_C(1) << i);
        if (j->answer.error != -ETIMEDOUT)
            j->answer.late = i;
        j->answer.error = -ETIMEDOUT;
    }
}

static void end_jobs(struct orders *o, uint64_t now_ms)
{
    struct job_list over = TAILQ_HEAD_INITIALIZER(over);
    for (struct job *j = TAILQ_FIRST(&o->jobs), *next; j != NULL; j = next) {
        next = TAILQ_NEXT(j, link);
        give_up(o, j, now_ms);
        if (j->open != 0)
            continue;
        job_end(o, j);
        TAILQ_INSERT_TAIL(&over, j, link);
    }
    for (struct job *j; (j = TAILQ_FIRST(&over)) != NULL; free(j)) {
        TAILQ_REMOVE(&over, j, link);
        if (j->done != NULL)
            j->done(j->arg, &j->answer);
    }
}

bool orders_poll(struct orders *o, uint64_t now_ms)
{
    for (unsigned i = 0; i < o->n_desks; i++)
        look(o, i, now_ms);
    end_jobs(o, now_ms);
    return o->n_jobs != 0 || orders_lagging(o) >= 0;
}
