// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report_put.h"

// Connections closed in the phase of full connections.
static double done(const struct load_result *r)
{
    return (double)(r->counted_to.full_done - r->counted_from.full_done);
}

// Connections per second. With --life, from the end of the first connection until no more were
// opened.
static double per_s(const struct load_result *r)
{
    const double life_s = r->options->life_s;
    if (life_s <= 0)
        return load_per(done(r), r->ask_s);
    return r->stop_s <= life_s ? 0
                               : load_per((double)r->counted_stop.full_done, r->stop_s - life_s);
}

static double client_busy(const struct load_result *r)
{
    const uint64_t ns = r->counted_to.client_busy_ns - r->counted_from.client_busy_ns;
    return load_per((double)ns / 1e9, r->ask_s);
}

// The rate that the server would reach without idle time.
static double busy_per_s(const struct load_result *r)
{
    return load_per(done(r) * r->tsc_hz, load_busy_cycles(r));
}

static const char *closer(const struct load_result *r)
{
    return r->options->closer == LOAD_BY_SERVER ? "server" : "client";
}

void load_full_json(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out, ",\"closed_by\":\"%s\"", closer(r));
    load_put(out, "held", r->options->hold);
    load_put(out, "rate", r->options->rate);
    load_put(out, "full_begun", c->full_begun);
    load_put(out, "full_opened", c->full_opened);
    load_put(out, "full_done", c->full_done);
    load_put_real(out, "full_per_s", per_s(r), 0);
    load_put(out, "life_s", r->options->life_s);
    load_put(out, "lives_most", c->lives_most);
    load_put(out, "held_asked", c->asked - c->full_opened);
    load_put(out, "client_late", c->client_late);
    load_put(out, "client_no_tuple", c->client_no_tuple);
    load_put_real(out, "client_busy", client_busy(r), 3);
    load_put(out, "flood_syns", c->flood_syns);
    load_put(out, "flood_answers", c->flood_answers);
    load_put(out, "probes", c->probes);
    load_put_latency(out, "full_", load_full_time(r->load));
    if (!r->here)
        return;
    load_put(out, "server_syncookies_sent", r->asked_to.c.syncookies_sent);
    load_put(out, "server_syncookies_received", r->asked_to.c.syncookies_received);
    load_put(out, "server_time_wait_evicted", r->asked_to.c.time_wait_evicted);
    load_put(out, "server_time_wait_recycled", r->asked_to.c.time_wait_recycled);
    load_put(out, "server_time_wait_now", r->asked_to.c.time_wait_now);
    load_put_real(out, "server_cycles_per_connection", load_per(load_busy_cycles(r), done(r)), 1);
    load_put_real(out, "server_busy_per_s", busy_per_s(r), 0);
    load_put_stages(out, r, "server_stage_cycles_per_connection", done(r));
}

static void table_server(const struct load_result *r, struct text *out)
{
    const struct core_counters *c = &r->asked_to.c;
    text_printf(
        out, "server        %.0f cycles per connection, %.0f connections per second of busy time\n",
        load_per(load_busy_cycles(r), done(r)), busy_per_s(r));
    load_table_stages(out, r, "connection", done(r));
    text_printf(out,
                "records       TIME-WAIT %llu, recycled %llu, evicted %llu; SYN cookies sent %llu, "
                "returned %llu\n",
                (unsigned long long)c->time_wait_now, (unsigned long long)c->time_wait_recycled,
                (unsigned long long)c->time_wait_evicted, (unsigned long long)c->syncookies_sent,
                (unsigned long long)c->syncookies_received);
}

void load_full_table(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out,
                "full          %llu of %llu opened, answered and closed by the %s in %.2f s: %.0f "
                "per second\n",
                (unsigned long long)c->full_done, (unsigned long long)c->full_begun, closer(r),
                r->ask_s, per_s(r));
    if (r->options->life_s != 0)
        text_printf(out, "lifetime      %u s: at most %llu open\n", r->options->life_s,
                    (unsigned long long)c->lives_most);
    load_table_latency(out, "duration", load_full_time(r->load));
    text_printf(out, "saturated     not opened in time %llu, turns without a free port %llu\n",
                (unsigned long long)c->client_late, (unsigned long long)c->client_no_tuple);
    text_printf(out, "client busy   %.1f %%\n", client_busy(r) * 100);
    if (c->flood_syns != 0)
        text_printf(out, "flood         SYNs %llu, answers %llu\n",
                    (unsigned long long)c->flood_syns, (unsigned long long)c->flood_answers);
    if (r->here)
        table_server(r, out);
}
