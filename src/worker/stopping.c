// SPDX-License-Identifier: BSD-3-Clause
#include "worker/stopping.h"

#include <sched.h>

#include "worker/sending.h"

// send_last: waits while a port is full. If the port accepts nothing during the whole wait, later
// calls do not wait until it accepts a packet: with millions of connections the waits would add up.
static void send_last(struct worker *w, struct worker_port *wp)
{
    const uint32_t due = wp->tx.n;
    unsigned tries = wp->stuck ? WORKER_STOP_TRIES : 0;
    for (; wp->tx.n != 0 && tries < WORKER_STOP_TRIES; tries++) {
        sched_yield();
        sending_port(w, wp);
    }
    wp->stuck = due != 0 && wp->tx.n == due;
    pkt_free_bulk(wp->tx.pkts, wp->tx.n);
    wp->tx.n = 0;
}

void stopping_reset_all(struct worker *w)
{
    bool done = false;
    while (!done) {
        w->tcp.n_out = 0;
        sending_rooms(w);
        done = sock_abort_all(&w->sock, &w->stop_cursor, w->block_count, WORKER_STOP_MAX);
        stage_net_output(w);
        w->n_rx = 0;
        stage_tx(w);
        for (unsigned p = 0; p < w->n_ports; p++)
            send_last(w, &w->ports[p]);
        index_pool_turn_end(w->tcp.block_pool);
    }
}
