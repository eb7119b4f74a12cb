// SPDX-License-Identifier: BSD-3-Clause
#include "prof/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/words.h"
#include "prof/prof.h"
#include "prof/prof_starts.h"
#include "prof/recorder_order.h"
#include "prof/trace_source.h"

enum { TRIGGER_BYTES = 128 };

struct recorder {
    struct prof_shown shown;
    void (*started)(void *arg);
    void *arg;
    enum recorder_state state;
    struct prof_starts starts;
    struct recorder_when when;
    struct trace_log *log;         // while it records
    struct recorder_flight *kept;  // NULL: none
    uint64_t drops;                // of when.reason, of all workers, at the last look
    uint64_t stalls_taken[SERVER_WORKERS_MAX], stalls_missed;
    char trigger[TRIGGER_BYTES];
    bool triggered;  // kept at the next tick: the worker may not have written its record yet
    int64_t at_ns;   // of the trigger, by the workers' clock
};

struct recorder *recorder_new(const struct prof_shown *s, void (*started)(void *arg), void *arg)
{
    struct recorder *f = calloc(1, sizeof(*f));
    if (f != NULL)
        *f = (struct recorder){.shown = *s, .started = started, .arg = arg};
    return f;
}

void recorder_drop(struct recorder_flight *l)
{
    if (l == NULL || --l->users != 0)
        return;
    trace_log_free(l->log);
    free(l);
}

struct recorder_flight *recorder_take(struct recorder *f)
{
    if (f->kept != NULL)
        f->kept->users++;
    return f->kept;
}

enum recorder_state recorder_state(const struct recorder *f)
{
    return f->state;
}

static void turn_off(struct recorder *f)
{
    trace_log_free(f->log);
    recorder_drop(f->kept);
    f->log = NULL;
    f->kept = NULL;
    f->state = RECORDER_OFF;
    f->trigger[0] = '\0';
    f->triggered = false;
}

void recorder_free(struct recorder *f)
{
    if (f == NULL)
        return;
    turn_off(f);
    free(f);
}

static uint64_t dropped(const struct recorder *f)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < server_workers(f->shown.server); i++)
        sum += stat_load(&server_worker(f->shown.server, i)->stats->drops[f->when.reason]);
    return sum;
}

// may_record: 0, or -EBUSY with *err.
static int may_record(struct recorder *f, struct err *err)
{
    if (f->log == NULL && trace_source_busy(&f->shown)) {
        err_set(err, "%d traces are being taken: try again later", TRACE_LOGS_MAX);
        return -EBUSY;
    }
    const uint32_t ms = prof_starts_take(&f->starts, "order", prof_clock_ms());
    if (ms == 0)
        return 0;
    err_set(err, "%d orders may begin a recording at once and then one in %d ms: again in %u ms",
            PROF_STARTS_BURST, PROF_STARTS_MS, ms);
    return -EBUSY;
}

int recorder_order(struct recorder *f, char *line, struct err *err)
{
    struct recorder_when when;
    int rc = recorder_when_parse(line, &when, err);
    if (rc == 0 && when.seconds != 0)
        rc = may_record(f, err);
    if (rc != 0)
        return rc;
    struct trace_log *log = NULL;
    if (when.seconds != 0 &&
        (log = trace_source_log(&f->shown, TRACE_KEEP_LAST, RECORDER_BYTES_MAX, err)) == NULL)
        return -ENOMEM;  // what was ordered before goes on
    turn_off(f);
    if (log == NULL)
        return 0;
    f->log = log;
    f->when = when;
    f->drops = dropped(f);
    for (unsigned i = 0; i < server_workers(f->shown.server); i++)
        f->stalls_taken[i] = shared_u64_load(&server_worker(f->shown.server, i)->stalls.n);
    f->state = RECORDER_RECORDS;
    f->started(f->arg);
    return 0;
}

// keep: what happened up to the trigger.
static void keep(struct recorder *f)
{
    struct recorder_flight *l = malloc(sizeof(*l));
    trace_log_stop(f->log);
    if (l == NULL) {
        log_line(LOG_WARN, "flight recorder: no memory to keep a flight");
        turn_off(f);
        return;
    }
    *l = (struct recorder_flight){f->log, f->at_ns - (int64_t)f->when.seconds * 1000000000, 1};
    f->log = NULL;
    f->kept = l;
    f->state = RECORDER_KEPT;
    log_line(LOG_INFO, "flight recorder: %s: kept, see prof/flight", f->trigger);
}

static int64_t ns_of(const struct worker *w, uint64_t tsc)
{
    return (int64_t)(worker_now(&w->clock, tsc).us * 1000);
}

static bool stalled(struct recorder *f, unsigned i, int64_t *at_ns)
{
    const struct worker *w = server_worker(f->shown.server, i);
    struct stall s[STALL_RING];
    const unsigned n =
        stall_take(&w->stalls, &f->stalls_taken[i], s, STALL_RING, &f->stalls_missed);
    for (unsigned k = 0; k < n; k++) {
        const uint64_t us = s[k].cycles * w->clock.us_per_tick_q32 >> 32;
        if (us < f->when.stall_us)
            continue;
        snprintf(f->trigger, sizeof(f->trigger), "stall of %" PRIu64 " us, worker %u, stage %s", us,
                 i, stall_stage_name(&s[k]));
        *at_ns = ns_of(w, s[k].end_tsc);
        return true;
    }
    return false;
}

static bool has_dropped(struct recorder *f, int64_t *at_ns)
{
    const uint64_t n = dropped(f) - f->drops;
    if (n == 0)
        return false;
    snprintf(f->trigger, sizeof(f->trigger), "%" PRIu64 " dropped: %s", n,
             stat_drop_names[f->when.reason].name);
    *at_ns = ns_of(server_worker(f->shown.server, 0), tsc_read());
    return true;
}

static bool triggers(struct recorder *f, int64_t *at_ns)
{
    if (f->when.reason != DROP_NONE && has_dropped(f, at_ns))
        return true;
    for (unsigned i = 0; f->when.stall_us != 0 && i < server_workers(f->shown.server); i++)
        if (stalled(f, i, at_ns))
            return true;
    return false;
}

bool recorder_tick(struct recorder *f)
{
    if (f->state != RECORDER_RECORDS)
        return false;
    trace_log_collect(f->log);
    if (f->triggered)
        keep(f);
    else
        f->triggered = triggers(f, &f->at_ns);
    return f->state == RECORDER_RECORDS;
}

void recorder_render(const struct recorder *f, struct text *out)
{
    static const char *const states[] = {
        [RECORDER_OFF] = "off", [RECORDER_RECORDS] = "records", [RECORDER_KEPT] = "kept"};
    text_printf(out, "state %s\n", states[f->state]);
    if (f->state == RECORDER_OFF)
        return;
    if (f->when.stall_us != 0)
        text_printf(out, "stall_us %u\n", f->when.stall_us);
    if (f->when.reason != DROP_NONE)
        text_printf(out, "drop %s\n", stat_drop_names[f->when.reason].name);
    const struct trace_log *l = f->state == RECORDER_KEPT ? f->kept->log : f->log;
    text_printf(out, "seconds %u\nbytes %" PRIu64 "\nrecords_lost %" PRIu64 "\n", f->when.seconds,
                l->bytes, trace_log_lost(l));
    if (f->state == RECORDER_KEPT)
        text_printf(out, "trigger %s\n", f->trigger);
}
