// SPDX-License-Identifier: BSD-3-Clause
#include "server/reload_thread.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "confine/identity.h"
#include "confine/violation.h"
#include "server/app_threads.h"
#include "server/server_internal.h"

struct reload_thread {
    struct server *server;
    bool busy;
    pthread_t thread;
    struct own_thread own;
    void *object;              // to be released; NULL: the task is `read`
    struct shared_bool ended;  // release: the result is complete
    struct reload_result result;
};

static struct c10m_service *service_of(const struct reload_thread *t)
{
    return &t->server->services[t->result.service];
}

struct reload_thread *reload_thread_new(struct server *s)
{
    struct reload_thread *t = calloc(1, sizeof(*t));
    if (t != NULL)
        t->server = s;
    return t;
}

bool reload_thread_busy(const struct reload_thread *t)
{
    return t->busy;
}

static void call_place(const void *arg, char *text, size_t n)
{
    snprintf(text, n, "reload of service %s", service_of(arg)->name);
}

static void thread_place(const struct own_thread *own, char *text, size_t n)
{
    const char *t = (const char *)own - offsetof(struct reload_thread, own);
    call_place(t, text, n);
}

static void run_task(struct reload_thread *t)
{
    struct c10m_service *s = service_of(t);
    struct reload_result *r = &t->result;
    if (t->object != NULL) {
        s->app->reload->release(s, t->object);
        malloc_trim(0);
    } else {
        r->rc = s->app->reload->read(s, &r->made, r->text, sizeof(r->text));
    }
    r->released = t->object != NULL;
}

static void *run(void *arg)
{
    struct reload_thread *t = arg;
    const struct violation_place here = {call_place, t};
    if (geteuid() != 0)  // a server that stays root reads the files as its start did
        identity_no_capabilities();
    own_thread_begin(&t->own);
    if (t->server->params.calls != CALLS_OFF)
        violation_accept(&here);
    run_task(t);
    own_thread_end();
    shared_bool_store_release(&t->ended, true);  // pairs with reload_thread_take()
    return NULL;
}

// The thread gets no signals, which are for the control thread.
static int start(struct reload_thread *t, unsigned service, void *object, struct err *err)
{
    sigset_t all, before;
    CHECK(!t->busy);
    t->result = (struct reload_result){.service = service};
    t->object = object;
    t->own.place = thread_place;
    shared_bool_store(&t->ended, false);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&t->thread, NULL, run, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set(err, "no thread: %s", strerror(rc));
    t->busy = true;
    pthread_setname_np(t->thread, "c10m-reload");
    server_thread_cpus(&t->server->params, t->thread);
    return 0;
}

int reload_thread_read(struct reload_thread *t, unsigned service, struct err *err)
{
    return start(t, service, NULL, err);
}

int reload_thread_release(struct reload_thread *t, unsigned service, void *object, struct err *err)
{
    return start(t, service, object, err);
}

bool reload_thread_take(struct reload_thread *t, struct reload_result *r)
{
    if (!t->busy || !shared_bool_load_acquire(&t->ended))  // pairs with run()
        return false;
    pthread_join(t->thread, NULL);
    t->busy = false;
    *r = t->result;
    return true;
}

void reload_thread_free(struct reload_thread *t)
{
    if (t == NULL)
        return;
    if (t->busy) {
        struct c10m_service *s = service_of(t);
        shared_bool_store(&s->reload_stops, true);
        pthread_join(t->thread, NULL);
        if (t->object == NULL && t->result.rc == 0)
            s->app->reload->release(s, t->result.made);
    }
    free(t);
}
