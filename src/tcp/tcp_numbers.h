// SPDX-License-Identifier: BSD-3-Clause
// tcp_numbers.h: numbers that nobody can foretell: initial numbers, timestamps, SYN cookies.
#pragma once
#include "tcp/tcp_shared.h"

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
