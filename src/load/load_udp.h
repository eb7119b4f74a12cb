// SPDX-License-Identifier: BSD-3-Clause
// load_udp.h: datagrams that an echo service sends back. Datagram k leaves from the address and
// port of connection k mod n (load_index() of load.h), says k in its first eight bytes, and what
// follows is made of k: its answer is compared byte for byte, and so is who sent it to whom.
//
//   closed loop   at most `window` wait for an answer
//   open loop     `rate` a second at fixed times (load_schedule.h), at most LOAD_UDP_SLOTS at a
//   time
//
//   WAITING --answer--> ANSWERED --again--> (a duplicate)
//      +--LOAD_UDP_LOST_MS--> LOST --answer--> ANSWERED (late: it stays lost)
//
// Nothing is sent again.
#pragma once
#include "load/load_internal.h"

enum {
    LOAD_UDP_SLOTS = 1 << 17,  // of the last datagrams
    LOAD_UDP_LOST_MS = 500,
    LOAD_UDP_TURN = 128,  // datagrams sent in a turn, at most
};

enum load_udp_state { LOAD_UDP_NONE, LOAD_UDP_WAITING, LOAD_UDP_ANSWERED, LOAD_UDP_LOST };

struct load_udp_slot {
    uint64_t from_ns, sent_ns;  // it counts from; it left
    uint32_t flow;
    uint8_t state;
};

struct load_udp {
    uint64_t next, oldest;  // datagrams: the next one; the first that may still wait
    uint32_t flow;          // of the next
    struct load_udp_slot slots[LOAD_UDP_SLOTS];
};

// load_udp_new: NULL: no memory. load_udp_free: NULL is nothing.
struct load_udp *load_udp_new(void);
void load_udp_free(struct load_udp *u);

// load_udp_turn: load_turn() of this load, behind its clock: OPEN, until the next hop is known, ASK
// and END.
enum load_phase load_udp_turn(struct load *l);
