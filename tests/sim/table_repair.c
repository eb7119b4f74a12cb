// SPDX-License-Identifier: BSD-3-Clause
// Rows about repairs: what one loss, or a pattern of them, costs.
#include <stdio.h>
#include <string.h>

#include "table.h"

enum { MS = 1000000, RTT_MS = 50, BEGIN_MS = 2000 };

// The patterns, by the number of the segment: the window is 640 segments when segment 700 leaves,
// and there is more to send behind it.
enum { ALL_SEGS = 3000, AT = 700 };
enum pattern { NONE, ONE, TWO, TEN, EVERY_THIRD, OF_AGAIN };

static enum pattern pattern;
static uint64_t copies;  // dropped of a segment that was sent again

static bool hits(uint64_t n)
{
    switch (pattern) {
    case NONE:
        return false;
    case TWO:
        return n == AT || n == AT + 1;
    case TEN:
        return n >= AT && n < AT + 10;
    case EVERY_THIRD:
        return n >= AT && n < AT + 180 && (n - AT) % 3 == 0;
    default:
        return n == AT;
    }
}

static bool drop_pattern(struct table_world *t, const struct table_seg *s)
{
    if (!hits(s->off / TABLE_MSS))
        return false;
    return !s->again || (pattern == OF_AGAIN && copies++ < 1);
}

static bool all_acked(const struct table_world *t)
{
    const struct table_flow *f = &t->flows[0];
    const struct block *b = table_sender(t, 0);
    uint64_t all = 0;
    for (unsigned i = 0; i < f->n_bursts; i++)
        all += f->bursts[i].bytes;
    return b != NULL && f->off_max == all && b->snd_una == b->snd_end;
}

// How long it takes until all is acknowledged; 0: forever.
static uint64_t repair(enum pattern which, uint64_t clean_ns, const char *what, unsigned rtts_max)
{
    const struct table_setup setup = table_default();
    struct table_path path = table_gigabit;
    path.drop = drop_pattern;
    struct table_world *t = table_begin(&path, &setup);
    const struct table_flow *f = table_add(t, 0, (uint64_t)ALL_SEGS * TABLE_MSS);
    pattern = which;
    copies = 0;
    char expected[64];
    const bool done = table_run_until(t, 60000ull * MS, all_acked);
    const uint64_t took = done ? f->last_ack_ns : 0, rtos = table_stats(t)->rto_fired;
    const double more = ((double)took - (double)clean_ns) / (RTT_MS * MS);
    snprintf(expected, sizeof(expected), "no timeout, at most %u RTT more, none needless",
             rtts_max);
    if (which == NONE)
        table_say(TABLE_PLAIN, true, what, "", "%.1f RTT", (double)took / (RTT_MS * MS));
    else
        table_say(TABLE_HARD,
                  done && rtos == 0 && more <= rtts_max && f->again_segs <= f->dropped_segs, what,
                  expected, "%llu lost, %llu again, %llu timeouts, %.1f RTT more",
                  (unsigned long long)f->dropped_segs, (unsigned long long)f->again_segs,
                  (unsigned long long)rtos, more);
    table_end(t);
    return took;
}

static void row_repair(void)
{
    const uint64_t clean = repair(NONE, 0, "3,000 segments, none lost", 0);
    repair(ONE, clean, "one", 4);
    repair(TWO, clean, "two in a row", 4);
    repair(TEN, clean, "ten in a row", 4);
    repair(EVERY_THIRD, clean, "every third of 180", 4);
    repair(OF_AGAIN, clean, "one, and its retransmission", 6);
}

// ---- the tail ----

enum { WARM_SEGS = 300, TAIL_SEGS = 10 };

static unsigned tail;

static bool drop_tail(struct table_world *t, const struct table_seg *s)
{
    const uint64_t end = (uint64_t)(WARM_SEGS + TAIL_SEGS) * TABLE_MSS;
    return !s->again && s->off + (uint64_t)tail * TABLE_MSS >= end;
}

// A reply of ten segments, 400 ms after what made the path known; its last n are lost.
static void row_tail(void)
{
    const struct table_setup setup = table_default();
    struct table_path path = table_gigabit;
    path.drop = drop_tail;
    for (tail = 1; tail <= 3; tail++) {
        struct table_world *t = table_begin(&path, &setup);
        struct table_flow *f = table_add(t, 0, (uint64_t)WARM_SEGS * TABLE_MSS);
        f->bursts[1].at_ms = 400;
        f->bursts[1].bytes = (uint64_t)TAIL_SEGS * TABLE_MSS;
        f->n_bursts = 2;
        const bool done = table_run_until(t, 60000ull * MS, all_acked);
        char what[64];
        snprintf(what, sizeof(what), "the last %u of a reply of ten segments", tail);
        const double leaves = (double)(f->first_again_ns - f->last_first_ns) / (RTT_MS * MS);
        const double repaired = (double)(f->last_ack_ns - f->last_first_ns) / (RTT_MS * MS) - 1;
        // RFC 8985 7.2: PTO = 2 SRTT, which has an eighth of what the receiver delays the
        // acknowledgment of an odd segment by (40 ms, 0.8 RTT). The probe's own comes one RTT
        // later, alone and delayed as well if nothing else was lost; where it shows that two more
        // are missing, they leave one by one (RFC 9937: as much as was delivered).
        static const double most[] = {0, 3.1, 3.2, 4.3};
        static const char *const expected[] = {
            "", "probe 2 SRTT after the last, all acknowledged 2 RTT and a delayed ACK late",
            "probe 2 SRTT after the last, all acknowledged 3 RTT late",
            "probe 2 SRTT after the last, all acknowledged 4 RTT late"};
        table_say(TABLE_HARD,
                  done && leaves <= 2.3 && repaired <= most[tail] && table_stats(t)->rto_fired == 0,
                  what, expected[tail], "probe after %.2f RTT, all %.2f RTT late, %llu timeouts",
                  leaves, repaired, (unsigned long long)table_stats(t)->rto_fired);
        table_end(t);
    }
}

// ---- a spurious timeout ----

static void row_spurious(void)
{
    struct table_setup setup = table_default();
    setup.rcv_limit = 1000000;  // nothing is lost: there is always room in the queue
    const struct table_path path = {.mbit_per_s = 100,
                                    .queue_bytes = 100000000,
                                    .rtt_ns = RTT_MS * MS,
                                    .spike_at_ns = 1000ull * MS,
                                    .spike_ns = 900ull * MS};
    struct table_world *t = table_begin(&path, &setup);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    table_run(t, 999ull * MS);
    const struct block *b = table_sender(t, 0);
    const uint32_t before = b->cwnd, flight = tcp_flight(b);
    const uint64_t again = f->again_segs - f->dropped_segs;
    table_run(t, 1999ull * MS);
    const uint32_t cwnd = b->cwnd;
    table_run(t, 2999ull * MS);
    table_say(TABLE_HARD, cwnd >= before * 9 / 10, "a delay of 900 ms comes up at 1 s: window",
              "as before, 100 ms after it (Eifel, F-RTO)",
              "%u KB before, %u KB after, %u KB 1 s later", before / 1024, cwnd / 1024,
              b->cwnd / 1024);
    const uint64_t needless = f->again_segs - f->dropped_segs - again;
    table_say(TABLE_HARD, needless <= 3, "... sent again needlessly",
              "<= 3 segments, not the window", "%llu segments of %u in flight, %llu timeouts",
              (unsigned long long)needless, flight / TABLE_MSS,
              (unsigned long long)table_stats(t)->rto_fired);
    table_end(t);
}

const struct table_row table_repair_rows[] = {
    {"repair", "losses in a window of 640 segments, 1 Gb/s, 50 ms", row_repair},
    {"tail", "the last segments of a reply are lost, 50 ms", row_tail},
    {"spurious", "a timeout that was none, 100 Mb/s, 50 ms", row_spurious},
    {NULL, NULL, NULL},
};
