// SPDX-License-Identifier: BSD-3-Clause
// RACK (RFC 8985 6): a segment is lost if one that was sent later has arrived.
#include "tcp/tcp_flight.h"

// sent_ms: when run r was sent, in our timestamp clock.
static uint32_t sent_ms(const struct tcp *t, uint32_t sent_us)
{
    return (uint32_t)((t->now.us - (uint32_t)((uint32_t)t->now.us - sent_us)) / 1000);
}

void rack_echo(const struct tcp *t, const struct block *b, struct flight *f, bool has_ts,
               uint32_t ts_ecr)
{
    f->acked = b->snd_una;
    f->has_echo = has_ts && ts_ecr != 0;
    if (f->has_echo)
        f->echo_ms = t->now.ms - (tcp_ts_now(t, &b->key) - ts_ecr);
}

// sent_after: RFC 8985 6.1, RACK_sent_after().
static bool sent_after(uint32_t a_us, uint32_t a_end, uint32_t b_us, uint32_t b_end)
{
    return time_before(b_us, a_us) || (a_us == b_us && seq_lt(b_end, a_end));
}

// is_doubtful: RFC 8985 6.2, step 2. The run was sent more than once, and the delivered copy may be
// an earlier one. If everything before the run has arrived as well, the echoed timestamp decides.
// Behind a gap the echoed timestamp is older than the segment (RFC 7323 4.3), so the time decides:
// a delivery within min_RTT of the retransmission is of an earlier copy. min_RTT is that of this
// log only, which may have seen only bursts, so an eighth is subtracted. Before it is known, half
// of SRTT is used, because SRTT includes queueing.
static bool is_doubtful(const struct tcp *t, const struct block *b, const struct flight *f,
                        const struct flight_run *r, uint32_t end, uint32_t rtt_us)
{
    const uint32_t least_us =
        f->min_rtt_us != 0 ? f->min_rtt_us - f->min_rtt_us / 8 : b->srtt_us / 16;
    if (!(r->flags & FLIGHT_AGAIN))
        return false;
    if (f->has_echo && seq_leq(end, f->acked))
        return time_before(f->echo_ms, sent_ms(t, r->sent_us));
    return rtt_us < least_us;
}

void rack_delivered(const struct tcp *t, const struct block *b, struct flight *f,
                    const struct flight_run *r, uint32_t end, bool whole)
{
    const uint32_t rtt_us = MAX((uint32_t)t->now.us - r->sent_us, 1u);
    const bool again = (r->flags & FLIGHT_AGAIN) != 0;
    if (!again && seq_leq(end, b->recover))
        f->orig_acked = 1;
    // Step 3: an original transmission that arrives after data sent later was reordered.
    if (seq_lt(f->fack, end))
        f->fack = end;
    else if (!again && seq_lt(end, f->fack) && !f->reordering) {
        f->reordering = 1;
        t->stats->c.sack_reorders++;
    }
    if (is_doubtful(t, b, f, r, end, rtt_us))
        return;
    // Step 1. In a merged run only the last part was sent at the stored time.
    if (!(r->flags & (FLIGHT_AGAIN | FLIGHT_GUESS)) && (whole || !(r->flags & FLIGHT_COARSE))) {
        if (f->min_rtt_us == 0 || rtt_us < f->min_rtt_us)
            f->min_rtt_us = rtt_us;
        if (f->rtt_us == 0)
            f->rtt_us = rtt_us;
    }
    if (f->has_rack && !sent_after(r->sent_us, end, f->rack_sent_us, f->rack_end))
        return;
    f->has_rack = 1;
    f->rack_sent_us = r->sent_us;
    f->rack_end = end;
    f->rack_rtt_us = rtt_us;
}

// has_dupacks: whether the SACKed data corresponds to three duplicate acknowledgments (RFC 6675 4,
// IsLost()).
static bool has_dupacks(const struct block *b, const struct flight *f)
{
    unsigned ranges = 0;
    if (f->sacked > (TCP_DUPACKS - 1) * (uint32_t)b->mss)
        return true;
    for (unsigned i = 0; i < f->n; i++)
        ranges += (f->run[f->first + i].flags & FLIGHT_SACKED) != 0;
    return ranges >= TCP_DUPACKS;
}

uint32_t rack_window(const struct block *b, const struct flight *f)
{
    if (!f->reordering && (f->state != FLIGHT_OPEN || has_dupacks(b, f)))
        return 0;
    const uint32_t srtt_us = MAX(b->srtt_us / 8, 1u);
    return (uint32_t)MIN((uint64_t)f->reo_mult * f->min_rtt_us / 4, srtt_us);
}

void rack_dsack(const struct block *b, struct flight *f, bool dsack)
{
    if (f->in_dsack_round && !seq_lt(b->snd_una, f->dsack_round))
        f->in_dsack_round = 0;
    if (f->in_dsack_round || !dsack)
        return;
    f->in_dsack_round = 1;
    f->dsack_round = b->snd_nxt;
    f->reo_mult = (uint8_t)MIN(f->reo_mult + 1, UINT8_MAX);
    f->reo_persist = FLIGHT_REO_PERSIST;
}

void rack_calm(struct flight *f)
{
    if (f->reo_persist != 0 && --f->reo_persist == 0)
        f->reo_mult = 1;
}

void rack_lose(struct tcp *t, const struct block *b, struct flight *f, unsigned i, uint32_t most)
{
    flight_lose(f, i, most);
    const uint32_t bytes = flight_run_start(f, i + 1) - flight_run_start(f, i);
    if (flight_run(f, i)->flags & FLIGHT_AGAIN)
        t->stats->c.lost_retransmits += (bytes + b->mss - 1) / b->mss;
}

uint32_t rack_detect(struct tcp *t, struct block *b)
{
    struct flight *f = flight_of(t, b);
    const uint32_t now_us = (uint32_t)t->now.us, had = f->lost;
    f->reorder_us = 0;
    if (!f->has_rack)
        return 0;
    const uint32_t late_us = f->rack_rtt_us + rack_window(b, f);
    for (unsigned i = 0; i < f->n; i++) {
        const struct flight_run *r = flight_run(f, i);
        if ((r->flags & (FLIGHT_SACKED | FLIGHT_LOST)) ||
            !sent_after(f->rack_sent_us, f->rack_end, r->sent_us, r->end))
            continue;
        const int32_t left_us = (int32_t)(r->sent_us + late_us - now_us);
        if (left_us > 0)
            f->reorder_us = MAX(f->reorder_us, (uint32_t)left_us);
        else
            rack_lose(t, b, f, i, UINT32_MAX);
    }
    return f->lost - had;
}
