// SPDX-License-Identifier: BSD-3-Clause
// tcp_flight.h: the flight log (mem/flight.h) and the loss recovery that uses it: RACK-TLP (RFC
// 8985), proportional rate reduction (RFC 9937), undo of false losses (RFC 3522, 4015, 5682). A
// connection with SACK has a log while more than one segment is in flight, or after a timeout. If
// no log is free, losses are repaired as in tcp_sack.h.
//
//   sent           -> tcp_flight_sent()    adds a run
//   acknowledged   -> tcp_flight_acked()   removes runs from the front, measures the path
//   SACK blocks    -> tcp_flight_sack()    marks runs
//                     tcp_flight_judge()   detects losses and false losses; cwnd, timers, end of
//                     log
//   timer          -> tcp_flight_timer()   reordering, tail loss probe; else
//                     tcp_flight_timeout() marks everything old as lost
//   output         -> tcp_flight_output()  lost segments, new ones, a probe
//
// While there is a log, snd_nxt is snd_max: the log selects what is retransmitted.
#pragma once
#include "tcp/tcp_internal.h"

enum {
    FLIGHT_REO_PERSIST = 16,   // recoveries until the reordering window is reset (RFC 8985 6.2)
    FLIGHT_SPARED_SHARE = 8,   // an eighth of a log is not used for SACK blocks
    FLIGHT_PROBE_MIN_MS = 10,  // minimum of the probe timeout, because of delayed ACKs
};

// flight_of: the log of block b, which has one.
static inline struct flight *flight_of(const struct tcp *t, const struct block *b)
{
    return flight_at(&t->flights, b->flight);
}

// flight_pipe: estimate of the bytes in the network (RFC 6675 4, SetPipe()).
static inline uint32_t flight_pipe(const struct block *b, const struct flight *f)
{
    return b->snd_max - b->snd_una - f->sacked - f->lost;
}

// ---- the log (tcp_flight.c)

// flight_open: creates a log of everything in flight, as sent at sent_us. NULL: none is free
// (counted). tcp_flight_close: frees it.
struct flight *flight_open(struct tcp *t, struct block *b, uint32_t sent_us);
void tcp_flight_close(struct tcp *t, struct block *b);

// flight_room: makes room for two more runs. Returns the log, which may have moved.
struct flight *flight_room(struct tcp *t, struct block *b);

// flight_room_for: the same for the SACK block r, within what is in flight. NULL: the log is nearly
// full and r would be a separate run. r is then ignored (counted); the data will be acknowledged
// later. Replacing another run instead would count the same bytes as delivered again and again.
struct flight *flight_room_for(struct tcp *t, struct block *b, struct seq_range r);

// flight_run_start: the first sequence number of run i, i in [0, n].
static inline uint32_t flight_run_start(const struct flight *f, unsigned i)
{
    return i == 0 ? f->una : f->run[f->first + i - 1].end;
}

static inline struct flight_run *flight_run(struct flight *f, unsigned i)
{
    return &f->run[f->first + i];
}

// flight_append: new data up to `end` was sent now. Needs room for a run.
void flight_append(struct flight *f, uint32_t end, uint32_t now_us);

// flight_again: the first n bytes of the lost run i were retransmitted now. flight_last_again: so
// were the numbers from `from` on, within the last run. flight_lose: marks run i, or its first
// `most` bytes, as lost. Each needs room for a run.
void flight_again(struct flight *f, unsigned i, uint32_t n, uint32_t now_us);
void flight_last_again(struct flight *f, uint32_t from, uint32_t now_us);
void flight_lose(struct flight *f, unsigned i, uint32_t most);

// flight_find_lost: the first lost run from i on; n: none.
unsigned flight_find_lost(const struct flight *f, unsigned i);

// flight_pop: removes everything below una, which is acknowledged. flight_sack: marks r as SACKed;
// needs room for two runs. Both pass newly delivered data to rack_delivered() and return its bytes.
uint32_t flight_pop(struct tcp *t, struct block *b, struct flight *f, uint32_t una);
uint32_t flight_sack(struct tcp *t, struct block *b, struct flight *f, struct seq_range r);

// flight_forgive: clears all loss marks. flight_renege: clears all SACK marks and marks everything
// as lost.
void flight_forgive(struct flight *f);
void flight_renege(struct flight *f);

// ---- RACK (tcp_rack.c)

// rack_echo: stores the echo ts_ecr of the current acknowledgment, if it has one.
void rack_echo(const struct tcp *t, const struct block *b, struct flight *f, bool has_ts,
               uint32_t ts_ecr);

// rack_delivered: the part of run r that ends at `end` was delivered; whole: that is the end of the
// run. RFC 8985 6.2, steps 1 to 3.
void rack_delivered(const struct tcp *t, const struct block *b, struct flight *f,
                    const struct flight_run *r, uint32_t end, bool whole);

// rack_window: the reordering window in us (RFC 8985 6.2, step 4).
uint32_t rack_window(const struct block *b, const struct flight *f);

// rack_dsack: adapts the window to an acknowledgment with or without DSACK (step 4). rack_calm: a
// recovery has ended.
void rack_dsack(const struct block *b, struct flight *f, bool dsack);
void rack_calm(struct flight *f);

// rack_detect: step 5: marks lost runs and sets reorder_us to the time until more may be lost.
// Returns the bytes marked.
uint32_t rack_detect(struct tcp *t, struct block *b);

// rack_lose: as flight_lose(); counts lost retransmissions (Linux's LostRetransmit).
void rack_lose(struct tcp *t, const struct block *b, struct flight *f, unsigned i, uint32_t most);

// ---- recovery (tcp_recovery.c)

// tcp_flight_sent: n segments from `from` on were sent now. Inline for a single segment in flight,
// which has no log.
void tcp_flight_log(struct tcp *t, struct block *b, uint32_t from);
static inline void tcp_flight_sent(struct tcp *t, struct block *b, uint32_t from, unsigned n)
{
    if ((b->agreed & BA_SACK) && (n > 1 || from != b->snd_una || b->has_flight))
        tcp_flight_log(t, b, from);
}

// tcp_flight_acked: snd_una has advanced. Returns the RTT measurement in us; 0: none. Call
// tcp_flight_judge() after it.
uint32_t tcp_flight_acked(struct tcp *t, struct block *b, bool has_ts, uint32_t ts_ecr);

// tcp_flight_sack: processes an acceptable acknowledgment, with or without SACK blocks, on the
// slow path; calls tcp_flight_judge().
void tcp_flight_sack(struct tcp *t, struct block *b, uint32_t ix, const struct seg_in *s);

// tcp_flight_judge: acts on the acknowledgment just processed: losses, cwnd, timers.
void tcp_flight_judge(struct tcp *t, struct block *b, uint32_t ix);

// tcp_flight_governs: whether the log decides what the block sends.
static inline bool tcp_flight_governs(const struct tcp *t, const struct block *b)
{
    if (likely(!b->has_flight))
        return false;
    const struct flight *f = flight_of(t, b);
    return (f->sacked | f->lost | f->state | f->probe_due) != 0;
}

// tcp_flight_output: in that case sends what may be sent. Returns the number of segments.
unsigned tcp_flight_output(struct tcp *t, struct block *b);

// tcp_flight_rearm: sets the block's deadline after a transmission or a new acknowledgment (anew).
void tcp_flight_rearm(struct tcp *t, struct block *b, bool anew);

// tcp_flight_timer: the deadline has passed. False: it is the retransmission timeout.
bool tcp_flight_timer(struct tcp *t, struct block *b, uint32_t ix);

// tcp_flight_timeout: a retransmission timeout on a connection with SACK, after cwnd was lowered:
// marks what is lost. fresh: the first timeout of this loss. False: there is no log, and none is
// free.
bool tcp_flight_timeout(struct tcp *t, struct block *b, bool fresh);

// tcp_flight_resize: the size of segments has changed: everything in flight is resent.
void tcp_flight_resize(struct tcp *t, struct block *b);

// ---- undo (tcp_undo.c)

// undo_begin: a loss was detected, and cwnd lowered. undo_resent: n bytes were retransmitted.
void undo_begin(struct block *b, struct flight *f);
void undo_resent(const struct tcp *t, struct flight *f, uint32_t n);

// undo_dsack: the peer reported r as a duplicate.
void undo_dsack(struct flight *f, struct seq_range r);

// undo_judge: whether the current acknowledgment shows that nothing was lost; the window is then
// restored.
bool undo_judge(struct tcp *t, struct block *b, struct flight *f);
