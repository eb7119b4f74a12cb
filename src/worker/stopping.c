// SPDX-License-Identifier: BSD-3-Clause
#include "worker/stopping.h"

#include <sched.h>

#include "tcp/tcp_output.h"
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

static void send_all(struct worker *w)
{
    for (unsigned p = 0; p < w->n_ports; p++)
        send_last(w, &w->ports[p]);
}

// reset: the connections of these services, one bit each.
static void reset(struct worker *w, uint32_t services)
{
    bool done = false;
    while (!done) {
        w->tcp.n_out = 0;
        sending_rooms(w);
        done = sock_abort_all(&w->sock, services, &w->stop_cursor, w->block_count, WORKER_STOP_MAX);
        stage_net_output(w);
        w->n_rx = 0;
        stage_tx(w);
        send_all(w);
        index_pool_turn_end(w->tcp.block_pool);
    }
}

void stopping_reset_all(struct worker *w)
{
    reset(w, UINT32_MAX);
}

// staying: services with connections that no other process would adopt.
static uint32_t staying(const struct worker *w)
{
    uint32_t services = 0;
    for (uint32_t i = 0; i < w->tcp.n_services; i++)
        if (w->tcp.services[i].connections != 0 && !w->sock.services[i].app->adopts)
            services |= 1u << i;
    return services;
}

void stopping_keep(struct worker *w)
{
    const uint32_t services = staying(w);
    if (services != 0)  // else no block is looked at: ten million take a second
        reset(w, services);
    send_all(w);
    tcp_touch(&w->tcp, BLOCK_NONE);
}
