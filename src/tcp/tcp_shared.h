// SPDX-License-Identifier: BSD-3-Clause
// tcp_shared.h: limits of src/tcp, and small functions that several of its files use.
#pragma once
#include "tcp/tcp.h"

enum {
    // In-order data must always find room, because its acknowledgment is decided before the
    // application sees it: a burst of jumbo frames needs 64 x 5 buffers, which other uses leave
    // free.
    TCP_BUFS_RESERVE = BURST_MAX * 5,
    // G of RFC 6298 2.3. On a steady path RTTVAR becomes 0, and a delayed acknowledgment (40 ms on
    // Linux) would come after a timeout equal to the RTT.
    TCP_RTO_SLACK_US = 50 * 1000,
    TCP_ECHO_MAX_MS = 120 * 1000,  // longer round trips are not measured
    TCP_STARVED_MS = 10,           // a send without a buffer is retried after this time
    TCP_SCARCE_SHARE = 8,  // buffers are scarce if fewer than the reserve and an eighth are free
    TCP_EXT_SPARED_SHARE = 8,  // an eighth of the extension records is for losses only
    TCP_EXT_PLENTY_SHARE = 2,  // while half of them are free, sources have no share
    TCP_EXT_SOURCE_SHARE = 4,  // else a source may have a quarter, and keeps what it has
    TCP_CLOSE_CLOSED = 0,      // enum c10m_close, in the block's close_why
    TCP_CLOSE_RESET = 1,
    TCP_CLOSE_TIMED_OUT = 2,
    TCP_CLOSE_ABORTED = 3,
    TCP_CLOSE_UNREACHABLE = 4,
    TCP_CLOSE_REFUSED = 5,
};

// record_live: marks a record as live or not for readers in other threads (tcp_view.h): a reader
// that sees it live sees all of it. On x86 it is only the store.
static inline void record_live(uint8_t *live, bool is)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
    *live = is;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

// tcp_probes_over: ends keepalive probing: the peer has answered, or another timer waits for it.
static inline void tcp_probes_over(struct block *b)
{
    if (likely(b->probes == 0))
        return;
    b->probes = 0;
    b->stuck_at_ms = 0;
}

// tcp_note_window: updates wnd_max_log from the peer's window.
static inline void tcp_note_window(struct block *b)
{
    if (unlikely(b->snd_wnd >> b->wnd_max_log > 1))
        b->wnd_max_log = (31 - __builtin_clz(b->snd_wnd)) & 31;
}

// tcp_progress: a number that changes with everything that the peer sends or acknowledges.
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

// tcp_rtt_unknown: the handshake brought no RTT measurement because the SYN was retransmitted: the
// timeout of the data is 3 s (RFC 6298 5.7).
static inline void tcp_rtt_unknown(struct block *b)
{
    b->rttvar_us = 3000 * 1000;
    b->backoff = 0;
}

// tcp_bufs_scarce: whether after taking `need` buffers fewer than the reserve and an eighth would
// be free.
static inline bool tcp_bufs_scarce(const struct tcp *t, uint32_t need)
{
    const struct buf_pool *p = &t->bufs;
    return p->n_free_data < TCP_BUFS_RESERVE + p->data_count / TCP_SCARCE_SHARE + need;
}

// tcp_quick_ack_credit: the quick ACKs of a connection that begins or was idle. tcp_quick_ack:
// whether an acknowledgment that would be delayed is sent at once, using one of them.
// tcp_quick_ack_late: the timer had to send a delayed acknowledgment.
uint8_t tcp_quick_ack_credit(const struct tcp *t, const struct block *b);
bool tcp_quick_ack(const struct tcp *t, struct block *b);
void tcp_quick_ack_late(struct block *b);
