// SPDX-License-Identifier: BSD-3-Clause
// tcp_internal.h: what the files of tcp/ share with each other and with nobody else.
#pragma once
#include "tcp/tcp.h"

enum {
    // In-order data must always find room, for its acknowledgement is decided before the
    // application has seen it: a burst of jumbo frames takes 64 x 5 buffers, kept free by everybody
    // else.
    TCP_BUFS_RESERVE = BURST_MAX * 5,
    // RFC 6298 2.3's G. On a steady path RTTVAR decays to nothing, and an acknowledgement that the
    // peer delays (40 ms, Linux's) would come behind a timeout that equals the round trip.
    TCP_RTO_SLACK_US = 50 * 1000,
    TCP_ECHO_MAX_MS = 120 * 1000,  // what took longer to be acknowledged is not measured
    TCP_STARVED_MS = 10,           // a send that found no buffer is tried again after this
    TCP_SCARCE_SHARE = 8,      // with fewer than the reserve and an eighth free, buffers are scarce
    TCP_EXT_SPARED_SHARE = 8,  // of the extension records an eighth is for losses only
    TCP_EXT_PLENTY_SHARE = 2,  // with half of them free nobody looks who has them
    TCP_EXT_SOURCE_SHARE = 4,  // then a source has a quarter, or what it had
    TCP_CLOSE_CLOSED = 0,      // enum c10m_close, in the block's close_why
    TCP_CLOSE_RESET = 1,
    TCP_CLOSE_TIMED_OUT = 2,
    TCP_CLOSE_ABORTED = 3,
    TCP_CLOSE_UNREACHABLE = 4,
    TCP_CLOSE_REFUSED = 5,
};

// deadline: now plus ms as a deadline; 0 means none, so it is never 0.
static inline uint32_t deadline(uint32_t now_ms, uint32_t ms)
{
    uint32_t at = now_ms + ms;
    return at != 0 ? at : 1;
}

static inline bool deadline_reached(uint32_t at_ms, uint32_t now_ms)
{
    return at_ms != 0 && !time_before(now_ms, at_ms);
}

// tcp_earlier: of two deadlines, 0: none.
static inline uint32_t tcp_earlier(uint32_t a_ms, uint32_t b_ms)
{
    if (a_ms == 0 || b_ms == 0)
        return a_ms | b_ms;
    return time_before(a_ms, b_ms) ? a_ms : b_ms;
}

// tcp_probes_over: the peer is silent no longer, or something else than keepalive waits for it.
static inline void tcp_probes_over(struct block *b)
{
    if (likely(b->probes == 0))
        return;
    b->probes = 0;
    b->stuck_at_ms = 0;
}

static inline void xmit_set(struct tcp *t, uint32_t ix)
{
    t->xmit_runs[ix / 64] |= 1ULL << ix % 64;
}

static inline void xmit_clear(struct tcp *t, uint32_t ix)
{
    t->xmit_runs[ix / 64] &= ~(1ULL << ix % 64);
}

// Entries of the wheel. A block has one of each kind at most, whatever its peer and its application
// do, so that the reserve (server_timers()) is never too small:
//
//   xmit   added when there is none, at the xmit deadline of that moment, and left where it is: a
//          deadline that moves to later, or is called off, moves nothing. It comes out without a
//          look at the block if no xmit deadline runs then: what says that it is gone is the time.
//   far    the same for the slow deadlines; its coming out is seen.
//   soon   for what is due before those two, or for congestion control. Its place is known: where
//          something is due sooner still, the entry itself moves there.
//
// arm_soon: the wheel wakes the block at at_ms or before. False: out of wheel chunks, which is
// counted there, and cannot be; the block is dirty, and tries again in the next turn.
bool arm_soon(struct tcp *t, struct block *b, uint32_t ix, uint32_t at_ms);

// arm_xmit: the xmit deadline at_ms runs. A wheel entry that wakes the block earlier will do: it is
// checked and set again when it fires.
static inline void arm_xmit(struct tcp *t, struct block *b, uint32_t ix, uint32_t at_ms)
{
    const uint32_t wakes_ms = b->wheel_xmit_ms;
    xmit_set(t, ix);
    if (wakes_ms != 0 && !time_before(at_ms, wakes_ms) && time_before(t->now.ms, wakes_ms))
        return;
    if (unlikely(wakes_ms != 0 && wheel_may_hold(t->wheel, wakes_ms))) {
        arm_soon(t, b, ix, at_ms);
        return;
    }
    b->wheel_xmit_ms = wheel_add(t->wheel, at_ms, flow_index((enum flow_kind)WAKE_XMIT, ix));
    if (unlikely(b->wheel_xmit_ms == 0))
        tcp_dirty(t, ix);
}

// record_live: a record appears or goes, for those who look on (tcp_view.h): whoever sees it live
// sees all of it. No instruction more than the store on x86.
static inline void record_live(uint8_t *live, bool is)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *live = is;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

// tcp_out_slot: the next free segment of this turn for one from local_ix, or NULL (counted as
// reply_room).
struct seg_out *tcp_out_slot(struct tcp *t, uint16_t local_ix);

// tcp_reply_ack: acknowledgement of what was received, at once: the answer to each duplicate,
// out-of-order or unacceptable segment. Its number is snd_max, not snd_nxt, which a timeout takes
// back: an old number is not acceptable to a peer that has received more, nor is what comes with
// it. tcp_ack_at: the same with the number seq.
void tcp_reply_ack(struct tcp *t, struct block *b);
void tcp_ack_at(struct tcp *t, struct block *b, uint32_t seq);

// tcp_flight_echo_age_ms, tcp_flight_echo_taken: as in tcp_ack.h, of a block with a log.
uint32_t tcp_flight_echo_age_ms(const struct tcp *t, const struct block *b);
void tcp_flight_echo_taken(const struct tcp *t, const struct block *b, uint32_t ms);

// tcp_black_hole: what is in flight has stayed without an answer cfg.retries1 times at least. If it
// is large, such segments may vanish on the path without an ICMP error that says so (RFC 2923 2.1):
// the block's segments get smaller, to 1,024 bytes, at the next timeout to 512 (Linux's
// tcp_base_mss and half of it); over IPv6 to what each link carries (RFC 8200 5). They stay so for
// the life of the connection: nothing probes for more (RFC 4821 leaves it open).
void tcp_black_hole(struct tcp *t, struct block *b);

// tcp_claim_answer: claims the right of block b to answer a segment that it accepts nothing of; it
// is given once in cfg.invalid_ack_ms. False: not yet. Without this limit two ends that have lost
// track of each other's numbers would answer each other's answers for ever (Linux's
// tcp_invalid_ratelimit). An answer to data or to a FIN needs no claim: the sender waits for the
// acknowledgement, which may have been lost.
bool tcp_claim_answer(const struct tcp *t, struct block *b);

// tcp_challenge_ack: an acknowledgement in answer to what looks forged, within the limit of the
// connection (RFC 5961 7). There is none that connections share: one would tell who opens some of
// his own which guesses about others' were right (Linux has none since 6.0).
void tcp_challenge_ack(struct tcp *t, struct block *b);

// tcp_claim_reset: takes one RST to this stranger from the limit of its source and from the common
// one. False: a limit is exhausted, and none may leave. tcp_stranger: s came to a connection, or
// what is left of one, that takes nothing from it and whose peer it can hardly be from. If a RST
// would have answered it without that connection, one is taken from the limits as well, unless one
// was since resets_asked was `asked`: by what is left nobody can tell whether there is a
// connection.
bool tcp_claim_reset(struct tcp *t, const struct flow_key *key);
void tcp_stranger(struct tcp *t, const struct seg_in *s, uint64_t asked);

// tcp_reply_dsack: the acknowledgement at once that reports `dup`, which came twice, with SACK
// (RFC 2883 4).
void tcp_reply_dsack(struct tcp *t, struct block *b, struct seq_range dup);

// tcp_reply_reset: RST in answer to a segment without owner (RFC 9293 3.10.7.1), within the rate.
// Returns whether it was sent.
bool tcp_reply_reset(struct tcp *t, const struct seg_in *s);

// tcp_send_reset: RST of a connection that ends here (RFC 9293 3.10.5).
void tcp_send_reset(struct tcp *t, struct block *b);

// tcp_undo_begin: the oldest segment leaves again, for a timeout or for duplicate acknowledgements,
// on a connection without a log of what is in flight, and cwnd was lowered for it. tcp_undo_acked:
// something new is acknowledged since, and wnd is offered; true: nothing had been lost, and all is
// as before. Without timestamps two acknowledgements after a timeout decide (RFC 5682 2.1):
// tcp_undo_duplicate: this one acknowledges nothing; true: it decided, and all leaves again.
void tcp_undo_begin(struct tcp *t, struct block *b, bool timeout);
bool tcp_undo_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr, uint32_t wnd);
bool tcp_undo_duplicate(struct tcp *t, struct block *b);

// tcp_retransmit_head: the oldest unacknowledged segment again, first in this turn's tcp_output():
// until then an acknowledgement or a reset of the same burst may give the data's buffers to
// somebody else, and a segment in t->out would carry his bytes. For recoveries: from TCP_DUPACKS
// on.
void tcp_retransmit_head(struct tcp *t, uint32_t ix);

// tcp_resend: one segment again, from seq on and not beyond `end`, both within what was sent.
// Returns how many numbers it has (a FIN counts), 0: there was no room.
uint32_t tcp_resend(struct tcp *t, struct block *b, uint32_t seq, uint32_t end);

// tcp_last_part: of what was sent from `from` to `end`, a segment's worth at most, where that
// begins which leaves in the last segment: records and more than two ranges make several of it.
uint32_t tcp_last_part(const struct tcp *t, const struct block *b, uint32_t from, uint32_t end);

// tcp_send_next: the segment at snd_nxt, as far as the windows and Nagle let it; cwnd counts as
// `extra` larger: what is believed to have left the network. False: nothing to send.
bool tcp_send_next(struct tcp *t, struct block *b, uint32_t extra);

// tcp_duplicate_ack: fast retransmit and fast recovery without SACK, RFC 5681 3.2 and RFC 6582 3.2.
// tcp_newreno_ack: in RECOVERY_NEWRENO the peer acknowledged `acked` more bytes, up to `ack`
// (RFC 6582 3.2, step 3); b->snd_una is `ack` already.
void tcp_duplicate_ack(struct tcp *t, struct block *b, uint32_t ix);
void tcp_newreno_ack(struct tcp *t, struct block *b, uint32_t ix, uint32_t ack, uint32_t acked);

// tcp_announce_window: the window field for the next segment; moves rcv_adv. Never shrinks it.
uint16_t tcp_announce_window(const struct tcp *t, struct block *b);

// tcp_rto_ms: present retransmission timeout with its backoff (RFC 6298 2, 5.5).
static inline uint32_t tcp_rto_ms(const struct tcp *t, const struct block *b)
{
    uint32_t ms = MAX(t->cfg.rto_initial_ms, b->rttvar_us / 1000);
    if (likely(b->srtt_us != 0))
        ms = ((b->srtt_us >> 3) + MAX(b->rttvar_us, (uint32_t)TCP_RTO_SLACK_US)) / 1000;
    ms = MAX(ms, t->cfg.rto_min_ms);
    if (likely(b->backoff == 0))
        return MIN(ms, t->cfg.rto_max_ms);
    const uint64_t backed = (uint64_t)ms << MIN(b->backoff, 20);
    return (uint32_t)MIN(backed, t->cfg.rto_max_ms);
}

// tcp_rto_at: when the timer that is started now runs out: not after the user timeout, if the RTO
// is backed off.
uint32_t tcp_rto_at_backed(const struct tcp *t, const struct block *b);
static inline uint32_t tcp_rto_at(const struct tcp *t, const struct block *b)
{
    if (likely(b->backoff == 0))
        return deadline(t->now.ms, tcp_rto_ms(t, b));
    return tcp_rto_at_backed(t, b);
}

// tcp_note_window: the peer's window is new, or matters.
static inline void tcp_note_window(struct block *b)
{
    if (unlikely(b->snd_wnd >> b->wnd_max_log > 1))
        b->wnd_max_log = (31 - __builtin_clz(b->snd_wnd)) & 31;
}

// tcp_progress: changes with everything that the peer sends or acknowledges.
static inline uint32_t tcp_progress(const struct block *b)
{
    return b->rcv_nxt + b->snd_una;
}

// tcp_rtt_sample: one measurement (RFC 6298 2.2, 2.3).
static inline void tcp_rtt_sample(struct block *b, uint32_t rtt_us)
{
    const uint32_t r = MIN(MAX(rtt_us, 1u), 60u * 1000 * 1000);
    if (b->srtt_us == 0) {  // RFC 6298 2.2
        b->srtt_us = r * 8;
        b->rttvar_us = r * 2;
        return;
    }
    const uint32_t srtt = b->srtt_us / 8;  // RFC 6298 2.3
    const uint32_t err = srtt > r ? srtt - r : r - srtt;
    b->rttvar_us = b->rttvar_us - b->rttvar_us / 4 + err;
    b->srtt_us = b->srtt_us - srtt + r;
}

// tcp_rtt_unknown: the handshake is done, but brought no measurement since its SYN was sent again:
// the timeout of the data to come is 3 s (RFC 6298 5.7).
static inline void tcp_rtt_unknown(struct block *b)
{
    b->rttvar_us = 3000 * 1000;
    b->backoff = 0;
}

// tcp_bufs_scarce: with `need` buffers taken, fewer would be free than the reserve and an eighth.
static inline bool tcp_bufs_scarce(const struct tcp *t, uint32_t need)
{
    const struct buf_pool *p = &t->bufs;
    return p->n_free_data < TCP_BUFS_RESERVE + p->data_count / TCP_SCARCE_SHARE + need;
}

// tcp_source_place: where what this address holds is counted, below TCP_OOO_SOURCES.
static inline uint16_t tcp_source_place(const struct tcp *t, const struct ip_addr *remote)
{
    return (uint16_t)(siphash_u64x2(&t->ooo_key, source_of(remote), 0) % TCP_OOO_SOURCES);
}

// tcp_ts_now: our timestamp clock for this connection, 1 ms a tick (RFC 7323 5.4), offset by a
// keyed hash of the peer's address: it shows no uptime, and who sees it from his own addresses
// cannot tell what another is told. Made twice a packet: see flow/addr_hash.h.
uint32_t tcp_ts_now(const struct tcp *t, const struct flow_key *key);

// tcp_isn: RFC 6528 3: a 4 us clock plus a keyed hash of the connection, tcp_isn_hash().
uint32_t tcp_isn_hash(const struct tcp *t, const struct flow_key *key);
uint32_t tcp_isn(const struct tcp *t, const struct flow_key *key);

// tcp_cookie_make: r, made of a SYN, is not kept: sets its iss to the cookie that stands for it,
// and takes out of it what cannot be kept. tcp_cookie_ts: the timestamp of its SYN-ACK, at or just
// before ts_now, the present one of that connection.
void tcp_cookie_make(struct tcp *t, struct syn_record *r);
uint32_t tcp_cookie_ts(const struct syn_record *r, uint32_t ts_now);

// tcp_cookies_awaited: whether an ACK without a connection may acknowledge a cookie.
// tcp_cookie_read: whether s, an ACK, does: then *r is the record that was not kept, but for its
// service.
bool tcp_cookies_awaited(const struct tcp *t);
bool tcp_cookie_read(const struct tcp *t, const struct seg_in *s, struct syn_record *r);

// tcp_local_mss: what we announce to that peer. tcp_block_mss: on that connection.
static inline uint16_t tcp_local_mss(const struct tcp *t, const struct flow_key *key)
{
    return ip_is_v4(&key->remote) ? t->cfg.mss : t->cfg.mss6;
}

static inline uint16_t tcp_block_mss(const struct tcp *t, const struct block *b)
{
    const uint16_t most = tcp_local_mss(t, &b->key);
    if (likely(!(b->flags & BF_EXT)))
        return most;
    return (uint16_t)MIN((uint32_t)most, tcp_sockopt_value(t, b, SOCKOPT_MSS));
}

// tcp_default_mss: the peer's, when it announces none (RFC 9293 3.7.1).
static inline uint16_t tcp_default_mss(const struct flow_key *key)
{
    return ip_is_v4(&key->remote) ? TCP_MSS_DEFAULT : TCP_MSS_DEFAULT6;
}

// tcp_set_mss: the payload of a full segment from the peer's announcement (0: none) and ours.
void tcp_set_mss(const struct tcp *t, struct block *b, uint16_t peer_mss);

// tcp_quick_ack_credit: of a connection that begins, or was idle: so many lone segments are
// acknowledged at once. tcp_quick_ack: an acknowledgement would be delayed: whether it leaves at
// once instead, out of that credit. tcp_quick_ack_late: one had to be sent by the timer.
uint8_t tcp_quick_ack_credit(const struct tcp *t, const struct block *b);
bool tcp_quick_ack(const struct tcp *t, struct block *b);
void tcp_quick_ack_late(struct block *b);

// tcp_establish: takes the step that leads to ESTABLISHED; counted.
static inline void tcp_establish(struct tcp *t, struct block *b, enum tcp_step step)
{
    tcp_set_state(b, step);
    t->stats->c.established_now++;
    b->quick = tcp_quick_ack_credit(t, b);
}

// tcp_begin_close: the FIN that is queued takes the established connection a step on.
void tcp_begin_close(struct tcp *t, struct block *b, uint32_t ix);

// tcp_end: the connection is over for `why`; the event TCP_EV_CLOSED follows. tcp_end_error: and
// the application is told that errno.
void tcp_end(struct tcp *t, struct block *b, uint8_t why);
void tcp_end_error(struct tcp *t, struct block *b, uint8_t why, int error);

// tcp_sockopt_ip: what the segment o of block b, which has an extension record, has of its own in
// the IP header.
void tcp_sockopt_ip(const struct tcp *t, const struct block *b, struct seg_out *o);

// tcp_is_corked: what does not fill a segment waits for more.
static inline bool tcp_is_corked(const struct tcp *t, const struct block *b)
{
    return unlikely(b->flags & BF_EXT) &&
           (t->exts[b->ext].sockopts.set & (1u << SOCKOPT_CORK | 1u << SOCKOPT_MORE)) != 0;
}

// tcp_timeout_error: with what errno a timeout ends the block: ETIMEDOUT, or why the network said
// that nobody could be reached (Linux's tcp_write_err()).
int tcp_timeout_error(const struct tcp *t, const struct block *b);

// tcp_enter_fin_wait_2: decides for how long the connection waits for the peer's FIN, and starts
// that timer. True: not at all, and the connection is over.
bool tcp_enter_fin_wait_2(struct tcp *t, struct block *b, uint32_t ix);

// tcp_nobody_reads: what comes now will never be read: of an orphan, or where the application has
// shut down both directions.
static inline bool tcp_nobody_reads(const struct tcp *t, const struct block *b)
{
    if (is_orphan(b))
        return true;
    return unlikely(b->flags & BF_EXT) && (b->flags & BF_FIN_QUEUED) &&
           (t->exts[b->ext].sockopts.set >> SOCKOPT_DEAF & 1) != 0;
}

// tcp_unread_input: s came where nobody reads, from a peer that has not closed: whether it brought
// new bytes. Then it has been answered by RST, and the connection is over.
bool tcp_unread_input(struct tcp *t, struct block *b, const struct seg_in *s);

// tcp_orphan_given_up: a timeout of an orphan: whether its peer is waited for no longer. One whose
// window is closed, and which says so, is, until the timeout has grown to its most.
bool tcp_orphan_given_up(const struct tcp *t, const struct block *b);

// tcp_ext_get: the block's extension record, NULL if none is left, or its source has its share
// (counted). tcp_ext_get_spared: for what can do without: the last eighth of the records is for
// losses (NULL; *missed counts). tcp_ext_get_own: the same for options of the application, which is
// no peer and has no share. tcp_ext_plenty: half of them are free.
// tcp_ext_release: gives it back once nothing needs it.
struct ext *tcp_ext_get(struct tcp *t, struct block *b);
struct ext *tcp_ext_get_spared(struct tcp *t, struct block *b, uint64_t *missed);
struct ext *tcp_ext_get_own(struct tcp *t, struct block *b);
bool tcp_ext_plenty(const struct tcp *t);
void tcp_ext_release(struct tcp *t, struct block *b);

// tcp_recovering: between a loss and the acknowledgement of all that was in flight then.
static inline bool tcp_recovering(const struct tcp *t, const struct block *b)
{
    if (unlikely(b->has_flight))
        return flight_at(&t->flights, b->flight)->state == FLIGHT_RECOVERY;
    return unlikely(b->flags & BF_EXT) && t->exts[b->ext].recovery != RECOVERY_NONE;
}

// tcp_before_recover: RFC 6582 3.2 step 2: what was in flight when loss was seen last is not all
// acknowledged, or just so. After a timeout all of it leaves again, and what the peer had already
// is answered by duplicates that are no sign of another loss. (A number that grew old, 2^31 bytes
// ago and more, comes by here with the chance that flight has in 2^32: then it is the timer's.)
static inline bool tcp_before_recover(const struct block *b)
{
    return b->recover - b->snd_una <= b->snd_max - b->snd_una && !(b->agreed & BA_REDUCED);
}

// tcp_segment_full: RFC 9293 3.10.7.3 and 3.10.7.4 for a block.
void tcp_segment_full(struct tcp *t, uint32_t ix, const struct seg_in *s, const uint8_t *data,
                      struct tcp_verdict *v);

// time_wait_at: place ix of the ring.
static inline struct time_wait *time_wait_at(const struct time_wait_ring *g, uint32_t ix)
{
    return (struct time_wait *)(void *)(g->records + (size_t)ix * g->record_bytes);
}

// tcp_handshake_full: a segment for a half-open connection. tcp_time_wait_input: for the TIME-WAIT
// record known as `handle`. Both set *v. tcp_listen_input: a SYN for `door`
// (tcp_listener()). tcp_listen_ack: an ACK for it without a connection, which may acknowledge a SYN
// cookie; false: it does not, and nothing was done. tcp_syn_end_if_gone: ends
// the record if its listener is gone or its service closed; returns whether it did.
// tcp_syn_drop: the record, if it lives, goes without a word. tcp_handshake_fast: s is the common
// third segment of the handshake: all is done as tcp_handshake_full() would; false: it is another,
// and nothing was done. hash: flow_hash() of the segment's key.
bool tcp_syn_end_if_gone(struct tcp *t, uint32_t syn_ix);
void tcp_syn_drop(struct tcp *t, uint32_t syn_ix);
bool tcp_handshake_fast(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, uint64_t hash,
                        struct tcp_verdict *v);

// tcp_syn_became: the record, live until now and out of the table, is block `child` from now on;
// BLOCK_NONE: it is nothing.
static inline void tcp_syn_became(struct tcp *t, uint32_t syn_ix, uint32_t child)
{
    record_live(&t->syns[syn_ix].live, false);
    t->syns[syn_ix].child = child;
    t->stats->c.syn_records_now--;
    index_pool_put_deferred(t->syn_pool, syn_ix);
}

void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v);
void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v);
void tcp_listen_input(struct tcp *t, int door, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v);
bool tcp_listen_ack(struct tcp *t, int door, const struct seg_in *s, const uint8_t *data,
                    struct tcp_verdict *v);

// tcp_listen_again: a SYN for a connection that is over but for its TIME-WAIT record, known as
// `old`: a half-open one takes its place in the table, and begins above snd_nxt, where the old one
// ended. False: there can be none (*v says why), and the record stays.
bool tcp_listen_again(struct tcp *t, int door, const struct seg_in *s, uint32_t snd_nxt,
                      uint32_t old, struct tcp_verdict *v);

// tcp_time_wait_yields: may a connection that is opened have the place of what `handle` names? Of a
// TIME-WAIT record whose connection had timestamps: old segments are known by them (RFC 6191 2, as
// the opener); *isn is beyond its numbers then. tcp_time_wait_yield: the record that gave it ends.
bool tcp_time_wait_yields(struct tcp *t, uint32_t handle, uint32_t *isn);
void tcp_time_wait_yield(struct tcp *t, uint32_t handle);

// tcp_time_wait_flush: ends the oldest records of each family, whatever their time, at most max in
// all; how many there were.
unsigned tcp_time_wait_flush(struct tcp *t, unsigned max);

// tcp_time_wait_enter: makes the record that replaces block b, known as `handle`, in the table;
// none if there is no place for records of its family.
void tcp_time_wait_enter(struct tcp *t, const struct flow_key *key, struct block *b,
                         uint32_t handle);
