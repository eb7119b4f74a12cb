// SPDX-License-Identifier: BSD-3-Clause
// sending.h: the last two stages of a turn: segments become packets, and packets go to the ports.
// The loop runs them, and so does a worker that stops. Of the worker.
#pragma once
#include "worker/worker.h"

// sending_room: how many segments may be built for the port in this turn. What finds no room waits
// with its connection, or is dropped; other ports go on. sending_rooms: the room of each port, told
// to TCP.
static inline uint32_t sending_room(const struct worker_port *wp)
{
    return WORKER_TX_MAX - BURST_MAX - MIN(wp->tx.n, (uint32_t)(WORKER_TX_MAX - BURST_MAX));
}

NOINLINE void sending_rooms(struct worker *w);

// stage_net_output: packets for the segments of the turn. stage_tx: gives every port what waits for
// it, and frees the packets that were received.
NOINLINE void stage_net_output(struct worker *w);
NOINLINE void stage_tx(struct worker *w);

// sending_port: gives one port what waits for it; what the port does not take stays in wp->tx.
void sending_port(struct worker *w, struct worker_port *wp);
