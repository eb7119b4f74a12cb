// SPDX-License-Identifier: BSD-3-Clause
#include <rte_cycles.h>
#include <stdio.h>
#include <unistd.h>

#include "bench/bench_main.h"
#include "bench/measure.h"
#include "drivers/eal.h"
#include "drivers/hugefiles.h"

enum {
    POOL_MIB = 64,  // both pools and the rings with the default batch
};
static const char help[] =
    "usage: c10m bench roofline [OPTIONS]\n"
    "\n"
    "Measure the bare loop: the memory accesses of a TCP echo (request in, reply out, pure ACK in) "
    "on one\n"
    "core, fed in lockstep by the other. Its rate is the number of packets received per second of "
    "busy\n"
    "time.\n"
    "\n"
    "  --connections LIST  numbers of connections, such as 1k,10k,1M (default 1k,10k,100k,1M,10M)\n"
    "  --seconds S         seconds for each of them, up to 3600 (default 3)\n" BENCH_LOOP_HELP "\n"
    "10 M connections need 1,370 free pages of 2 MiB. Without them the benchmark uses 4 KiB pages\n"
    "and prints a warning.\n";

static int start_eal(const struct bench_options *o, struct err *err)
{
    struct hugepages pages;
    uint64_t bytes = (uint64_t)POOL_MIB << 20;
    uint64_t scale = 1 + o->batch / 2048;
    bool huge = hugepages_read(2 << 20, &pages) && pages.free * pages.page_bytes >= bytes * scale;
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mbench%d", (int)getpid());
    struct eal_params p = {.file_prefix = prefix,
                           .main_cpu = o->client_cpu,
                           .workers = 1,
                           .worker_cpu = {o->server_cpu},
                           .hugepages = huge,
                           .in_memory = true,
                           .memory_bytes = {bytes * scale}};
    return eal_start(&p, err);
}

static void print_row(const struct bench_options *o, const struct bench_row *r, bool first)
{
    double cycles = (double)r->cycles / (double)r->packets, hz = (double)rte_get_tsc_hz();
    if (o->json) {
        printf("%s{\"connections\":%u,\"packets\":%llu,\"mpps\":%.3f,\"cycles_per_packet\":%.1f,"
               "\"median_cycles_per_packet\":%.1f,\"ns_per_packet\":%.2f,\"burst\":%.1f,"
               "\"page_bytes\":%zu,\"memory_bytes\":%zu}",
               first ? "" : ",", r->connections, (unsigned long long)r->packets, hz / cycles / 1e6,
               cycles, r->median, cycles / hz * 1e9, (double)r->packets / (double)r->turns,
               r->page_bytes, r->memory_bytes);
        return;
    }
    printf("%11u  %6.2f  %13.1f  %13.1f  %9.1f  %5.1f  %7zu\n", r->connections, hz / cycles / 1e6,
           cycles, r->median, cycles / hz * 1e9, (double)r->packets / (double)r->turns,
           r->page_bytes >> 10);
    fflush(stdout);
}

static void print_head(const struct bench_options *o)
{
    const char *order = o->order == FEED_RANDOM ? "random" : "turn";
    if (o->json)
        printf("{\"bench\":\"roofline\",\"batch\":%u,\"payload_bytes\":%u,\"order\":\"%s\","
               "\"tsc_hz\":%llu,\"packet_page_bytes\":%llu,\"rows\":[",
               o->batch, o->payload, order, (unsigned long long)rte_get_tsc_hz(),
               (unsigned long long)eal_page_bytes());
    else
        printf("bare loop: request in, reply out, pure ACK in; %u-byte payload, batches of %u, "
               "order %s, TSC %.0f MHz, packets in %llu KiB pages\n"
               "connections    Mpps  cycles/packet  (median)       ns/packet  burst  page KiB\n",
               o->payload, o->batch, order, (double)rte_get_tsc_hz() / 1e6,
               (unsigned long long)eal_page_bytes() >> 10);
}

static int run(const struct bench_options *o)
{
    struct err err = {.text = ""};
    struct bench_wire w = {0};
    if (start_eal(o, &err) != 0 || bench_wire_open(o->batch, &w, &err) != 0) {
        fprintf(stderr, "c10m bench roofline: %s\n", err.text);
        return 1;
    }
    print_head(o);
    bool small_pages = eal_page_bytes() < 2 << 20;
    int rc = 0;
    for (unsigned i = 0; i < o->count_n && rc == 0; i++) {
        struct bench_row row = {.connections = o->counts[i]};
        struct bench_bare bare;
        if ((rc = bench_bare_open(o, &w, &bare, &row, &err)) != 0)
            break;
        rc = bench_slice(&bare.server, bare.feed, o->seconds, &row, &err);
        if (bench_bare_close(&bare, &err) != 0)
            rc = -1;
        if (rc == 0)
            print_row(o, &row, i == 0);
        small_pages |= row.page_bytes < 2 << 20;
    }
    if (o->json)
        printf("],\"hugepages\":%s}\n", small_pages ? "false" : "true");
    if (rc != 0)
        fprintf(stderr, "c10m bench roofline: %s\n", err.text);
    else if (small_pages)
        fprintf(stderr, "warning: not enough free hugepages (sysctl vm.nr_hugepages): 4 KiB pages "
                        "were used, the results are too low\n");
    bench_wire_close(&w);
    eal_stop();
    return rc == 0 ? 0 : 1;
}

int bench_roofline(int argc, char **argv)
{
    struct bench_options o = {.counts = {1000, 10000, 100000, 1000000, 10000000},
                              .count_n = 5,
                              .batch = 1024,
                              .payload = 64,
                              .seconds = 3,
                              .seed = 1,
                              .server_cpu = 1};
    int rc = bench_options_parse(argc, argv, "roofline", help, &o);
    return rc == 0 ? run(&o) : rc == 1 ? 0 : 2;
}
