// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

void load_schedule_json(const struct load_result *r, struct text *out)
{
    const struct load_schedule *d = load_schedule_of(r->load);
    load_put(out, "rate", d->rate);
    load_put(out, "due", d->due);
    load_put(out, "not_started", d->due - d->started);
    load_put(out, "client_late_starts", d->late);
    load_put_real(out, "client_late_max_us", (double)d->late_max_ns / 1e3, 3);
    load_put_latency(out, "uncorrected_", load_latency(r->load));
}

void load_schedule_table(const struct load_result *r, struct text *out)
{
    const struct load_schedule *d = load_schedule_of(r->load);
    load_table_latency(out, "uncorrected", load_latency(r->load));
    text_printf(out, "due           %llu at %llu per second, not started %llu",
                (unsigned long long)d->due, (unsigned long long)d->rate,
                (unsigned long long)(d->due - d->started));
    if (d->late != 0)
        text_printf(out, "; client saturated: late for %llu, by at most %.0f us",
                    (unsigned long long)d->late, (double)d->late_max_ns / 1e3);
    text_printf(out, "\n");
}
