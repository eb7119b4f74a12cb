// SPDX-License-Identifier: BSD-3-Clause
// fault_bridge: two TAP interfaces joined by the same `fault` port that a server's port is wrapped
// in: what the kernel at one of them sends, the kernel at the other receives, and both directions
// lose and delay as that port does.
//
//   usage: fault_bridge A B SEED LOSS_PPM DELAY_MS CPU     creates A and B, says "ready"; SIGTERM
//   ends it
//
//   kernel at A <--> [ tap A ] <--> fault <--> this loop <--> [ tap B ] <--> kernel at B
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/eal.h"
#include "drivers/port_table.h"

enum { PACKETS = 16384, RING = 1024 };

static volatile sig_atomic_t ended;

static void end(int sig)
{
    ended = sig;
}

static void move(struct port *from, struct port *to)
{
    struct pkt *p[BURST_MAX];
    const uint16_t n = from->ops->rx_burst(from, 0, p, BURST_MAX);
    uint16_t sent = 0;
    while (sent < n && !ended)
        sent += to->ops->tx_burst(to, 0, p + sent, (uint16_t)(n - sent));
    pkt_free_bulk(p + sent, (uint32_t)(n - sent));
}

static int fail(const struct err *e)
{
    fprintf(stderr, "fault_bridge: %s\n", e->text);
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 7) {
        fprintf(stderr, "usage: fault_bridge A B SEED LOSS_PPM DELAY_MS CPU\n");
        return 2;
    }
    char prefix[32];
    snprintf(prefix, sizeof(prefix), "c10mbridge%d", (int)getpid());
    const struct eal_params eal = {
        .file_prefix = prefix, .main_cpu = (unsigned)atoi(argv[6]), .memory_bytes = {128 << 20}};
    struct err e = {.text = ""};
    struct pkt_pool *pool = NULL;
    if (eal_start(&eal, &e) != 0 || (pool = pkt_pool_create("bridge", PACKETS, -1)) == NULL)
        return fail(&e);
    struct port_params tap[2];
    for (unsigned i = 0; i < 2; i++)
        tap[i] = (struct port_params){.name = i == 0 ? "a" : "b",
                                      .driver = "tap",
                                      .device = argv[1 + i],
                                      .queues = 1,
                                      .rx_ring = RING,
                                      .tx_ring = RING,
                                      .node = -1,
                                      .pools = {pool}};
    struct port_params bad = tap[0];
    bad.driver = "fault";
    bad.wraps = &tap[0];
    bad.seed = strtoull(argv[3], NULL, 0);
    bad.loss_ppm = (uint32_t)atoi(argv[4]);
    bad.delay_ms = (uint32_t)atoi(argv[5]);
    struct port *a = port_open(&bad, &e), *b = a == NULL ? NULL : port_open(&tap[1], &e);
    if (b == NULL)
        return fail(&e);
    signal(SIGTERM, end);
    signal(SIGINT, end);
    puts("ready");
    fflush(stdout);
    while (!ended) {
        move(a, b);
        move(b, a);
    }
    port_close(a);
    port_close(b);
    eal_stop();
    return 0;
}
