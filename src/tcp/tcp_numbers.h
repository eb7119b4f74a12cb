// SPDX-License-Identifier: BSD-3-Clause
// tcp_numbers.h: numbers that nobody can predict: initial sequence numbers, timestamps, SYN
// cookies.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_source_place: the index, below TCP_OOO_SOURCES, under which the source of this address is
// counted.
static inline uint16_t tcp_source_place(const struct tcp *t, const struct ip_addr *remote)
{
    return (uint16_t)(siphash_u64x2(&t->ooo_key, source_of(remote), 0) % TCP_OOO_SOURCES);
}

// tcp_ts_now: our timestamp clock for this connection: 1 ms a tick (RFC 7323 5.4), plus a keyed
// hash of the peer's address. It does not reveal the uptime, and a host that sees the values for
// its own addresses cannot compute those of another. Called twice for each packet: see
// flow/addr_hash.h.
uint32_t tcp_ts_now(const struct tcp *t, const struct flow_key *key);

// tcp_isn: the initial sequence number of RFC 6528 3: a clock of 4 us plus a keyed hash of the
// connection, tcp_isn_hash().
uint32_t tcp_isn_hash(const struct tcp *t, const struct flow_key *key);
uint32_t tcp_isn(const struct tcp *t, const struct flow_key *key);

// tcp_cookie_make: sets the iss of record r, made from a SYN, to a SYN cookie, and clears what the
// cookie cannot hold. r is then discarded. tcp_cookie_ts: the timestamp of its SYN-ACK, which holds
// options: ts_now or slightly less.
void tcp_cookie_make(struct tcp *t, struct syn_record *r);
uint32_t tcp_cookie_ts(const struct syn_record *r, uint32_t ts_now);

// tcp_cookies_awaited: whether an ACK without a connection may acknowledge a cookie.
// tcp_cookie_read: whether s, an ACK, does; *r is then the record, without its service.
// tcp_cookies_expect: a process before may have sent some.
void tcp_cookies_expect(struct tcp *t);
bool tcp_cookies_awaited(const struct tcp *t);
bool tcp_cookie_read(const struct tcp *t, const struct seg_in *s, struct syn_record *r);
