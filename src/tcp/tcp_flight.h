// SPDX-License-Identifier: BSD-3-Clause
// tcp_flight.h: the log of what is in flight (mem/flight.h), and the recovery of losses that it
// allows: RACK-TLP (RFC 8985), proportional rate reduction (RFC 9937), undo of what was none (RFC
// 3522, 4015, 5682). A connection with SACK has a log while more than one segment of it is in
// flight, or after a timeout; without one left, losses are repaired as in tcp_sack.h.
//
//   sent           -> tcp_flight_sent()    a run more
//   acknowledged   -> tcp_flight_acked()   runs from the front end; what they tell of the path
//   SACK blocks    -> tcp_flight_sack()    runs that the peer has
//                     tcp_flight_judge()   what is lost, what was not; cwnd, timers; the log is
//                     over
//   timer          -> tcp_flight_timer()   reordering, tail loss probe; else
//                     tcp_flight_timeout() all that is old is lost
//   output         -> tcp_flight_output()  lost segments again, new ones, a probe
//
// While there is a log, snd_nxt is snd_max: what leaves again is what the log says.
#pragma once
#include "tcp/tcp_internal.h"

enum {
    FLIGHT_REO_PERSIST = 16,   // recoveries that a wider reordering window outlives (RFC 8985 6.2)
    FLIGHT_SPARED_SHARE = 8,   // of a log an eighth is not for reports of the peer
    FLIGHT_PROBE_MIN_MS = 10,  // a shorter probe timeout meets delayed acknowledgements only
};

// flight_of: the log of block b, which has one.
static inline struct flight *flight_of(const struct tcp *t, const struct block *b)
{
    return flight_at(&t->flights, b->flight);
}

// flight_pipe: bytes that are believed to be in the network (RFC 6675 4, SetPipe()).
static inline uint32_t flight_pipe(const struct block *b, const struct flight *f)
{
    return b->snd_max - b->snd_una - f->sacked - f->lost;
}

// ---- the log (tcp_flight.c)

// flight_open: a log of what is in flight now, all of it sent at sent_us or a guess at it. NULL:
// none left (counted). tcp_flight_close: gives it back.
struct flight *flight_open(struct tcp *t, struct block *b, uint32_t sent_us);
void tcp_flight_close(struct tcp *t, struct block *b);

// flight_room: two runs more fit. Returns the log, which may have moved.
struct flight *flight_room(struct tcp *t, struct block *b);

// flight_room_for: the same for the report of r, within what is in flight. NULL: the log is nearly
// full, and r would begin a run of its own: it is not taken down (counted), but acknowledged some
// time. To forget another for it would tell of the same bytes as delivered again and again.
struct flight *flight_room_for(struct tcp *t, struct block *b, struct seq_range r);

// flight_run_start: the first number of run i of the log; i in [0, n].
static inline uint32_t flight_run_start(const struct flight *f, unsigned i)
{
    return i == 0 ? f->una : f->run[f->first + i - 1].end;
}

static inline struct flight_run *flight_run(struct flight *f, unsigned i)
{
    return &f->run[f->first + i];
}

// flight_append: up to `end` is new, and left now. With room for a run.
void flight_append(struct flight *f, uint32_t end, uint32_t now_us);

// flight_again: the first n bytes of the lost run i left again. flight_last_again: the numbers from
// `from` on, within the last run, did. With room for a run. flight_lose: run i, or its first `most`
// bytes, is lost. With room for a run.
void flight_again(struct flight *f, unsigned i, uint32_t n, uint32_t now_us);
void flight_last_again(struct flight *f, uint32_t from, uint32_t now_us);
void flight_lose(struct flight *f, unsigned i, uint32_t most);

// flight_find_lost: the first lost run from i on; n: none.
unsigned flight_find_lost(const struct flight *f, unsigned i);

// flight_pop: up to una is acknowledged. flight_sack: r, within what is in flight, is SACKed; with
// room for two runs. Both tell rack_delivered() what was not delivered before, and return how
// many bytes that is.
uint32_t flight_pop(struct tcp *t, struct block *b, struct flight *f, uint32_t una);
uint32_t flight_sack(struct tcp *t, struct block *b, struct flight *f, struct seq_range r);

// flight_forgive: nothing is lost after all. flight_renege: nothing is SACKed, all is lost.
void flight_forgive(struct flight *f);
void flight_renege(struct flight *f);

// ---- RACK (tcp_rack.c)

// rack_echo: the acknowledgement at hand echoes ts_ecr, or nothing.
void rack_echo(const struct tcp *t, const struct block *b, struct flight *f, bool has_ts,
               uint32_t ts_ecr);

// rack_delivered: of run r of the log what ends at `end` has arrived; whole: that is its end. RFC
// 8985 6.2, steps 1 to 3.
void rack_delivered(const struct tcp *t, const struct block *b, struct flight *f,
                    const struct flight_run *r, uint32_t end, bool whole);

// rack_window: how much later than another one a segment may arrive, step 4.
uint32_t rack_window(const struct block *b, const struct flight *f);

// rack_dsack: an acknowledgement with DSACK, or without; step 4. rack_calm: a recovery is over.
void rack_dsack(const struct block *b, struct flight *f, bool dsack);
void rack_calm(struct flight *f);

// rack_detect: step 5: marks what is lost; reorder_us: how long until more may be. Returns how many
// bytes were marked.
uint32_t rack_detect(struct tcp *t, struct block *b);

// rack_lose: as flight_lose(); what had left again already is counted (Linux's LostRetransmit).
void rack_lose(struct tcp *t, const struct block *b, struct flight *f, unsigned i, uint32_t most);

// ---- recovery (tcp_recovery.c)

// tcp_flight_sent: n segments from `from` on left now. Inline for the one that is alone: it has no
// log.
void tcp_flight_log(struct tcp *t, struct block *b, uint32_t from);
static inline void tcp_flight_sent(struct tcp *t, struct block *b, uint32_t from, unsigned n)
{
    if ((b->agreed & BA_SACK) && (n > 1 || from != b->snd_una || b->has_flight))
        tcp_flight_log(t, b, from);
}

// tcp_flight_acked: up to ack, new, is acknowledged; b->snd_una is that already. Returns
// the measurement of the RTT that it brought, in microseconds; 0: none. tcp_flight_judge() has to
// follow.
uint32_t tcp_flight_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr);

// tcp_flight_sack: an acceptable acknowledgement with or without SACK blocks, by the slow path;
// judged.
void tcp_flight_sack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s);

// tcp_flight_judge: an acknowledgement was taken in.
void tcp_flight_judge(struct tcp *t, struct block *b, uint32_t ix);

// tcp_flight_governs: the log decides what the block sends.
static inline bool tcp_flight_governs(const struct tcp *t, const struct block *b)
{
    if (likely(!b->has_flight))
        return false;
    const struct flight *f = flight_of(t, b);
    return (f->sacked | f->lost | f->state | f->probe_due) != 0;
}

// tcp_flight_output: then: as many segments as may leave. Returns how many.
unsigned tcp_flight_output(struct tcp *t, struct block *b);

// tcp_flight_rearm: the block's deadline after something left, or was acknowledged (anew).
void tcp_flight_rearm(struct tcp *t, struct block *b, bool anew);

// tcp_flight_timer: the deadline has come. False: it is that of the retransmission timeout.
bool tcp_flight_timer(struct tcp *t, struct block *b, uint32_t ix);

// tcp_flight_timeout: it is, of a connection with SACK, and cwnd was lowered for it: what is lost
// is marked. `fresh`: no timeout before in this loss. False: there is no log, nor one left.
bool tcp_flight_timeout(struct tcp *t, struct block *b, bool fresh);

// tcp_flight_resize: segments have another size now: all that is in flight leaves again.
void tcp_flight_resize(struct tcp *t, struct block *b);

// ---- undo (tcp_undo.c)

// undo_begin: a loss was found, and cwnd lowered. undo_resent: n bytes left again.
void undo_begin(struct block *b, struct flight *f);
void undo_resent(const struct tcp *t, struct flight *f, uint32_t n);

// undo_dsack: the peer had r twice.
void undo_dsack(struct flight *f, struct seq_range r);

// undo_judge: whether the acknowledgement at hand shows that nothing was lost; then all is as
// before.
bool undo_judge(struct tcp *t, struct block *b, struct flight *f);
