// SPDX-License-Identifier: BSD-3-Clause
#include "prof/hang_watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/log.h"
#include "confine/identity.h"
#include "pprof/stack_look.h"
#include "server/app_threads.h"
#include "server/core_name.h"
#include "server/server.h"

enum hang_step {
    HANG_NONE,
    HANG_SEEN,       // not mentioned yet
    HANG_MENTIONED,  // in the log
    HANG_ABORTED,    // the signal was sent
};

// hang: of one worker. turn: the one that does not end.
struct hang {
    enum hang_step step;
    uint64_t turn;
    bool looked;  // its stack was looked at, with or without success
    struct hang_now now;
};

// looking: the thread that looks at a stack. There is one at a time.
struct looking {
    bool runs;
    pthread_t thread;
    unsigned worker;
    uint64_t turn;
    struct own_thread *of;
    struct stack_names names;
    struct shared_bool done;  // release in look(), acquire in take_names()
};

struct hang_watch {
    const struct server *server;
    struct liveness *liveness;
    struct looking looking;
    unsigned n;
    struct hang of[];
};

struct hang_watch *hang_watch_new(const struct server *s, struct liveness *l)
{
    const unsigned n = server_workers(s);
    struct hang_watch *h = calloc(1, sizeof(*h) + n * sizeof(h->of[0]));
    if (h == NULL)
        return NULL;
    h->server = s;
    h->liveness = l;
    h->n = n;
    for (unsigned i = 0; i < n; i++)
        h->of[i].now.names = (struct stack_names){.function = "-"};
    return h;
}

void hang_watch_free(struct hang_watch *h)
{
    if (h != NULL && h->looking.runs)
        pthread_join(h->looking.thread, NULL);
    free(h);
}

const struct hang_now *hang_watch_look(const struct hang_watch *h, unsigned worker)
{
    return &h->of[worker].now;
}

// ---- the thread that looks

static void *look(void *arg)
{
    struct looking *l = arg;
    uint64_t addresses[STACK_LOOK_DEPTH];
    identity_no_capabilities();
    pthread_setname_np(pthread_self(), "hang");
    const unsigned n = stack_look(l->of, addresses, STACK_LOOK_DEPTH, HANG_LOOK_MS);
    stack_names_find(addresses, n, &l->names);
    shared_bool_store_release(&l->done, true);
    return NULL;
}

// start_look: without a thread, the hang is mentioned without names. As a thread that writes a
// profile (prof_run.c), it gets no signals.
static void start_look(struct hang_watch *h, unsigned worker)
{
    struct looking *l = &h->looking;
    sigset_t all, before;
    *l = (struct looking){.worker = worker,
                          .turn = h->of[worker].turn,
                          .of = &server_worker(h->server, worker)->thread};
    h->of[worker].looked = true;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    l->runs = pthread_create(&l->thread, NULL, look, l) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (l->runs)
        server_thread_cpus(server_params_of(h->server), l->thread);
}

static bool is_looked_at(const struct hang_watch *h, unsigned worker)
{
    return h->looking.runs && h->looking.worker == worker;
}

// take_names: when the thread has ended; a worker that went on meanwhile has no names. Those that
// come after the line of the log have one of their own.
static void take_names(struct hang_watch *h)
{
    struct looking *l = &h->looking;
    if (!l->runs || !shared_bool_load_acquire(&l->done))
        return;
    pthread_join(l->thread, NULL);
    l->runs = false;
    struct hang *of = &h->of[l->worker];
    if (of->step == HANG_NONE || of->turn != l->turn)
        return;
    of->now.names = l->names;
    char core[CORE_NAME_BYTES];
    server_core_name(h->server, l->worker, core);
    if (of->step >= HANG_MENTIONED && l->names.calls[0] != '\0')
        log_line(LOG_WARN, "core %s hangs in %s", core, l->names.calls);
}

// ---- what is said and done

static void mention(struct hang_watch *h, unsigned worker, const struct liveness_now *now)
{
    const struct hang *of = &h->of[worker];
    const struct c10m_service *sv = now->service;
    const char *stage = now->stage == STAGE_idle ? "-" : stat_stage_names[now->stage].name;
    char core[CORE_NAME_BYTES];
    server_core_name(h->server, worker, core);
    log_line(LOG_WARN, "core %s hangs for %" PRIu64 " ms in stage %s%s%s%s%s%s%s", core,
             now->for_ms, stage, sv != NULL ? " of service " : "", sv != NULL ? sv->name : "",
             sv != NULL ? ", application " : "", sv != NULL ? sv->app->name : "",
             of->now.names.calls[0] != '\0' ? ": in " : "", of->now.names.calls);
}

// end_process: the signal is for the worker, whose handler says where it is.
static void end_process(const struct hang_watch *h, unsigned worker, const struct liveness_now *now)
{
    const struct worker *w = server_worker(h->server, worker);
    log_line(LOG_ERROR, "service %s hangs and has watchdog = abort: the process ends",
             now->service->name);
    syscall(SYS_tgkill, getpid(), shared_u32_load(&w->thread.tid), SIGABRT);
}

// settle: the worker's turn has ended, or another one hangs.
static void settle(struct hang_watch *h, unsigned worker)
{
    struct hang *of = &h->of[worker];
    char core[CORE_NAME_BYTES];
    server_core_name(h->server, worker, core);
    if (of->step >= HANG_MENTIONED)
        log_line(LOG_INFO, "core %s goes on", core);
    *of = (struct hang){.now = {.hangs = of->now.hangs, .names = {.function = "-"}}};
}

// see: a worker that hangs for the time of its rule, or longer. Returns whether it was mentioned.
static bool see(struct hang_watch *h, unsigned worker, const struct liveness_now *now,
                const struct hang_rule *rule)
{
    struct hang *of = &h->of[worker];
    if (of->step == HANG_NONE) {
        of->step = HANG_SEEN;
        of->turn = now->turn;
    }
    if (!of->looked && !h->looking.runs)
        start_look(h, worker);
    const bool awaits =
        (!of->looked || is_looked_at(h, worker)) && now->for_ms < (uint64_t)rule->ms + HANG_LOOK_MS;
    if (of->step == HANG_SEEN && awaits)
        return false;
    if (of->step == HANG_SEEN) {
        of->step = HANG_MENTIONED;
        of->now.hangs++;
        mention(h, worker, now);
        return true;
    }
    const bool named =
        !is_looked_at(h, worker) || now->for_ms >= (uint64_t)rule->ms + HANG_NAMES_MS;
    if (of->step == HANG_MENTIONED && rule->abort && named && now->service != NULL) {
        of->step = HANG_ABORTED;
        end_process(h, worker, now);
    } else if (of->step == HANG_ABORTED && now->for_ms >= (uint64_t)rule->ms + HANG_ABORT_MS) {
        abort();
    }
    return false;
}

static struct hang_rule rule_of(const struct liveness_now *now, const struct hang_rule *rules,
                                unsigned n_rules)
{
    return now->service != NULL && now->service->ix < n_rules ? rules[now->service->ix]
                                                              : (struct hang_rule){.ms = HANG_MS};
}

bool hang_watch_poll(struct hang_watch *h, const struct hang_rule *rules, unsigned n_rules)
{
    const uint64_t now_ns = liveness_clock_ns();
    bool any = false;
    take_names(h);
    for (unsigned i = 0; i < h->n; i++) {
        struct liveness_now now;
        liveness_look(h->liveness, i, now_ns, &now);
        if (h->of[i].step != HANG_NONE && now.turn != h->of[i].turn)
            settle(h, i);
        const struct hang_rule rule = rule_of(&now, rules, n_rules);
        if (now.state == LIVENESS_STALLED && now.for_ms >= rule.ms)
            any |= see(h, i, &now, &rule);
    }
    return any;
}
