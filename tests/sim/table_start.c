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

// What is lost until 2 s after slow start; *ssthresh as it ended, *burst the largest one before.
static uint64_t overshoot(const struct table_path *path, bool no_hystart, uint32_t *ssthresh,
                          uint32_t *burst)
{
    struct table_setup setup = table_default();
    setup.no_hystart = no_hystart;
    struct table_world *t = table_begin(path, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    SIM_CHECK(table_run_until(t, 10ull * S, left_slow_start), "slow start has no end");
    *ssthresh = table_sender(t, 0)->ssthresh;
    *burst = t->burst_max;
    table_run(t, t->w.now_ns + 2ull * S);
    const uint64_t lost = f->dropped_segs;
    table_end(t);
    return lost;
}

static void start(const struct table_path *path, unsigned queue_bdps, const char *what)
{
    const uint64_t bdp_bytes = path->mbit_per_s * (path->rtt_ns / 8000);
    struct table_path with = *path;
    with.queue_bytes = bdp_bytes * queue_bdps;
    uint32_t ssthresh, without_ssthresh, burst, without_burst;
    const uint64_t without = overshoot(&with, true, &without_ssthresh, &without_burst);
    const uint64_t lost = overshoot(&with, false, &ssthresh, &burst);
    char name[64];
    snprintf(name, sizeof(name), "%s, queue of %u BDP: HyStart++", what, queue_bdps);
    table_say(TABLE_HARD, lost <= without, name, "no more lost than without (RFC 9406 4)",
              "%llu lost, ends at %.2f BDP; without %llu, %.2f", (unsigned long long)lost,
              (double)ssthresh / (double)bdp_bytes, (unsigned long long)without,
              (double)without_ssthresh / (double)bdp_bytes);
    // In slow start a tick lets two of its shares of the round trip leave.
    table_say(TABLE_HARD, burst <= 2 * path->mbit_per_s / 8 * 1000 / TABLE_MSS + 2,
              "... largest burst at the bottleneck", "a millisecond at twice the rate, or less",
              "%u segments", burst);
}

static void row_start(void)
{
    start(&table_gigabit, 1, "1 Gb/s, 50 ms");
    start(&table_gigabit, 3, "1 Gb/s, 50 ms");
    start(&table_hundred, 1, "100 Mb/s, 20 ms");
    start(&table_hundred, 3, "100 Mb/s, 20 ms");
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
