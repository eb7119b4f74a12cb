// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/sampler.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pprof/thread_stack.h"

// seat: one thread that is interrupted.
struct seat {
    struct sample_ring *ring;
    struct sample_trigger trigger;
};

struct sampler {
    struct sampler_params params;
    struct loaded_file *files;
    unsigned n_files;
    unsigned tried;  // of params.threads
    struct seat seats[SAMPLER_THREADS_MAX];
    unsigned n, missed;
    enum sample_trigger_kind kind;  // NONE: none was armed yet
    bool counts;
    unsigned at;                // of sampler_next()
    struct sample_ring *given;  // its sample was the last; NULL: none
    bool stopped;
};

static _Atomic(struct sampler *) only;  // the one that exists

// new_ring: NULL: the thread does not run, or no memory. All of it is written here, so that no page
// fault waits in the handler.
static struct sample_ring *new_ring(const struct sampler *s, unsigned thread)
{
    const struct sampler_thread *t = &s->params.threads[thread];
    // Acquire: pairs with own_thread_begin().
    const uint32_t tid = shared_u32_load_acquire(&t->thread->tid);
    struct sample_ring *r = tid == 0 ? NULL : aligned_alloc(CACHE_LINE, sizeof(*r));
    if (r == NULL)
        return NULL;
    memset(r, 0, sizeof(*r));
    r->owner = t->thread;
    r->tid = tid;
    r->thread = thread;
    r->word = t->word;
    r->byte = t->byte;
    r->clock_fd = -1;
    r->period_ns = SAMPLE_NS_A_SECOND / s->params.hz;
    r->memory = (struct unwind_memory){s->files, s->n_files, stack_low_of(t->thread),
                                       t->thread->stack_high};
    return r;
}

// open_counters: only if the first thread has some, because most virtual machines have none.
static void open_counters(struct sampler *s, struct sample_ring *r)
{
    const struct sample_counters *from = s->params.counters;
    s->counts = (s->n == 0 || s->counts) && from != NULL && from->open(r->tid, r->counter_fds);
    if (!s->counts)
        return;
    r->counters = from;
    from->read(r->counter_fds, r->before);
}

// pull: starts the trigger. The first thread finds out which kind the kernel allows.
static bool pull(struct sampler *s, struct sample_trigger *t, uint32_t tid)
{
    const bool known = s->kind != TRIGGER_NONE;
    enum sample_trigger_kind kind = known ? s->kind : s->params.trigger;
    int rc = sample_trigger_start(t, kind, tid, s->params.hz);
    while (!known && sample_trigger_refused(rc) && kind < TRIGGER_TIMER)
        rc = sample_trigger_start(t, ++kind, tid, s->params.hz);
    if (rc == 0)
        s->kind = kind;
    return rc == 0;
}

static void close_ring(struct sample_ring *r)
{
    if (r->counters != NULL)
        r->counters->close(r->counter_fds);
    free(r);
}

static bool arm(struct sampler *s, unsigned thread)
{
    struct seat *seat = &s->seats[s->n];
    struct sample_ring *r = seat->ring = new_ring(s, thread);
    if (r == NULL)
        return false;
    open_counters(s, r);
    if (!pull(s, &seat->trigger, r->tid)) {
        close_ring(r);
        return false;
    }
    if (s->kind == TRIGGER_PERF)
        r->clock_fd = seat->trigger.fd;
    s->n++;
    atomic_store(&r->owner->samples.v, r);
    return true;
}

void sampler_prepare(void)
{
    unsigned n;
    struct loaded_file *files = loaded_list(&n);
    if (files != NULL)
        loaded_touch(files, n);
    loaded_free(files, n);
}

bool sampler_arm(struct sampler *s)
{
    for (unsigned i = 0; i < SAMPLER_ARM && s->tried < s->params.n && !s->stopped; i++)
        s->missed += !arm(s, s->tried++);
    return s->tried < s->params.n;
}

static struct sampler *sampler_new(const struct sampler_params *p)
{
    CHECK(p->hz >= 1 && p->hz <= SAMPLER_HZ_MAX && p->n <= SAMPLER_THREADS_MAX);
    struct sampler *s = calloc(1, sizeof(*s));
    if (s == NULL)
        return NULL;
    s->params = *p;
    s->files = loaded_list(&s->n_files);
    if (s->files != NULL)
        return s;
    free(s);
    return NULL;
}

static int begin(struct sampler *s, struct err *err)
{
    loaded_touch(s->files, s->n_files);
    if (sample_signal_install() != 0)
        return err_set(err, "SIGPROF: %s", strerror(errno));
    sampler_arm(s);
    if (s->n == 0)
        return err_set(err,
                       "no thread can be sampled: neither by perf_event_open() nor by a timer");
    return 0;
}

int sampler_start(const struct sampler_params *p, struct sampler **out, struct err *err)
{
    struct sampler *s = sampler_new(p), *other = NULL;
    if (s == NULL)
        return err_set(err, "samples: no memory");
    if (!atomic_compare_exchange_strong(&only, &other, s)) {
        loaded_free(s->files, s->n_files);
        free(s);
        err_set(err, "a CPU profile is being taken already: try again when it has ended");
        return -EBUSY;
    }
    const int rc = begin(s, err);
    if (rc != 0)
        sampler_free(s);
    else
        *out = s;
    return rc;
}

// wait_for: until the handler has left the ring (sample_signal.c says why that suffices).
static void wait_for(const struct own_thread *t)
{
    const struct timespec pause = {.tv_nsec = 20000};
    while (atomic_load(&t->sampling.v) != 0)
        nanosleep(&pause, NULL);
}

// A handler reads the trigger's clock, which is therefore closed last.
void sampler_stop(struct sampler *s)
{
    if (s->stopped)
        return;
    s->stopped = true;
    for (unsigned i = 0; i < s->n; i++)
        atomic_store(&s->seats[i].ring->owner->samples.v, NULL);
    for (unsigned i = 0; i < s->n; i++) {
        wait_for(s->seats[i].ring->owner);
        sample_trigger_stop(&s->seats[i].trigger);
    }
}

void sampler_free(struct sampler *s)
{
    if (s == NULL)
        return;
    sampler_stop(s);
    for (unsigned i = 0; i < s->n; i++)
        close_ring(s->seats[i].ring);
    loaded_free(s->files, s->n_files);
    atomic_store(&only, NULL);
    free(s);
}

const struct sample *sampler_next(struct sampler *s)
{
    if (s->given != NULL)
        sample_done(s->given);
    for (; s->at < s->n; s->at++) {
        s->given = s->seats[s->at].ring;
        const struct sample *sample = sample_next(s->given);
        if (sample != NULL)
            return sample;
    }
    s->at = 0;
    s->given = NULL;
    return NULL;
}

uint64_t sampler_lost(const struct sampler *s)
{
    uint64_t lost = 0;
    for (unsigned i = 0; i < s->n; i++)
        lost += shared_u32_load(&s->seats[i].ring->lost);
    return lost;
}

enum sample_trigger_kind sampler_trigger(const struct sampler *s)
{
    return s->kind;
}

bool sampler_counts(const struct sampler *s)
{
    return s->counts;
}

unsigned sampler_missed(const struct sampler *s)
{
    return s->missed;
}
