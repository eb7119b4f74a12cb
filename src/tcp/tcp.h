// SPDX-License-Identifier: BSD-3-Clause
// tcp.h: TCP (RFC 9293) on blocks: ranges in, segments out. It knows no packet, no socket and no
// clock: time, chance and memory are arguments. What happened comes back as event bits; the caller
// acts.
//
//   seg_in ----> tcp_input() ----> events, range of new data    (caller: application callbacks)
//                    |  replies due at once go to ctx->out, in order
//                    v
//               dirty list ------> tcp_output() ----> seg_out   (caller: builds packets)
//                    ^
//   wheel ------> tcp_timer()
//
// Everything here belongs to one worker and runs on its core.
//
// This is the public face of src/tcp; the headers that it includes hold one concern each.
#pragma once
#include "base/keys.h"
#include "tcp/tcp_block.h"
#include "tcp/tcp_config.h"
#include "tcp/tcp_output.h"
#include "tcp/tcp_seq.h"
#include "tcp/tcp_service.h"
#include "tcp/tcp_sockopt.h"
#include "tcp/tcp_state.h"
#include "tcp/tcp_timers.h"
#include "tcp/tcp_verdict.h"
#include "tcp/tcp_worker.h"
#include "wire/icmp_event.h"

// tcp_set_keys: those that are TCP's.
void tcp_set_keys(struct tcp *t, const struct keys *keys);

// tcp_listener: who listens on the segment's destination, as one number (a door): its service, and
// the place plus one in `listens`, or TCP_LISTEN_NONE for a configured port. -1: nobody, or a
// service that is not open, which is counted.
int tcp_listener(const struct tcp *t, const struct flow_key *key);

static inline uint8_t door_service(int door)
{
    return (uint8_t)door;
}

static inline uint16_t door_listen(int door)
{
    return (uint16_t)(door >> 8);
}

// tcp_owner: the handle of the table that owns `key` now, FLOW_NONE: none. The slow look-up:
// compares in block or record. tcp_owner_is: whether `handle` owns key.
uint32_t tcp_owner(const struct tcp *t, const struct flow_key *key);
bool tcp_owner_is(const struct tcp *t, uint32_t handle, const struct flow_key *key);

// tcp_input: one segment, its payload at `data`, its SACK blocks in t->sacks_in, whose owner is
// `found` (FLOW_NONE: none; a handle that was right when the burst was looked up is checked again
// here). Sets *v; replies due at once
// are appended to t->out. Follows RFC 9293 3.10.7.
void tcp_input(struct tcp *t, const struct seg_in *s, const uint8_t *data, uint32_t found,
               struct tcp_verdict *v);

// tcp_input_hashed: the same; hash: flow_hash() of the segment's key.
void tcp_input_hashed(struct tcp *t, const struct seg_in *s, uint64_t hash, const uint8_t *data,
                      uint32_t found, struct tcp_verdict *v);

// tcp_burst: the owners of another burst are about to be looked up.
static inline void tcp_burst(struct tcp *t)
{
    memset(t->new_flows, 0, sizeof(t->new_flows));
}

// tcp_input_common: the same for the common case, an in-order segment of an established connection.
// False: it is another, and nothing was done: ask tcp_input().
bool tcp_input_common(struct tcp *t, const struct seg_in *s, uint32_t found, struct tcp_verdict *v);

// tcp_icmp: an ICMP error about a segment of ours. It counts only if the quoted sequence number is
// in flight (RFC 5927 4.1). A hard one ends an open in SYN-SENT and nothing else (RFC 5927 5.2); of
// an application that pulls any does, and later it is kept for tcp_soft_error();
// "fragmentation needed" lowers the connection's MSS, never raises it, never below TCP_PMTU_MIN,
// and what is in flight leaves again in smaller segments (RFC 1191 6.4); all others are counted.
// *v: the block that it reached, or why it was dropped; TCP_EV_CLOSED as with tcp_timer().
void tcp_icmp(struct tcp *t, const struct icmp_event *e, struct tcp_verdict *v);

// tcp_soft_error: errno of the last ICMP error about what is in flight; 0: none, or something was
// acknowledged since.
int tcp_soft_error(const struct tcp *t, const struct block *b);

// tcp_clear_soft_error: the peer acknowledged something, or the application was told: block b,
// which has an extension record, has no soft error any more.
void tcp_clear_soft_error(struct tcp *t, struct block *b);

// tcp_shed: while buffers are scarce: goes on with the search for connections that hold many and
// take little (tcp/tcp_shed.h), and lets the wheel wake one that is to be reset. Call it in each
// millisecond or so.
void tcp_shed(struct tcp *t);

// tcp_flush: as if this TCP had just begun, but for its connections, listeners and counters: no
// TIME-WAIT, no half-open connection, no cookie awaited, all limits rested. At most max records a
// call; false: there are more.
bool tcp_flush(struct tcp *t, unsigned max);

// tcp_ooo_relieve: buffers are scarce: of what came out of order some goes.
void tcp_ooo_relieve(struct tcp *t);
