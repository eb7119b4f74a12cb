#include "load/load_report.h"

static double per(double value, double by)
{
    return by > 0 ? value / by : 0;
}

static uint64_t busy_cycles(const struct load_result *r)
{
    uint64_t sum = 0;
    for (unsigned s = 0; s < STAGE_idle; s++)
        sum += r->asked_to.cycles[s] - r->asked_from.cycles[s];
    return sum;
}

static double asked_packets(const struct load_result *r)
{
    return (double)(r->asked_to.c.rx_packets - r->asked_from.c.rx_packets);
}

// One figure of the JSON object: name and value; the comma stands in front of all but the first.
static void put(struct text *out, const char *name, uint64_t value)
{
    text_printf(out, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void put_real(struct text *out, const char *name, double value, int places)
{
    text_printf(out, ",\"%s\":%.*f", name, places, value);
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

// What is told of a histogram, as the JSON object and the table name it.
static const struct {
    const char *name, *shown;
    double part;
} parts[] = {
    {"p50_us", "p50", 0.5},      {"p90_us", "p90", 0.9},         {"p99_us", "p99", 0.99},
    {"p999_us", "p99.9", 0.999}, {"p9999_us", "p99.99", 0.9999}, {"max_us", "max", 1},
};

// The names get `before` in front, and the microseconds three decimals.
static void put_latency(struct text *out, const char *before, const struct load_hdr *h)
{
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        text_printf(out, ",\"%s%s\":%.3f", before, parts[i].name,
                    (double)load_hdr_ns(h, parts[i].part) / 1e3);
    text_printf(out, ",\"%smean_us\":%.3f", before, load_hdr_mean_ns(h) / 1e3);
}

static void table_latency(struct text *out, const char *name, const struct load_hdr *h)
{
    text_printf(out, "%-13s", name);
    for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
        text_printf(out, "%s %s %.1f", i == 0 ? "" : ",", parts[i].shown,
                    (double)load_hdr_ns(h, parts[i].part) / 1e3);
    text_printf(out, ", mean %.1f us\n", load_hdr_mean_ns(h) / 1e3);
}

// What shows that each connection stayed with its worker: nobody got a segment without an owner.
static void put_workers(struct text *out, const struct load_result *r)
{
    text_printf(out, ",\"server_workers\":[");
    for (unsigned i = 0; i < r->workers; i++) {
        const struct core_stats *s = &r->end[i];
        text_printf(out, "%s{\"opened\":%llu", i == 0 ? "" : ",",
                    (unsigned long long)s->c.conns_opened_passive);
        put(out, "rx_packets", s->c.rx_packets);
        put(out, "handed_out", s->c.handed_out);
        put(out, "handed_in", s->c.handed_in);
        put(out, "rss_wrong", s->c.rss_wrong);
        put(out, "tx_handed", s->c.tx_handed);
        put(out, "handoff_full", s->drops[DROP_handoff_full]);
        put(out, "no_owner", s->drops[DROP_tcp_no_owner]);
        put(out, "rst_sent", s->c.rst_sent);
        text_printf(out, "}");
    }
    text_printf(out, "]");
}

static void put_server(struct text *out, const struct load_result *r)
{
    const double cycles = (double)busy_cycles(r), packets = asked_packets(r);
    put(out, "server_retransmitted", r->server_retransmitted);
    put(out, "falsified", r->falsified);
    put_workers(out, r);
    put_real(out, "server_cycles_per_packet", per(cycles, packets), 1);
    put_real(out, "server_busy_mpps", per(r->tsc_hz * packets, cycles) / 1e6, 3);
}

void load_report_json(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out, "{\"load\":\"%s\",\"ok\":%s,\"interrupted\":%s",
                load_kind_name(r->options->kind), r->ok ? "true" : "false",
                r->interrupted ? "true" : "false");
    put(out, "connections", r->options->connections);
    put(out, "opened", c->opened);
    put(out, "asked", c->asked);
    put(out, "answered", c->answered);
    put(out, "closed", c->closed);
    put(out, "lost", load_lost(r->load));
    put(out, "wrong", c->wrong);
    put(out, "failed", c->failed);
    put(out, "retransmitted", c->retransmitted);
    put(out, "duplicates", c->duplicates);
    put(out, "damaged", c->damaged);
    put(out, "strangers", c->strangers);
    put(out, "client_pool_empty", c->client_pool_empty);
    put(out, "client_tx_full", c->client_tx_full);
    put(out, "client_tx_lost", c->client_tx_lost);
    put(out, "client_stalls", c->client_stalls);
    put(out, "client_stalled_us", c->client_stalled_us);
    put_faults(out, "faults_to_server", &r->to_server);
    put_faults(out, "faults_to_client", &r->to_client);
    if (r->here)
        put_server(out, r);
    put_real(out, "open_s", r->open_s, 3);
    put_real(out, "ask_s", r->ask_s, 3);
    put_real(out, "close_s", r->close_s, 3);
    put_real(out, "opens_per_s", per((double)c->opened, r->open_s), 0);
    put_real(out, "answers_per_s", per((double)c->answered, r->ask_s), 0);
    put_latency(out, "", load_latency(r->load));
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
    const double cycles = (double)busy_cycles(r), packets = asked_packets(r);
    text_printf(out,
                "server        %.1f cycles a received packet while asked%s, %.2f Mpps of busy "
                "time\n",
                per(cycles, packets),
                load_faults_on(&r->options->faults) ? ", faults included" : "",
                per(r->tsc_hz * packets, cycles) / 1e6);
}

void load_report_table(const struct load_result *r, struct text *out)
{
    const struct load_counters *c = load_counters(r->load);
    text_printf(out, "connections   %u opened %llu in %.2f s: %.0f a second\n",
                r->options->connections, (unsigned long long)c->opened, r->open_s,
                per((double)c->opened, r->open_s));
    text_printf(out, "answers       %llu in %.2f s: %.0f a second; lost %llu, wrong %llu\n",
                (unsigned long long)c->answered, r->ask_s, per((double)c->answered, r->ask_s),
                (unsigned long long)load_lost(r->load), (unsigned long long)c->wrong);
    if (r->options->close)
        text_printf(out, "closed        %llu in %.2f s: %.0f a second\n",
                    (unsigned long long)c->closed, r->close_s, per((double)c->closed, r->close_s));
    text_printf(out, "failed        %llu connections\n", (unsigned long long)c->failed);
    table_latency(out, "latency", load_latency(r->load));
    text_printf(out, "retransmitted %llu by the client", (unsigned long long)c->retransmitted);
    if (r->here)
        text_printf(out, ", %llu by the server", (unsigned long long)r->server_retransmitted);
    text_printf(out, "\nreceived      duplicates %llu, damaged %llu, strangers %llu\n",
                (unsigned long long)c->duplicates, (unsigned long long)c->damaged,
                (unsigned long long)c->strangers);
    text_printf(
        out,
        "client        pool empty %llu, wire full %llu, lost %llu, stalls %llu of %.1f ms in all\n",
        (unsigned long long)c->client_pool_empty, (unsigned long long)c->client_tx_full,
        (unsigned long long)c->client_tx_lost, (unsigned long long)c->client_stalls,
        (double)c->client_stalled_us / 1e3);
    if (r->to_server.seen != 0 || r->to_client.seen != 0) {
        table_faults(out, "to the server", &r->to_server);
        table_faults(out, "to the client", &r->to_client);
    }
    if (r->options->faults.falsify_ppm != 0)
        text_printf(out, "falsified     %llu answers\n", (unsigned long long)r->falsified);
    if (r->here)
        table_server(r, out);
    text_printf(out, "verdict       %s\n",
                r->ok            ? "every answer came and was right"
                : r->interrupted ? "FAILED: interrupted"
                                 : "FAILED: not every answer came and was right");
}

void load_report_progress(const struct load *l, uint64_t second, struct text *out)
{
    const struct load_counters *c = load_counters(l);
    text_printf(out,
                "%4llu s  opened %llu  answered %llu  closed %llu  wrong %llu  failed %llu  "
                "retransmitted %llu\n",
                (unsigned long long)second, (unsigned long long)c->opened,
                (unsigned long long)c->answered, (unsigned long long)c->closed,
                (unsigned long long)c->wrong, (unsigned long long)c->failed,
                (unsigned long long)c->retransmitted);
}
