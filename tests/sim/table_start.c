// SPDX-License-Identifier: BSD-3-Clause
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
    // The first burst is acknowledged by 0.6 s; the sender has the connection after one and a half
    // round trips.
    enum { WARM_SEGS = 2000, BURST_SEGS = 500, WARM_MS = 600, OPEN_MS = 75 };
    const struct table_setup setup = table_default();
    for (unsigned idle_ms = 100; idle_ms <= 1600; idle_ms *= 4) {
        struct table_world *t = table_begin(&table_gigabit, &setup);
        struct table_flow *f = table_add(t, 0, (uint64_t)WARM_SEGS * TABLE_MSS);
        const uint64_t at_ms = WARM_MS + idle_ms;
        f->bursts[1].at_ms = (uint32_t)at_ms;
        f->bursts[1].bytes = (uint64_t)BURST_SEGS * TABLE_MSS;
        f->n_bursts = 2;
        table_run(t, (at_ms + OPEN_MS - 1) * MS);
        t->burst_max = 0;
        const uint32_t cwnd = table_sender(t, 0)->cwnd;
        table_run(t, (at_ms + 3000) * MS);
        char what[64];
        snprintf(what, sizeof(what), "500 segments after %.1f s idle", idle_ms / 1000.0);
        const double rtts = (double)(f->last_ack_ns - (at_ms + OPEN_MS) * MS) / (50 * MS);
        table_say(TABLE_HARD, rtts <= 7 && f->dropped_segs == 0, what,
                  "RFC 2861: halved each RTO; from 10 on 6.5 RTT",
                  "%.1f RTT, window was %u, burst %u, %llu lost", rtts, cwnd / TABLE_MSS,
                  t->burst_max, (unsigned long long)f->dropped_segs);
        table_end(t);
    }
}

// ---- the receiver's window ----

// What came until 1 s after the begin; the windows told at at_ms.
static uint64_t windows(bool tuned, const uint64_t at_ms[4], uint32_t told_kb[4], double *mbit)
{
    struct table_setup setup = table_default();
    if (tuned)
        setup.rcv_initial = setup.snd_initial = 65536;
    struct table_world *t = table_begin(&table_gigabit, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    uint64_t first = 0;
    for (unsigned i = 0; i < 4; i++) {
        table_run(t, at_ms[i] * MS);
        const struct block *b = table_receiver(t, 0);
        told_kb[i] = (b->rcv_adv - b->rcv_nxt) / 1024;
        first = at_ms[i] == 1000 ? f->received : first;
    }
    const uint64_t received = f->received;
    table_run(t, (at_ms[3] + 3000) * MS);
    *mbit = table_mbit(f->received - received, 3ull * S);
    table_end(t);
    return first;
}

static void row_window(void)
{
    const uint64_t at_ms[4] = {100, 300, 1000, 3000};
    uint32_t kb[4], whole_kb[4];
    double mbit, whole_mbit;
    const uint64_t whole = windows(false, at_ms, whole_kb, &whole_mbit);
    const uint64_t tuned = windows(true, at_ms, kb, &mbit);
    table_say(TABLE_PLAIN, true, "from 64 KB: told at 0.1, 0.3, 1 and 3 s",
              "twice what a round trip brings, or more", "%u, %u, %u, %u KB", kb[0], kb[1], kb[2],
              kb[3]);
    table_say(TABLE_HARD, (double)tuned >= 0.9 * (double)whole, "... what has come by 1 s",
              ">= 90 % of that with the whole window at once", "%.1f MB of %.1f",
              (double)tuned / 1e6, (double)whole / 1e6);
    table_say(TABLE_HARD, mbit >= 0.9 * table_full_mbit(1000), "... rate from 3 s to 6 s",
              ">= 90 % of 941 Mb/s", "%.0f Mb/s", mbit);
}

const struct table_row table_start_rows[] = {
    {"start", "the end of slow start, and bursts on the way", row_start},
    {"idle", "restart after idle time, 1 Gb/s, 50 ms", row_idle},
    {"window", "the receiver's window, 1 Gb/s, 50 ms, limit 32 MB", row_window},
    {NULL, NULL, NULL},
};
