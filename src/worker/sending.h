// SPDX-License-Identifier: BSD-3-Clause
// sending.h: the last two stages of a turn: segments become packets, and packets go to the ports.
// Also used by a worker that stops. Worker only.
#pragma once
#include "worker/worker.h"

// sending_room: how many segments may be built for the port in this turn. Others wait with their
// connections or are dropped; other ports are not affected. sending_rooms: passes the room of each
// port to TCP.
static inline uint32_t sending_room(const struct worker_port *wp)
{
    return WORKER_TX_MAX - BURST_MAX - MIN(wp->tx.n, (uint32_t)(WORKER_TX_MAX - BURST_MAX));
}

NOINLINE void sending_rooms(struct worker *w);

// stage_net_output: builds packets for the segments of the turn. stage_tx: sends the waiting
// packets of every port and frees the received packets.
NOINLINE void stage_net_output(struct worker *w);
NOINLINE void stage_tx(struct worker *w);

// sending_port: sends the waiting packets of one port; those that it does not accept stay in
// wp->tx.
void sending_port(struct worker *w, struct worker_port *wp);
