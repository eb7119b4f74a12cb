// SPDX-License-Identifier: BSD-3-Clause
#include "stat/render.h"

#include <inttypes.h>

static void line_u64(struct text *out, const char *name, uint64_t value)
{
    text_printf(out, "%s %" PRIu64 "\n", name, value);
}

static double ratio(uint64_t a, uint64_t b)
{
    return b == 0 ? 0.0 : (double)a / (double)b;
}

void counters_render(struct text *out, const struct core_stats *s)
{
    const uint64_t *words = (const uint64_t *)&s->c;
    for (unsigned i = 0; i < CORE_COUNTER_COUNT; i++)
        line_u64(out, stat_counter_names[i].name, words[i]);
    line_u64(out, "dropped", stat_dropped_rx(s));
    line_u64(out, "dropped_tx", stat_dropped_tx(s));
    text_printf(out, "balance %" PRId64 "\n", stat_balance(s));
}

void drops_render(struct text *out, const struct core_stats *s)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        line_u64(out, stat_drop_names[i].name, s->drops[i]);
}

void drop_reasons_render(struct text *out)
{
    for (unsigned i = DROP_NONE + 1; i < DROP_COUNT; i++)
        text_printf(out, "%s %s %s %s\n", stat_drop_names[i].name,
                    stat_drop_kinds[i].side == DROP_SIDE_rx ? "rx" : "tx",
                    stat_drop_kinds[i].cause == DROP_CAUSE_lack ? "lack" : "peer",
                    stat_drop_names[i].help);
}

static void stage_render(struct text *out, const char *name, uint64_t cycles, uint64_t total,
                         uint64_t packets)
{
    text_printf(out, "%s_cycles %" PRIu64 "\n", name, cycles);
    text_printf(out, "%s_share_percent %.2f\n", name, 100.0 * ratio(cycles, total));
    text_printf(out, "%s_cycles_per_packet %.1f\n", name, ratio(cycles, packets));
}

void cycles_render(struct text *out, const struct core_stats *s)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        total += s->cycles[i];
    for (unsigned i = 0; i < STAGE_COUNT; i++)
        stage_render(out, stat_stage_names[i].name, s->cycles[i], total, s->c.rx_packets);
    uint64_t busy = total - s->cycles[STAGE_idle];
    uint64_t handling = busy - s->cycles[STAGE_app];
    line_u64(out, "total_cycles", total);
    text_printf(out, "busy_share_percent %.2f\n", 100.0 * ratio(busy, total));
    text_printf(out, "handling_cycles_per_packet %.1f\n", ratio(handling, s->c.rx_packets));
}

static void help_render(struct text *out, const struct stat_name *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (names[i].name != NULL)
            text_printf(out, "%s %s\n", names[i].name, names[i].help);
}

void stat_help_render(struct text *out)
{
    help_render(out, stat_counter_names, CORE_COUNTER_COUNT);
    help_render(out, stat_drop_names, DROP_COUNT);
    help_render(out, stat_stage_names, STAGE_COUNT);
}
