// SPDX-License-Identifier: BSD-3-Clause
// tcp_state.h: the states of RFC 9293 3.3.2 and every way between them, as one constant table with
// one writer. A pair that the table leaves out is a bug of ours and stops the worker.
//
//   FREE --active open--> SYN_SENT --SYN+ACK--> ESTABLISHED <--handshake of a syn_record-- FREE
//                            |  SYN                ^   |
//                            v                     |   | our FIN        peer's FIN
// FREE --Fast Open--->   SYN_RECEIVED ----ACK------+   v                    v
//                                              FIN_WAIT_1 --FIN--> CLOSING  CLOSE_WAIT
//                                                  | ACK             | ACK     | our FIN
//                                                  v                 v         v
//                                              FIN_WAIT_2 --FIN--> TIME_WAIT  LAST_ACK --ACK-->
//                                              CLOSED
//
// LISTEN is no state of a block (services listen), half-open connections are syn_records, and
// TIME_WAIT is a time_wait record as soon as the application has taken everything.
#pragma once
#include "base/base.h"

struct block;

enum tcp_state {  // Linux's numbers, as in net/tcp; 0: the block is free
    TCP_FREE = 0,
    TCP_ESTABLISHED = 1,
    TCP_SYN_SENT = 2,
    TCP_SYN_RECEIVED = 3,
    TCP_FIN_WAIT_1 = 4,
    TCP_FIN_WAIT_2 = 5,
    TCP_TIME_WAIT = 6,
    TCP_CLOSED = 7,  // over; the application is not told yet
    TCP_CLOSE_WAIT = 8,
    TCP_LAST_ACK = 9,
    TCP_CLOSING = 11,
    TCP_STATE_COUNT = 12,
};

enum tcp_step {
    STEP_ACTIVE_OPEN,
    STEP_PASSIVE_DONE,  // the handshake of a syn_record is complete
    STEP_FAST_OPEN,     // the data of a SYN was accepted (RFC 7413)
    STEP_SYN_ACK,       // a SYN with the acknowledgment of ours
    STEP_SYN,           // a SYN without it: simultaneous open
    STEP_ACK_OF_SYN,
    STEP_CLOSE,  // the application's FIN was queued
    STEP_PEER_FIN,
    STEP_ACK_OF_FIN,
    STEP_END,      // reset, aborted or timed out
    STEP_RELEASE,  // the block is freed
    STEP_COUNT,
};

// tcp_set_state: changes block.state by this step. It is the only writer of that field. Aborts if
// the table has no such step.
void tcp_set_state(struct block *b, enum tcp_step step);

// tcp_state_name: "ESTABLISHED"...
const char *tcp_state_name(enum tcp_state state);

// tcp_state_next: the state after the step, or -1; the table itself, for tests.
int tcp_state_next(enum tcp_state state, enum tcp_step step);
