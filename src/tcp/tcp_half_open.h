// SPDX-License-Identifier: BSD-3-Clause
// tcp_half_open.h: half-open connections and listeners.
#pragma once
#include "tcp/tcp_shared.h"

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

void tcp_handshake_full(struct tcp *t, uint32_t syn_ix, const struct seg_in *s, const uint8_t *data,
                        struct tcp_verdict *v);
void tcp_time_wait_input(struct tcp *t, uint32_t handle, const struct seg_in *s,
                         struct tcp_verdict *v);
void tcp_listen_input(struct tcp *t, int door, const struct seg_in *s, uint64_t hash,
                      struct tcp_verdict *v);
bool tcp_listen_ack(struct tcp *t, int door, const struct seg_in *s, const uint8_t *data,
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

// tcp_listen_again: a SYN for a connection that is over but for its TIME-WAIT record, known as
// `old`: a half-open one takes its place in the table, and begins above snd_nxt, where the old one
// ended. False: there can be none (*v says why), and the record stays.
bool tcp_listen_again(struct tcp *t, int door, const struct seg_in *s, uint32_t snd_nxt,
                      uint32_t old, struct tcp_verdict *v);
