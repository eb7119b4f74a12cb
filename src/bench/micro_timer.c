// SPDX-License-Identifier: BSD-3-Clause
// A million timers: the server's timer wheel compared with rte_timer, a skip list.
#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_timer.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/rng.h"
#include "bench/map.h"
#include "bench/micro.h"
#include "flow/wheel.h"

enum { FIRST_MS = 200, SPREAD_MS = 3000, AHEAD = 16 };  // deadlines; cache lines prefetched

// As in a connection block: the deadline, and the time at which the entry leaves the wheel.
struct armed {
    uint32_t deadline_ms, wheel_ms;
} CACHE_ALIGNED;

struct timer_ctx {
    uint32_t n;
    uint32_t now_ms;
    struct rng rng;
    struct bench_map map, list_map;
    struct wheel *wheel;
    struct armed *armed;
    struct rte_timer *timers;
    uint64_t fired;
};

static void *open_any(uint32_t n, size_t bytes, size_t each, struct err *err)
{
    struct timer_ctx *c = calloc(1, sizeof(*c));
    CHECK(c != NULL);
    c->n = n;
    c->rng.state = 1;
    if (bench_map(&c->list_map, (size_t)n * each) && bench_map(&c->map, bytes))
        return c;
    err_set(err, "no memory for %u timers", n);
    return NULL;
}

static void *open_wheel(uint32_t n, struct err *err)
{
    // With room for stale entries, as in the server.
    struct timer_ctx *c = open_any(n, wheel_footprint((uint64_t)n * 3), sizeof(*c->armed), err);
    if (c == NULL)
        return NULL;
    c->armed = c->list_map.at;
    c->wheel = wheel_init(c->map.at, (uint64_t)n * 3, 0);
    return c;
}

static uint32_t some_deadline(struct timer_ctx *c)
{
    return c->now_ms + FIRST_MS + rng_below(&c->rng, SPREAD_MS);
}

static void arm_all(struct timer_ctx *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        c->armed[i].deadline_ms = some_deadline(c);
        c->armed[i].wheel_ms = wheel_add(c->wheel, c->armed[i].deadline_ms, i);
        CHECK(c->armed[i].wheel_ms != 0);
    }
}

static void expire_all(struct timer_ctx *c)
{
    uint32_t out[256], got = 0;
    for (; got < c->n; c->now_ms += time_before(c->now_ms, wheel_next_ms(c->wheel)))
        got += wheel_expire(c->wheel, c->now_ms, out, ARRAY_LEN(out));
}

static void wheel_arm(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    const uint64_t start = tsc_read();
    arm_all(c);
    r->cycles += tsc_read() - start;
    r->ops += c->n;
    expire_all(c);
}

static void wheel_end(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    arm_all(c);
    const uint64_t start = tsc_read();
    expire_all(c);
    r->cycles += tsc_read() - start;
    r->ops += c->n;
}

// A later deadline does not move the entry, which is checked when it leaves the wheel.
static inline void rearm(struct timer_ctx *c, uint32_t i)
{
    struct armed *a = &c->armed[i];
    a->deadline_ms = c->now_ms + FIRST_MS + SPREAD_MS;
    if (time_before(a->deadline_ms, a->wheel_ms))
        a->wheel_ms = wheel_add(c->wheel, a->deadline_ms, i);
}

static void wheel_rearm(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    if (c->wheel->entries == 0)
        arm_all(c);
    uint32_t some[MICRO_LOT + AHEAD];
    for (unsigned b = 0; b < 256; b++) {
        for (unsigned i = 0; i < ARRAY_LEN(some); i++)
            some[i] = rng_below(&c->rng, c->n);
        const uint64_t start = tsc_read();
        for (unsigned i = 0; i < MICRO_LOT; i++) {
            prefetch0_w(&c->armed[some[i + AHEAD]]);
            rearm(c, some[i]);
        }
        r->cycles += tsc_read() - start;
    }
    r->ops += 256 * MICRO_LOT;
}

static void *open_list(uint32_t n, struct err *err)
{
    if (micro_eal(64 << 20, err) != 0)
        return NULL;
    struct timer_ctx *c = open_any(n, 4096, sizeof(struct rte_timer), err);
    if (c == NULL)
        return NULL;
    if (rte_timer_subsystem_init() != 0) {
        err_set(err, "rte_timer: not available");
        return NULL;
    }
    c->timers = c->list_map.at;
    for (uint32_t i = 0; i < n; i++)
        rte_timer_init(&c->timers[i]);
    return c;
}

static void on_timer(struct rte_timer *t, void *arg)
{
    (void)t;
    struct timer_ctx *c = arg;
    c->fired++;
}

static void list_add(struct timer_ctx *c, uint32_t i, uint64_t ticks)
{
    CHECK(rte_timer_reset(&c->timers[i], ticks, SINGLE, rte_lcore_id(), on_timer, c) == 0);
}

static uint64_t some_ticks(struct timer_ctx *c)
{
    return (FIRST_MS + rng_below(&c->rng, SPREAD_MS)) * (rte_get_tsc_hz() / 1000);
}

// Adds all timers at once in the order of their deadlines; they expire before the last one is
// added.
static void list_due(struct timer_ctx *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        list_add(c, i, 1 + i % 1000);
}

static void list_empty(struct timer_ctx *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        rte_timer_stop_sync(&c->timers[i]);
}

static void list_arm(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    const uint64_t start = tsc_read();
    for (uint32_t i = 0; i < c->n; i++)
        list_add(c, i, some_ticks(c));
    r->cycles += tsc_read() - start;
    r->ops += c->n;
    list_empty(c);
}

static void list_rearm(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    if (rte_timer_pending(&c->timers[0]) == 0)
        for (uint32_t i = 0; i < c->n; i++)
            list_add(c, i, some_ticks(c) * 1000);  // far enough not to expire while they are moved
    uint32_t some[MICRO_LOT + AHEAD];
    for (unsigned b = 0; b < 16; b++) {
        for (unsigned i = 0; i < ARRAY_LEN(some); i++)
            some[i] = rng_below(&c->rng, c->n);
        const uint64_t start = tsc_read();
        for (unsigned i = 0; i < MICRO_LOT; i++) {
            prefetch0_w(&c->timers[some[i + AHEAD]]);
            list_add(c, some[i], some_ticks(c) * 1000);
        }
        r->cycles += tsc_read() - start;
    }
    r->ops += 16 * MICRO_LOT;
}

static void list_end(void *ctx, struct micro_run *r)
{
    struct timer_ctx *c = ctx;
    list_due(c);
    const uint64_t before = c->fired, start = tsc_read();
    while (c->fired - before < c->n)
        CHECK(rte_timer_manage() == 0);
    r->cycles += tsc_read() - start;
    r->ops += c->n;
}

#define TIMER(n, p, h, o, f)                                                                       \
    {                                                                                              \
        .name = n, .peer = p, .help = h, .sizes = {1000000}, .open = o, .run = f                   \
    }

const struct micro micro_timer[] = {
    TIMER("TimerArmRte", NULL, "rte_timer: arm, random deadlines", open_list, list_arm),
    TIMER("TimerArm", "TimerArmRte", "timer wheel: the same", open_wheel, wheel_arm),
    TIMER("TimerRearmRte", NULL, "rte_timer: move a pending timer", open_list, list_rearm),
    TIMER("TimerRearm", "TimerRearmRte", "timer wheel: the same, as in TCP", open_wheel,
          wheel_rearm),
    TIMER("TimerExpireRte", NULL, "rte_timer: call expired timers", open_list, list_end),
    TIMER("TimerExpire", "TimerExpireRte", "timer wheel: return expired timers", open_wheel,
          wheel_end),
    {.name = NULL},
};
