// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

void load_put(struct text *out, const char *name, uint64_t value)
{
    text_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

void load_put_real(struct text *out, const char *name, double value, int places)
{
    text_printf(out, ",\"%s\":%.*f", name, places, value);
}

static double stage_cycles(const struct load_result *r, unsigned stage)
{
    return (double)(r->asked_to.cycles[stage] - r->asked_from.cycles[stage]);
}

double load_busy_cycles(const struct load_result *r)
{
    double sum = 0;
    for (unsigned s = 0; s < STAGE_idle; s++)
        sum += stage_cycles(r, s);
    return sum;
}

void load_put_stages(struct text *out, const struct load_result *r, const char *name, double n)
{
    if (!r->here)
        return;
    text_printf(out, ",\"%s\":{", name);
    for (unsigned s = 0; s <= STAGE_idle; s++)
        text_printf(out, "%s\"%s\":%.1f", s == 0 ? "" : ",", stat_stage_names[s].name,
                    load_per(stage_cycles(r, s), n));
    text_printf(out, "}");
}

void load_table_stages(struct text *out, const struct load_result *r, const char *things, double n)
{
    if (!r->here)
        return;
    text_printf(out, "stages        cycles per %s:", things);
    for (unsigned s = 0; s <= STAGE_idle; s++)
        text_printf(out, " %s %.0f", stat_stage_names[s].name, load_per(stage_cycles(r, s), n));
    text_printf(out, "\n");
}
