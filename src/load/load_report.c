// SPDX-License-Identifier: BSD-3-Clause
#include "load/load_report.h"

#include <string.h>

#include "load/load_report_put.h"

static double asked_packets(const struct load_result *r)
{
    return (double)(r->asked_to.c.rx_packets - r->asked_from.c.rx_packets);
}

static void put_faults(struct text *out, const char *name, const struct fault_counts *f)
{
    text_printf(out,
                ",\"%s\":{\"seen\":%llu,\"lost\":%llu,\"reordered\":%llu,\"duplicated\":%llu,"
                "\"corrupted\":%llu}",
                name, (unsigned long long)f->seen, (unsigned long long)f->lost,
                (unsigned long long)f->reordered, (unsigned long long)f->duplicated,
                (unsigned long long)f->corrupted);
}

// The quantiles in a report, with their names in the JSON object and in the table.
static const struct {
    const char *name, *shown;
    double part;
} parts[] = {
    {"p50_us", "p50", 0.5},      {"p90_us", "p90", 0.9},         {"p99_us", "p99", 0.99},
    {"p999_us", "p99.9", 0.999}, {"p9999_us", "p99.99", 0.9999}, {"max_us", "max", 1},
};

// Names have the prefix `before`; microseconds have three decimal places.
void load_put_latency(struct text *out, const char *before, const struct load_histogram *h)
{
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        text_printf(out, ",\"%s%s\":%.3f", before, parts[i].name,
                    (double)load_histogram_ns(h, parts[i].part) / 1e3);
    text_printf(out, ",\"%smean_us\":%.3f", before, load_histogram_mean_ns(h) / 1e3);
}

void load_table_latency(struct text *out, const char *name, const struct load_histogram *h)
{
    text_printf(out, "%-13s", name);
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        text_printf(out, "%s %s %.1f", i == 0 ? "" : ",", parts[i].shown,
                    (double)load_histogram_ns(h, parts[i].part) / 1e3);
    text_printf(out, ", mean %.1f us\n", load_histogram_mean_ns(h) / 1e3);
}

// Counters that show that each connection stayed on its worker: no worker received a segment
// without an owner.
static void put_workers(struct text *out, const struct load_result *r)
{
    text_printf(out, ",\"server_workers\":[");
    for (unsigned i = 0; i < r->workers; i++) {
        const struct core_stats *s = &r->end[i];
        text_printf(out, "%s{\"opened\":%llu", i == 0 ? "" : ",",
                    (unsigned long long)s->c.conns_opened_passive);
        load_put(out, "rx_packets", s->c.rx_packets);
        load_put(out, "handed_out", s->c.handed_out);
        load_put(out, "handed_in", s->c.handed_in);
        load_put(out, "rss_wrong", s->c.rss_wrong);
        load_put(out, "tx_handed", s->c.tx_handed);
        load_put(out, "handoff_full", s->drops[DROP_handoff_full]);
        load_put(out, "no_owner", s->drops[DROP_tcp_no_owner]);
        load_put(out, "rst_sent", s->c.rst_sent);
        text_printf(out, "}");
    }
    text_printf(out, "]");
}

static void put_server(struct text *out, const struct load_result *r)
{
    const double cycles = load_busy_cycles(r), packets = asked_packets(r);
    load_put(out, "server_retransmitted", r->server_retransmitted);
    load_put(out, "falsified", r->falsified);
    put_workers(out, r);
    load_put_real(out, "server_cycles_per_packet", load_per(cycles, packets), 1);
    load_put_real(out, "server_busy_mpps", load_per(r->tsc_hz * packets, cycles) / 1e6, 3);
}

// In an open loop, the latency is measured from the time when the request was due.
static const struct load_histogram *latency(const struct load_result *r)
{
    const struct load_histogram *corrected = load_corrected(r->load);
    return corrected != NULL ? corrected : load_latency(r->load);
}

// Measured until the last request: the time after it depends on the last losses only.
static double answers_per_s(const struct load_result *r)
{
    const uint64_t n = r->counted_stop.answered - r->counted_from.answered;
    return load_per((double)n, r->stop_s);
}

// Appends lines `name value` as an object.
static void put_lines(struct text *out, const char *name, const char *lines)
{
    text_printf(out, ",\"%s\":{", name);
    for (const char *at = lines, *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        const int name_len = (int)strcspn(at, " ");
        text_printf(out, "%s\"%.*s\":%.*s", at == lines ? "" : ",", name_len, at,
                    (int)(end - at) - name_len - 1, at + name_len + 1);
    }
    text_printf(out, "}");
}

void load_report_json(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out, "{\"load\":\"%s\",\"ok\":%s,\"interrupted\":%s",
                load_kind_name(r->options->kind), r->ok ? "true" : "false",
                r->interrupted ? "true" : "false");
    text_printf(out, ",\"protocol\":\"%s\"", r->options->http ? "http" : "echo");
    load_put(out, "connections", r->options->connections);
    load_put(out, "answer_bytes", load_answer_bytes(r->load));
    load_put(out, "opened", c->opened);
    load_put(out, "asked", c->asked);
    load_put(out, "answered", c->answered);
    load_put(out, "closed", c->closed);
    load_put(out, "lost", load_lost(r->load));
    load_put(out, "wrong", c->wrong);
    load_put(out, "failed", c->failed);
    load_put_real(out, "longest_silence_ms", (double)c->silence_us / 1e3, 1);
    load_put(out, "retransmitted", c->retransmitted);
    load_put(out, "duplicates", c->duplicates);
    load_put(out, "damaged", c->damaged);
    load_put(out, "strangers", c->strangers);
    load_put(out, "client_pool_empty", c->client_pool_empty);
    load_put(out, "client_tx_full", c->client_tx_full);
    load_put(out, "client_tx_lost", c->client_tx_lost);
    load_put(out, "client_stalls", c->client_stalls);
    load_put(out, "client_stalled_us", c->client_stalled_us);
    put_faults(out, "faults_to_server", &r->to_server);
    put_faults(out, "faults_to_client", &r->to_client);
    if (r->here)
        put_server(out, r);
    load_put_real(out, "open_s", r->open_s, 3);
    load_put_real(out, "ask_s", r->ask_s, 3);
    load_put_real(out, "close_s", r->close_s, 3);
    load_put_real(out, "opens_per_s", load_per((double)c->opened, r->open_s), 0);
    load_put_stages(out, r, "server_stage_cycles_per_packet", asked_packets(r));
    if (r->options->kind == LOAD_STREAM)
        load_stream_json(r, out);
    if (load_has_full(r->options))
        load_full_json(r, out);
    load_put_real(out, "answers_per_s", answers_per_s(r), 0);
    if (r->options->give_up_ms != 0)
        load_give_up_json(r, out);
    load_put_latency(out, "", latency(r));
    if (load_corrected(r->load) != NULL)
        load_schedule_json(r, out);
    if (r->options->kind == LOAD_UDP)
        load_udp_json(r, out);
    if (r->here)
        put_lines(out, "server", r->arenas);
    text_printf(out, "}\n");
}

static void table_faults(struct text *out, const char *name, const struct fault_counts *f)
{
    text_printf(out,
                "%-13s of %llu frames lost %llu, reordered %llu, duplicated %llu, corrupted %llu\n",
                name, (unsigned long long)f->seen, (unsigned long long)f->lost,
                (unsigned long long)f->reordered, (unsigned long long)f->duplicated,
                (unsigned long long)f->corrupted);
}

static void table_server(const struct load_result *r, struct text *out)
{
    const double cycles = load_busy_cycles(r), packets = asked_packets(r);
    text_printf(
        out,
        "server        %.1f cycles per received packet in the request phase%s, %.2f Mpps of busy "
        "time\n",
        load_per(cycles, packets), load_faults_on(&r->options->faults) ? ", faults included" : "",
        load_per(r->tsc_hz * packets, cycles) / 1e6);
}

enum { SILENCE_SHOWN_US = 10000 };

static void table_answers(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out, "answers       %llu in %.2f s: %.0f per second; lost %llu, wrong %llu\n",
                (unsigned long long)c->answered, r->ask_s, answers_per_s(r),
                (unsigned long long)load_lost(r->load), (unsigned long long)c->wrong);
    if (latency(r)->n != 0)
        load_table_latency(out, "latency", latency(r));
    if (load_corrected(r->load) != NULL)
        load_schedule_table(r, out);
    if (r->options->give_up_ms != 0)
        load_give_up_table(r, out);
    if (c->silence_us >= SILENCE_SHOWN_US)
        text_printf(out, "silence       at most %.1f ms between two answers\n",
                    (double)c->silence_us / 1e3);
}

// The number of connections that are opened once and stay open.
static uint32_t held(const struct load_result *r)
{
    return load_has_full(r->options) ? r->options->hold : r->options->connections;
}

void load_report_table(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    if (r->options->kind != LOAD_UDP && (!load_has_full(r->options) || r->options->hold != 0))
        text_printf(out, "connections   %u, opened %llu in %.2f s: %.0f per second\n", held(r),
                    (unsigned long long)c->opened, r->open_s,
                    load_per((double)c->opened, r->open_s));
    if (r->options->kind != LOAD_STREAM)
        table_answers(r, out);
    if (r->options->close && r->options->kind != LOAD_UDP)
        text_printf(out, "closed        %llu in %.2f s: %.0f per second\n",
                    (unsigned long long)c->closed, r->close_s,
                    load_per((double)c->closed, r->close_s));
    text_printf(out, "failed        %llu connections\n", (unsigned long long)c->failed);
    text_printf(out, "retransmitted %llu by the client", (unsigned long long)c->retransmitted);
    if (r->here)
        text_printf(out, ", %llu by the server", (unsigned long long)r->server_retransmitted);
    text_printf(out, "\nreceived      duplicates %llu, damaged %llu, strangers %llu\n",
                (unsigned long long)c->duplicates, (unsigned long long)c->damaged,
                (unsigned long long)c->strangers);
    text_printf(
        out,
        "client        pool empty %llu, wire full %llu, lost %llu, stalls %llu, %.1f ms in total\n",
        (unsigned long long)c->client_pool_empty, (unsigned long long)c->client_tx_full,
        (unsigned long long)c->client_tx_lost, (unsigned long long)c->client_stalls,
        (double)c->client_stalled_us / 1e3);
    if (r->to_server.seen != 0 || r->to_client.seen != 0) {
        table_faults(out, "to the server", &r->to_server);
        table_faults(out, "to the client", &r->to_client);
    }
    if (r->options->faults.falsify_ppm != 0)
        text_printf(out, "falsified     %llu answers\n", (unsigned long long)r->falsified);
    if (r->options->kind == LOAD_STREAM)
        load_stream_table(r, out);
    if (load_has_full(r->options))
        load_full_table(r, out);
    if (r->options->kind == LOAD_UDP)
        load_udp_table(r, out);
    else if (r->here && r->options->kind != LOAD_STREAM && !load_has_full(r->options))
        table_server(r, out);
    text_printf(out, "verdict       %s\n",
                r->ok            ? "every answer arrived and was correct"
                : r->interrupted ? "FAILED: interrupted"
                                 : "FAILED: an answer was missing or wrong");
    text_printf(out, "%s", r->arenas);
}

void load_report_progress(const struct load *l, struct load_counters *before, uint64_t second,
                          struct text *out)
{
    const struct load_counters *c = load_counters(l);
    text_printf(out, "%4llu s  opened %llu", (unsigned long long)second,
                (unsigned long long)c->opened);
    if (c->full_begun != 0)
        text_printf(out, "  full %llu: %llu per second", (unsigned long long)c->full_done,
                    (unsigned long long)(c->full_done - before->full_done));
    if (c->stream_bytes != 0)
        text_printf(out, "  %.2f Gb/s", (double)(c->stream_bytes - before->stream_bytes) * 8e-9);
    else
        text_printf(out, "  answered %llu", (unsigned long long)c->answered);
    text_printf(out, "  closed %llu  wrong %llu  failed %llu  retransmitted %llu\n",
                (unsigned long long)c->closed, (unsigned long long)c->wrong,
                (unsigned long long)c->failed, (unsigned long long)c->retransmitted);
    *before = *c;
}
