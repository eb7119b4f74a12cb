// SPDX-License-Identifier: BSD-3-Clause
// load_udp.h: datagrams that an echo service returns. Datagram k is sent from the address and port
// of connection k mod n (load_index() in load.h). Its first eight bytes are k, and the others are
// computed from k. Its answer is compared byte by byte, with its addresses and ports.
//
//   closed loop   at most `window` datagrams wait for an answer
//   open loop     `rate` per second at fixed times (load_schedule.h), at most LOAD_UDP_SLOTS
//                 waiting
//
//   WAITING --answer--> ANSWERED --again--> (a duplicate)
//      +--LOAD_UDP_LOST_MS--> LOST --answer--> ANSWERED (late: it stays lost)
//
// Datagrams are not retransmitted.
#pragma once
#include "load/load_internal.h"

enum {
    LOAD_UDP_SLOTS = 1 << 17,  // slots for the last datagrams
    LOAD_UDP_LOST_MS = 500,
    LOAD_UDP_TURN = 128,  // most datagrams sent in a turn
};

enum load_udp_state { LOAD_UDP_NONE, LOAD_UDP_WAITING, LOAD_UDP_ANSWERED, LOAD_UDP_LOST };

struct load_udp_slot {
    uint64_t from_ns, sent_ns;  // start of the latency; time of sending
    uint32_t flow;
    uint8_t state;
};

struct load_udp {
    uint64_t next, oldest;  // numbers of the next datagram and of the oldest that may still wait
    uint32_t flow;          // flow of the next datagram
    struct load_udp_slot slots[LOAD_UDP_SLOTS];
};

// load_udp_new: returns NULL if there is no memory. load_udp_free: frees it; NULL is allowed.
struct load_udp *load_udp_new(void);
void load_udp_free(struct load_udp *u);

// load_udp_turn: the part of load_turn() for this load, after the clock is set. Phases: OPEN until
// the next hop is known, ASK, END.
enum load_phase load_udp_turn(struct load *l);
