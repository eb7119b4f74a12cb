// SPDX-License-Identifier: BSD-3-Clause
// Undo: detects that retransmitted data was not lost, in three ways: by timestamps (RFC 3522, RFC
// 4015), by the data that arrives after a timeout (RFC 5682), and by duplicate reports for all of
// it (RFC 3708).
#include "tcp/tcp_cc.h"
#include "tcp/tcp_flight.h"

void undo_begin(struct block *b, struct flight *f)
{
    f->can_undo = 1;
    f->sent_again = 0;
    f->again_from = b->snd_una;
    f->again_bytes = 0;
}

void undo_resent(const struct tcp *t, struct flight *f, uint32_t n)
{
    if (!f->can_undo)
        return;
    if (!f->sent_again)
        f->again_ms = t->now.ms;
    f->sent_again = 1;
    f->again_bytes += n;
}

void undo_dsack(struct flight *f, struct seq_range r)
{
    if (f->can_undo && !seq_lt(r.start, f->again_from))
        f->again_bytes -= MIN(f->again_bytes, r.end - r.start);
}

// is_early: RFC 3522 3.2, step 5: whether the ACK is for the original transmission.
static bool is_early(const struct flight *f)
{
    return f->state != FLIGHT_OPEN && f->advanced && f->has_echo &&
           time_before(f->echo_ms, f->again_ms);
}

// is_alive: RFC 5682 3.1, step 3b: data that was in flight at the timeout, and was not resent, has
// arrived.
static bool is_alive(const struct flight *f)
{
    return f->state == FLIGHT_LOSS && f->frto == FRTO_WAIT && f->orig_acked;
}

static void count(struct core_counters *c, const struct block *b, const struct flight *f,
                  bool by_dsack)
{
    if (f->state == FLIGHT_LOSS) {
        c->loss_undos++;
        c->spurious_rtos++;
    } else if (by_dsack) {
        c->dsack_undos++;
    } else if (seq_lt(b->snd_una, b->recover)) {
        c->partial_undos++;
    } else {
        c->full_undos++;
    }
}

bool undo_judge(struct tcp *t, struct block *b, struct flight *f)
{
    if (!f->can_undo || !f->sent_again)
        return false;
    const bool by_dsack = f->dsack && f->again_bytes == 0;
    if (!by_dsack && !is_early(f) && !is_alive(f))
        return false;
    f->can_undo = 0;
    if (!tcp_cc_undo(t, b))
        return false;
    count(&t->stats->c, b, f, by_dsack);
    flight_forgive(f);
    if (f->state != FLIGHT_OPEN)
        rack_calm(f);
    f->state = FLIGHT_OPEN;
    f->frto = FRTO_OFF;
    b->recover = b->snd_una - 1;  // no loss was detected
    b->backoff = 0;
    b->retries = 0;
    b->stuck_at_ms = 0;
    return true;
}
