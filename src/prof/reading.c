// SPDX-License-Identifier: BSD-3-Clause
#include "prof/reading.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "confine/identity.h"
#include "pprof/profile_encode.h"

enum { FIRST = -1, LAST = 1 };  // signs

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *first_reading(void *reading)
{
    const struct reading *r = reading;
    identity_no_capabilities();
    r->kind->read(r, FIRST);
    return NULL;
}

// start_thread: without signals, which are for the control thread.
static int start_thread(struct reading *r, struct err *err)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&r->thread, NULL, first_reading, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set(err, "no thread: %s", strerror(rc));
    pthread_setname_np(r->thread, "prof-reading");
    r->has_thread = true;
    return 0;
}

static void join_thread(struct reading *r)
{
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    r->has_thread = false;
}

static int read_first(struct reading *r, struct err *err)
{
    if (r->query.seconds == 0)
        return 0;
    if (!r->kind->brief)
        return start_thread(r, err);
    r->kind->read(r, FIRST);
    return 0;
}

int reading_begin(const struct reading_kind *kind, const struct prof_shown *s,
                  const struct prof_query *q, void **state, struct err *err)
{
    const int rc = kind->check == NULL ? 0 : kind->check(s, q, err);
    if (rc != 0)
        return rc;
    struct reading *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return err_set(err, "no memory for a profile");
    struct profile_params params = kind->params;
    params.time_ns = (int64_t)clock_ns(CLOCK_REALTIME);
    *r = (struct reading){.kind = kind,
                          .shown = *s,
                          .query = *q,
                          .profile = profile_new(&params),
                          .began_ns = clock_ns(CLOCK_MONOTONIC)};
    if (r->profile == NULL)
        err_set(err, "no memory for a profile");
    if (r->profile == NULL || read_first(r, err) != 0) {
        reading_release(r);
        return -1;
    }
    *state = r;
    return 0;
}

int reading_stop(void *state, struct err *err)
{
    struct reading *r = state;
    (void)err;
    if (r->query.seconds != 0)
        profile_took(r->profile, (int64_t)(clock_ns(CLOCK_MONOTONIC) - r->began_ns));
    if (r->kind->brief)
        r->kind->read(r, LAST);
    return 0;
}

int reading_write(void *state, struct text *out, struct err *err)
{
    struct reading *r = state;
    int rc = 0;
    join_thread(r);
    if (!r->kind->brief && !(r->query.debug >= 2 && r->kind->list != NULL))
        r->kind->read(r, LAST);
    if (profile_lost(r->profile) != 0)
        profile_comment(r->profile, "%lu samples lost for lack of memory",
                        (unsigned long)profile_lost(r->profile));
    if (r->query.debug >= 2 && r->kind->list != NULL)
        r->kind->list(r, out);
    else if (r->query.debug != 0)
        rc = profile_text(r->profile, r->kind->title, r->kind->params.default_type, NULL, out);
    else
        rc = profile_encode(r->profile, NULL, out);
    rc = rc != 0 ? rc : out->error;
    return rc == 0 ? 0 : err_set(err, "the profile cannot be written: %s", strerror(-rc));
}

void reading_hurry(void *state)
{
    shared_bool_store(&((struct reading *)state)->over, true);
}

void reading_release(void *state)
{
    struct reading *r = state;
    reading_hurry(r);
    join_thread(r);
    profile_free(r->profile);
    free(r);
}

const char *reading_type(const struct prof_query *q)
{
    return q->debug != 0 ? "text/plain; charset=utf-8" : "application/octet-stream";
}
