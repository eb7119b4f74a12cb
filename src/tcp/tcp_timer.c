// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>

#include "tcp/tcp_cc.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_ooo.h"
#include "tcp/tcp_sack.h"
#include "tcp/tcp_shed.h"
#include "tcp/tcp_trace.h"

// tcp_starved: a send was refused for lack of buffers, and nothing in flight will cause an
// acknowledgment that reports room. After a shutdown the application sends no more.
static bool tcp_starved(const struct block *b)
{
    return (b->flags & (BF_WANT_WRITE | BF_FIN_QUEUED)) == BF_WANT_WRITE &&
           b->snd_una == b->snd_end;
}

void tcp_arm(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    uint32_t xmit = b->rto_at_ms;
    if ((b->flags & BF_DELACK_ARMED) && (xmit == 0 || time_before(b->delack_at_ms, xmit)))
        xmit = b->delack_at_ms;
    if (unlikely(tcp_starved(b)))
        xmit = tcp_earlier(xmit, deadline(t->now.ms, TCP_STARVED_MS));
    if (xmit != 0)
        arm_xmit(t, b, ix, xmit);
    if (unlikely(t->wheel->refused != 0))
        tcp_arm_slow(t, ix);
}

// remove_movable: removes the movable entry from the wheel. Returns false if the entry has expired
// in this turn; the block will then be woken.
static bool remove_movable(struct tcp *t, struct block *b, uint32_t ix)
{
    const uint32_t place = b->wheel_movable - 1;
    uint32_t moved;
    if (!wheel_remove(t->wheel, place, flow_index((enum flow_kind)WAKE_MOVABLE, ix), &moved))
        return false;
    b->wheel_movable = 0;
    if (moved != WHEEL_EMPTY && flow_index_kind(moved) == (enum flow_kind)WAKE_MOVABLE)
        t->blocks[flow_index_ix(moved)].wheel_movable = place + 1;
    return true;
}

bool arm_movable(struct tcp *t, struct block *b, uint32_t ix, uint32_t at_ms)
{
    if (b->wheel_movable != 0 &&
        (!time_before(at_ms, wheel_place_ms(t->wheel, b->wheel_movable - 1)) ||
         !remove_movable(t, b, ix)))
        return true;
    const uint32_t place =
        wheel_place(t->wheel, at_ms, flow_index((enum flow_kind)WAKE_MOVABLE, ix));
    if (unlikely(place == WHEEL_EMPTY))
        tcp_dirty(t, ix);
    else
        b->wheel_movable = place + 1;
    return place != WHEEL_EMPTY;
}

// keepalive_at: when the next keepalive probe is due.
static uint32_t keepalive_at(const struct tcp *t, const struct block *b)
{
    return deadline(b->last_rx_ms, b->probes == 0
                                       ? b->keepalive_ms
                                       : tcp_sockopt_value(t, b, SOCKOPT_KEEPALIVE_INTERVAL));
}

void tcp_arm_slow(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    uint32_t at = tcp_earlier(b->app_timer_at_ms, b->linger_at_ms);
    if (b->keepalive_ms != 0)
        at = tcp_earlier(at, keepalive_at(t, b));
    if (at == 0)
        return;
    if (b->wheel_slow_ms == 0)
        b->wheel_slow_ms = wheel_add(t->wheel, at, flow_index((enum flow_kind)WAKE_SLOW, ix));
    else if (time_before(at, b->wheel_slow_ms))
        arm_movable(t, b, ix, at);
    if (unlikely(b->wheel_slow_ms == 0))
        tcp_dirty(t, ix);
}

uint32_t tcp_timeout_ms(const struct tcp *t, const struct block *b)
{
    return tcp_rto_ms(t, b);
}

void tcp_end(struct tcp *t, struct block *b, uint8_t why)
{
    static const uint8_t errors[] = {[TCP_CLOSE_RESET] = ECONNRESET,
                                     [TCP_CLOSE_TIMED_OUT] = ETIMEDOUT,
                                     [TCP_CLOSE_ABORTED] = 0,
                                     [TCP_CLOSE_UNREACHABLE] = ETIMEDOUT,
                                     [TCP_CLOSE_REFUSED] = ECONNREFUSED};
    tcp_end_error(t, b, why, errors[why]);
}

// clear_ext: the connection is over, but unread data may keep its block for a long time. Frees
// everything in its extension record except the options.
static void clear_ext(struct tcp *t, struct block *b)
{
    if (!(b->flags & BF_EXT))
        return;
    struct ext *e = &t->exts[b->ext];
    tcp_ooo_drop(t, e);
    *e = (struct ext){.ooo_head = BUF_NONE, .sockopts = e->sockopts, .hold.source = e->hold.source};
    tcp_ext_release(t, b);
}

void tcp_end_error(struct tcp *t, struct block *b, uint8_t why, int error)
{
    b->close_why = why;
    b->error = (uint8_t)error;
    b->rto_at_ms = b->linger_at_ms = b->keepalive_ms = 0;
    b->flags &= (uint16_t) ~(BF_DELACK_ARMED | BF_ACK_DELAYED | BF_ACK_NOW);
    if (b->state == TCP_ESTABLISHED || b->state == TCP_CLOSE_WAIT) {
        t->stats->c.established_now--;
        t->stats->c.established_resets++;
    } else if (b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED) {
        t->stats->c.conns_failed++;
        if (tcp_is_pending(b))
            tcp_fast_open_ended(t, b, why == TCP_CLOSE_RESET);
    }
    tcp_flight_close(t, b);
    clear_ext(t, b);
    tcp_set_state(b, STEP_END);
}

// probe: probes a closed window or an idle peer. An old sequence number requests an ACK without new
// data (RFC 9293 3.8.4). The peer answers and ignores everything else in the segment, so the probe
// does not count as an acknowledgment. A delayed acknowledgment stays due.
static void probe(struct tcp *t, struct block *b)
{
    const uint16_t due = b->flags & (BF_ACK_NOW | BF_ACK_DELAYED | BF_DELACK_ARMED);
    const uint8_t unacked_segs = b->unacked_segs;
    tcp_ack_at(t, b, b->snd_una - 1);
    b->flags |= due;
    b->unacked_segs = unacked_segs;
}

uint32_t tcp_rto_at_backed(const struct tcp *t, const struct block *b)
{
    const uint32_t user_ms = tcp_sockopt_value(t, b, SOCKOPT_USER_TIMEOUT);
    uint32_t wait_ms = tcp_rto_ms(t, b);
    if (user_ms != 0) {
        const uint32_t waited_ms = b->stuck_at_ms != 0 ? t->now.ms - b->stuck_at_ms : 0;
        wait_ms = MIN(wait_ms, waited_ms < user_ms ? user_ms - waited_ms : 1);
    }
    return deadline(t->now.ms, wait_ms);
}

// is_user_timeout: whether the user timeout is set (RFC 9293 3.9.1, RFC 5482) and has expired.
static bool is_user_timeout(const struct tcp *t, const struct block *b)
{
    const uint32_t user_ms = tcp_sockopt_value(t, b, SOCKOPT_USER_TIMEOUT);
    return user_ms != 0 && t->now.ms - b->stuck_at_ms >= user_ms;
}

// is_given_up: whether R2 is reached (RFC 9293 3.8.3), which is a number of retransmissions. A user
// timeout replaces R2, as Linux's TCP_USER_TIMEOUT does.
static bool is_given_up(const struct tcp *t, const struct block *b, bool syn)
{
    if (is_user_timeout(t, b))
        return true;
    if (syn)
        return b->retries >= (tcp_is_pending(b) ? t->cfg.synack_retries
                                                : tcp_sockopt_value(t, b, SOCKOPT_SYN_RETRIES));
    if (unlikely(is_orphan(b)) && tcp_orphan_given_up(t, b))
        return true;
    return tcp_sockopt_value(t, b, SOCKOPT_USER_TIMEOUT) == 0 && b->retries >= t->cfg.retries;
}

// retransmission_timeout: RFC 6298 5.4 to 5.7, RFC 5681 3.1 (equation 4). Returns false if the
// connection must be given up (R2).
static bool retransmission_timeout(struct tcp *t, struct block *b, uint32_t ix)
{
    const bool syn = b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
    if ((b->flags & BF_PROBE) && b->snd_wnd != 0) {  // the override timeout: see tcp_output.c
        DCHECK(b->snd_nxt == b->snd_una);            // otherwise nothing is sent and no timer runs
        b->rto_at_ms = 0;
        tcp_dirty(t, ix);
        return true;
    }
    t->stats->c.rto_fired++;
    tcp_probes_over(b);  // from now on this timer decides whether the peer is alive
    if (b->stuck_at_ms == 0)
        b->stuck_at_ms = deadline(t->now.ms - tcp_rto_ms(t, b), 0);
    if (is_given_up(t, b, syn)) {
        t->stats->c.user_timeouts += is_user_timeout(t, b);
        return false;
    }
    b->retries = (uint8_t)MIN(b->retries + 1, UINT8_MAX);
    if (b->retries == t->cfg.retries1 && !syn)
        t->stats->c.paths_suspected++;
    b->backoff = (uint8_t)MIN(b->backoff + 1, UINT8_MAX);
    b->flags &= (uint16_t)~BF_TIMED;
    if (b->flags & BF_PROBE) {
        probe(t, b);
        t->stats->c.window_probes++;
        b->rto_at_ms = tcp_rto_at(t, b);
        return true;
    }
    b->rto_at_ms = 0;
    if (syn) {
        b->snd_nxt = b->snd_una;
        b->snd_cur = b->snd_head;
    } else {
        if (b->retries >= t->cfg.retries1 && t->cfg.black_hole_detection)
            tcp_black_hole(t, b);
        const bool fresh = b->retries == 1 && !(b->has_flight && tcp_recovering(t, b));
        tcp_cc_timeout(t, b, fresh);
        b->recover = b->snd_max;  // RFC 6582 3.2 step 4
        b->agreed &= (uint8_t)~BA_REDUCED;
        if ((b->agreed & BA_SACK) && tcp_flight_timeout(t, b, fresh)) {
            tcp_dirty(t, ix);
            return true;
        }
        b->snd_nxt = b->snd_una;
        b->snd_cur = b->snd_head;
        b->dupacks = 0;
        tcp_recovery_timeout(t, b);
        if (fresh)
            tcp_undo_begin(t, b, true);
    }
    tcp_dirty(t, ix);
    return true;
}

// Whether enough keepalive probes are unanswered. With a user timeout the time decides.
static bool is_dead(const struct tcp *t, const struct block *b)
{
    if (tcp_sockopt_value(t, b, SOCKOPT_USER_TIMEOUT) == 0)
        return b->probes >= tcp_sockopt_value(t, b, SOCKOPT_KEEPALIVE_PROBES);
    return b->probes != 0 && is_user_timeout(t, b);
}

// is_waited_for: whether data is in flight or waits for a window. The timer for it then decides
// whether the peer is alive, also in the turn in which it has just expired. BF_PROBE alone says
// nothing, because it may stay set after the last byte is acknowledged.
static bool is_waited_for(const struct block *b)
{
    return b->rto_at_ms != 0 || b->snd_max != b->snd_una ||
           ((b->flags & BF_PROBE) && b->snd_end != b->snd_una);
}

// keepalive: RFC 9293 3.8.4: probes only if nothing is in flight or waits for a window, and nothing
// was received. Returns false if the connection must be given up.
static bool keepalive(struct tcp *t, struct block *b)
{
    const uint32_t progress = tcp_progress(b);
    if (b->last_progress != progress || is_waited_for(b)) {
        b->last_progress = progress;
        tcp_probes_over(b);
    } else {
        if (is_dead(t, b)) {
            t->stats->c.user_timeouts += is_user_timeout(t, b);
            return false;
        }
        if (b->probes == 0)
            b->stuck_at_ms = deadline(b->last_rx_ms, 0);
        b->probes = (uint8_t)MIN(b->probes + 1, UINT8_MAX);
        t->stats->c.keepalive_probes++;
        probe(t, b);
    }
    b->last_rx_ms = t->now.ms;
    return true;
}

static uint16_t give_up(struct tcp *t, struct block *b)
{
    t->stats->c.conns_timed_out++;
    if (b->state != TCP_SYN_SENT)
        tcp_send_reset(t, b);
    tcp_end_error(t, b, b->state == TCP_SYN_SENT ? TCP_CLOSE_UNREACHABLE : TCP_CLOSE_TIMED_OUT,
                  tcp_timeout_error(t, b));
    return TCP_EV_CLOSED;
}

static uint16_t xmit_deadlines(struct tcp *t, struct block *b, uint32_t ix)
{
    // A peer that closes its window, or does not answer, may hold data in shared buffers. It may do
    // so only while enough buffers are free (RFC 6429 3).
    if (tcp_shed_confirm(t, b, ix)) {
        t->stats->c.conns_shed++;
        return give_up(t, b);
    }
    if ((b->flags & BF_DELACK_ARMED) && deadline_reached(b->delack_at_ms, t->now.ms)) {
        b->flags &= (uint16_t)~BF_DELACK_ARMED;
        b->flags |= BF_ACK_NOW;
        t->stats->c.delayed_acks++;
        tcp_quick_ack_late(b);
        tcp_dirty(t, ix);
    }
    if (!deadline_reached(b->rto_at_ms, t->now.ms))
        return 0;
    if (b->has_flight && tcp_flight_timer(t, b, ix))
        return 0;
    return retransmission_timeout(t, b, ix) ? 0 : give_up(t, b);
}

static uint16_t app_timer(struct tcp *t, struct block *b, uint32_t ix)
{
    uint16_t events = 0;
    if (deadline_reached(b->app_timer_at_ms, t->now.ms)) {
        b->app_timer_at_ms = 0;
        events = TCP_EV_APP_TIMER;
    }
    tcp_arm_slow(t, ix);
    return events;
}

static uint16_t slow_deadlines(struct tcp *t, struct block *b, uint32_t ix)
{
    if (deadline_reached(b->linger_at_ms, t->now.ms)) {  // the peer never closed its side
        b->linger_at_ms = 0;
        t->stats->c.fin_wait2_timeouts++;
        if (!is_orphan(b))
            tcp_send_reset(t, b);
        tcp_end(t, b, TCP_CLOSE_TIMED_OUT);
        return TCP_EV_CLOSED;
    }
    if (b->keepalive_ms != 0 && deadline_reached(keepalive_at(t, b), t->now.ms) &&
        !keepalive(t, b)) {
        t->stats->c.conns_timed_out++;
        tcp_send_reset(t, b);
        tcp_end_error(t, b, TCP_CLOSE_TIMED_OUT, tcp_timeout_error(t, b));
        return TCP_EV_CLOSED;
    }
    return app_timer(t, b, ix);
}

// sweep_block: a wheel entry that expired without an xmit deadline did not access its block. Clears
// the entry's time in the block. Also keeps the age of an outdated ts_recent from wrapping.
static void sweep_block(const struct tcp *t, struct block *b)
{
    if (b->wheel_xmit_ms != 0 && time_before(b->wheel_xmit_ms, t->now.ms) &&
        !wheel_may_hold(t->wheel, b->wheel_xmit_ms))
        b->wheel_xmit_ms = 0;
    if ((b->flags & BF_TS) && t->now.ms - b->ts_recent_ms > TCP_PAWS_MS)
        b->ts_recent_ms = t->now.ms - TCP_PAWS_MS - 1;
}

unsigned tcp_sweep(struct tcp *t)
{
    const uint32_t intervals = (t->now.ms - t->sweep_ms) / TCP_SWEEP_MS, all = t->block_pool->count;
    if (intervals == 0)
        return 0;
    t->sweep_ms += intervals * TCP_SWEEP_MS;
    const uint32_t each = (all + TCP_SWEEP_STEPS - 1) / TCP_SWEEP_STEPS;
    const uint32_t n = MIN(MIN((uint64_t)intervals * each, TCP_SWEEP_MAX), all);
    for (uint32_t i = 0; i < n; i++) {
        if (t->sweep_ix >= all)
            t->sweep_ix = 0;
        sweep_block(t, &t->blocks[t->sweep_ix++]);
    }
    return n;
}

// came_out: the block's wheel entry `wake` has expired. An entry that was added since has another
// time.
static void came_out(const struct tcp *t, struct block *b, enum tcp_wake wake)
{
    if (wake == WAKE_MOVABLE)
        b->wheel_movable = 0;
    else if (wake == WAKE_SLOW)
        b->wheel_slow_ms = 0;
    else if (deadline_reached(b->wheel_xmit_ms, t->now.ms))
        b->wheel_xmit_ms = 0;
}

uint16_t tcp_timer(struct tcp *t, uint32_t ix, enum tcp_wake wake)
{
    struct block *b = &t->blocks[ix];
    tcp_touch(t, ix);
    t->stats->c.timers_fired++;
    point_timer(t->trace, tcp_traced(t, b), (uint8_t)wake);
    came_out(t, b, wake);
    if (b->rto_at_ms == 0 && !(b->flags & BF_DELACK_ARMED))
        xmit_clear(t, ix);
    if (b->state == TCP_FREE) {
        t->stats->c.timers_stale++;
        return 0;
    }
    if (b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT) {  // the application has not read all
        b->rto_at_ms = b->linger_at_ms = b->keepalive_ms = 0;
        b->flags &= (uint16_t) ~(BF_DELACK_ARMED | BF_ACK_DELAYED | BF_ACK_NOW);
        clear_ext(t, b);
        return app_timer(t, b, ix);
    }
    if (unlikely(b->flags & BF_EXT))
        tcp_cc_timer(t, b, ix);
    uint16_t events = xmit_deadlines(t, b, ix);
    if (events == 0 && tcp_starved(b))
        events = TCP_EV_SENT;
    if (!(events & TCP_EV_CLOSED) && wake != WAKE_XMIT)
        events |= slow_deadlines(t, b, ix);
    if (!(events & TCP_EV_CLOSED))
        tcp_arm(t, ix);
    else if (wake != WAKE_XMIT)  // the application's timer may be set while data is unread
        tcp_arm_slow(t, ix);
    return events;
}
