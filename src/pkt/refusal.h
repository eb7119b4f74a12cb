// SPDX-License-Identifier: BSD-3-Clause
// refusal.h: a packet that its driver refuses for ever.
//
// tx_burst takes packets from the first one on, so such a packet would keep back all that wait
// behind it. A full ring, and an interface that is down, also take nothing, but these take nothing
// of any packet, and what waits for them must not be lost. The difference shows when others are
// offered past the first packet: if the port takes some of them, again and again, and never the
// first one, the first one is at fault. It is dropped.
#pragma once
#include "pkt/port.h"

enum {
    REFUSAL_OFFERS = 16,  // packets offered past the first one in a look
    REFUSAL_LOOKS = 3,    // looks in which others were taken, until the first one is dropped
};

// refusal: of the first packet of one queue. Zero: none. The caller sets it to zero when the port
// takes nothing of a burst for the first time.
struct refusal {
    uint32_t at;      // packets after the first that were offered in vain
    uint32_t passed;  // looks in which others were taken
};

// refusal_result: of a look: packets and bytes that the port took. refused: the first packet, which
// is not in the array any more, for the caller to count and free; NULL: none.
struct refusal_result {
    uint32_t sent;
    uint64_t bytes;
    struct pkt *refused;
};

// refusal_look: of the n >= 1 packets of pkts queue q of p has just taken none. Offers some of
// those behind the first one by one. Returns how many packets are left in pkts; they keep their
// order. The caller calls it only after several attempts and with a pause in between, in which the
// first packet is offered too: a ring that was full would have taken it.
uint32_t refusal_look(struct refusal *r, struct port *p, uint16_t q, struct pkt **pkts, uint32_t n,
                      struct refusal_result *out);
