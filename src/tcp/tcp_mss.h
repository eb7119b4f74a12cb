// SPDX-License-Identifier: BSD-3-Clause
// tcp_mss.h: the size of a segment.
#pragma once
#include "tcp/tcp_shared.h"

// tcp_local_mss: the MSS that we announce to the peer. tcp_block_mss: on this connection.
static inline uint16_t tcp_local_mss(const struct tcp *t, const struct flow_key *key)
{
    const bool v4 = ip_is_v4(&key->remote);
    const uint16_t most = v4 ? t->cfg.mss : t->cfg.mss6;
    if (likely(!t->lanes.sized))
        return most;
    const uint8_t lane = t->lanes.of_local[key->local_ix];
    return MIN(most, v4 ? t->lanes.mss[lane] : t->lanes.mss6[lane]);
}

static inline uint16_t tcp_block_mss(const struct tcp *t, const struct block *b)
{
    const uint16_t most = tcp_local_mss(t, &b->key);
    if (likely(!(b->flags & BF_EXT)))
        return most;
    return (uint16_t)MIN((uint32_t)most, tcp_sockopt_value(t, b, SOCKOPT_MSS));
}

// tcp_default_mss: the peer's MSS if it announces none (RFC 9293 3.7.1).
static inline uint16_t tcp_default_mss(const struct flow_key *key)
{
    return ip_is_v4(&key->remote) ? TCP_MSS_DEFAULT : TCP_MSS_DEFAULT6;
}

// tcp_set_mss: sets the payload of a full segment from the peer's MSS (0: not announced) and ours.
void tcp_set_mss(const struct tcp *t, struct block *b, uint16_t peer_mss);

// tcp_black_hole: data in flight was unanswered for at least cfg.retries1 timeouts. If its segments
// are large, the path may drop them without an ICMP error (RFC 2923 2.1). The segments of the block
// then shrink to 1,024 bytes, at the next timeout to 512 (Linux's tcp_base_mss and half of it);
// over IPv6 to the size that every link carries (RFC 8200 5). They stay so for the life of the
// connection; there is no probing for larger ones (RFC 4821).
void tcp_black_hole(struct tcp *t, struct block *b);
