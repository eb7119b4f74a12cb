// SPDX-License-Identifier: BSD-3-Clause
// mutex: threads that would have to wait for another one. There is no lock between them: rings take
// the place of one, and who finds a ring full does not wait, but drops and counts.
#include "prof/prof_frames.h"
#include "prof/prof_kinds.h"
#include "prof/reading.h"
#include "server/server_log.h"
#include "worker/handoff.h"

static void put(const struct reading *r, struct frames *f, int64_t contentions)
{
    const int64_t values[CONTENTION_TYPES] = {contentions, 0};
    if (contentions != 0)
        frames_put(f, r->profile, values);
}

// put_handed: packets that this worker received for others, whose rings were full.
static void put_handed(const struct reading *r, unsigned worker, unsigned port, int64_t sign)
{
    const struct server *s = r->shown.server;
    struct handoff_counts c;
    struct frames f = {.n = 0};
    if (server_handoff(s, port) == NULL)
        return;
    handoff_read(server_handoff(s, port), worker, &c);
    frames_add(&f, "ring to another worker full");
    frames_add(&f, "port %s", server_port(s, port)->name);
    frames_add(&f, "core %s", frames_core(&f, s, worker));
    put(r, &f, sign * (int64_t)c.lost);
}

// put_messages: messages between a worker and the thread of an application that were refused.
static void put_messages(const struct reading *r, unsigned worker, unsigned service, int64_t sign)
{
    const struct server *s = r->shown.server;
    const struct worker_box *box = &server_worker(s, worker)->boxes[service];
    const uint64_t full[] = {shared_u64_load(&box->in_full), shared_u64_load(&box->out_full)};
    static const char *const names[] = {"ring to the worker full", "ring to the thread full"};
    for (unsigned i = 0; i < ARRAY_LEN(full); i++) {
        struct frames f = {.n = 0};
        frames_add(&f, "%s", names[i]);
        frames_service(&f, s, service);
        frames_add(&f, "core %s", frames_core(&f, s, worker));
        put(r, &f, sign * (int64_t)full[i]);
    }
}

// put_logged: records for the access log that had no room in the ring to the control thread.
static void put_logged(const struct reading *r, unsigned service, int64_t sign)
{
    struct frames f = {.n = 0};
    uint64_t handed, lost;
    server_log_counts(r->shown.server, service, &handed, &lost);
    frames_add(&f, "ring to the log full");
    frames_service(&f, r->shown.server, service);
    put(r, &f, sign * (int64_t)lost);
}

static void read_waits(const struct reading *r, int64_t sign)
{
    const struct server_params *p = server_params_of(r->shown.server);
    for (unsigned w = 0; w < p->n_workers; w++)
        for (unsigned i = 0; i < p->n_ports; i++)
            put_handed(r, w, i, sign);
    for (unsigned w = 0; w < p->n_workers; w++)
        for (unsigned i = 0; i < p->n_services; i++)
            put_messages(r, w, i, sign);
    for (unsigned i = 0; i < p->n_services; i++)
        if (p->services[i].app->log != NULL)
            put_logged(r, i, sign);
    if (sign > 0)
        profile_comment(r->profile, "workers share no lock: a full ring means a loss, counted "
                                    "here, and no delay");
}

static const struct reading_kind mutex = {
    .title = "mutex",
    .params = CONTENTION_PARAMS(CONTENTIONS),
    .brief = true,
    .read = read_waits,
};

READING_KIND(
    mutex,
    .help = "rings between threads that were full. Workers share no lock and never wait for each "
            "other, so the delay is 0, and the profile is empty unless something was lost.");
