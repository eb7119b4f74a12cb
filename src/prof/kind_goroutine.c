// SPDX-License-Identifier: BSD-3-Clause
// goroutine: connections, by state, by what they wait for, by application and service.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prof/conn_waits.h"
#include "prof/goroutine.h"
#include "prof/prof_frames.h"
#include "prof/prof_kinds.h"
#include "server/conn_filter.h"

enum { NO_SERVICE = TCP_SERVICES_MAX };

// counts: of one worker.
struct counts {
    uint64_t n[NO_SERVICE + 1][TCP_STATE_COUNT][CONN_WAITS_COUNT];
};

// counting: a walk that counts.
struct counting {
    const struct server *s;
    struct goroutine_filter filter;
    struct counts *of_workers;
};

int goroutine_filter_parse(const struct prof_shown *s, const struct prof_query *q,
                           struct goroutine_filter *out, struct err *err)
{
    char line[GOROUTINE_FILTER_BYTES];
    *out = (struct goroutine_filter){.any = q->filter == NULL || q->filter[0] == '\0'};
    if (out->any)
        return 0;
    if (strlen(q->filter) < sizeof(line)) {
        snprintf(line, sizeof(line), "%s", q->filter);
        if (conn_filter_parse(server_params_of(s->server), line, &out->by) == 0)
            return 0;
    }
    err_set(err,
            "filter=%.64s: expected what ctl/conn/kill takes, for example \"service NAME\", "
            "\"state ESTABLISHED\", \"remote ADDR/BITS\", \"idle SECONDS\"",
            q->filter);
    return -EINVAL;
}

bool goroutine_matches(const struct goroutine_filter *f, const struct server *s,
                       struct conn_seen *seen)
{
    return f->any ||
           (seen->kind == CONN_BLOCK &&
            kill_filter_matches(&f->by, seen->view, server_worker(s, seen->worker)->sock.shown,
                                &seen->block));
}

static bool see(void *arg, const struct conn_seen *seen)
{
    const struct counting *c = arg;
    struct counts *of = &c->of_workers[seen->worker];
    struct conn_seen copy = *seen;
    if (!goroutine_matches(&c->filter, c->s, &copy))
        return true;
    if (seen->kind == CONN_SYN)
        of->n[MIN(seen->syn.service, NO_SERVICE)][TCP_SYN_RECEIVED][CONN_WAITS_HANDSHAKE]++;
    else if (seen->kind == CONN_BLOCK)
        of->n[seen->block.service][MIN(seen->block.state, TCP_STATE_COUNT - 1)]
             [conn_waits_of(&seen->block)]++;
    else
        of->n[NO_SERVICE][TCP_TIME_WAIT][CONN_WAITS_TIMER]++;
    return true;
}

static void put(const struct reading *r, unsigned worker, unsigned service, unsigned state,
                unsigned waits, int64_t n)
{
    const struct server *s = r->shown.server;
    struct frames f = {.n = 0};
    if (n == 0)
        return;
    frames_core(&f, s, worker);
    frames_add(&f, "%s", tcp_state_name((enum tcp_state)state));
    frames_add(&f, "waits for %s", conn_waits_names[waits]);
    if (service < server_params_of(s)->n_services)
        frames_service(&f, s, service);
    frames_label(&f, "state", "%s", tcp_state_name((enum tcp_state)state));
    frames_put(&f, r->profile, &n);
}

static void put_worker(const struct reading *r, unsigned worker, const struct counts *c,
                       int64_t sign)
{
    for (unsigned sv = 0; sv <= NO_SERVICE; sv++)
        for (unsigned st = 0; st < TCP_STATE_COUNT; st++)
            for (unsigned k = 0; k < CONN_WAITS_COUNT; k++)
                put(r, worker, sv, st, k, sign * (int64_t)c->n[sv][st][k]);
}

static void read_counts(const struct reading *r, int64_t sign)
{
    const unsigned workers = server_workers(r->shown.server);
    struct counting c = {.s = r->shown.server,
                         .of_workers = calloc(workers, sizeof(struct counts))};
    struct err err;
    if (c.of_workers == NULL) {
        profile_lose(r->profile, 1);
        return;
    }
    goroutine_filter_parse(&r->shown, &r->query, &c.filter, &err);
    conn_walk_all(c.s, &r->over, see, &c);
    for (unsigned w = 0; w < workers; w++)
        put_worker(r, w, &c.of_workers[w], sign);
    free(c.of_workers);
}

static int check(const struct prof_shown *s, const struct prof_query *q, struct err *err)
{
    struct goroutine_filter f;
    return goroutine_filter_parse(s, q, &f, err);
}

static const struct reading_kind goroutine = {
    .title = "goroutine",
    .params = {.n_types = 1,
               .types = {{"goroutine", "count"}},
               .period_type = {"goroutine", "count"},
               .period = 1},
    .read = read_counts,
    .list = goroutine_list,
    .check = check,
};

// count: what there is now, by the workers' counters.
static uint64_t count(const struct prof_shown *s)
{
    uint64_t n = 0;
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        const struct core_counters *c = &server_worker(s->server, w)->stats->c;
        n += stat_load(&c->connections_now) + stat_load(&c->syn_records_now) +
             stat_load(&c->time_wait_now);
    }
    return n;
}

READING_KIND(
    goroutine,
    .help = "connections in the place of goroutines, half-open and TIME-WAIT ones included: their "
            "state and what they wait for, by application and service. debug=1: counts as text; "
            "debug=2: a list of single ones, of which filter= selects with the words of "
            "ctl/conn/kill.",
    .count = count);
