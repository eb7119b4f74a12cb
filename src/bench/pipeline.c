// SPDX-License-Identifier: BSD-3-Clause
// Compares run to completion with a pipeline of two cores: the same packets and the same work,
// either on one core, or with parsing and lookup on one core and the rest on another one, connected
// by an rte_ring.
//
//   one core:  frame -> parse, checksums, lookup -> block, reply
//   two cores: frame -> parse, checksums, lookup => ring => block, reply
//
// It uses functions of the server: wire_parse_tcp4_fast(), flow_find_burst(), wire_build_tcp4().
// Ports and protocol are omitted in both designs, so that the difference is the hop between cores.
#include <pthread.h>
#include <rte_pause.h>
#include <rte_ring.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/rng.h"
#include "bench/bench_main.h"
#include "bench/bench_pair.h"
#include "bench/costs.h"
#include "bench/map.h"
#include "flow/flow_table.h"
#include "wire/build.h"
#include "wire/parse.h"

enum {
    FRAMES = 1 << 18,
    FRAME_STRIDE = 128,
    PAYLOAD = 64,
    RING_SLOTS = 1024,
    ITEMS = 4 * RING_SLOTS,  // more than the ring and the bursts of both cores
    REPLIES = 64,
    ROUNDS = 11,  // odd, so that the median is one of them
    CONNECTIONS_MAX = 10000000,
};

static const char help[] =
    "usage: c10m bench pipeline [OPTIONS]\n"
    "\n"
    "Compare two designs: one core parses packets and looks up connections and a second core, "
    "after a\n"
    "ring, does the rest; or one core does everything. The output has packets per second in total "
    "and\n"
    "per core, and the cost of the hop between the cores per packet.\n"
    "\n"
    "  --connections LIST  numbers of connections, used in random order (default 1k,1M)\n"
    "  --seconds S         seconds for each of the two (default 2)\n"
    "  --cpus A,B          second core of the pipeline, and its first core (default "
    "0,1)\n" BENCH_JSON_HELP;

static const struct mac_addr own = {{2, 0, 0, 0, 0, 1}}, peer = {{2, 0, 0, 0, 0, 2}};
enum { OWN_V4 = 0x0a000001, PEER_V4 = 0x0a400001 };

// The connection block: a packet accesses two of its four cache lines.
struct conn {
    struct flow_key key;
    uint32_t rcv_nxt, snd_nxt;
    uint8_t pad0[32];
    uint64_t packets, bytes;
    uint8_t pad1[176];
} CACHE_ALIGNED;

static_assert(sizeof(struct conn) == 256, "as the block of the server");

struct item {
    struct seg_in seg;
    const uint8_t *frame;
    uint32_t found;
} CACHE_ALIGNED;

struct world {
    uint32_t n;
    struct bench_map conns_map, table_map, frames_map;
    struct conn *conns;
    struct flow_table table;
    uint8_t *frames;
    uint32_t frame_len;
    struct wire_common common;
    struct wire_from from;
    struct rte_ring *ring;
    struct item items[ITEMS];
    uint8_t replies[REPLIES][256];
    uint64_t hash[BURST_MAX];
    uint32_t found[BURST_MAX];
    double seconds, hz;
    bool stop CACHE_ALIGNED;  // written by the timing core
};

// core: the state and result of one core. Busy cycles do not include waiting for the other core.
struct core {
    struct world *w;
    uint32_t at;  // next frame
    uint32_t item;
    uint64_t packets, cycles;
} CACHE_ALIGNED;

static struct flow_key key_of(uint32_t i)
{
    struct flow_key k = {.remote = ip_from_v4(PEER_V4 + i / 60000), .local_port = 7};
    k.remote_port = (uint16_t)(1024 + i % 60000);
    return k;
}

// The first part: converts BURST_MAX frames to items.
static inline void receive(struct core *c, struct item *items)
{
    struct world *w = c->w;
    for (uint32_t i = 0; i < BURST_MAX; i++) {
        const uint8_t *f = w->frames + (size_t)((c->at + i) % FRAMES) * FRAME_STRIDE;
        items[i].frame = f;
        CHECK(wire_is_common(f, &w->common) &&
              wire_parse_tcp4_fast(f, w->frame_len, 0, 0, &items[i].seg) &&
              wire_ip4_tcp4_right(f, TCP_BYTES + PAYLOAD));
    }
    c->at = (c->at + BURST_MAX) % FRAMES;
    flow_hash_burst(&w->table, &items[0].seg.key, sizeof(items[0]), BURST_MAX, w->hash);
    flow_find_burst(&w->table, w->hash, BURST_MAX, w->found);
    for (uint32_t i = 0; i < BURST_MAX; i++)
        items[i].found = w->found[i];
}

static inline void fetch(const struct world *w, const struct item *it)
{
    const uint8_t *line = (const uint8_t *)&w->conns[it->found];
    prefetch0_w(line);
    prefetch0_w(line + CACHE_LINE);
}

static NOINLINE uint32_t find_again(struct world *w, const struct item *it)
{
    const uint64_t hash = flow_hash(&w->table, &it->seg.key);
    unsigned at = 0;
    for (uint32_t ix; (ix = flow_next(&w->table, hash, &at)) != FLOW_NONE;)
        if (flow_key_equal(&w->conns[ix].key, &it->seg.key))
            return ix;
    CHECK(!"every packet has its connection");
    return 0;
}

// The second part: updates the connection and builds the reply.
static inline void answer(struct world *w, struct item *it, uint32_t number)
{
    struct conn *b = &w->conns[it->found];
    if (unlikely(!flow_key_equal(&b->key, &it->seg.key)))
        b = &w->conns[find_again(w, it)];
    b->rcv_nxt = it->seg.seq + it->seg.data_len;
    b->packets++;
    b->bytes += it->seg.data_len;
    const struct seg_out out = {.key = it->seg.key,
                                .seq = b->snd_nxt,
                                .ack = b->rcv_nxt,
                                .wnd = 65535,
                                .flags = SEG_ACK | SEG_PSH,
                                .data_len = {it->seg.data_len},
                                .data = {it->frame + it->seg.data_off}};
    wire_build_tcp4(w->replies[number % REPLIES], &w->from, wire_mac_word(&peer), &out, TCP_BYTES,
                    WIRE_PLAIN, false);
    b->snd_nxt += it->seg.data_len;
}

static bool stopped(const struct world *w)
{
    return __atomic_load_n(&w->stop, __ATOMIC_RELAXED);
}

static void *run_alone(void *arg)
{
    struct core *c = arg;
    struct world *w = c->w;
    while (!stopped(w)) {
        const uint64_t start = tsc_read();
        receive(c, w->items);
        for (uint32_t i = 0; i < BURST_MAX; i++)
            fetch(w, &w->items[i]);
        for (uint32_t i = 0; i < BURST_MAX; i++)
            answer(w, &w->items[i], i);
        c->cycles += tsc_read() - start;
        c->packets += BURST_MAX;
    }
    return NULL;
}

static void *run_first(void *arg)
{
    struct core *c = arg;
    struct world *w = c->w;
    void *objects[BURST_MAX];
    while (!stopped(w)) {
        const uint64_t start = tsc_read();
        struct item *items = &w->items[c->item];
        c->item = (c->item + BURST_MAX) % ITEMS;
        receive(c, items);
        for (uint32_t i = 0; i < BURST_MAX; i++)
            objects[i] = &items[i];
        bool took = rte_ring_sp_enqueue_bulk(w->ring, objects, BURST_MAX, NULL) != 0;
        c->cycles += tsc_read() - start;
        c->packets += BURST_MAX;
        while (!took && !stopped(w)) {  // the other core is slower
            rte_pause();
            took = rte_ring_sp_enqueue_bulk(w->ring, objects, BURST_MAX, NULL) != 0;
        }
    }
    return NULL;
}

static void *run_second(void *arg)
{
    struct core *c = arg;
    struct world *w = c->w;
    void *objects[BURST_MAX];
    while (!stopped(w)) {
        const uint64_t start = tsc_read();
        const uint32_t n = rte_ring_sc_dequeue_burst(w->ring, objects, BURST_MAX, NULL);
        if (n == 0) {
            rte_pause();
            continue;
        }
        for (uint32_t i = 0; i < n; i++) {  // cache lines written by the other core
            prefetch0((const uint8_t *)objects[i]);
            prefetch0((const uint8_t *)objects[i] + CACHE_LINE);
        }
        for (uint32_t i = 0; i < n; i++)
            fetch(w, objects[i]);
        for (uint32_t i = 0; i < n; i++)
            answer(w, objects[i], i);
        c->cycles += tsc_read() - start;
        c->packets += n;
    }
    return NULL;
}

static bool start_on(pthread_t *t, unsigned cpu, void *(*fn)(void *), void *arg)
{
    pthread_attr_t a;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    pthread_attr_init(&a);
    const bool ok = pthread_attr_setaffinity_np(&a, sizeof(set), &set) == 0 &&
                    pthread_create(t, &a, fn, arg) == 0;
    pthread_attr_destroy(&a);
    return ok;
}

// Runs a round with one core (second NULL) or two, and adds to their results. Sets the packets per
// second by the clock.
static double one_round(struct world *w, struct core *first, struct core *second,
                        const unsigned cpus[2], struct err *err)
{
    pthread_t a, b;
    struct timespec nap = {0, (long)(w->seconds / ROUNDS * 1e9)};
    struct core *last = second != NULL ? second : first;
    nap.tv_sec = nap.tv_nsec / 1000000000;
    nap.tv_nsec %= 1000000000;
    w->stop = false;
    CHECK(rte_ring_init(w->ring, "hop", RING_SLOTS, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    const uint64_t packets = last->packets, start = tsc_read();
    if (!start_on(&a, cpus[1], second != NULL ? run_first : run_alone, first))
        return err_set(err, "CPU %u cannot be used", cpus[1]);
    const bool both = second == NULL || start_on(&b, cpus[0], run_second, second);
    if (both)
        nanosleep(&nap, NULL);
    __atomic_store_n(&w->stop, true, __ATOMIC_RELAXED);
    pthread_join(a, NULL);
    if (second != NULL && both)
        pthread_join(b, NULL);
    if (!both)
        return err_set(err, "CPU %u cannot be used", cpus[0]);
    return (double)(last->packets - packets) * w->hz / (double)(tsc_read() - start);
}

struct result {
    uint32_t connections;
    double alone_pps, pipe_pps;
    // cycles per packet: on one core; on the first and on the second of two cores
    double alone, first, second;
};

static double cost(const struct core *c)
{
    return (double)c->cycles / (double)MAX(c->packets, (uint64_t)1);
}

static int measure(struct world *w, const unsigned cpus[2], struct result *out, struct err *err)
{
    double pps[2][ROUNDS], cycles[3][ROUNDS];
    for (unsigned r = 0; r < ROUNDS && !interrupted(); r++) {
        struct core alone = {.w = w}, first = {.w = w}, second = {.w = w};
        pps[0][r] = one_round(w, &alone, NULL, cpus, err);
        pps[1][r] = one_round(w, &first, &second, cpus, err);
        if (pps[0][r] < 0 || pps[1][r] < 0)
            return -1;
        cycles[0][r] = cost(&alone);
        cycles[1][r] = cost(&first);
        cycles[2][r] = cost(&second);
    }
    if (interrupted())
        return err_set(err, "interrupted");
    *out = (struct result){.connections = w->n,
                           .alone_pps = bench_median(pps[0], ROUNDS),
                           .pipe_pps = bench_median(pps[1], ROUNDS),
                           .alone = bench_median(cycles[0], ROUNDS),
                           .first = bench_median(cycles[1], ROUNDS),
                           .second = bench_median(cycles[2], ROUNDS)};
    return 0;
}

static void make_frames(struct world *w)
{
    struct rng rng = {1};
    struct wire_from from;
    uint8_t payload[PAYLOAD];
    memset(payload, 0x5a, sizeof(payload));
    for (uint32_t i = 0; i < FRAMES; i++) {
        const struct flow_key k = key_of(rng_below(&rng, w->n));
        wire_from_init(&from, &peer, raw32(load_raw32(k.remote.b + IP_V4_AT)));
        const struct seg_out s = {.key = {ip_from_v4(OWN_V4), 0, 0, 7, k.remote_port},
                                  .seq = i,
                                  .ack = 1,
                                  .wnd = 65535,
                                  .flags = SEG_ACK | SEG_PSH,
                                  .data_len = {PAYLOAD},
                                  .data = {payload}};
        w->frame_len = wire_build_tcp4(w->frames + (size_t)i * FRAME_STRIDE, &from,
                                       wire_mac_word(&own), &s, TCP_BYTES, WIRE_PLAIN, false);
    }
    CHECK(w->frame_len <= FRAME_STRIDE);
}

static struct world *open_world(uint32_t n, double seconds, struct err *err)
{
    struct world *w = aligned_alloc(CACHE_LINE, ALIGN_UP(sizeof(*w), CACHE_LINE));
    const uint32_t own_raw = raw32(OWN_V4);
    CHECK(w != NULL);
    memset(w, 0, sizeof(*w));
    w->n = n;
    w->seconds = seconds;
    w->hz = costs_tsc_hz();
    w->ring =
        aligned_alloc(CACHE_LINE, ALIGN_UP((size_t)rte_ring_get_memsize(RING_SLOTS), CACHE_LINE));
    CHECK(w->ring != NULL);
    if (!bench_map(&w->conns_map, (size_t)n * sizeof(struct conn)) ||
        !bench_map(&w->table_map, flow_footprint(n)) ||
        !bench_map(&w->frames_map, (size_t)FRAMES * FRAME_STRIDE)) {
        err_set(err, "no memory for %u connections", n);
        return NULL;
    }
    w->conns = w->conns_map.at;
    w->frames = w->frames_map.at;
    wire_common_init(&w->common, &own, &own_raw);
    wire_from_init(&w->from, &own, OWN_V4);
    flow_init(&w->table, w->table_map.at, n, (struct siphash_key){1, 2});
    for (uint32_t i = 0; i < n; i++) {
        w->conns[i].key = key_of(i);
        CHECK(flow_insert(&w->table, flow_hash(&w->table, &w->conns[i].key), i));
    }
    make_frames(w);
    return w;
}

static void close_world(struct world *w)
{
    bench_unmap(&w->conns_map);
    bench_unmap(&w->table_map);
    bench_unmap(&w->frames_map);
    free(w->ring);
    free(w);
}

static void print_head(const struct bench_options *o)
{
    if (o->json)
        printf("{\"bench\":\"pipeline\",\"payload_bytes\":%d,\"rows\":[", PAYLOAD);
    else
        printf("pipeline: core %u receives and looks up, core %u does the rest; %d-byte payload\n"
               "             one core           two cores                                  "
               "cycles per packet\n"
               "connections      Mpps      Mpps  Mpps / core  of one core     one core  first  "
               "second  hop\n",
               o->server_cpu, o->client_cpu, PAYLOAD);
}

// The hop: the cycles per packet of both cores minus those of one core.
static void print_result(const struct bench_options *o, const struct result *r, bool first)
{
    const double hop = r->first + r->second - r->alone;
    if (o->json)
        printf("%s{\"connections\":%u,\"one_core_pps\":%.0f,\"two_cores_pps\":%.0f,"
               "\"per_core_ratio\":%.3f,\"one_core_cycles\":%.1f,\"first_cycles\":%.1f,"
               "\"second_cycles\":%.1f,\"hop_cycles\":%.1f}",
               first ? "" : ",", r->connections, r->alone_pps, r->pipe_pps,
               r->pipe_pps / 2 / r->alone_pps, r->alone, r->first, r->second, hop);
    else
        printf("%11u  %8.2f  %8.2f  %11.2f  %9.1f %%     %8.1f  %5.1f  %6.1f  %3.0f\n",
               r->connections, r->alone_pps / 1e6, r->pipe_pps / 1e6, r->pipe_pps / 2e6,
               50 * r->pipe_pps / r->alone_pps, r->alone, r->first, r->second, hop);
    fflush(stdout);
}

static int run(const struct bench_options *o)
{
    const unsigned cpus[2] = {o->client_cpu, o->server_cpu};
    struct err err = {.text = ""};
    int rc = 0;
    print_head(o);
    for (unsigned i = 0; i < o->count_n && rc == 0; i++) {
        struct result r = {0};
        struct world *w =
            o->counts[i] > CONNECTIONS_MAX ? NULL : open_world(o->counts[i], o->seconds, &err);
        if (o->counts[i] > CONNECTIONS_MAX)
            err_set(&err, "--connections: at most %d", CONNECTIONS_MAX);
        rc = w == NULL ? -1 : measure(w, cpus, &r, &err);
        if (rc == 0)
            print_result(o, &r, i == 0);
        if (w != NULL)
            close_world(w);
    }
    if (o->json)
        printf("]}\n");
    if (rc != 0)
        fprintf(stderr, "c10m bench pipeline: %s\n", err.text);
    return rc == 0 ? 0 : 1;
}

int bench_pipeline(int argc, char **argv)
{
    struct bench_options o = {.counts = {1000, 1000000},
                              .count_n = 2,
                              .batch = 64,
                              .payload = PAYLOAD,
                              .seconds = 2,
                              .server_cpu = 1};
    const int rc = bench_options_parse(argc, argv, "pipeline", help, &o);
    return rc == 0 ? run(&o) : rc == 1 ? 0 : 2;
}
