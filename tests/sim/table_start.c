// Rows about how a transfer begins: slow start, bursts, windows, and the same after idle time.
#include <stdio.h>

#include "table.h"

enum { S = TABLE_S, MS = TABLE_MS };

// ---- slow start ----

// The end of slow start: nothing grows twofold a round trip any more.
static bool left_slow_start(const struct table_world *t)
{
    const struct block *b = table_sender(t, 0);
    return b != NULL && b->cwnd >= b->ssthresh;
}

static void start(const struct table_path *path, const char *what, uint64_t bdp_bytes)
{
    const struct table_setup setup = table_default();
    struct table_world *t = table_begin(path, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    const bool left = table_run_until(t, 10ull * S, left_slow_start);
    const uint64_t left_ms = t->w.now_ns / MS, ssthresh = table_sender(t, 0)->ssthresh;
    const uint32_t burst = t->burst_max;
    char name[64];
    table_run(t, t->w.now_ns + 2ull * S);
    snprintf(name, sizeof(name), "%s: slow start", what);
    table_say(TABLE_SOFT, left && f->dropped_segs * TABLE_MSS <= bdp_bytes / 10, name,
              "HyStart++: <= 10 % of a BDP lost at its end",
              "%llu lost, left at %llu ms, ssthresh %.2f BDP", (unsigned long long)f->dropped_segs,
              (unsigned long long)left_ms, (double)ssthresh / (double)bdp_bytes);
    snprintf(name, sizeof(name), "%s: largest burst", what);
    table_say(TABLE_SOFT, burst <= 100, name, "paced: <= 100 segments at once",
              "%u segments in slow start", burst);
    table_end(t);
}

static void row_start(void)
{
    start(&table_gigabit, "1 Gb/s, 50 ms", 6250000);
    start(&table_hundred, "100 Mb/s, 20 ms", 250000);
}

// ---- after idle time ----

static void row_idle(void)
{
    enum { WARM_SEGS = 2000, BURST_SEGS = 500 };
    const struct table_setup setup = table_default();
    for (unsigned idle_ms = 1000; idle_ms <= 10000; idle_ms *= 10) {
        struct table_world *t = table_begin(&table_gigabit, &setup);
        struct table_flow *f = table_add(t, 0, (uint64_t)WARM_SEGS * TABLE_MSS);
        f->bursts[1].at_ms = 1000 + idle_ms;
        f->bursts[1].bytes = (uint64_t)BURST_SEGS * TABLE_MSS;
        f->n_bursts = 2;
        table_run(t, (999ull + idle_ms) * MS);
        t->burst_max = 0;
        const uint32_t cwnd = table_sender(t, 0)->cwnd;
        table_run(t, (4000ull + idle_ms) * MS);
        char what[64];
        snprintf(what, sizeof(what), "500 segments after %u s idle", idle_ms / 1000);
        const double rtts = (double)(f->last_ack_ns - (1050ull + idle_ms) * MS) / (50 * MS);
        table_say(TABLE_PLAIN, true, what, "RFC 5681 4.1: 7 RTT, 10 at once; RFC 2861, 7661: less",
                  "%.1f RTT, window was %u, burst %u, %llu lost", rtts, cwnd / TABLE_MSS,
                  t->burst_max, (unsigned long long)f->dropped_segs);
        table_end(t);
    }
}

// ---- the receiver's window ----

static void row_window(void)
{
    const struct table_setup setup = table_default();
    struct table_world *t = table_begin(&table_gigabit, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    uint32_t told[4];
    const uint64_t at_ms[4] = {100, 300, 600, 3000};
    for (unsigned i = 0; i < 4; i++) {
        table_run(t, at_ms[i] * MS);
        const struct block *b = table_receiver(t, 0);
        told[i] = b->rcv_adv - b->rcv_nxt;
    }
    const uint64_t received = f->received;
    table_run(t, 6000ull * MS);
    table_say(TABLE_PLAIN, true, "window told at 0.1, 0.3, 0.6 and 3 s",
              "auto-tuned: twice what a round trip brought", "%u, %u, %u, %u KB", told[0] / 1024,
              told[1] / 1024, told[2] / 1024, told[3] / 1024);
    const double mbit = table_mbit(f->received - received, 3ull * S);
    table_say(TABLE_SOFT, mbit >= 0.9 * table_full_mbit(1000), "rate from 3 s to 6 s",
              "not the window's: >= 90 % of 941 Mb/s", "%.0f Mb/s", mbit);
    table_end(t);
}

const struct table_row table_start_rows[] = {
    {"start", "the end of slow start, and bursts on the way", row_start},
    {"idle", "restart after idle time, 1 Gb/s, 50 ms", row_idle},
    {"window", "the receiver's window, 1 Gb/s, 50 ms, limit 32 MB", row_window},
    {NULL, NULL, NULL},
};
