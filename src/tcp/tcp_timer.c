#include <errno.h>

#include "tcp/tcp_cc.h"
#include "tcp/tcp_fast_open.h"
#include "tcp/tcp_flight.h"
#include "tcp/tcp_sack.h"

static uint32_t earlier(uint32_t a_ms, uint32_t b_ms)
{
    if (a_ms == 0 || b_ms == 0)
        return a_ms | b_ms;
    return time_before(a_ms, b_ms) ? a_ms : b_ms;
}

// A send was refused for lack of buffers, and no acknowledgement will come to say that there is
// room. After the shutdown there never will be.
static bool tcp_starved(const struct block *b)
{
    return (b->flags & (BF_WANT_WRITE | BF_FIN_QUEUED)) == BF_WANT_WRITE &&
           b->snd_una == b->snd_end;
}

void tcp_arm(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    uint32_t near = b->rto_at_ms;
    if ((b->flags & BF_DELACK_ARMED) && (near == 0 || time_before(b->delack_at_ms, near)))
        near = b->delack_at_ms;
    if (unlikely(tcp_starved(b)))
        near = earlier(near, deadline(t->now.ms, TCP_STARVED_MS));
    if (near != 0) {
        arm_near(t, b, ix, near);
    }
    const uint32_t far = b->far_at_ms;
    if (far != 0 && (b->wheel_far_ms == 0 || time_before(far, b->wheel_far_ms))) {
        b->wheel_far_ms = wheel_add(t->wheel, far, flow_index((enum flow_kind)WAKE_FAR, ix));
        if (unlikely(b->wheel_far_ms == 0))
            tcp_dirty(t, ix);
    }
}

// When the next probe is due.
static uint32_t keepalive_at(const struct tcp *t, const struct block *b)
{
    return deadline(b->last_rx_ms,
                    b->probes == 0 ? b->keepalive_ms : tcp_own_value(t, b, OWN_KEEPALIVE_INTERVAL));
}

void tcp_set_far(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    uint32_t at = earlier(b->app_timer_at_ms, b->linger_at_ms);
    if (b->keepalive_ms != 0)
        at = earlier(at, keepalive_at(t, b));
    b->far_at_ms = at;
    tcp_arm(t, ix);
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

// The connection is over, but the block may wait long for what is unread to be read: what it has in
// its extension record but options is of no use to it.
static void forget_trouble(struct tcp *t, struct block *b)
{
    if (!(b->flags & BF_TROUBLE))
        return;
    struct ext *e = &t->exts[b->ext];
    buf_put_chain(&t->bufs, e->ooo_head);
    *e = (struct ext){.ooo_head = BUF_NONE, .own = e->own};
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
    forget_trouble(t, b);
    tcp_set_state(b, STEP_END);
}

// A probe of a closed window or of an idle peer: an old sequence number asks for an ACK and brings
// nothing new (RFC 9293 3.8.4). Not an acknowledgement either: the peer answers, and looks no
// further. One that is due still is.
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
    const uint32_t user_ms = tcp_own_value(t, b, OWN_USER_TIMEOUT);
    uint32_t wait_ms = tcp_rto_ms(t, b);
    if (user_ms != 0) {
        const uint32_t waited_ms = b->stuck_at_ms != 0 ? t->now.ms - b->stuck_at_ms : 0;
        wait_ms = MIN(wait_ms, waited_ms < user_ms ? user_ms - waited_ms : 1);
    }
    return deadline(t->now.ms, wait_ms);
}

// The user timeout (RFC 9293 3.9.1, RFC 5482), which stands in for R2 where it is set, as Linux's
// TCP_USER_TIMEOUT does; or R2 (RFC 9293 3.8.3), by the number of retransmissions.
static bool is_given_up(const struct tcp *t, const struct block *b, bool syn)
{
    const uint32_t user_ms = tcp_own_value(t, b, OWN_USER_TIMEOUT);
    if (user_ms != 0 && t->now.ms - b->stuck_at_ms >= user_ms) {
        t->stats->c.user_timeouts++;
        return true;
    }
    if (syn)
        return b->retries >=
               (tcp_is_pending(b) ? t->cfg.synack_retries : tcp_own_value(t, b, OWN_SYN_RETRIES));
    if (unlikely(is_orphan(b)) && tcp_orphan_given_up(t, b))
        return true;
    return user_ms == 0 && b->retries >= t->cfg.retries;
}

// RFC 6298 5.4 to 5.7, RFC 5681 3.1 (equation 4). Returns false when the peer is given up (R2).
static bool retransmission_timeout(struct tcp *t, struct block *b, uint32_t ix)
{
    const bool syn = b->state == TCP_SYN_SENT || b->state == TCP_SYN_RECEIVED;
    if ((b->flags & BF_PROBE) && b->snd_wnd != 0) {  // the override timeout: see tcp_output.c
        b->rto_at_ms = 0;
        tcp_dirty(t, ix);
        return true;
    }
    t->stats->c.rto_fired++;
    if (b->stuck_at_ms == 0)
        b->stuck_at_ms = deadline(t->now.ms - tcp_rto_ms(t, b), 0);
    if (is_given_up(t, b, syn))
        return false;
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

// Have enough keepalive probes stayed without an answer?
static bool is_dead(const struct tcp *t, const struct block *b)
{
    const uint32_t user_ms = tcp_own_value(t, b, OWN_USER_TIMEOUT);
    const uint64_t silent_ms =
        b->keepalive_ms + (uint64_t)b->probes * tcp_own_value(t, b, OWN_KEEPALIVE_INTERVAL);
    if (user_ms == 0)
        return b->probes >= tcp_own_value(t, b, OWN_KEEPALIVE_PROBES);
    if (b->probes == 0 || silent_ms < user_ms)
        return false;
    t->stats->c.user_timeouts++;
    return true;
}

// RFC 9293 3.8.4: only when nothing is in flight and nothing has come. Returns false when the peer
// is given up.
static bool keepalive(struct tcp *t, struct block *b)
{
    const uint32_t progress = tcp_progress(b);
    if (b->last_progress != progress || b->snd_max != b->snd_una) {
        b->last_progress = progress;
        b->probes = 0;
    } else {
        if (is_dead(t, b))
            return false;
        b->probes = (uint8_t)MIN(b->probes + 1, UINT8_MAX);
        t->stats->c.keepalive_probes++;
        probe(t, b);
    }
    b->last_rx_ms = t->now.ms;
    return true;
}

// A peer with a closed window, or none at all, may be waited for as long as it does no harm (RFC
// 6429 3): what it does not take pins buffers that all connections share.
static bool is_to_shed(const struct tcp *t, const struct block *b)
{
    const uint32_t scarce = TCP_BUFS_RESERVE + t->bufs.data_count / TCP_SCARCE_SHARE;
    return b->backoff >= TCP_SHED_BACKOFF && b->snd_head != BUF_NONE &&
           t->bufs.n_free_data < scarce;
}

static uint16_t near_deadlines(struct tcp *t, struct block *b, uint32_t ix)
{
    if ((b->flags & BF_DELACK_ARMED) && deadline_reached(b->delack_at_ms, t->now.ms)) {
        b->flags &= (uint16_t)~BF_DELACK_ARMED;
        b->flags |= BF_ACK_NOW;
        t->stats->c.delayed_acks++;
        tcp_quick_late(b);
        tcp_dirty(t, ix);
    }
    if (!deadline_reached(b->rto_at_ms, t->now.ms))
        return 0;
    if (b->has_flight && tcp_flight_timer(t, b, ix))
        return 0;
    if (is_to_shed(t, b))
        t->stats->c.conns_shed++;
    else if (retransmission_timeout(t, b, ix))
        return 0;
    t->stats->c.conns_timed_out++;
    if (b->state != TCP_SYN_SENT)
        tcp_send_reset(t, b);
    tcp_end_error(t, b, b->state == TCP_SYN_SENT ? TCP_CLOSE_UNREACHABLE : TCP_CLOSE_TIMED_OUT,
                  tcp_timeout_error(t, b));
    return TCP_EV_CLOSED;
}

static uint16_t app_timer(struct tcp *t, struct block *b, uint32_t ix)
{
    uint16_t events = 0;
    if (deadline_reached(b->app_timer_at_ms, t->now.ms)) {
        b->app_timer_at_ms = 0;
        events = TCP_EV_APP_TIMER;
    }
    tcp_set_far(t, ix);
    return events;
}

static uint16_t far_deadlines(struct tcp *t, struct block *b, uint32_t ix)
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

// An entry of the wheel that came out when no near deadline ran did not touch its block: what the
// block says of it stays. And an age beyond which timestamps are void stays just beyond.
static void sweep_block(const struct tcp *t, struct block *b)
{
    if (b->wheel_near_ms != 0 && time_before(b->wheel_near_ms, t->now.ms))
        b->wheel_near_ms = 0;
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

uint16_t tcp_timer(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    t->stats->c.timers_fired++;
    if (deadline_reached(b->wheel_near_ms, t->now.ms))
        b->wheel_near_ms = 0;
    if (deadline_reached(b->wheel_far_ms, t->now.ms))
        b->wheel_far_ms = 0;
    if (b->rto_at_ms == 0 && !(b->flags & BF_DELACK_ARMED))
        near_clear(t, ix);
    if (b->state == TCP_FREE) {
        t->stats->c.timers_stale++;
        return 0;
    }
    if (b->state == TCP_CLOSED || b->state == TCP_TIME_WAIT) {  // the application has yet to read
        b->rto_at_ms = b->linger_at_ms = b->keepalive_ms = 0;
        b->flags &= (uint16_t) ~(BF_DELACK_ARMED | BF_ACK_DELAYED | BF_ACK_NOW);
        forget_trouble(t, b);
        return app_timer(t, b, ix);
    }
    if (unlikely(b->flags & BF_TROUBLE))
        tcp_cc_timer(t, b, ix);
    uint16_t events = near_deadlines(t, b, ix);
    if (events == 0 && tcp_starved(b))
        events = TCP_EV_SENT;
    if (!(events & TCP_EV_CLOSED) && deadline_reached(b->far_at_ms, t->now.ms))
        events |= far_deadlines(t, b, ix);
    if (!(events & TCP_EV_CLOSED))
        tcp_arm(t, ix);
    return events;
}
