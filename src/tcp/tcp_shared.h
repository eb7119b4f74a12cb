// SPDX-License-Identifier: BSD-3-Clause
// tcp_shared.h: limits of the files of tcp/, and small steps that several of them take.
#pragma once
#include "tcp/tcp.h"

enum {
    // In-order data must always find room, for its acknowledgement is decided before the
    // application has seen it: a burst of jumbo frames takes 64 x 5 buffers, kept free by everybody
    // else.
    TCP_BUFS_RESERVE = BURST_MAX * 5,
    // RFC 6298 2.3's G. On a steady path RTTVAR decays to nothing, and an acknowledgement that the
    // peer delays (40 ms, Linux's) would come behind a timeout that equals the round trip.
    TCP_RTO_SLACK_US = 50 * 1000,
    TCP_ECHO_MAX_MS = 120 * 1000,  // what took longer to be acknowledged is not measured
    TCP_STARVED_MS = 10,           // a send that found no buffer is tried again after this
    TCP_SCARCE_SHARE = 8,      // with fewer than the reserve and an eighth free, buffers are scarce
    TCP_EXT_SPARED_SHARE = 8,  // of the extension records an eighth is for losses only
    TCP_EXT_PLENTY_SHARE = 2,  // with half of them free nobody looks who has them
    TCP_EXT_SOURCE_SHARE = 4,  // then a source has a quarter, or what it had
    TCP_CLOSE_CLOSED = 0,      // enum c10m_close, in the block's close_why
    TCP_CLOSE_RESET = 1,
    TCP_CLOSE_TIMED_OUT = 2,
    TCP_CLOSE_ABORTED = 3,
    TCP_CLOSE_UNREACHABLE = 4,
    TCP_CLOSE_REFUSED = 5,
};

// record_live: a record appears or goes, for those who look on (tcp_view.h): whoever sees it live
// sees all of it. No instruction more than the store on x86.
static inline void record_live(uint8_t *live, bool is)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *live = is;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

// tcp_probes_over: the peer is silent no longer, or something else than keepalive waits for it.
static inline void tcp_probes_over(struct block *b)
{
    if (likely(b->probes == 0))
        return;
    b->probes = 0;
    b->stuck_at_ms = 0;
}

// tcp_note_window: the peer's window is new, or matters.
static inline void tcp_note_window(struct block *b)
{
    if (unlikely(b->snd_wnd >> b->wnd_max_log > 1))
        b->wnd_max_log = (31 - __builtin_clz(b->snd_wnd)) & 31;
}

// tcp_progress: changes with everything that the peer sends or acknowledges.
static inline uint32_t tcp_progress(const struct block *b)
{
    return b->rcv_nxt + b->snd_una;
}

// tcp_rtt_sample: one measurement (RFC 6298 2.2, 2.3).
static inline void tcp_rtt_sample(struct block *b, uint32_t rtt_us)
{
    const uint32_t r = MIN(MAX(rtt_us, 1u), 60u * 1000 * 1000);
    if (b->srtt_us == 0) {  // RFC 6298 2.2
        b->srtt_us = r * 8;
        b->rttvar_us = r * 2;
        return;
    }
    const uint32_t srtt = b->srtt_us / 8;  // RFC 6298 2.3
    const uint32_t err = srtt > r ? srtt - r : r - srtt;
    b->rttvar_us = b->rttvar_us - b->rttvar_us / 4 + err;
    b->srtt_us = b->srtt_us - srtt + r;
}

// tcp_rtt_unknown: the handshake is done, but brought no measurement since its SYN was sent again:
// the timeout of the data to come is 3 s (RFC 6298 5.7).
static inline void tcp_rtt_unknown(struct block *b)
{
    b->rttvar_us = 3000 * 1000;
    b->backoff = 0;
}

// tcp_bufs_scarce: with `need` buffers taken, fewer would be free than the reserve and an eighth.
static inline bool tcp_bufs_scarce(const struct tcp *t, uint32_t need)
{
    const struct buf_pool *p = &t->bufs;
    return p->n_free_data < TCP_BUFS_RESERVE + p->data_count / TCP_SCARCE_SHARE + need;
}

// tcp_quick_ack_credit: of a connection that begins, or was idle: so many lone segments are
// acknowledged at once. tcp_quick_ack: an acknowledgement would be delayed: whether it leaves at
// once instead, out of that credit. tcp_quick_ack_late: one had to be sent by the timer.
uint8_t tcp_quick_ack_credit(const struct tcp *t, const struct block *b);
bool tcp_quick_ack(const struct tcp *t, struct block *b);
void tcp_quick_ack_late(struct block *b);
