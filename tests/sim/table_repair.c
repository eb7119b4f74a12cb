// Rows about repairs: what one loss, or a pattern of them, costs.
#include <stdio.h>
#include <string.h>

#include "table.h"

enum { MS = 1000000, RTT_MS = 50, BEGIN_MS = 2000 };

// A flow is brought to a window of some hundred segments by a first burst, then idles for less than
// an RTO would need to shrink it; what is lost is a part of the second.
enum { WARM_SEGS = 300 };

// The pattern: by the number of the segment in the second burst.
enum pattern { ONE, TWO_OF_IT, TEN, EVERY_THIRD, OF_AGAIN };

static enum pattern pattern;
static uint64_t copies;  // dropped of a segment that was sent again

static bool hits(uint64_t n)
{
    switch (pattern) {
    case ONE:
        return n == 20;
    case TWO_OF_IT:
        return n == 20 || n == 21;
    case TEN:
        return n >= 20 && n < 30;
    case EVERY_THIRD:
        return n >= 20 && n < 80 && n % 3 == 2;
    default:
        return n == 20;
    }
}

static bool drop_pattern(struct table_world *t, const struct table_seg *s)
{
    const uint64_t begin = (uint64_t)WARM_SEGS * TABLE_MSS;
    if (s->off < begin || !hits((s->off - begin) / TABLE_MSS))
        return false;
    if (!s->again)
        return true;
    return pattern == OF_AGAIN && copies++ < 1;
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

static void repair(enum pattern which, const char *what, unsigned rtts_max)
{
    const struct tcp_config tcp = tcp_config_default();
    const struct table_path path = {
        .mbit_per_s = 1000, .queue_bytes = 6250000, .rtt_ns = RTT_MS * MS, .drop = drop_pattern};
    struct table_world *t = table_begin(&path, &tcp);
    struct table_flow *f = table_add(t, 0, (uint64_t)WARM_SEGS * TABLE_MSS);
    f->bursts[1].at_ms = 400;
    f->bursts[1].bytes = (uint64_t)400 * TABLE_MSS;
    f->n_bursts = 2;
    pattern = which;
    copies = 0;
    char expected[64];
    const bool done = table_run_until(t, 60000ull * MS, all_acked);
    const uint64_t since = f->last_ack_ns - f->start_ns - (RTT_MS + 400) * MS;
    snprintf(expected, sizeof(expected), "no timeout, all within %u RTT of its begin", rtts_max);
    table_say(TABLE_SOFT,
              done && table_stats(t)->rto_fired == 0 && since <= (uint64_t)rtts_max * RTT_MS * MS,
              what, expected, "%llu lost, %llu again, %llu timeouts, %.1f RTT",
              (unsigned long long)f->dropped_segs, (unsigned long long)f->again_segs,
              (unsigned long long)table_stats(t)->rto_fired, (double)since / (RTT_MS * MS));
    table_end(t);
}

static void row_repair(void)
{
    repair(ONE, "one segment", 6);
    repair(TWO_OF_IT, "two in a row", 6);
    repair(TEN, "ten in a row", 6);
    repair(EVERY_THIRD, "every third of sixty", 8);
    repair(OF_AGAIN, "one, and its retransmission", 8);
}

// ---- the tail ----

enum { TAIL_SEGS = 10 };

static unsigned tail;

static bool drop_tail(struct table_world *t, const struct table_seg *s)
{
    const uint64_t end = (uint64_t)(WARM_SEGS + TAIL_SEGS) * TABLE_MSS;
    return !s->again && s->off + (uint64_t)tail * TABLE_MSS >= end;
}

// A reply of ten segments, 400 ms after what made the path known; its last n are lost.
static void row_tail(void)
{
    const struct tcp_config tcp = tcp_config_default();
    const struct table_path path = {
        .mbit_per_s = 1000, .queue_bytes = 6250000, .rtt_ns = RTT_MS * MS, .drop = drop_tail};
    for (tail = 1; tail <= 3; tail++) {
        struct table_world *t = table_begin(&path, &tcp);
        struct table_flow *f = table_add(t, 0, (uint64_t)WARM_SEGS * TABLE_MSS);
        f->bursts[1].at_ms = 400;
        f->bursts[1].bytes = (uint64_t)TAIL_SEGS * TABLE_MSS;
        f->n_bursts = 2;
        const bool done = table_run_until(t, 60000ull * MS, all_acked);
        char what[64];
        snprintf(what, sizeof(what), "the last %u of a reply of ten segments", tail);
        const double leaves = (double)(f->first_again_ns - f->last_first_ns) / (RTT_MS * MS);
        const double repaired = (double)(f->last_ack_ns - f->last_first_ns) / (RTT_MS * MS) - 1;
        // RFC 8985 7.2: PTO = 2 SRTT; the probe, and what its SACK shows, each take half a way.
        table_say(TABLE_SOFT, done && leaves <= 2.2 && table_stats(t)->rto_fired == 0, what,
                  "the probe leaves within 2 RTT, no timeout",
                  "%.2f RTT; acknowledged after %.2f RTT more than without; %llu timeouts", leaves,
                  repaired, (unsigned long long)table_stats(t)->rto_fired);
        table_end(t);
    }
}

// ---- a spurious timeout ----

static void row_spurious(void)
{
    const struct tcp_config tcp = tcp_config_default();
    const struct table_path path = {.mbit_per_s = 100,
                                    .queue_bytes = 2500000,
                                    .rtt_ns = RTT_MS * MS,
                                    .spike_at_ns = 1000ull * MS,
                                    .spike_ns = 900ull * MS};
    struct table_world *t = table_begin(&path, &tcp);
    const struct table_flow *f = table_add(t, 0, UINT64_MAX);
    table_run(t, 999ull * MS);
    const struct block *b = table_sender(t, 0);
    const uint32_t before = b->cwnd, flight = tcp_flight(b);
    const uint64_t again = f->again_segs - f->dropped_segs;
    table_run(t, 1999ull * MS);
    const uint32_t cwnd = b->cwnd;
    table_run(t, 2999ull * MS);
    table_say(TABLE_SOFT, cwnd >= before * 9 / 10, "a delay of 900 ms comes up at 1 s: window",
              "as before, 100 ms after it (Eifel, F-RTO)",
              "%u KB before, %u KB after, %u KB 1 s later", before / 1024, cwnd / 1024,
              b->cwnd / 1024);
    const uint64_t needless = f->again_segs - f->dropped_segs - again;
    table_say(TABLE_SOFT, needless <= 3, "... sent again needlessly",
              "<= 3 segments, not the window", "%llu segments of %u in flight, %llu timeouts",
              (unsigned long long)needless, flight / TABLE_MSS,
              (unsigned long long)table_stats(t)->rto_fired);
    table_end(t);
}

const struct table_row table_repair_rows[] = {
    {"repair", "losses in a window of 400 segments, 1 Gb/s, 50 ms", row_repair},
    {"tail", "the last segments of a reply are lost, 50 ms", row_tail},
    {"spurious", "a timeout that was none, 100 Mb/s, 50 ms", row_spurious},
    {NULL, NULL, NULL},
};
