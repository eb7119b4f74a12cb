// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/open_watch.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "drivers/eal.h"

struct open_watch {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool over;  // protected by the lock
    uint32_t limit_ms;
    const char *what;
};

static struct timespec deadline(uint32_t ms)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

// watch: the thread that opens the device may hold any lock of DPDK. So this thread calls no
// function of DPDK and no function that atexit() registered.
static void *watch(void *arg)
{
    struct open_watch *w = arg;
    const struct timespec end = deadline(w->limit_ms);
    int rc = 0;
    pthread_mutex_lock(&w->lock);
    while (!w->over && rc == 0)
        rc = pthread_cond_timedwait(&w->ended, &w->lock, &end);
    if (!w->over) {
        log_say(LOG_port, LOG_ERROR, "%s: the driver has not returned for %u ms (open_ms)", w->what,
                w->limit_ms);
        eal_abandon();
        _exit(1);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct open_watch *open_watch_begin(uint32_t limit_ms, const char *what)
{
    struct open_watch *w = calloc(1, sizeof(*w));
    pthread_condattr_t monotonic;
    sigset_t all, before;
    if (w == NULL)
        return NULL;
    w->limit_ms = limit_ms;
    w->what = what;
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    // Signals must reach the control thread.
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int rc = pthread_create(&w->thread, NULL, watch, w);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        return w;
    free(w);
    return NULL;
}

void open_watch_end(struct open_watch *w)
{
    if (w == NULL)
        return;
    pthread_mutex_lock(&w->lock);
    w->over = true;
    pthread_cond_signal(&w->ended);
    pthread_mutex_unlock(&w->lock);
    pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
