// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

static double in_time_per_s(const struct load_result *r)
{
    return load_per((double)(r->counted_stop.in_time - r->counted_from.in_time), r->stop_s);
}

void load_give_up_json(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    load_put(out, "give_up_ms", r->options->give_up_ms);
    load_put(out, "in_time", c->in_time);
    load_put(out, "given_up", c->given_up);
    load_put(out, "refused", c->refused);
    load_put_real(out, "in_time_per_s", in_time_per_s(r), 0);
}

void load_give_up_table(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out,
                "in time       %llu within %u ms: %.0f per second; refused %llu, given up %llu\n",
                (unsigned long long)c->in_time, r->options->give_up_ms, in_time_per_s(r),
                (unsigned long long)c->refused, (unsigned long long)c->given_up);
}
