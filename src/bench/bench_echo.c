// SPDX-License-Identifier: BSD-3-Clause
// Compares the server's echo with the bare loop: with the same client, the same packets, and in the
// same run. The server is complete (ports, loop, TCP, application), but without handshakes:
// connections are added to its table in the state after the third segment of the handshake. Also
// compares the echo with itself while the client reads net/tcp as fast as possible.
#include <rte_cycles.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/bench_main.h"
#include "bench/bench_pair.h"
#include "bench/bench_prof.h"
#include "bench/bench_server.h"
#include "bench/measure.h"
#include "bench/reader.h"

// Number of slices of a measurement: odd, so that the median is one of them. Slices are short,
// because the load of a shared machine changes within a second.
enum { SLICES = 101, READER_SLICES = 31 };

static const char help[] =
    "usage: c10m bench echo [OPTIONS]\n"
    "\n"
    "Measure the server's echo service and the bare loop (see c10m bench roofline). A client in\n"
    "lockstep feeds both with the same requests and ACKs, in alternating slices. The output has "
    "the\n"
    "medians of both rates and of their ratio within a pair of slices, and the ratio of their "
    "lower\n"
    "deciles, which are the slices without disturbance by the host.\n"
    "\n"
    "  --connections LIST  numbers of connections, such as 1k,10k,1M (default 1k,10M)\n"
    "  --seconds S         seconds for each of the two, up to 3600 (default 3)\n" BENCH_LOOP_HELP;

static const char reader_help[] = "usage: c10m bench reader [OPTIONS]\n"
                                  "\n"
                                  "Measure what a reader of net/tcp costs the server's echo "
                                  "service, which a client in lockstep feeds.\n"
                                  "While the client waits, it does nothing (alone), renders lines "
                                  "from its own memory (busy), or reads\n"
                                  "net/tcp piece after piece without a pause (reading), in "
                                  "alternating slices. The output has the\n"
                                  "server's cycles per packet, as medians of the slices and of "
                                  "their ratios, and the time of the reads.\n"
                                  "\n"
                                  "  The options are those of `c10m bench echo` (--help).\n";

static const char tree_help[] =
    "usage: c10m bench tree [OPTIONS]\n"
    "\n"
    "Measure the same as `c10m bench reader` with a client that reads every file of the server's "
    "tree ten\n"
    "times a second. A piece is the whole tree, with at most 1 MiB of net/tcp.\n"
    "\n"
    "  The options are those of `c10m bench echo` (--help).\n";

static void print_stages(const struct core_stats *before, const struct core_stats *now,
                         uint64_t packets)
{
    fprintf(stderr, "  cycles per received packet:");
    for (unsigned s = 0; s < STAGE_idle; s++)
        fprintf(stderr, " %s %.1f", stat_stage_names[s].name,
                (double)(now->cycles[s] - before->cycles[s]) / (double)packets);
    fputc('\n', stderr);
}

static int pair_close(const struct bench_options *o, struct bench_pair *pair, struct err *err)
{
    static struct core_stats now;
    const int rc = bench_pair_close(pair, &now, err);
    if (!o->json && now.c.rx_packets != pair->before.c.rx_packets)
        print_stages(&pair->before, &now, now.c.rx_packets - pair->before.c.rx_packets);
    return rc;
}

static double cost(const struct bench_row *r)
{
    return (double)r->cycles / (double)r->packets;
}

// result: for one number of connections. Each value is the median over the slices.
struct result {
    uint32_t connections;
    uint64_t packets;
    double bare, server;  // cycles per packet
    double ratio;         // of the two rates within a pair of slices
    double ratio_min, ratio_max;
    double quiet;  // ratio of the two lower deciles, which the host has not disturbed
};

enum { ALONE, BUSY, READING, MANNERS };  // activity of the client while it waits

struct reader_result {
    double cycles[MANNERS];    // cycles of the server per packet
    double to_alone, to_busy;  // ratio of the cycles with READING to these
};

// Alternates slices of the bare loop and of the server, so that disturbances by the host affect
// both.
static int measure(const struct bench_options *o, struct bench_bare *bare, struct bench_pair *pair,
                   struct result *out, struct err *err)
{
    double a[SLICES], b[SLICES], ratio[SLICES];
    for (unsigned i = 0; i < SLICES; i++) {
        struct bench_row one = {0}, two = {0};
        if (bench_slice(&bare->server, bare->feed, o->seconds / SLICES, &one, err) != 0 ||
            bench_slice(&pair->server, pair->feed, o->seconds / SLICES, &two, err) != 0)
            return -1;
        a[i] = cost(&one);
        b[i] = cost(&two);
        ratio[i] = a[i] / b[i];
        out->packets += two.packets;
    }
    out->bare = bench_median(a, SLICES);
    out->server = bench_median(b, SLICES);
    out->ratio = bench_median(ratio, SLICES);  // bench_median() sorts
    out->ratio_min = ratio[0];
    out->ratio_max = ratio[SLICES - 1];
    out->quiet = a[SLICES / 10] / b[SLICES / 10];  // a and b are sorted
    return 0;
}

// Measures slices of the server with each activity of the client: medians of the cycles per packet
// and of their ratios within one round.
static int measure_reader(const struct bench_options *o, struct bench_pair *pair,
                          struct bench_reader *r, void (*piece)(void *), struct reader_result *out,
                          struct err *err)
{
    void (*const meanwhile[MANNERS])(void *) = {NULL, bench_reader_busy, piece};
    double v[MANNERS][READER_SLICES], to_alone[READER_SLICES], to_busy[READER_SLICES];
    pair->server.arg = r;
    for (unsigned i = 0; i < READER_SLICES; i++) {
        for (unsigned m = 0; m < MANNERS; m++) {
            struct bench_row one = {0};
            pair->server.meanwhile = meanwhile[m];
            if (bench_slice(&pair->server, pair->feed, o->seconds / READER_SLICES, &one, err) != 0)
                return -1;
            v[m][i] = cost(&one);
        }
        to_alone[i] = v[READING][i] / v[ALONE][i];
        to_busy[i] = v[READING][i] / v[BUSY][i];
    }
    pair->server.meanwhile = NULL;
    for (unsigned m = 0; m < MANNERS; m++)
        out->cycles[m] = bench_median(v[m], READER_SLICES);
    out->to_alone = bench_median(to_alone, READER_SLICES);
    out->to_busy = bench_median(to_busy, READER_SLICES);
    return 0;
}

static void print_reader_json(const struct reader_result *out, uint32_t connections,
                              const struct bench_reader *r, bool first)
{
    const double us = (double)rte_get_tsc_hz() / 1e6;
    printf("%s{\"connections\":%u,\"alone_cycles\":%.1f,\"busy_cycles\":%.1f,"
           "\"reading_cycles\":%.1f,\"to_alone\":%.4f,\"to_busy\":%.4f,\"piece_us\":%.1f,"
           "\"piece_us_max\":%.1f,\"pieces\":%llu,\"bytes\":%llu}",
           first ? "" : ",", connections, out->cycles[ALONE], out->cycles[BUSY],
           out->cycles[READING], out->to_alone, out->to_busy,
           (double)r->cycles / us / (double)MAX(r->pieces, 1u), (double)r->cycles_max / us,
           (unsigned long long)r->pieces, (unsigned long long)r->bytes);
    fflush(stdout);
}

static void print_reader(const struct reader_result *out, uint32_t connections,
                         const struct bench_reader *r)
{
    enum { LINE_BYTES = 150 };
    const double us = (double)rte_get_tsc_hz() / 1e6;
    const double lines = (double)MAX(r->bytes / LINE_BYTES, 1u);
    printf("%11u  %5.1f  %5.1f  %7.1f  %8.3f  %7.3f  %11.0f  %10.1f  %10.1f  %6llu\n", connections,
           out->cycles[ALONE], out->cycles[BUSY], out->cycles[READING], out->to_alone, out->to_busy,
           (double)r->cycles / us * 1e3 / lines,
           (double)r->cycles / us / (double)MAX(r->pieces, 1u), (double)r->cycles_max / us,
           (unsigned long long)r->passes);
    fflush(stdout);
}

static void print_result(const struct bench_options *o, const struct result *r, bool first)
{
    const double mhz = (double)rte_get_tsc_hz() / 1e6;
    if (o->json)
        printf("%s{\"connections\":%u,\"bare_mpps\":%.3f,\"server_mpps\":%.3f,"
               "\"bare_cycles_per_packet\":%.1f,\"server_cycles_per_packet\":%.1f,"
               "\"ratio\":%.3f,\"ratio_min\":%.3f,\"ratio_max\":%.3f,"
               "\"ratio_of_lower_deciles\":%.3f,\"packets\":%llu}",
               first ? "" : ",", r->connections, mhz / r->bare, mhz / r->server, r->bare, r->server,
               r->ratio, r->ratio_min, r->ratio_max, r->quiet, (unsigned long long)r->packets);
    else
        printf("%11u  %9.2f  %11.2f  %11.1f  %13.1f  %5.1f %%  %5.1f to %5.1f  %5.1f %%\n",
               r->connections, mhz / r->bare, mhz / r->server, r->bare, r->server, 100 * r->ratio,
               100 * r->ratio_min, 100 * r->ratio_max, 100 * r->quiet);
    fflush(stdout);
}

static int run_one(const struct bench_options *o, struct server *s, struct bench_wire *wire,
                   struct bench_pair *pair, uint32_t connections, bool first, void (*piece)(void *),
                   struct err *err)
{
    struct bench_row row = {.connections = connections};
    struct result result = {.connections = connections};
    struct bench_bare bare;
    if (bench_bare_open(o, wire, &bare, &row, err) != 0)
        return -1;
    struct bench_reader reader;
    struct reader_result read = {.to_busy = 0};
    bench_reader_init(&reader, s);
    int rc = bench_pair_open(o, pair, connections, err);
    if (rc == 0)
        rc = piece != NULL ? measure_reader(o, pair, &reader, piece, &read, err)
                           : measure(o, &bare, pair, &result, err);
    if (rc == 0 && connections == o->counts[o->count_n - 1])
        rc = bench_prof_end(err);
    if (pair_close(o, pair, err) != 0 || bench_bare_close(&bare, err) != 0)
        rc = -1;
    if (rc == 0 && piece != NULL && o->json)
        print_reader_json(&read, connections, &reader, first);
    else if (rc == 0 && piece != NULL)
        print_reader(&read, connections, &reader);
    else if (rc == 0)
        print_result(o, &result, first);
    bench_reader_free(&reader);
    return rc;
}

static int run_all(const struct bench_options *o, struct server *s, void (*piece)(void *),
                   struct err *err)
{
    struct bench_wire wire = {0};
    static struct bench_pair pair;
    int rc = bench_pair_join(o, s, &pair, err);
    if (rc == 0)
        rc = bench_wire_open(o->batch, &wire, err);
    for (unsigned i = 0; rc == 0 && i < o->count_n; i++) {
        rc = run_one(o, s, &wire, &pair, o->counts[i], i == 0, piece, err);
    }
    bench_wire_close(&wire);
    bench_pair_part(&pair);
    return rc;
}

static void print_head(const struct bench_options *o, const char *name, void (*piece)(void *))
{
    if (o->json)
        printf("{\"bench\":\"%s\",\"batch\":%u,\"payload_bytes\":%u,\"rows\":[", name, o->batch,
               o->payload);
    else if (piece != NULL)
        printf("echo as of `c10m bench echo`, while the client reads %s; %u-byte payload, "
               "batches of %u\n"
               "connections  alone   busy  reading  to alone  to busy  ns per line  us a piece  "
               "at most us  passes\n",
               piece == bench_reader_tree ? "the whole tree ten times a second" : "net/tcp",
               o->payload, o->batch);
    else
        printf("echo, request in, reply out, pure ACK in; %u-byte payload, batches of %u\n"
               "connections  bare Mpps  server Mpps  bare cycles  server cycles  ratio   (min to "
               "max)    lower deciles\n",
               o->payload, o->batch);
}

static int run(int argc, char **argv, const char *name, const char *help_text,
               void (*piece)(void *))
{
    struct bench_options o = {.counts = {1000, 10000000},
                              .count_n = 2,
                              .batch = 1024,
                              .payload = 64,
                              .seconds = 3,
                              .seed = 1,
                              .server_cpu = 1};
    int rc = bench_options_parse(argc, argv, name, help_text, &o);
    if (rc != 0)
        return rc == 1 ? 0 : 2;
    struct err err = {.text = ""}, ignored;
    struct server_params p;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mbench%d", (int)getpid());
    bench_pair_params(&o, &p, prefix);
    // The client reads between two batches, and may be late if the machine has other load.
    if (piece != NULL)
        p.tcp.rto_min_ms = p.tcp.rto_initial_ms = p.tcp.rto_max_ms;
    p.extra_packet_bytes = 64u << 20;  // client's pool and wire of the bare loop
    if (piece != NULL)
        bench_pages(&p, name);
    struct server *s = server_start(&p, &err);
    if (s == NULL) {
        fprintf(stderr, "c10m bench %s: %s\n", name, err.text);
        return 1;
    }
    print_head(&o, name, piece);
    rc = bench_prof_begin(s, &err);
    if (rc == 0)
        rc = run_all(&o, s, piece, &err);
    bench_prof_end(&ignored);
    if (o.json)
        printf("]}\n");
    if (rc != 0)
        fprintf(stderr, "c10m bench %s: %s\n", name, err.text);
    server_stop(s);
    return rc == 0 ? 0 : 1;
}

int bench_echo(int argc, char **argv)
{
    return run(argc, argv, "echo", help, NULL);
}

int bench_reader(int argc, char **argv)
{
    return run(argc, argv, "reader", reader_help, bench_reader_piece);
}

int bench_tree(int argc, char **argv)
{
    return run(argc, argv, "tree", tree_help, bench_reader_tree);
}
