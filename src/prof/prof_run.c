// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_run.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "confine/identity.h"
#include "prof/prof_state.h"
#include "server/app_threads.h"

static void release(struct prof_run *r)
{
    if (r->begun)
        r->kind->release(r->state);
    r->begun = false;
}

static void fail(struct prof_run *r)
{
    r->phase = PROF_FAILED;
    if (r->err.text[0] == '\0')
        err_set(&r->err, "%s: failed", r->kind->name);
    text_free(&r->out);
    release(r);
}

// ---- the thread that writes

static void *write_result(void *arg)
{
    struct prof_run *r = arg;
    identity_no_capabilities();
    char name[16];  // what Linux keeps of it
    snprintf(name, sizeof(name), "prof-%.10s", r->kind->name);
    pthread_setname_np(pthread_self(), name);
    setpriority(PRIO_PROCESS, (id_t)gettid(), PROF_NICE);  // Linux: of this thread
    r->rc = r->kind->write(r->state, &r->out, &r->err);
    shared_bool_store_release(&r->written, true);  // read by run_look()
    return NULL;
}

// start_thread: it gets no signals, which are for the control thread, and runs on the Linux cores.
static int start_thread(struct prof_run *r, const struct prof_shown *shown)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&r->thread, NULL, write_result, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set(&r->err, "no thread to write it: %s", strerror(rc));
    if (shown->server != NULL)
        server_thread_cpus(server_params_of(shown->server), r->thread);
    return 0;
}

static void say_no_room(struct prof_run *r)
{
    if (r->out.error == -EDQUOT)
        err_set(&r->err,
                "all results together may have %d MiB, and this one needs more than is left: "
                "expected fewer seconds, or fewer profiles at a time",
                PROF_RESULTS_BYTES_MAX >> 20);
    else
        err_set(&r->err, "the result is larger than %d MiB, or there is no memory: %s",
                PROF_RESULT_BYTES_MAX >> 20, "expected fewer seconds");
}

static void join(struct prof_run *r)
{
    pthread_join(r->thread, NULL);
    if (r->out.error != 0)
        say_no_room(r);
    if (r->rc != 0 || r->out.error != 0) {
        fail(r);
        return;
    }
    r->phase = PROF_READY;
    release(r);
}

void run_look(struct prof_run *r)
{
    if (r->phase == PROF_WRITES && shared_bool_load_acquire(&r->written))
        join(r);
}

// ---- phases

static void stop(struct prof_run *r, const struct prof_shown *shown)
{
    const int rc = r->kind->stop(r->state, &r->err);
    r->phase = rc == 0 ? PROF_WRITES : PROF_STOPS;
    if (rc < 0 || (rc == 0 && start_thread(r, shown) != 0))
        fail(r);
}

void run_step(struct prof_run *r, const struct prof_shown *shown, uint64_t now_ms)
{
    if (r->phase == PROF_STOPS || (r->phase == PROF_TAKES && now_ms >= r->due_ms))
        stop(r, shown);
    else if (r->phase == PROF_TAKES && r->kind->tick != NULL)
        r->kind->tick(r->state);
    run_look(r);
}

// ---- begin and end

// copy: false: no memory.
static bool copy(const char *from, char **to)
{
    *to = from == NULL ? NULL : strdup(from);
    return from == NULL || *to != NULL;
}

static int copy_query(struct prof_run *r, const struct prof_query *q, struct err *err)
{
    r->query = *q;
    if (!copy(q->format, &r->format) || !copy(q->filter, &r->filter))
        return err_set(err, "no memory");
    r->query.format = r->format;
    r->query.filter = r->filter;
    return 0;
}

static void forget(struct prof_run *r)
{
    text_free(&r->out);
    free(r->format);
    free(r->filter);
    r->kind = NULL;
}

static int begin(struct prof_run *r, const struct prof_shown *shown, struct err *err)
{
    const int rc = r->kind->begin(shown, &r->query, &r->state, err);
    r->begun = rc == 0;
    return rc == 0 || rc == -EINVAL || rc == -EBUSY ? rc : -EIO;
}

int run_begin(struct prof_run *r, const struct prof_shown *shown, const struct prof_order *order,
              uint64_t now_ms, struct err *err)
{
    const uint64_t seconds = order->whole ? UINT32_MAX : order->query.seconds;
    *r = (struct prof_run){.prof = r->prof,
                           .kind = order->kind,
                           .root = order->root,
                           .phase = PROF_TAKES,
                           .began_ms = now_ms,
                           .due_ms = now_ms + seconds * 1000};
    text_init(&r->out, PROF_RESULT_BYTES_MAX);
    r->out.budget = &r->prof->results;
    snprintf(r->client, sizeof(r->client), "%s", order->client);
    const int rc = copy_query(r, &order->query, err) == 0 ? begin(r, shown, err) : -EIO;
    if (rc != 0)
        forget(r);
    else
        run_step(r, shown, now_ms);
    return rc;
}

void run_free(struct prof_run *r)
{
    if (r->phase == PROF_WRITES && r->kind->hurry != NULL)
        r->kind->hurry(r->state);
    if (r->phase == PROF_WRITES)
        pthread_join(r->thread, NULL);
    release(r);
    forget(r);
}
