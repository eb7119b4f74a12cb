// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/stop_workers.h"

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signals.h"
#include "worker/worker.h"

// watch: a thread that observes the end of the workers.
struct watch {
    struct server *s;
    const char *run_dir;
    int crash;
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool over;
};

static bool has_ended(const struct worker *w)
{
    return shared_u32_load_acquire(&w->state) == WORKER_STOPPED;
}

static bool is_ordered(const struct worker *w)
{
    return shared_u32_load(&w->order) != WORKER_RUN;
}

// A value that changes as long as the workers make progress in stopping.
static uint64_t progress(const struct server *s)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < server_workers(s); i++) {
        const struct worker *w = server_worker(s, i);
        n += peek_u32(&w->stop_cursor);
        n += (has_ended(w) + (uint64_t)is_ordered(w)) << 32;
    }
    return n;
}

static void say_who(const struct server *s)
{
    bool any = false;
    for (unsigned i = 0; i < server_workers(s); i++) {
        const struct worker *w = server_worker(s, i);
        if (has_ended(w) || !is_ordered(w))
            continue;
        const unsigned at = shared_u32_load(&w->at);
        const uint8_t serving = shared_u8_load(&w->sock.serving);
        const bool in_app = (at == STAGE_app || at == STAGE_timers) && serving < w->tcp.n_services;
        log_line(LOG_ERROR, "the worker on CPU %u hangs in stage %s%s%s", w->cpu,
                 at < STAGE_COUNT ? stat_stage_names[at].name : "?", in_app ? " of service " : "",
                 in_app ? w->sock.services[serving].name : "");
        any = true;
    }
    if (!any)
        log_line(LOG_ERROR, "the thread of an application has not returned");
    log_line(LOG_ERROR, "no progress in stopping for %d s: the process exits",
             STOP_STUCK_MS / 1000);
}

static void *run(void *arg)
{
    struct watch *w = arg;
    uint64_t last = progress(w->s);
    int still_ms = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->over) {
        struct timespec at;
        clock_gettime(CLOCK_MONOTONIC, &at);
        at.tv_nsec += STOP_LOOK_MS * 1000000;
        at.tv_sec += at.tv_nsec / 1000000000;
        at.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&w->cond, &w->lock, &at);
        const uint64_t now = progress(w->s);
        still_ms = now == last ? still_ms + STOP_LOOK_MS : 0;
        last = now;
        if (w->over || still_ms < STOP_STUCK_MS)
            continue;
        say_who(w->s);
        server_abandon(w->s);
        rmdir(w->run_dir);
        signals_end_by(w->crash);
        _exit(1);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

void ctl_stop_workers(struct server *s, const char *run_dir, int crash)
{
    struct watch w = {
        .s = s, .run_dir = run_dir, .crash = crash, .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_condattr_t attr;
    pthread_t thread;
    sigset_t all, before;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&w.cond, &attr);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool watched = pthread_create(&thread, NULL, run, &w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    server_stop_workers(s);
    if (watched) {
        pthread_mutex_lock(&w.lock);
        w.over = true;
        pthread_cond_signal(&w.cond);
        pthread_mutex_unlock(&w.lock);
        pthread_join(thread, NULL);
    }
    pthread_cond_destroy(&w.cond);
    pthread_condattr_destroy(&attr);
}
