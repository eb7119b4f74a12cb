// SPDX-License-Identifier: BSD-3-Clause
#include "server/app_threads.h"

#include <errno.h>
#include <pthread.h>
#include <rte_ring.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "confine/identity.h"
#include "server/server_internal.h"
#include "worker/messages.h"

static uint64_t ring_bytes(void)
{
    return ALIGN_UP((uint64_t)rte_ring_get_memsize(THREAD_RING_SLOTS), CACHE_LINE);
}

unsigned server_threads(const struct server_params *p)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->n_services; i++)
        n += p->services[i].app->thread != NULL;
    return n;
}

uint64_t server_thread_footprint(const struct server_params *p)
{
    return server_threads(p) * 2 * ring_bytes();
}

static struct rte_ring *ring_init(uint8_t **mem)
{
    struct rte_ring *r = (struct rte_ring *)*mem;
    CHECK(rte_ring_init(r, "messages", THREAD_RING_SLOTS, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    *mem += ring_bytes();
    return r;
}

void server_thread_init(const struct server_params *p, struct worker *w, uint8_t *mem)
{
    for (unsigned i = 0; i < p->n_services; i++) {
        if (p->services[i].app->thread == NULL)
            continue;
        w->boxes[i].in = ring_init(&mem);
        w->boxes[i].out = ring_init(&mem);
        w->boxed[w->n_boxed++] = (uint8_t)i;
    }
}

bool c10m_thread_stopping(const struct c10m_service *s)
{
    return shared_bool_load_acquire(&server_of(s)->threads_stop);
}

// The rings between the service and this worker; NULL: there is no such worker.
static struct worker_box *box_of(const struct c10m_service *s, unsigned worker)
{
    const struct server *server = server_of(s);
    return worker < server->params.n_workers ? &server->workers[worker]->boxes[s->ix] : NULL;
}

bool c10m_post(struct c10m_service *s, unsigned worker, void *msg)
{
    struct worker_box *box = box_of(s, worker);
    if (box == NULL || box->in == NULL || s->app->message == NULL)
        return false;
    if (rte_ring_sp_enqueue(box->in, msg) == 0) {
        worker_wake(server_of(s)->workers[worker]);
        return true;
    }
    shared_u64_store(&box->in_full, shared_u64_load(&box->in_full) + 1);
    return false;
}

unsigned c10m_take(struct c10m_service *s, unsigned worker, void **msgs, unsigned max)
{
    const struct worker_box *box = box_of(s, worker);
    if (box == NULL || box->out == NULL)
        return 0;
    return rte_ring_sc_dequeue_burst(box->out, msgs, max, NULL);
}

static void place(const void *service, char *text, size_t n)
{
    snprintf(text, n, "thread of service %s", ((const struct c10m_service *)service)->name);
}

static _Thread_local const struct c10m_service *mine;  // of the thread of an application

static void thread_place(const struct own_thread *t, char *text, size_t n)
{
    snprintf(text, n, "thread of service %s, application %s", mine->name, mine->app->name);
}

static void *run(void *service)
{
    struct c10m_service *s = service;
    const struct violation_place here = {place, s};
    identity_no_capabilities();
    mine = s;
    server_of(s)->own_threads[s->ix].place = thread_place;
    own_thread_begin(&server_of(s)->own_threads[s->ix]);
    if (server_of(s)->params.calls != CALLS_OFF)
        violation_accept(&here);
    s->app->thread(s);
    own_thread_end();
    return NULL;
}

void server_thread_cpus(const struct server_params *p, pthread_t thread)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(p->linux_cpu, &cpus);
    for (unsigned i = 0; i < p->n_linux_cpus; i++)
        CPU_SET(p->linux_cpus[i], &cpus);
    pthread_setaffinity_np(thread, sizeof(cpus), &cpus);
}

static int start(struct server *s, unsigned ix, struct err *err)
{
    struct c10m_service *sv = &s->services[ix];
    const int rc = pthread_create(&s->threads[ix], NULL, run, sv);
    if (rc != 0)
        return err_set(err, "service %s: no thread: %s", sv->name, strerror(rc));
    char name[16];  // what Linux keeps of it
    snprintf(name, sizeof(name), "%.15s", sv->name);
    pthread_setname_np(s->threads[ix], name);
    server_thread_cpus(&s->params, s->threads[ix]);
    return 0;
}

// The threads get no signals, which are for the control thread, and for a port; except SIGPROF
// while a CPU profile is taken.
int server_threads_start(struct server *s, struct err *err)
{
    sigset_t all, before;
    int rc = 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; s->n_threads < s->params.n_services && rc == 0; s->n_threads += rc == 0)
        if (s->services[s->n_threads].app->thread != NULL)
            rc = start(s, s->n_threads, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

void server_threads_stop(struct server *s)
{
    shared_bool_store_release(&s->threads_stop, true);
    while (s->n_threads > 0)
        if (s->services[--s->n_threads].app->thread != NULL)
            pthread_join(s->threads[s->n_threads], NULL);
}
