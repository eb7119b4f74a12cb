// SPDX-License-Identifier: BSD-3-Clause
// tcp.h: TCP (RFC 9293) on blocks: segments and ranges of data in, segments out. It uses no
// packets, sockets or clock: time, random keys and memory are arguments. Results are event bits, on
// which the caller acts.
//
//   seg_in ----> tcp_input() ----> events, range of new data    (caller: application callbacks)
//                    |  immediate replies go to tcp.out, in order
//                    v
//               dirty list ------> tcp_output() ----> seg_out   (caller: builds packets)
//                    ^
//   wheel ------> tcp_timer()
//
// All of it belongs to one worker and runs on its core.
//
// This is the public header of src/tcp; it includes one header for each concern.
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

// tcp_set_keys: sets the keys that TCP uses.
void tcp_set_keys(struct tcp *t, const struct keys *keys);

// tcp_listener: the listener on the destination of a segment, as one number. It packs the service,
// and the place in `listens` plus one, or TCP_LISTEN_NONE for a configured port. -1: there is no
// listener, or its service is not open, which is counted.
int tcp_listener(const struct tcp *t, const struct flow_key *key);

static inline uint8_t listener_service(int listener)
{
    return (uint8_t)listener;
}

static inline uint16_t listener_place(int listener)
{
    return (uint16_t)(listener >> 8);
}

// tcp_owner: the handle in the flow table that owns `key`; FLOW_NONE: none. Slow: it compares the
// keys of the records. tcp_owner_by: the same, with the hash of the key. tcp_owner_is: whether
// `handle` owns key.
uint32_t tcp_owner(const struct tcp *t, const struct flow_key *key);
uint32_t tcp_owner_by(const struct tcp *t, const struct flow_key *key, uint64_t hash);
bool tcp_owner_is(const struct tcp *t, uint32_t handle, const struct flow_key *key);

// tcp_input: processes one segment (RFC 9293 3.10.7). Its payload is at `data`, its SACK blocks are
// in t->sacks_in. found: the handle of its owner when the burst was looked up, FLOW_NONE: none; it
// is checked again here. Sets *v and appends immediate replies to t->out.
void tcp_input(struct tcp *t, const struct seg_in *s, const uint8_t *data, uint32_t found,
               struct tcp_verdict *v);

// tcp_input_hashed: the same; hash is flow_hash() of the segment's key.
void tcp_input_hashed(struct tcp *t, const struct seg_in *s, uint64_t hash, const uint8_t *data,
                      uint32_t found, struct tcp_verdict *v);

// tcp_is_for_linux: whether Linux gets segments of this key if no connection owns them: the port is
// shared with Linux, and no service listens.
bool tcp_is_for_linux(const struct tcp *t, const struct flow_key *key);

// tcp_burst: call it before the owners of a burst are looked up.
static inline void tcp_burst(struct tcp *t)
{
    memset(t->new_flows, 0, sizeof(t->new_flows));
}

// tcp_input_common: the same for an in-order segment of an established connection. False: it is not
// one, nothing was changed; call tcp_input().
bool tcp_input_common(struct tcp *t, const struct seg_in *s, uint32_t found, struct tcp_verdict *v);

// tcp_icmp: processes an ICMP error about a segment that we sent. It counts only if the quoted
// sequence number is in flight (RFC 5927 4.1). A hard error ends a connection in SYN-SENT only (RFC
// 5927 5.2). For an application that pulls, any error does that; later it is stored for
// tcp_soft_error(). "Fragmentation needed" lowers the MSS, not below TCP_PMTU_MIN, and data in
// flight is resent in smaller segments (RFC 1191 6.4). Other errors are counted. *v: the block, or
// the reason for the drop; TCP_EV_CLOSED as with tcp_timer().
void tcp_icmp(struct tcp *t, const struct icmp_event *e, struct tcp_verdict *v);

// tcp_soft_error: errno of the last ICMP error about data in flight. 0: none, or something was
// acknowledged since.
int tcp_soft_error(const struct tcp *t, const struct block *b);

// tcp_clear_soft_error: clears the soft error of block b, which has an extension record: the peer
// acknowledged something, or the application was told.
void tcp_clear_soft_error(struct tcp *t, struct block *b);

// tcp_shed: while buffers are scarce, continues the search for connections that hold many buffers
// and drain slowly (tcp/tcp_shed.h), and has the wheel wake one that is to be reset. Call it about
// every millisecond.
void tcp_shed(struct tcp *t);

// tcp_flush: removes all TIME-WAIT and half-open records, stops accepting SYN cookies and resets
// the rate limits. Connections, listeners and counters stay. Processes at most max records in a
// call. False: there are more.
bool tcp_flush(struct tcp *t, unsigned max);

// tcp_ooo_relieve: frees some out-of-order data, because buffers are scarce.
void tcp_ooo_relieve(struct tcp *t);
