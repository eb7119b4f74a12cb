// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

static double datagrams(const struct load_result *r)
{
    return (double)(r->asked_to.c.rx_udp - r->asked_from.c.rx_udp);
}

// The rate that the server would reach without idle time.
static double busy_mpps(const struct load_result *r)
{
    return load_per(datagrams(r) * r->tsc_hz, load_busy_cycles(r)) / 1e6;
}

void load_udp_json(const struct load_result *r, struct text *out)
{
    load_put(out, "payload", r->options->payload);
    load_put(out, "late_answers", load_counters(r->load)->late_answers);
    if (!r->here)
        return;
    load_put_real(out, "server_cycles_per_datagram", load_per(load_busy_cycles(r), datagrams(r)),
                  1);
    load_put_real(out, "server_datagram_mpps", busy_mpps(r), 3);
    load_put_stages(out, r, "server_stage_cycles_per_datagram", datagrams(r));
}

void load_udp_table(const struct load_result *r, struct text *out)
{
    text_printf(out, "datagrams     %u bytes each, late answers %llu\n", r->options->payload,
                (unsigned long long)load_counters(r->load)->late_answers);
    if (!r->here)
        return;
    text_printf(out, "server        %.1f cycles per datagram, %.2f M per second of busy time\n",
                load_per(load_busy_cycles(r), datagrams(r)), busy_mpps(r));
    load_table_stages(out, r, "datagram", datagrams(r));
}
