// SPDX-License-Identifier: BSD-3-Clause
#include "server/liveness.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/topology.h"
#include "server/idle_mode.h"
#include "server/server.h"

enum { NS_A_MS = 1000000 };

// sums: totals; a window is the difference of two of them.
struct sums {
    uint64_t at_ns, packets, busy_cycles, idle_cycles;
};

struct core {
    const struct worker *w;
    int node;
    uint64_t turns, moved_ns;  // as last seen; when that was new
    uint64_t busy_turns, busy_ns;
    enum liveness_state state;
    uint64_t since_ns;
    struct sums start, window;
    struct liveness_recent recent;
};

struct liveness {
    unsigned n;
    struct core cores[];
};

uint64_t liveness_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static struct sums sums_of(const struct core_stats *st, uint64_t now_ns)
{
    struct sums s = {.at_ns = now_ns, .packets = stat_load(&st->c.rx_packets)};
    for (unsigned i = 0; i < STAGE_idle; i++)
        s.busy_cycles += stat_load(&st->cycles[i]);
    s.idle_cycles = stat_load(&st->cycles[STAGE_idle]);
    return s;
}

// The cost of a packet is measured in the window, or since the start if the window has no packets.
static void set_recent(struct core *c, const struct sums *now)
{
    const struct sums *from = &c->window;
    const double seconds = (double)(now->at_ns - from->at_ns) / 1e9;
    const double busy = (double)(now->busy_cycles - from->busy_cycles);
    const double idle = (double)(now->idle_cycles - from->idle_cycles);
    double packets = (double)(now->packets - from->packets), cycles = busy;
    c->recent.packets_per_s = packets / seconds;
    c->recent.useful = busy + idle == 0 ? 0 : busy / (busy + idle);
    if (packets == 0) {
        packets = (double)(now->packets - c->start.packets);
        cycles = (double)(now->busy_cycles - c->start.busy_cycles);
    }
    c->recent.headroom_pps = cycles == 0 ? 0 : idle / seconds * packets / cycles;
    c->window = *now;
}

static enum liveness_state state_of(const struct core *c, uint64_t now_ns)
{
    switch (shared_u32_load_acquire(&c->w->state)) {
    case WORKER_IDLE:
        return LIVENESS_STARTING;
    case WORKER_STOPPED:
        return LIVENESS_STOPPED;
    default:
        break;
    }
    if (now_ns - c->moved_ns >= (uint64_t)LIVENESS_STALLED_MS * NS_A_MS)
        return LIVENESS_STALLED;
    return now_ns - c->busy_ns < (uint64_t)LIVENESS_IDLE_MS * NS_A_MS ? LIVENESS_RUNNING
                                                                      : LIVENESS_IDLE;
}

static void look(struct core *c, uint64_t now_ns)
{
    const struct core_stats *st = c->w->stats;
    const uint64_t turns = stat_load(&st->c.turns), busy = stat_load(&st->c.turns_busy);
    const bool sleeps = shared_u32_load(&c->w->idle_wait.wake.asleep) != 0;
    if (turns != c->turns || sleeps || c->state == LIVENESS_STARTING) {
        c->turns = turns;
        c->moved_ns = now_ns;
    }
    if (busy != c->busy_turns) {
        c->busy_turns = busy;
        c->busy_ns = now_ns;
    }
    const enum liveness_state state = state_of(c, now_ns);
    if (state != c->state) {
        c->state = state;
        c->since_ns = state == LIVENESS_STALLED ? c->moved_ns : now_ns;
    }
    if (now_ns - c->window.at_ns >= (uint64_t)LIVENESS_WINDOW_MS * NS_A_MS) {
        const struct sums now = sums_of(st, now_ns);
        set_recent(c, &now);
    }
}

struct liveness *liveness_new(const struct server *s, uint64_t now_ns)
{
    const unsigned n = server_workers(s);
    struct liveness *p = calloc(1, sizeof(*p) + n * sizeof(p->cores[0]));
    if (p == NULL)
        return NULL;
    p->n = n;
    for (unsigned i = 0; i < n; i++) {
        struct core *c = &p->cores[i];
        struct cpu_place place;
        c->w = server_worker(s, i);
        c->node = topology_read("/sys", c->w->cpu, &place) ? place.node : -1;
        c->since_ns = c->moved_ns = now_ns;
        c->start = c->window = sums_of(c->w->stats, now_ns);
    }
    return p;
}

void liveness_free(struct liveness *p)
{
    free(p);
}

void liveness_poll(struct liveness *p, uint64_t now_ns)
{
    for (unsigned i = 0; i < p->n; i++)
        look(&p->cores[i], now_ns);
}

void liveness_look(struct liveness *p, unsigned worker, uint64_t now_ns, struct liveness_now *out)
{
    struct core *c = &p->cores[worker];
    const struct worker *w = c->w;
    look(c, now_ns);
    *out = (struct liveness_now){.state = c->state,
                                 .for_ms = (now_ns - c->since_ns) / NS_A_MS,
                                 .turn = c->turns,
                                 .stage = MIN(shared_u32_load(&w->at), (uint32_t)STAGE_idle),
                                 .recent = c->recent};
    const uint8_t serving = shared_u8_load(&w->sock.serving);
    if (serving < w->tcp.n_services && (out->stage == STAGE_app || out->stage == STAGE_timers))
        out->service = &w->sock.services[serving];
}

const char *liveness_state_name(enum liveness_state s)
{
    static const char *const names[] = {[LIVENESS_STARTING] = "starting",
                                        [LIVENESS_RUNNING] = "running",
                                        [LIVENESS_IDLE] = "idle",
                                        [LIVENESS_STALLED] = "stalled",
                                        [LIVENESS_STOPPED] = "stopped"};
    return names[s];
}

void liveness_render(struct liveness *p, unsigned worker, uint64_t now_ns, struct text *out)
{
    struct liveness_now n;
    const struct core *c = &p->cores[worker];
    liveness_look(p, worker, now_ns, &n);
    const char *stage = n.stage == STAGE_idle ? "-" : stat_stage_names[n.stage].name;
    const char *app = n.service != NULL ? n.service->app->name : "-";
    text_printf(out, "state %s\nfor_ms %" PRIu64 "\n", liveness_state_name(n.state), n.for_ms);
    if (n.state == LIVENESS_STALLED)
        text_printf(out, "stalled for %" PRIu64 " ms in stage %s of application %s\n", n.for_ms,
                    stage, app);
    text_printf(out, "stage %s\napplication %s\nservice %s\nturn %" PRIu64 "\n", stage, app,
                n.service != NULL ? n.service->name : "-", n.turn);
    text_printf(out, "idle %s\n", idle_mode_name(c->w->idle_wait.mode));
    text_printf(out, "cpu %u\nnode %d\ntid %u\npid %d\nconnections_max %u\n", c->w->cpu, c->node,
                shared_u32_load(&c->w->tid), (int)getpid(), c->w->block_count);
}
