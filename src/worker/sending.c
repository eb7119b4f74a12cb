// SPDX-License-Identifier: BSD-3-Clause
// Builds packets from the segments of TCP and passes them to the queues of the ports.
#include "worker/sending.h"

#include <string.h>

#include "stat/trace_points.h"
#include "worker/accounting.h"
#include "worker/capture.h"

void sending_rooms(struct worker *w)
{
    uint32_t room[WORKER_PORTS_MAX];
    for (unsigned p = 0; p < w->n_ports; p++)
        room[p] = sending_room(&w->ports[p]);
    tcp_lanes_begin(&w->tcp, room);
}

// stage_net_output: the segments are in the order in which they are due, with several ports mixed.
// Each run of segments for one port is passed to the network layer of that port.
void stage_net_output(struct worker *w)
{
    const struct tcp *t = &w->tcp;
    const bool mixed = w->n_ports > 1;
    for (uint32_t i = 0; i < t->n_out;) {
        const uint8_t p = w->port_of_local[w->out[i].key.local_ix];
        uint32_t end = mixed ? i + 1 : t->n_out;
        while (end < t->n_out && w->port_of_local[w->out[end].key.local_ix] == p)
            end++;
        net_output(w->ports[p].net, t->now, &w->out[i], end - i, &w->ports[p].tx);
        i = end;
    }
    w->stats->c.tx_tcp += t->n_out;
    account_stage(w, STAGE_net_output);
}

static inline uint64_t bytes_of(struct pkt *const *pkts, uint32_t n)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        bytes += pkt_total_len(pkts[i]);
    return bytes;
}

// capture_tx: captures the packets that are offered to the port for the first time.
static NOINLINE void capture_tx(const struct worker *w, struct worker_port *wp)
{
    const uint32_t from = MIN(wp->captured, wp->tx.n);
    capture_burst(w->captures, (unsigned)(wp - w->ports), CAPTURE_OUT, wp->tx.pkts + from,
                  wp->tx.n - from);
    wp->captured = 0;
}

// get_past: of a port that takes nothing, once in a millisecond: whether that is the fault of the
// first packet (refusal.h). Those that it takes past that one show that it is not dead.
static NOINLINE void get_past(struct worker *w, struct worker_port *wp)
{
    struct refusal_result got;
    wp->looked_ms = w->tcp.now.ms;
    wp->tx.n = refusal_look(&wp->refusal, wp->port, wp->queue, wp->tx.pkts, wp->tx.n, &got);
    if (got.sent != 0)
        wp->waits_ms = w->tcp.now.ms | 1;
    w->stats->c.tx_packets += got.sent;
    w->stats->c.tx_bytes += got.bytes;
    if (got.refused != NULL) {
        pkt_free(got.refused);
        stat_drop(w->stats, DROP_tx_full, 1);
        wp->refused++;
    }
}

// keep_rest: the port is full: the packets that it has not taken are sent next time.
static NOINLINE void keep_rest(struct worker *w, struct worker_port *wp, uint32_t sent)
{
    if (wp->waits_ms == 0) {
        wp->waits_ms = w->tcp.now.ms | 1;
        wp->looked_ms = w->tcp.now.ms;
        wp->refusal = (struct refusal){0};
    }
    memmove(wp->tx.pkts, wp->tx.pkts + sent, wp->tx.n * sizeof(wp->tx.pkts[0]));
    if (sent == 0 && wp->looked_ms != w->tcp.now.ms)
        get_past(w, wp);
    wp->captured = wp->tx.n;
}

static inline void send_all(struct worker *w, struct worker_port *wp)
{
    if (unlikely(w->captures != NULL))
        capture_tx(w, wp);
    uint32_t sent = 0;
    uint64_t bytes = bytes_of(wp->tx.pkts, wp->tx.n);  // before the port owns the packets
    while (sent < wp->tx.n) {
        const uint16_t n = (uint16_t)MIN(wp->tx.n - sent, (uint32_t)WORKER_TX_BURST);
        const uint16_t took = wp->port->ops->tx_burst(wp->port, wp->queue, wp->tx.pkts + sent, n);
        sent += took;
        if (took < n)
            break;
    }
    w->stats->c.tx_packets += sent;
    wp->tx.n -= sent;
    if (sent != 0)
        wp->waits_ms = 0;
    if (unlikely(wp->tx.n != 0)) {
        bytes -= bytes_of(wp->tx.pkts + sent, wp->tx.n);
        keep_rest(w, wp, sent);
    }
    w->stats->c.tx_bytes += bytes;
}

void sending_port(struct worker *w, struct worker_port *wp)
{
    send_all(w, wp);
}

// without_taken: removes the packets that became replies from the burst. Returns how many remain.
static NOINLINE uint32_t without_taken(struct pkt **pkts, uint32_t n)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < n; i++)
        if (pkts[i] != NULL)
            pkts[left++] = pkts[i];
    return left;
}

void stage_tx(struct worker *w)
{
    for (unsigned p = 0; p < w->n_ports; p++)
        if (w->ports[p].tx.n != 0)
            send_all(w, &w->ports[p]);
    uint32_t n = w->n_rx;
    if (unlikely(w->rx.n_segs != n))
        n = without_taken(w->pkts, n);
    pkt_free_bulk(w->pkts, n);
    account_stage(w, STAGE_tx);
}
