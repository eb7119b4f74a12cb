// SPDX-License-Identifier: BSD-3-Clause
// tcp_half_open.h: half-open connections and listeners.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_handshake_full: processes a segment for a half-open connection. tcp_time_wait_input: for the
// TIME-WAIT record `handle`. tcp_listen_input: processes a SYN for `listener` (tcp_listener()).
// tcp_listen_ack: an ACK for `listener` without a connection, which may acknowledge a SYN cookie;
// false: it does not, and nothing was changed. They set *v.
//
// tcp_syn_end_if_gone: ends the record if its listener or service was closed; returns whether it
// did. tcp_syn_drop: ends the record silently, if it is live.
//
// tcp_handshake_fast: processes s as tcp_handshake_full() would, if it is the common third segment
// of a handshake; hash: flow_hash() of its key. False: it is not, and nothing was changed.
bool tcp_syn_end_if_gone(struct tcp *t, uint32_t syn_ix);
void tcp_syn_drop(struct tcp *t, uint32_t syn_ix);
bool tcp_handshake_fast(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, uint64_t hash,
                        struct tcp_verdict *v);

void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v);
void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v);
void tcp_listen_input(struct tcp *t, int listener, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v);
bool tcp_listen_ack(struct tcp *t, int listener, const struct seg_in *s, const uint8_t *data,
                    struct tcp_verdict *v);

// tcp_syn_arm: asks for a wakeup at the retry time or earlier. False: the wheel is full. A record's
// place has at most one entry in the wheel, and it is never later than the first retry of a new
// record. A new record in the same place can therefore use the entry of the previous one.
bool tcp_syn_arm(struct tcp *t, uint32_t syn_ix);

// tcp_syn_became: ends the live record, which was removed from the table. child: the block made of
// it, or BLOCK_NONE.
static inline void tcp_syn_became(struct tcp *t, uint32_t syn_ix, uint32_t child)
{
    record_live(&t->syns[syn_ix].live, false);
    t->syns[syn_ix].child = child;
    t->stats->c.syn_records_now--;
    index_pool_put_deferred(t->syn_pool, syn_ix);
}

// tcp_listen_again: a SYN for a connection in TIME-WAIT, known as `old`: replaces its table entry
// by a half-open connection whose sequence numbers begin above snd_nxt of the old one. False: that
// is not possible (*v says why), and the TIME-WAIT record stays.
bool tcp_listen_again(struct tcp *t, int listener, const struct seg_in *s, uint32_t snd_nxt,
                      uint32_t old, struct tcp_verdict *v);
