// SPDX-License-Identifier: BSD-3-Clause
// tcp_verdict.h: the result of processing a segment or a timer.
#pragma once
#include "base/drops.h"
#include "mem/block.h"

// Events of a connection from tcp_input() and tcp_timer().
enum tcp_event {
    TCP_EV_DATA = 1 << 0,      // verdict.data_off, data_len: new in-order bytes
    TCP_EV_CHAIN = 1 << 1,     // verdict.chain: buffers that follow; the caller owns them
    TCP_EV_OPEN = 1 << 2,      // established
    TCP_EV_PEER_FIN = 1 << 3,  // no more data will come
    TCP_EV_SENT = 1 << 4,      // queued bytes were acknowledged: there is room again
    TCP_EV_CLOSED = 1 << 5,  // TIME_WAIT or CLOSED: tell the application (close_why), then tcp_free
    TCP_EV_APP_TIMER = 1 << 6,  // the application's timer has expired
    TCP_EV_KEPT = 1 << 7,       // the data was kept out of order
};

// tcp_verdict: the result of one segment.
struct tcp_verdict {
    uint32_t block;     // BLOCK_NONE: it touched none
    uint32_t chain;     // with CHAIN
    uint16_t data_off;  // with DATA; from the first byte of the frame
    uint16_t data_len;
    uint16_t events;  // enum tcp_event
    uint16_t drop;    // enum drop_reason; DROP_NONE: delivered, kept or answered
};

// TCP_FOR_LINUX: in place of a drop reason: nobody owns the segment, and Linux gets it.
enum { TCP_FOR_LINUX = DROP_COUNT };

// tcp_delivered: whether the segment was delivered to a connection.
static inline bool tcp_delivered(const struct tcp_verdict *v)
{
    return (v->drop | (v->events & TCP_EV_KEPT)) == 0 && v->block != BLOCK_NONE;
}
