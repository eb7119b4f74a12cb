// SPDX-License-Identifier: BSD-3-Clause
#include "stat/counters.h"

#include <string.h>

#define NAME_HELP(name, help) {#name, help},
const struct stat_name stat_counter_names[CORE_COUNTER_COUNT] = {CORE_COUNTER_TABLE(NAME_HELP)};
const struct stat_name stat_stage_names[STAGE_COUNT] = {STAGE_TABLE(NAME_HELP)};
#undef NAME_HELP

#define DROP_NAME_HELP(name, side, cause, help) [DROP_##name] = {#name, help},
const struct stat_name stat_drop_names[DROP_COUNT] = {DROP_TABLE(DROP_NAME_HELP)};
#undef DROP_NAME_HELP

#define DROP_KIND(name, side, cause, help) [DROP_##name] = {DROP_SIDE_##side, DROP_CAUSE_##cause},
const struct stat_drop_kind stat_drop_kinds[DROP_COUNT] = {DROP_TABLE(DROP_KIND)};
#undef DROP_KIND

enum { STAT_WORDS = sizeof(struct core_stats) / sizeof(uint64_t) };

void stat_snapshot(struct core_stats *dst, const struct core_stats *src)
{
    uint64_t *to = (uint64_t *)dst;
    const uint64_t *from = (const uint64_t *)src;
    for (unsigned i = 0; i < STAT_WORDS; i++)
        to[i] = stat_load(&from[i]);
}

void stat_sum(struct core_stats *dst, const struct core_stats *const *cores, unsigned n)
{
    CHECK(n <= STAT_CORES_MAX);
    memset(dst, 0, sizeof(*dst));
    uint64_t *to = (uint64_t *)dst;
    for (unsigned core = 0; core < n; core++) {
        const uint64_t *from = (const uint64_t *)cores[core];
        for (unsigned i = 0; i < STAT_WORDS; i++)
            to[i] += stat_load(&from[i]);
    }
}

static uint64_t dropped_on(const struct core_stats *s, enum stat_drop_side side)
{
    uint64_t sum = 0;
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        sum += stat_drop_kinds[i].side == side ? s->drops[i] : 0;
    return sum;
}

uint64_t stat_dropped_rx(const struct core_stats *s)
{
    return dropped_on(s, DROP_SIDE_rx);
}

uint64_t stat_dropped_tx(const struct core_stats *s)
{
    return dropped_on(s, DROP_SIDE_tx);
}

int64_t stat_balance(const struct core_stats *s)
{
    uint64_t ends = s->c.delivered + s->c.answered + s->c.kept + stat_dropped_rx(s);
    return (int64_t)(s->c.rx_packets - ends);
}
