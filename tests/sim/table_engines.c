// SPDX-License-Identifier: BSD-3-Clause
// Rows about the three ways to repair losses: NewReno (RFC 6582), RFC 6675 without a flight log,
// and RACK-TLP. All of them lose the same segments: whether copy c of segment n of transfer i is
// lost depends on the seed and on these three numbers, not on what an engine sent before.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum {
    MS = TABLE_MS,
    PAGE_SEGS = 30,
    BULK_SEGS = 2000,
    AT = 200,         // the first segment of a bulk transfer that a pattern hits
    WARM_SEGS = 300,  // before a reply: the window is larger than the reply then
    REPLY_SEGS = 40,
    TRANSFERS_MAX = 80,
    GIVE_UP_S = 600,
};

enum engine { NEWRENO, RFC_6675, RACK, ENGINES };

enum kind {
    NOTHING,
    RANDOM,       // n of a million
    IN_A_ROW,     // n in a row
    ROW_TWICE,    // the same, and the first retransmission of each
    THIRDS,       // every third of n
    TAIL,         // the last n of a reply
    TAIL_TWICE,   // the same, and the first retransmission of each
    LATE_PLACES,  // late_ppm of a million are late by up to n full segments of the bottleneck
    LATE_MS,      // the same, by up to n milliseconds
};

// scene: transfers of `segs` segments, one after the other, each in a connection of its own.
struct scene {
    const char *name;
    enum kind kind;
    uint32_t n;
    unsigned segs, transfers;
    uint32_t late_ppm;
    uint32_t ack_loss_ppm;
    bool no_timestamps;
    bool shallow;  // a queue of a quarter of a BDP, and a receiver's window that is not in the way
};

struct result {
    double mean_ms, p95_ms;  // from the first segment until the receiver has the last byte
    uint64_t segs, lost, again, timeouts;
};

static const struct scene *scene;
static unsigned transfer;
static uint64_t begin_ns, end_ns;  // of the transfer
static uint8_t copies[BULK_SEGS];  // sent so far

static bool is_reply(void)
{
    return scene->kind == TAIL || scene->kind == TAIL_TWICE;
}

static unsigned all_segs(void)
{
    return is_reply() ? WARM_SEGS + REPLY_SEGS : scene->segs;
}

static bool by_chance(uint32_t n, uint32_t copy, uint32_t ppm)
{
    struct rng r = {table_seed << 48 ^ (uint64_t)transfer << 32 ^ n << 8 ^ copy};
    r.state = rng_u64(&r);
    return rng_below(&r, 1000000) < ppm;
}

static bool is_lost(uint32_t n, uint32_t copy)
{
    const uint32_t most = scene->kind == ROW_TWICE || scene->kind == TAIL_TWICE ? 2 : 1;
    switch (scene->kind) {
    case RANDOM:
        return by_chance(n, copy, scene->n);
    case IN_A_ROW:
    case ROW_TWICE:
        return n >= AT && n < AT + scene->n && copy < most;
    case THIRDS:
        return n >= AT && n < AT + scene->n && (n - AT) % 3 == 0 && copy < most;
    case TAIL:
    case TAIL_TWICE:
        return n + scene->n >= all_segs() && copy < most;
    case NOTHING:
    case LATE_PLACES:
    case LATE_MS:
        break;
    }
    return false;
}

static bool drop(struct table_world *t, const struct table_seg *s)
{
    const uint32_t n = (uint32_t)(s->off / TABLE_MSS);
    CHECK(n < BULK_SEGS);
    if (n == (is_reply() ? WARM_SEGS : 0u) && !s->again)
        begin_ns = t->w.now_ns;
    t->path.ack_loss_ppm = scene->ack_loss_ppm;  // not those of the handshake
    const uint32_t copy = copies[n];
    copies[n] = (uint8_t)MIN(copy + 1, (uint32_t)UINT8_MAX);
    return is_lost(n, copy);
}

// The next transfer does not begin before the sender knows that this one has arrived.
static bool is_over(const struct table_world *t)
{
    const struct table_flow *f = &t->flows[t->n_flows - 1];
    const struct block *b = table_sender(t, t->n_flows - 1);
    const bool received = f->received == (uint64_t)all_segs() * TABLE_MSS;
    if (received && end_ns == 0)
        end_ns = t->w.now_ns;
    return received && b != NULL && b->snd_una == b->snd_max;
}

// The window is two BDPs. A queue that is not shallow has room for all of it.
static struct table_path path_of(unsigned rtt_ms, struct table_setup *setup)
{
    const uint32_t mbit = rtt_ms == 1 ? 1000 : 100;
    const uint64_t bdp = (uint64_t)mbit * rtt_ms * 125;
    const uint64_t place_ns = TABLE_FRAME * 8000ull / mbit;
    const uint64_t late_ns = scene->n * (scene->kind == LATE_PLACES ? place_ns : (uint64_t)MS);
    setup->rcv_limit = (uint32_t)(scene->shallow ? TABLE_RCV_LIMIT : 2 * bdp);
    return (struct table_path){.mbit_per_s = mbit,
                               .queue_bytes = scene->shallow ? bdp / 4 : 100000000,
                               .rtt_ns = (uint64_t)rtt_ms * MS,
                               .late_ppm = scene->late_ppm,
                               .late_ns = late_ns,
                               .drop = drop};
}

static double run_transfer(struct table_world *t, unsigned rtt_ms)
{
    struct table_flow *f = table_add(t, t->w.now_ns, (uint64_t)all_segs() * TABLE_MSS);
    if (is_reply()) {
        f->bursts[0].bytes = (uint64_t)WARM_SEGS * TABLE_MSS;
        f->bursts[1].at_ms = 100 + 8 * rtt_ms;
        f->bursts[1].bytes = (uint64_t)REPLY_SEGS * TABLE_MSS;
        f->n_bursts = 2;
    }
    memset(copies, 0, sizeof(copies));
    end_ns = 0;
    t->path.ack_loss_ppm = 0;
    if (!table_run_until(t, t->w.now_ns + (uint64_t)GIVE_UP_S * TABLE_S, is_over))
        sim_fail("%s: not over after %d s", scene->name, (int)GIVE_UP_S);
    return (double)(end_ns - begin_ns) / MS;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct result run_scene(unsigned rtt_ms, enum engine engine)
{
    struct table_setup setup = table_default();
    setup.tcp.sack = engine != NEWRENO;
    setup.tcp.timestamps = !scene->no_timestamps;
    setup.no_flight_logs = engine == RFC_6675;
    const struct table_path path = path_of(rtt_ms, &setup);
    struct result r = {0};
    double ms[TRANSFERS_MAX];
    CHECK(scene->transfers <= TRANSFERS_MAX);
    for (transfer = 0; transfer < scene->transfers;) {
        struct table_world *t = table_begin(&path, &setup);
        t->rng.state = table_seed + transfer;
        while (t->n_flows < TABLE_FLOWS_MAX && transfer < scene->transfers) {
            ms[transfer] = run_transfer(t, rtt_ms);
            const struct table_flow *f = &t->flows[t->n_flows - 1];
            r.mean_ms += ms[transfer++] / scene->transfers;
            r.segs += f->segs;
            r.lost += f->dropped_segs;
            r.again += f->again_segs;
        }
        r.timeouts += table_stats(t)->rto_fired;
        table_end(t);
    }
    qsort(ms, scene->transfers, sizeof(ms[0]), by_size);
    r.p95_ms = ms[(scene->transfers * 95 - 1) / 100];
    return r;
}

static const struct scene scenes[] = {
    {"page, 0.1 % lost", RANDOM, 1000, PAGE_SEGS, 80, .ack_loss_ppm = 0},
    {"page, 1 % lost", RANDOM, 10000, PAGE_SEGS, 80, .ack_loss_ppm = 0},
    {"page, 3 % lost", RANDOM, 30000, PAGE_SEGS, 80, .ack_loss_ppm = 0},
    {"bulk, 0.1 % lost", RANDOM, 1000, BULK_SEGS, 16, .ack_loss_ppm = 0},
    {"bulk, 1 % lost", RANDOM, 10000, BULK_SEGS, 16, .ack_loss_ppm = 0},
    {"bulk, 3 % lost", RANDOM, 30000, BULK_SEGS, 16, .ack_loss_ppm = 0},
    {"bulk, 1 %, and 10 % of the ACKs", RANDOM, 10000, BULK_SEGS, 16, .ack_loss_ppm = 100000},
    {"bulk, a queue of 1/4 BDP", NOTHING, 0, BULK_SEGS, 1, .shallow = true},
    {"bulk, nothing lost", NOTHING, 0, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, one", IN_A_ROW, 1, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, 8 in a row", IN_A_ROW, 8, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, 20 in a row", IN_A_ROW, 20, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, every third of 60", THIRDS, 60, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, one, lost twice", ROW_TWICE, 1, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, 8 in a row, lost twice", ROW_TWICE, 8, BULK_SEGS, 1, .ack_loss_ppm = 0},
    {"reply of 40, the last 1", TAIL, 1, REPLY_SEGS, 1, .ack_loss_ppm = 0},
    {"reply of 40, the last 3", TAIL, 3, REPLY_SEGS, 1, .ack_loss_ppm = 0},
    {"reply of 40, the last 8", TAIL, 8, REPLY_SEGS, 1, .ack_loss_ppm = 0},
    {"reply of 40, the last 20", TAIL, 20, REPLY_SEGS, 1, .ack_loss_ppm = 0},
    {"reply of 40, the last 8, lost twice", TAIL_TWICE, 8, REPLY_SEGS, 1, .ack_loss_ppm = 0},
    {"bulk, 1 % late by up to 5 places", LATE_PLACES, 5, BULK_SEGS, 16, .late_ppm = 10000},
    {"bulk, 1 % late by up to 5 ms", LATE_MS, 5, BULK_SEGS, 16, .late_ppm = 10000},
    {"bulk, 5 % late by up to 20 ms", LATE_MS, 20, BULK_SEGS, 16, .late_ppm = 50000},
    {"no timestamps: 1 % lost", RANDOM, 10000, BULK_SEGS, 16, .no_timestamps = true},
    {"no timestamps: 1 % late, 5 places", LATE_PLACES, 5, BULK_SEGS, 16, .late_ppm = 10000,
     .no_timestamps = true},
    {"no timestamps: 1 % late, 5 ms", LATE_MS, 5, BULK_SEGS, 16, .late_ppm = 10000,
     .no_timestamps = true},
};

static void head(void)
{
    printf("  %-36s %-43s %-43s %s\n  %-36s", "", "NewReno", "RFC 6675", "RACK-TLP",
           "what is lost");
    for (unsigned e = 0; e < ENGINES; e++)
        printf("%9s %9s %6s %6s %7s  ", "mean ms", "p95 ms", "lost", "again", "timeout");
    printf("\n");
}

static void engines(unsigned rtt_ms)
{
    double sack_worst = 0, rack_worst = 0;
    head();
    for (unsigned i = 0; i < ARRAY_LEN(scenes); i++) {
        double ms[ENGINES];
        scene = &scenes[i];
        printf("  %-36s", scene->name);
        for (unsigned e = 0; e < ENGINES; e++) {
            const struct result r = run_scene(rtt_ms, e);
            ms[e] = r.mean_ms;
            printf("%9.1f %9.1f %6llu %6llu %7llu  ", r.mean_ms, r.p95_ms,
                   (unsigned long long)r.lost, (unsigned long long)r.again,
                   (unsigned long long)r.timeouts);
        }
        printf("\n");
        sack_worst = MAX(sack_worst, ms[RFC_6675] / ms[NEWRENO]);
        rack_worst = MAX(rack_worst, ms[RACK] / ms[RFC_6675]);
    }
    table_say(TABLE_HARD, sack_worst <= 1.5, "RFC 6675 beside NewReno, the worst line",
              "<= 1.5 times the time", "%.2f times the time", sack_worst);
    table_say(TABLE_HARD, rack_worst <= 1.5, "RACK-TLP beside RFC 6675, the worst line",
              "<= 1.5 times the time", "%.2f times the time", rack_worst);
}

static void row_1(void)
{
    engines(1);
}

static void row_20(void)
{
    engines(20);
}

static void row_100(void)
{
    engines(100);
}

const struct table_row table_engine_rows[] = {
    {"engines_1", "NewReno, RFC 6675 without a flight log, RACK-TLP: 1 Gb/s, 1 ms", row_1},
    {"engines_20", "the same: 100 Mb/s, 20 ms", row_20},
    {"engines_100", "the same: 100 Mb/s, 100 ms", row_100},
    {NULL, NULL, NULL},
};
