// SPDX-License-Identifier: BSD-3-Clause
// tcp_sockopt.h: options of one connection, and the limits that follow from them.
#pragma once
#include "tcp/tcp_worker.h"

// tcp_sockopts: the own options of block b; NULL: none.
static inline struct ext_sockopts *tcp_sockopts(const struct tcp *t, const struct block *b)
{
    if (likely(!(b->flags & BF_EXT)))
        return NULL;
    struct ext_sockopts *o = &t->exts[b->ext].sockopts;
    return o->set != 0 ? o : NULL;
}

// tcp_sockopt_value: option o of block b: its own value, or the service's.
//
// tcp_sockopt_set: sets its own value. Value 0 restores the service's, except for SOCKOPT_TOS,
// SOCKOPT_DF, SOCKOPT_CORK, SOCKOPT_MORE and SOCKOPT_CONGESTION. Returns 0; -EINVAL: out of range;
// -ENOBUFS: no extension record is free.
uint32_t tcp_sockopt_value(const struct tcp *t, const struct block *b, enum sockopt o);
int tcp_sockopt_set(struct tcp *t, uint32_t ix, enum sockopt o, uint32_t value);

// tcp_sockopt_unset: restores the service's value of o.
void tcp_sockopt_unset(struct tcp *t, uint32_t ix, enum sockopt o);

// tcp_rcv_limit: the current limit of unconsumed bytes. tcp_snd_limit: of copied bytes not
// acknowledged (tcp/tcp_tune.h).
static inline uint32_t tcp_rcv_limit(const struct tcp *t, const struct block *b)
{
    if (likely(tcp_sockopts(t, b) == NULL))
        return t->rcv_limits[b->window_class];
    return MIN(tcp_sockopt_value(t, b, SOCKOPT_RCV_LIMIT),
               tcp_sockopt_value(t, b, SOCKOPT_WINDOW_CLAMP));
}

uint32_t tcp_snd_tuned(const struct tcp *t, const struct block *b);
static inline uint32_t tcp_snd_limit(const struct tcp *t, const struct block *b)
{
    return tcp_sockopts(t, b) == NULL ? tcp_snd_tuned(t, b)
                                      : tcp_sockopt_value(t, b, SOCKOPT_SND_LIMIT);
}

// tcp_set_limits: recomputes rcv_limits after services were set or changed.
void tcp_set_limits(struct tcp *t);

// tcp_timeout_ms: the retransmission timeout of block b, with backoff.
uint32_t tcp_timeout_ms(const struct tcp *t, const struct block *b);

// tcp_packet_bytes: bytes of an IP packet with a full segment of block b. tcp_announced_mss: the
// MSS in its SYN.
uint32_t tcp_packet_bytes(const struct block *b);
uint16_t tcp_announced_mss(const struct tcp *t, const struct block *b);

// tcp_quick_ack_now: quick: sends a delayed acknowledgment now and does not delay the next ones.
// Otherwise ends quick ACKs.
void tcp_quick_ack_now(struct tcp *t, uint32_t ix, bool quick);
