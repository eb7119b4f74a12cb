// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/loop.h"

#include <stdlib.h>
#include <string.h>

struct loop_queue {
    uint32_t head, tail;      // free-running
    uint64_t packets, bytes;  // received; written by the worker, read by any thread
    struct pkt *pkts[LOOP_SLOTS];
} CACHE_ALIGNED;

struct loop {
    struct port port;
    struct loop_queue queues[];
};

static struct loop_queue *queue(const struct port *p, uint16_t q)
{
    return &((struct loop *)p->priv)->queues[q];
}

static uint16_t rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct loop_queue *l = queue(p, q);
    uint16_t got = 0;
    uint64_t bytes = 0;
    for (; got < n && l->head != l->tail; got++) {
        pkts[got] = l->pkts[l->head++ % LOOP_SLOTS];
        bytes += pkt_total_len(pkts[got]);
    }
    if (got != 0) {
        __atomic_store_n(&l->packets, l->packets + got, __ATOMIC_RELAXED);
        __atomic_store_n(&l->bytes, l->bytes + bytes, __ATOMIC_RELAXED);
    }
    return got;
}

static uint16_t tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct loop_queue *l = queue(p, q);
    uint16_t took = 0;
    for (; took < n && l->tail - l->head < LOOP_SLOTS; took++) {
        pkts[took]->m.ol_flags = 0;
        l->pkts[l->tail++ % LOOP_SLOTS] = pkts[took];
    }
    return took;
}

// stats: packets that were sent and not received yet are not counted.
static void stats(struct port *p, struct port_stats *out)
{
    *out = (struct port_stats){0};
    for (uint16_t q = 0; q < p->queues; q++) {
        out->rx_packets += __atomic_load_n(&queue(p, q)->packets, __ATOMIC_RELAXED);
        out->rx_bytes += __atomic_load_n(&queue(p, q)->bytes, __ATOMIC_RELAXED);
    }
    out->tx_packets = out->rx_packets;
    out->tx_bytes = out->rx_bytes;
}

static void view_link(struct port *p, struct port_link *out)
{
    (void)p;
    *out = (struct port_link){.up = true, .full_duplex = true};
}

static int rx_waiting(struct port *p, uint16_t q)
{
    const struct loop_queue *l = queue(p, q);
    const uint32_t head = __atomic_load_n(&l->head, __ATOMIC_RELAXED);
    return (int)MIN(__atomic_load_n(&l->tail, __ATOMIC_RELAXED) - head, (uint32_t)LOOP_SLOTS);
}

// wait_fds: only its worker sends to a queue.
static int wait_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    (void)out;
    (void)max;
    return queue(p, q)->head == queue(p, q)->tail ? 0 : PORT_WAIT_NOT;
}

static const struct port_wait wait = {.fds = wait_fds};

static const struct port_view view = {.link = view_link, .rx_waiting = rx_waiting};

static void close_loop(struct port *p)
{
    for (uint16_t q = 0; q < p->queues; q++)
        for (struct loop_queue *l = queue(p, q); l->head != l->tail; l->head++)
            pkt_free(l->pkts[l->head % LOOP_SLOTS]);
    free(p->priv);
}

static const struct port_ops ops = {.driver = "loop",
                                    .rx_burst = rx_burst,
                                    .tx_burst = tx_burst,
                                    .stats = stats,
                                    .close = close_loop,
                                    .view = &view,
                                    .wait = &wait};

int loop_check(const struct port_params *params, struct err *err)
{
    (void)params;
    (void)err;
    return 0;
}

struct port *loop_open(const struct port_params *params, struct err *err)
{
    const size_t bytes = sizeof(struct loop) + params->queues * sizeof(struct loop_queue);
    struct loop *l = aligned_alloc(CACHE_LINE, ALIGN_UP(bytes, CACHE_LINE));
    if (l == NULL) {
        err_set(err, "port %s: no memory", params->name);
        return NULL;
    }
    memset(l, 0, bytes);
    l->port = (struct port){.ops = &ops,
                            .caps = PORT_NO_SYSCALL,
                            .mac = {{0x02, 0xc1, 0x0a, 2, 0, 0}},
                            .mtu = params->mtu != 0 ? params->mtu : PORT_MTU_DEFAULT,
                            .queues = params->queues,
                            .priv = l};
    memcpy(l->port.name, params->name, strlen(params->name) + 1);
    return &l->port;
}
