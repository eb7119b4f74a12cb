// SPDX-License-Identifier: BSD-3-Clause
#include "server/stalls.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/server.h"

static const char *const cause_names[STALL_CAUSES] = {
#define STALL_CAUSE_NAME(name, help) #name,
    STALL_CAUSE_TABLE(STALL_CAUSE_NAME)
#undef STALL_CAUSE_NAME
};

// core: of one worker.
struct core {
    struct worker *w;
    uint64_t tsc_hz;
    uint64_t taken, missed;
    uint64_t alert_until_tsc, next_read_tsc;
    uint64_t read_tsc;  // of `before`
    struct linux_counts before;
    uint64_t idle_sleeps;  // of the worker, at the last reading
    struct stall_evidence left;
    uint64_t n;  // named so far; number i lies in kept[i % STALLS_KEPT]
    struct stall_named kept[STALLS_KEPT];
    struct stall_named longest;
    uint64_t counts[STALL_CAUSES], cycles[STALL_CAUSES];
    struct stall_tally by[STALL_CAUSES][STALL_STAGES][STALL_SERVICES];
    // At the reset, after which this was shown: `longest` begins anew there.
    uint64_t n_reset, missed_reset, counts_reset[STALL_CAUSES], cycles_reset[STALL_CAUSES];
};

struct stalls {
    unsigned n;
    struct core cores[];
};

static uint64_t to_ns(uint64_t cycles, uint64_t tsc_hz)
{
    return (uint64_t)((unsigned __int128)cycles * 1000000000 / tsc_hz);
}

// The one that grew most, but the timer's, which always does; NULL: none did.
static const struct linux_interrupt *interrupt_of(const struct linux_counts *grown)
{
    const struct linux_interrupt *most = NULL;
    for (unsigned i = 0; i < grown->n_interrupts; i++) {
        const struct linux_interrupt *it = &grown->interrupts[i];
        if (it->count != 0 && strcmp(it->name, "LOC") != 0 &&
            (most == NULL || it->count > most->count))
            most = it;
    }
    return most;
}

// Where a port's driver, an application or a heap of timers may take its time; the work of the
// other stages is bounded, and takes microseconds.
static bool may_be_own_work(const struct stall *s)
{
    switch (s->stage) {
    case STAGE_app:
        return s->packets + s->events + s->timers != 0;  // datagrams are no events
    case STAGE_timers:
        return s->timers != 0;
    case STAGE_rx:
    case STAGE_tx:
        return s->packets + s->segments != 0;
    case STAGE_COUNT:
        return s->events + s->timers != 0;
    default:
        return false;
    }
}

// Whether half of a stall's time, or more, is there; it is used up then.
static bool explains(uint64_t *of_ns, uint64_t ns)
{
    if (*of_ns == 0 || *of_ns < ns / 2)
        return false;
    *of_ns -= MIN(*of_ns, ns);
    return true;
}

static bool use_one(uint64_t *of)
{
    const bool any = *of != 0;
    *of -= any;
    return any;
}

static bool is_usual(const struct stall_named *it)
{
    return it->s.cycles <= it->usual_cycles * STALLS_UNUSUAL;
}

static enum stall_cause cause_of(const struct stall_named *it,
                                 const struct linux_interrupt *interrupt,
                                 struct stall_evidence *left, uint64_t ns)
{
    if (explains(&left->wait_ns, ns))
        return STALL_preempted;
    if (use_one(&left->slept))
        return STALL_slept;
    if (explains(&left->steal_ns, ns))
        return STALL_steal;
    if (use_one(&left->faults))
        return STALL_page_fault;
    if (may_be_own_work(&it->s) && (is_usual(it) || interrupt == NULL))
        return STALL_own_work;
    return interrupt != NULL ? STALL_interrupt : STALL_unknown;
}

static int longer_first(const void *a, const void *b)
{
    const uint64_t x = (*(struct stall_named *const *)a)->s.cycles;
    const uint64_t y = (*(struct stall_named *const *)b)->s.cycles;
    return (x < y) - (x > y);
}

// What the hypervisor took: to the nanosecond where Linux takes it off a thread's time, else in
// ticks. A thread that slept has lost that time too. What was lost while it was ready and is not
// counted as wait yet comes back as a loss below zero.
static uint64_t add_steal(uint64_t left_ns, const struct linux_counts *grown)
{
    if (grown->slept != 0)
        return left_ns;
    if (grown->lost_ns >= 0)
        return left_ns + MAX((uint64_t)grown->lost_ns, grown->steal_ticks * LINUX_TICK_NS);
    return left_ns - MIN(left_ns, (uint64_t)-grown->lost_ns);
}

// A machine that stops the core untold, as idle turns and those of bounded work show, does so in
// the others too: what is not usual there is then no own work.
static void doubt_own_work(struct stall_named *named, unsigned n, struct stall_evidence *left,
                           uint64_t tsc_hz)
{
    for (unsigned i = 0; i < n; i++) {
        const struct stall_named *it = &named[i];
        if ((it->cause == STALL_unknown || it->cause == STALL_steal) && !may_be_own_work(&it->s))
            left->untold_tsc = MAX(left->untold_tsc, it->s.end_tsc);
    }
    for (unsigned i = 0; i < n; i++) {
        struct stall_named *it = &named[i];
        if (it->cause == STALL_own_work && !is_usual(it) && left->untold_tsc != 0 &&
            it->s.end_tsc < left->untold_tsc + STALLS_ALERT_S * tsc_hz)
            it->cause = STALL_unknown;
    }
}

void stalls_name(struct stall_named *named, unsigned n, const struct linux_counts *grown,
                 struct stall_evidence *left, uint64_t tsc_hz)
{
    struct stall_named *order[STALL_RING];
    const struct stall_evidence now = {.wait_ns = grown->wait_ns,
                                       .slept = grown->slept,
                                       .faults = grown->faults_minor + grown->faults_major,
                                       .steal_ns = add_steal(0, grown)};
    const struct linux_interrupt *interrupt = interrupt_of(grown);
    CHECK(n <= STALL_RING);
    left->wait_ns += now.wait_ns;
    left->slept += now.slept;
    left->faults += now.faults;
    left->steal_ns = add_steal(left->steal_ns, grown);
    for (unsigned i = 0; i < n; i++)
        order[i] = &named[i];
    qsort(order, n, sizeof(order[0]), longer_first);
    for (unsigned i = 0; i < n; i++) {
        struct stall_named *it = order[i];
        it->cause = cause_of(it, interrupt, left, to_ns(it->s.cycles, tsc_hz));
        snprintf(it->detail, sizeof(it->detail), "%s",
                 it->cause == STALL_interrupt ? interrupt->name : "-");
    }
    doubt_own_work(named, n, left, tsc_hz);
    left->wait_ns = MIN(left->wait_ns, now.wait_ns);
    left->slept = MIN(left->slept, now.slept);
    left->faults = MIN(left->faults, now.faults);
    left->steal_ns = MIN(left->steal_ns, now.steal_ns);
}

struct stalls *stalls_new(const struct server *s)
{
    const unsigned n = server_workers(s);
    struct stalls *st = calloc(1, sizeof(*st) + n * sizeof(st->cores[0]));
    if (st == NULL)
        return NULL;
    st->n = n;
    for (unsigned i = 0; i < n; i++) {
        st->cores[i].w = server_worker(s, i);
        st->cores[i].tsc_hz = worker_tsc_hz(server_worker(s, i));
    }
    return st;
}

void stalls_free(struct stalls *st)
{
    free(st);
}

static struct stall_tally *tally_of(struct core *c, enum stall_cause cause, const struct stall *s)
{
    return &c->by[cause][MIN(s->stage, STAGE_COUNT)][MIN(s->service, TCP_SERVICES_MAX)];
}

// lay: counts a stall as of this cause. unlay: and as of another one again.
static void lay(struct core *c, enum stall_cause cause, const struct stall *s)
{
    struct stall_tally *t = tally_of(c, cause, s);
    t->count++;
    t->cycles += s->cycles;
    c->counts[cause]++;
    c->cycles[cause] += s->cycles;
}

static void unlay(struct core *c, enum stall_cause cause, const struct stall *s)
{
    struct stall_tally *t = tally_of(c, cause, s);
    t->count--;
    t->cycles -= s->cycles;
    c->counts[cause]--;
    c->cycles[cause] -= s->cycles;
}

static void keep(struct core *c, const struct stall_named *it)
{
    c->kept[c->n++ % STALLS_KEPT] = *it;
    lay(c, it->cause, &it->s);
    if (it->s.cycles > c->longest.s.cycles)
        c->longest = *it;
}

// Where steal is counted in ticks of 10 ms, a tick ends with the last of several short ones: those
// of the last second without another cause are laid to it as well.
static void steal_afterwards(struct core *c, uint64_t now)
{
    for (uint64_t i = c->n; i > 0 && c->n - i < STALLS_KEPT; i--) {
        struct stall_named *it = &c->kept[(i - 1) % STALLS_KEPT];
        if (now - it->s.end_tsc > c->tsc_hz)
            return;
        if (it->cause != STALL_unknown ||
            !explains(&c->left.steal_ns, to_ns(it->s.cycles, c->tsc_hz)))
            continue;
        it->cause = STALL_steal;
        unlay(c, STALL_unknown, &it->s);
        lay(c, STALL_steal, &it->s);
    }
}

// A turn that nothing outside explains and whose stages were not timed: the worker times every
// turn for a while, so that the next one like it tells its stage.
static bool wants_watch(const struct stall_named *it)
{
    return it->s.stage == STAGE_COUNT &&
           (it->cause == STALL_own_work || it->cause == STALL_unknown);
}

// By the mean of all packets so far; of turns whose stages were not timed, of all stages.
static uint64_t usual_cycles(const struct core_stats *st, const struct stall *s)
{
    uint64_t cycles = 0;
    for (unsigned i = 0; i < STAGE_idle; i++)
        if (s->stage == i || s->stage == STAGE_COUNT)
            cycles += stat_load(&st->cycles[i]);
    return cycles / MAX(stat_load(&st->c.rx_packets), 1u) * s->packets;
}

// without_idle: a worker that waits for work sleeps on purpose ([cpu] idle). It is then not known
// what of the time that it lost was the hypervisor's.
static void without_idle(struct core *c, struct linux_counts *grown)
{
    const uint64_t sleeps = stat_load(&c->w->stats->c.idle_sleeps), more = sleeps - c->idle_sleeps;
    c->idle_sleeps = sleeps;
    if (more == 0)
        return;
    grown->slept -= MIN(grown->slept, more);
    grown->lost_ns = 0;
}

static void poll_core(struct core *c)
{
    static struct stall got[STALL_RING];
    static struct stall_named named[STALL_RING];
    static struct linux_counts counts, grown;
    // First the stalls, then the counts: those hold what caused them.
    const unsigned n = stall_take(&c->w->stalls, &c->taken, got, STALL_RING, &c->missed);
    const uint64_t now = tsc_read();
    if (n == 0 && now < c->next_read_tsc)
        return;
    linux_counts_read(&counts, "/proc", (int)shared_u32_load(&c->w->tid), c->w->cpu);
    grown = counts;
    linux_counts_since(&grown, &c->before);
    without_idle(c, &grown);
    if (c->next_read_tsc == 0)  // of the time before there is no reading
        memset(&grown, 0, sizeof(grown));
    c->before = counts;
    c->read_tsc = now;
    for (unsigned i = 0; i < n; i++)
        named[i] = (struct stall_named){got[i], usual_cycles(c->w->stats, &got[i]), 0, ""};
    stalls_name(named, n, &grown, &c->left, c->tsc_hz);
    bool watch = false;
    for (unsigned i = 0; i < n; i++) {
        keep(c, &named[i]);
        watch |= wants_watch(&named[i]);
    }
    steal_afterwards(c, now);
    if (n != 0)
        c->alert_until_tsc = now + STALLS_ALERT_S * c->tsc_hz;
    if (watch || now >= c->alert_until_tsc)
        shared_u32_store(&c->w->watched, watch);
    c->next_read_tsc = now + (now < c->alert_until_tsc ? 1 : c->tsc_hz / 1000 * STALLS_CALM_MS);
}

void stalls_poll(struct stalls *st)
{
    for (unsigned i = 0; i < st->n; i++)
        poll_core(&st->cores[i]);
}

void stalls_restart(struct stalls *st)
{
    for (unsigned i = 0; i < st->n; i++) {
        st->cores[i].next_read_tsc = 0;
        st->cores[i].left = (struct stall_evidence){0};
    }
}

void stalls_reset(struct stalls *st)
{
    for (unsigned i = 0; i < st->n; i++) {
        struct core *c = &st->cores[i];
        c->n_reset = c->n;
        c->missed_reset = c->missed;
        c->longest = (struct stall_named){0};
        memcpy(c->counts_reset, c->counts, sizeof(c->counts));
        memcpy(c->cycles_reset, c->cycles, sizeof(c->cycles));
    }
}

static double to_us(const struct core *c, uint64_t cycles)
{
    return (double)cycles * 1e6 / (double)c->tsc_hz;
}

// A stall of before the reset may have got another cause after it.
static uint64_t since(uint64_t now, uint64_t reset)
{
    return now > reset ? now - reset : 0;
}

void stalls_render(const struct stalls *st, unsigned worker, struct text *out)
{
    const struct core *c = &st->cores[worker];
    text_printf(out, "time_s length_us stage cause detail packets events timers segments\n");
    const uint64_t oldest = c->n - MIN(c->n, (uint64_t)STALLS_KEPT);
    for (uint64_t i = MAX(oldest, c->n_reset); i < c->n; i++) {
        const struct stall_named *it = &c->kept[i % STALLS_KEPT];
        const struct stall *s = &it->s;
        text_printf(out, "%.6f %.1f %s %s %s %u %u %u %u\n",
                    to_us(c, s->end_tsc - c->w->clock.start_tsc) / 1e6, to_us(c, s->cycles),
                    stall_stage_name(s), cause_names[it->cause], it->detail, s->packets, s->events,
                    s->timers, s->segments);
    }
}

void stalls_causes_render(const struct stalls *st, unsigned worker, struct text *out)
{
    const struct core *c = &st->cores[worker];
    const bool any = c->n != c->n_reset;
    for (unsigned i = 0; i < STALL_CAUSES; i++)
        text_printf(out, "%s_stalls %" PRIu64 "\n%s_us %.0f\n", cause_names[i],
                    since(c->counts[i], c->counts_reset[i]), cause_names[i],
                    to_us(c, since(c->cycles[i], c->cycles_reset[i])));
    text_printf(out,
                "longest_us %.1f\nlongest_stage %s\nlongest_cause %s\nmissed_stalls %" PRIu64 "\n",
                to_us(c, c->longest.s.cycles), any ? stall_stage_name(&c->longest.s) : "-",
                any ? cause_names[c->longest.cause] : "-", c->missed - c->missed_reset);
}

uint64_t stalls_by_cause(const struct stalls *st, unsigned worker, enum stall_cause cause,
                         uint64_t *ns)
{
    const struct core *c = &st->cores[worker];
    *ns = to_ns(c->cycles[cause], c->tsc_hz);
    return c->counts[cause];
}

struct stall_tally stalls_by(const struct stalls *st, unsigned worker, enum stall_cause cause,
                             unsigned stage, unsigned service)
{
    struct stall_tally t = st->cores[worker].by[cause][stage][service];
    if (t.count != 0)  // most are 0, and a division costs more
        t.ns = to_ns(t.cycles, st->cores[worker].tsc_hz);
    return t;
}

const char *stalls_cause_name(enum stall_cause cause)
{
    return cause_names[cause];
}

const struct linux_counts *stalls_host(const struct stalls *st, unsigned worker)
{
    return &st->cores[worker].before;
}

uint64_t stalls_host_ns(const struct stalls *st, unsigned worker)
{
    return to_ns(st->cores[worker].read_tsc, st->cores[worker].tsc_hz);
}
