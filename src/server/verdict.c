// SPDX-License-Identifier: BSD-3-Clause
#include "server/verdict.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define KIND_INFO(kind, severity, ...) {#kind, VERDICT_##severity, __VA_ARGS__},
const struct verdict_kind_info verdict_kinds[VERDICT_KINDS] = {VERDICT_KIND_TABLE(KIND_INFO)};
#undef KIND_INFO

const char *const verdict_severities[VERDICT_SEVERITIES] = {"alarm", "warning", "note"};

enum { NUMBER_BYTES = 32 };

// grouped: a whole number with commas between thousands.
static const char *grouped(char out[NUMBER_BYTES], double value)
{
    char digits[NUMBER_BYTES];
    const int n = snprintf(digits, sizeof(digits), "%.0f", MIN(value, 9e15));
    int to = 0;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            out[to++] = ',';
        out[to++] = digits[i];
    }
    out[to] = '\0';
    return out;
}

// ---- items

static struct verdict_item *find(struct verdict *v, enum verdict_kind kind, const char *subject)
{
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++) {
        struct verdict_item *it = &v->items[i];
        if (it->used && it->kind == kind &&
            strncmp(it->subject, subject, VERDICT_SUBJECT_BYTES - 1) == 0)
            return it;
    }
    return NULL;
}

static void tell(const struct verdict *v, const struct verdict_item *it, uint64_t now_ns)
{
    if (v->changed != NULL)
        v->changed(v->arg, it, now_ns);
}

// end: of an item, with word of it where it had been said.
static void end(struct verdict *v, struct verdict_item *it, uint64_t now_ns)
{
    const bool said = it->active;
    it->active = it->used = false;
    if (said)
        tell(v, it, now_ns);
}

// place: a free place, or that of an item of lower rank; NULL: there is none. The item that makes
// room is counted when this look has seen it already, or else when it asks for a place itself.
static struct verdict_item *place(struct verdict *v, enum verdict_kind kind, uint64_t now_ns)
{
    struct verdict_item *lowest = &v->items[0];
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++) {
        if (!v->items[i].used)
            return &v->items[i];
        if (v->items[i].kind > lowest->kind)
            lowest = &v->items[i];
    }
    if (lowest->kind <= kind) {
        v->n_missed++;
        return NULL;
    }
    v->n_missed += lowest->seen;
    end(v, lowest, now_ns);
    return lowest;
}

// see: the level of kind and subject in this look. The sentence is written anew while it is true.
static void __attribute__((format(printf, 6, 7)))
see(struct verdict *v, uint64_t now_ns, enum verdict_kind kind, const char *subject, double level,
    const char *format, ...)
{
    const struct verdict_kind_info *k = &verdict_kinds[kind];
    if (!(level >= MIN(k->on, k->off)))
        return;
    struct verdict_item *it = find(v, kind, subject);
    if (it == NULL && level < k->on)
        return;
    if (it == NULL && (it = place(v, kind, now_ns)) == NULL)
        return;
    if (!it->used) {
        *it = (struct verdict_item){.kind = kind, .used = true, .since_ns = now_ns};
        snprintf(it->subject, sizeof(it->subject), "%s", subject);
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(it->sentence, sizeof(it->sentence), format, ap);
    va_end(ap);
    it->level = level;
    it->seen = true;
}

// settle: what this look makes of an item.
static void settle(struct verdict *v, struct verdict_item *it, uint64_t now_ns)
{
    const struct verdict_kind_info *k = &verdict_kinds[it->kind];
    if (it->held)
        return;
    it->off_looks = it->seen ? 0 : it->off_looks + 1;
    if (!it->active) {
        it->on_looks = it->seen && it->level >= k->on ? it->on_looks + 1 : 0;
        if (it->on_looks == 0)
            it->used = false;
        else if (it->on_looks >= k->on_looks) {
            it->active = true;
            tell(v, it, now_ns);
        }
    } else if (it->off_looks >= k->off_looks)
        end(v, it, now_ns);
}

// ---- rules

static double seconds_between(const struct verdict *v, const struct verdict_look *now)
{
    return (double)(now->now_ns - v->before.now_ns) / 1e9;
}

// rate: of a total a second since the look before; 0 where there is none, or the total fell.
static double rate(const struct verdict *v, const struct verdict_look *now, uint64_t is,
                   uint64_t was)
{
    const double s = seconds_between(v, now);
    return !v->looked || is <= was || s <= 0 ? 0 : (double)(is - was) / s;
}

static double percent(uint64_t part, uint64_t whole)
{
    return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void judge_port(struct verdict *v, const struct verdict_look *now, unsigned i)
{
    const struct verdict_port *p = &now->ports[i], *b = &v->before.ports[i];
    const struct {
        const char *name;
        uint64_t is, was;
    } losses[] = {{"rx_missed", p->rx_missed, b->rx_missed},
                  {"rx_nombuf", p->rx_nombuf, b->rx_nombuf},
                  {"rx_errors", p->rx_errors, b->rx_errors},
                  {"tx_errors", p->tx_errors, b->tx_errors}};
    char subject[VERDICT_SUBJECT_BYTES], number[NUMBER_BYTES];
    see(v, now->now_ns, VERDICT_link_down, p->name, p->link_known && !p->link_up,
        "link %s down%s%s%s", p->name, p->link_reason != NULL ? " (" : "",
        p->link_reason != NULL ? p->link_reason : "", p->link_reason != NULL ? ")" : "");
    see(v, now->now_ns, VERDICT_members_missing, p->name,
        p->link_up && p->members_usable < p->members, "%s runs on %s of %u members", p->name,
        grouped(number, p->members_usable), p->members);
    see(v, now->now_ns, VERDICT_linux_gone, p->name, p->linux_gone,
        "interface of Linux at port %s was removed: restart the server", p->name);
    for (unsigned k = 0; k < ARRAY_LEN(losses); k++) {
        const double lost = rate(v, now, losses[k].is, losses[k].was);
        snprintf(subject, sizeof(subject), "%s %s", p->name, losses[k].name);
        see(v, now->now_ns, VERDICT_port_loses, subject, lost, "port %s loses packets: %s %s/s",
            p->name, losses[k].name, grouped(number, lost));
    }
    const double handed = rate(v, now, p->handoff_lost, b->handoff_lost);
    see(v, now->now_ns, VERDICT_handoff_full, p->name, handed,
        "handoff rings of port %s full: %s packets lost/s", p->name, grouped(number, handed));
    see(v, now->now_ns, VERDICT_rss_software, p->name, p->rss == RSS_SOFTWARE,
        "port %s does not spread packets as set, software does: ports/%s/rss", p->name, p->name);
    see(v, now->now_ns, VERDICT_rss_suspect, p->name, p->rss == RSS_SUSPECT,
        "port %s brings packets to wrong workers, being checked: ports/%s/rss", p->name, p->name);
}

// pool_kind: what it means that this pool is empty; VERDICT_KINDS: nothing (its oldest entry makes
// room, which is counted).
static enum verdict_kind pool_kind(const char *pool)
{
    static const struct {
        const char *pool;
        enum verdict_kind kind;
    } others[] = {{"blocks", VERDICT_connections_full},
                  {"syn_records", VERDICT_half_open_full},
                  {"extensions", VERDICT_records_short},
                  {"flight_logs", VERDICT_records_short},
                  {"flight_logs_large", VERDICT_records_short},
                  {"time_wait", VERDICT_KINDS},
                  {"time_wait6", VERDICT_KINDS}};
    for (unsigned i = 0; i < ARRAY_LEN(others); i++)
        if (strcmp(pool, others[i].pool) == 0)
            return others[i].kind;
    return VERDICT_pool_empty;
}

static void judge_pool(struct verdict *v, const struct verdict_look *now,
                       const struct verdict_core *c, const struct fill_pool *p)
{
    char subject[VERDICT_SUBJECT_BYTES], where[48] = "";
    const enum verdict_kind kind = pool_kind(p->name);
    const double full = percent(p->used, p->size);
    if (kind == VERDICT_KINDS || p->size == 0)
        return;
    if (now->n_cores > 1)
        snprintf(where, sizeof(where), " of core %s", c->name);
    snprintf(subject, sizeof(subject), "%s %s", c->name, p->name);
    if (kind == VERDICT_connections_full || kind == VERDICT_half_open_full)
        see(v, now->now_ns, kind, subject, full, "%s%s at their limit %" PRIu64 " of %" PRIu64 "%s",
            kind == VERDICT_connections_full ? "connections" : "half-open connections", where,
            p->used, p->size, kind == VERDICT_half_open_full ? ": SYN cookies" : "");
    else
        see(v, now->now_ns, kind, subject, full, "pool %s%s empty", p->name, where);
}

// hold_host: the host's figures were not read since the last look, which has judged this reading:
// it counts for no second look, neither toward the begin of an item nor toward its end.
static void hold_host(struct verdict *v, const char *core)
{
    static const enum verdict_kind kinds[] = {VERDICT_core_preempted, VERDICT_core_stolen,
                                              VERDICT_core_interrupted};
    for (unsigned i = 0; i < ARRAY_LEN(kinds); i++) {
        struct verdict_item *it = find(v, kinds[i], core);
        if (it != NULL)
            it->held = true;
    }
}

static void judge_host(struct verdict *v, const struct verdict_look *now,
                       const struct verdict_core *c, const struct verdict_core *b)
{
    char number[NUMBER_BYTES];
    if (!v->looked || c->host_ns == 0 || b->host_ns == 0)
        return;
    if (c->host_ns == b->host_ns) {
        hold_host(v, c->name);
        return;
    }
    const double ns = (double)(c->host_ns - b->host_ns);
    const double waited = 100.0 * (double)(c->wait_ns - MIN(b->wait_ns, c->wait_ns)) / ns;
    const double stolen = 100.0 * (double)(c->steal_ns - MIN(b->steal_ns, c->steal_ns)) / ns;
    const double irqs = 1e9 * (double)(c->interrupts - MIN(b->interrupts, c->interrupts)) / ns;
    see(v, now->now_ns, VERDICT_core_preempted, c->name, now->cores_shared ? 0 : waited,
        "core %s preempted %.0f %%", c->name, MIN(waited, 100.0));
    see(v, now->now_ns, VERDICT_core_stolen, c->name, stolen,
        "core %s loses %.0f %% to the hypervisor", c->name, MIN(stolen, 100.0));
    see(v, now->now_ns, VERDICT_core_interrupted, c->name, irqs, "core %s interrupted %s times/s",
        c->name, grouped(number, irqs));
}

static void judge_core(struct verdict *v, const struct verdict_look *now, unsigned i)
{
    const struct verdict_core *c = &now->cores[i], *b = &v->before.cores[i];
    const bool known = c->function != NULL && strcmp(c->function, "-") != 0;
    const char *in = known ? ", function " : "", *function = known ? c->function : "";
    if (c->app != NULL)
        see(v, now->now_ns, VERDICT_core_stalled, c->name, (double)c->stalled_ms,
            "core %s stalled in stage %s of application %s, service %s%s%s", c->name, c->stage,
            c->app, c->service, in, function);
    else
        see(v, now->now_ns, VERDICT_core_stalled, c->name, (double)c->stalled_ms,
            "core %s stalled in stage %s%s%s", c->name, c->stage, in, function);
    struct verdict_item *stalled = find(v, VERDICT_core_stalled, c->name);
    if (stalled != NULL && stalled->seen)  // it began before it was long enough to be said
        stalled->since_ns = now->now_ns - MIN(c->stalled_ms * 1000000, now->now_ns);
    for (unsigned p = 0; p < c->n_pools; p++)
        judge_pool(v, now, c, &c->pools[p]);
    judge_host(v, now, c, b);
    const double busy = v->looked && c->cycles > b->cycles && c->busy_cycles >= b->busy_cycles
                            ? percent(c->busy_cycles - b->busy_cycles, c->cycles - b->cycles)
                            : 0;
    see(v, now->now_ns, VERDICT_core_busy, c->name, busy, "core %s busy %.0f %%", c->name, busy);
}

// same: all services are in one state, which is said once.
static void judge_service(struct verdict *v, const struct verdict_look *now, unsigned i, bool same)
{
    const struct verdict_service *s = &now->services[i], *b = &v->before.services[i];
    const bool full = s->shares_full > 0;
    char number[NUMBER_BYTES];
    const double used = full ? VERDICT_FULL_PERCENT
                             : MIN(percent(s->connections, s->connections_max),
                                   (double)VERDICT_FULL_PERCENT - 0.01);
    if (s->shares_full == s->shares || !full)
        see(v, now->now_ns, VERDICT_service_full, s->name, used,
            "%s at its limit %" PRIu64 " of %" PRIu64, s->name, s->connections, s->connections_max);
    else
        see(v, now->now_ns, VERDICT_service_full, s->name, used,
            "%s at its limit on %u of %u cores: %" PRIu64 " of %" PRIu64, s->name, s->shares_full,
            s->shares, s->connections, s->connections_max);
    const double lost = rate(v, now, s->log_lost, b->log_lost);
    see(v, now->now_ns, VERDICT_log_loses, s->name, lost, "access log of %s loses %s lines/s",
        s->name, grouped(number, lost));
    see(v, now->now_ns, VERDICT_draining, s->name, s->state == TCP_SERVICE_DRAINING && !same,
        "%s draining: %" PRIu64 " connections left", s->name, s->connections);
    see(v, now->now_ns, VERDICT_service_closed, s->name, s->state == TCP_SERVICE_CLOSED && !same,
        "%s closed", s->name);
}

static void judge_services(struct verdict *v, const struct verdict_look *now)
{
    uint64_t left = 0;
    bool same = now->n_services > 1;
    for (unsigned i = 0; i < now->n_services; i++) {
        left += now->services[i].connections;
        same = same && now->services[i].state == now->services[0].state;
    }
    see(v, now->now_ns, VERDICT_draining, "",
        same && now->services[0].state == TCP_SERVICE_DRAINING,
        "draining: %" PRIu64 " connections left", left);
    see(v, now->now_ns, VERDICT_service_closed, "",
        same && now->services[0].state == TCP_SERVICE_CLOSED, "all services closed");
    for (unsigned i = 0; i < now->n_services; i++)
        judge_service(v, now, i, same);
}

// Those of handoff_full have a kind of their own.
static void judge_drops(struct verdict *v, const struct verdict_look *now)
{
    char number[NUMBER_BYTES];
    for (unsigned d = DROP_NONE + 1; d < DROP_COUNT; d++) {
        const double lost = rate(v, now, now->drops[d], v->before.drops[d]);
        if (stat_drop_kinds[d].cause == DROP_CAUSE_lack && d != DROP_handoff_full)
            see(v, now->now_ns, VERDICT_drops, stat_drop_names[d].name, lost,
                "drops of reason %s: %s/s", stat_drop_names[d].name, grouped(number, lost));
    }
}

static void judge_rest(struct verdict *v, const struct verdict_look *now)
{
    char number[NUMBER_BYTES];
    const double shed = rate(v, now, now->conns_shed, v->before.conns_shed);
    see(v, now->now_ns, VERDICT_buffers_scarce, "", shed,
        "buffers scarce: %s slow connections reset/s", grouped(number, shed));
    const double evicted = rate(v, now, now->time_wait_evicted, v->before.time_wait_evicted);
    see(v, now->now_ns, VERDICT_time_wait_short, "", evicted,
        "TIME-WAIT evicts %s records/s: [memory] time_wait is too small", grouped(number, evicted));
    if (!v->looked)
        return;
    const double late = seconds_between(v, now) * 1e3 - VERDICT_LOOK_MS;
    see(v, now->now_ns, VERDICT_control_late, "", late, "control thread came %.1f s late",
        late / 1e3);
    const double step_us = (double)(now->clock_offset_us - v->before.clock_offset_us);
    see(v, now->now_ns, VERDICT_clock_stepped, "", (step_us < 0 ? -step_us : step_us) / 1e3,
        "clock of the host stepped by %+.1f s", step_us / 1e6);
}

void verdict_judge(struct verdict *v, const struct verdict_look *now)
{
    v->n_missed = 0;
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++)
        v->items[i].seen = v->items[i].held = false;
    for (unsigned i = 0; i < now->n_ports; i++)
        judge_port(v, now, i);
    for (unsigned i = 0; i < now->n_cores; i++)
        judge_core(v, now, i);
    judge_services(v, now);
    judge_drops(v, now);
    judge_rest(v, now);
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++)
        if (v->items[i].used)
            settle(v, &v->items[i], now->now_ns);
    v->before = *now;
    v->looked = true;
}

// ---- what is said

unsigned verdict_list(const struct verdict *v, const struct verdict_item **out)
{
    unsigned n = 0;
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++) {
        const struct verdict_item *it = &v->items[i];
        if (!it->active)
            continue;
        unsigned at = n++;
        for (; at > 0 && out[at - 1]->kind > it->kind; at--)
            out[at] = out[at - 1];
        out[at] = it;
    }
    return n;
}

unsigned verdict_count_kind(const struct verdict *v, enum verdict_kind kind)
{
    unsigned n = 0;
    for (unsigned i = 0; i < VERDICT_ITEMS_MAX; i++)
        n += v->items[i].active && v->items[i].kind == kind;
    return n;
}

unsigned verdict_count(const struct verdict *v, enum verdict_severity severity)
{
    unsigned n = 0;
    for (unsigned k = 0; k < VERDICT_KINDS; k++)
        n += verdict_kinds[k].severity == severity ? verdict_count_kind(v, k) : 0;
    return n;
}

void verdict_render(const struct verdict *v, uint64_t now_ns, uint64_t now_us, struct text *out)
{
    const struct verdict_item *list[VERDICT_ITEMS_MAX];
    const unsigned n = verdict_list(v, list);
    for (unsigned i = 0; i < n; i++) {
        char since[32];
        struct tm tm;
        const uint64_t age_ns = now_ns - MIN(list[i]->since_ns, now_ns);
        const time_t began = (time_t)((now_us - MIN(now_us, age_ns / 1000)) / 1000000);
        strftime(since, sizeof(since), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&began, &tm));
        text_printf(out, "%s %s %s for %" PRIu64 " s\n",
                    verdict_severities[verdict_kinds[list[i]->kind].severity], since,
                    list[i]->sentence, age_ns / 1000000000);
    }
    if (n == 0)
        text_printf(out, "%s\n", v->looked ? "ok" : "starting");
    if (v->n_missed > 0)
        text_printf(out, "note - %u more, of lower rank: %d are kept\n", v->n_missed,
                    VERDICT_ITEMS_MAX);
}
