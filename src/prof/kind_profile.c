// SPDX-License-Identifier: BSD-3-Clause
// The CPU profile.
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "pprof/profile_encode.h"
#include "prof/cpu_samples.h"
#include "prof/prof_kinds.h"
#include "stat/counters.h"

enum { NS_A_SECOND = 1000000000, TYPES_CPU = 2 };

struct cpu_profile {
    struct cpu_user user;  // first, so that it is the profile's address
    bool joined;
    unsigned debug;
    struct cpu_about about;
    struct profile *profile;
    struct timespec began;
};

// new_profile: with the hardware's counters if every thread has them.
static struct profile *new_profile(const struct cpu_about *a)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const struct profile_params params = {
        .n_types = a->counts ? TYPES_CPU + SAMPLE_COUNTERS_MAX : TYPES_CPU,
        .default_type = 1,
        .types = {{"samples", "count"},
                  {"cpu", "nanoseconds"},
                  {"cycles", "count"},
                  {"instructions", "count"},
                  {"cache_misses", "count"},
                  {"branch_misses", "count"}},
        .period_type = {"cpu", "nanoseconds"},
        .period = NS_A_SECOND / SAMPLER_HZ,
        .time_ns = (int64_t)now.tv_sec * NS_A_SECOND + now.tv_nsec};
    return profile_new(&params);
}

// served: the service that a worker's callbacks were for; NULL: the stage has none.
static const struct c10m_service *served(const struct cpu_role *r, const struct sample *s)
{
    if (r->w == NULL || (s->word != STAGE_app && s->word != STAGE_timers))
        return r->service;
    return s->byte < r->w->tcp.n_services ? &r->w->sock.services[s->byte] : NULL;
}

static unsigned add_label(struct profile_label *out, const char *key, const char *text)
{
    *out = (struct profile_label){.key = key, .text = text};
    return 1;
}

static unsigned label(const struct cpu_role *r, const struct sample *s, struct profile_label *out)
{
    const struct c10m_service *service = served(r, s);
    unsigned n = add_label(&out[0], "thread", r->thread);
    if (r->w != NULL) {
        n += add_label(&out[n], "core", r->core);
        n += add_label(&out[n], "stage", stat_stage_names[MIN(s->word, STAGE_COUNT - 1u)].name);
    }
    if (service != NULL) {
        n += add_label(&out[n], "app", service->app->name);
        n += add_label(&out[n], "service", service->name);
    }
    return n;
}

static void take(struct cpu_user *u, const struct cpu_role *r, const struct sample *s)
{
    struct profile_frame stack[SAMPLE_DEPTH_MAX + 1];
    unsigned depth = s->depth;
    struct profile_label labels[PROFILE_LABELS_MAX];
    int64_t values[TYPES_CPU + SAMPLE_COUNTERS_MAX] = {s->periods, (int64_t)s->periods *
                                                                       (NS_A_SECOND / SAMPLER_HZ)};
    for (unsigned i = 0; i < SAMPLE_COUNTERS_MAX; i++)
        values[TYPES_CPU + i] = (int64_t)s->counters[i];
    for (uint32_t i = 0; i < s->depth; i++)
        stack[i] = (struct profile_frame){.address = s->addresses[i]};
    if (depth == SAMPLE_DEPTH_MAX)
        stack[depth++] = (struct profile_frame){.function = "(further callers left out)"};
    const struct profile_sample sample = {.stack = stack,
                                          .depth = depth,
                                          .values = values,
                                          .labels = labels,
                                          .n_labels = label(r, s, labels)};
    struct profile *p = ((struct cpu_profile *)u)->profile;
    if (p != NULL)  // there was no memory for it
        profile_add(p, &sample);
}

static void tick(void *state)
{
    (void)state;
    cpu_samples_drain();
}

static void leave(struct cpu_profile *p)
{
    if (!p->joined)
        return;
    p->joined = false;
    cpu_samples_about(&p->about);
    profile_lose(p->profile, cpu_samples_leave(&p->user));
}

static void release(void *state)
{
    struct cpu_profile *p = state;
    leave(p);
    profile_free(p->profile);
    free(p);
}

static int join(struct cpu_profile *p, const struct server *s, struct err *err)
{
    const int rc = cpu_samples_join(s, &p->user, err);
    if (rc != 0)
        return rc;
    cpu_samples_about(&p->about);
    clock_gettime(CLOCK_MONOTONIC, &p->began);
    p->profile = new_profile(&p->about);
    if (p->profile != NULL) {
        p->joined = true;
        return 0;
    }
    cpu_samples_leave(&p->user);
    return err_set(err, "profile: no memory");
}

static int begin(const struct prof_shown *s, const struct prof_query *q, void **state,
                 struct err *err)
{
    struct cpu_profile *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return err_set(err, "profile: no memory");
    p->user.take = take;
    p->debug = q->debug;
    const int rc = join(p, s->server, err);
    if (rc != 0)
        free(p);
    else
        *state = p;
    return rc;
}

static void comment(struct cpu_profile *p)
{
    static const char *const triggers[] = {
        [TRIGGER_NONE] = "none",
        [TRIGGER_PERF] = "perf_event_open: CPU time of user and kernel",
        [TRIGGER_PERF_USER] =
            "perf_event_open: CPU time outside of the kernel, which allows no more "
            "(kernel.perf_event_paranoid)",
        [TRIGGER_TIMER] = "timers on the threads' CPU clocks, read in ticks of the kernel only: it "
                          "refuses perf_event_open"};
    profile_comment(p->profile, "sampled by %s", triggers[p->about.trigger]);
    profile_comment(p->profile, "%" PRIu64 " samples lost, %u of %u threads not sampled",
                    profile_lost(p->profile), p->about.missed, p->about.threads);
    if (!p->about.counts)
        profile_comment(p->profile,
                        "no hardware counters: this CPU or virtual machine has none, or "
                        "the kernel refuses them");
}

static int stop(void *state, struct err *err)
{
    struct cpu_profile *p = state;
    struct timespec now;
    (void)err;
    clock_gettime(CLOCK_MONOTONIC, &now);
    leave(p);
    profile_took(p->profile, (int64_t)(now.tv_sec - p->began.tv_sec) * NS_A_SECOND + now.tv_nsec -
                                 p->began.tv_nsec);
    comment(p);
    return 0;
}

static int write(void *state, struct text *out, struct err *err)
{
    const struct cpu_profile *p = state;
    struct symbols *symbols = symbols_open(err);
    if (symbols == NULL)
        return -1;
    const int rc = p->debug == 0 ? profile_encode(p->profile, symbols, out)
                                 : profile_text(p->profile, "cpu", 0, symbols, out);
    symbols_close(symbols);
    return rc == 0 ? 0 : err_set(err, "the profile is too large, or there is no memory");
}

static const char *type(const struct prof_query *q)
{
    return q->debug == 0 ? "application/octet-stream" : "text/plain; charset=utf-8";
}

const struct prof_kind prof_kind_profile = {
    .name = "profile",
    .help =
        "CPU profile: where the workers, the control thread and the threads of applications spend "
        "their CPU time, for seconds=N (30)",
    .timed = true,
    .begin = begin,
    .tick = tick,
    .stop = stop,
    .write = write,
    .release = release,
    .type = type,
};
