// SPDX-License-Identifier: BSD-3-Clause
// Receive coalescing (GRO) by DPDK: what it costs a received segment before TCP sees it.
#include <rte_errno.h>
#include <rte_gro.h>
#include <rte_mbuf.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "bench/micro.h"
#include "wire/build.h"

enum { BURST = 64, REPEAT = 16, PAYLOAD = 1448, ROOM = 2048, EAL_BYTES = 16 << 20 };
enum { PARTS = (BURST * PAYLOAD + 65534) / 65535 };  // IP packets of a whole burst, at least
enum { OPEN_V4 = 0x0a000001, PEER_V4 = 0x0a400001 };

// gro_ctx: a burst of segments of `flows` connections, in order on each. heads: their headers as
// received, because merging changes them.
struct gro_ctx {
    uint32_t flows;
    struct rte_gro_param param;
    struct rte_mbuf *burst[BURST];
    uint8_t heads[BURST][TCP4_DATA_OFF];
};

static void build(struct gro_ctx *c, uint32_t i)
{
    static const struct mac_addr own = {{2, 0, 0, 0, 0, 1}}, peer = {{2, 0, 0, 0, 0, 2}};
    static const uint8_t payload[PAYLOAD];
    struct wire_from from;
    wire_from_init(&from, &peer, PEER_V4);
    const uint16_t port = (uint16_t)(1024 + i % c->flows);
    const struct seg_out out = {.key = {ip_from_v4(OPEN_V4), 0, 0, 7, port},
                                .seq = i / c->flows * PAYLOAD,
                                .ack = 1,
                                .wnd = 65535,
                                .flags = SEG_ACK,
                                .data_len = {PAYLOAD},
                                .data = {payload}};
    uint8_t *frame = rte_pktmbuf_mtod(c->burst[i], uint8_t *);
    wire_build_tcp4(frame, &from, wire_mac_word(&own), &out, wire_tcp_head_bytes(&out), WIRE_PLAIN,
                    false);
    memcpy(c->heads[i], frame, TCP4_DATA_OFF);
}

static void *gro_open(uint32_t flows, struct err *err)
{
    if (micro_eal(EAL_BYTES, err) != 0)
        return NULL;
    struct gro_ctx *c = calloc(1, sizeof(*c));
    CHECK(c != NULL);
    c->flows = flows;
    c->param = (struct rte_gro_param){RTE_GRO_TCP_IPV4, (uint16_t)flows, BURST, SOCKET_ID_ANY};
    struct rte_mempool *pool =
        rte_pktmbuf_pool_create("gro", 2 * BURST, 0, 0, RTE_PKTMBUF_HEADROOM + ROOM, SOCKET_ID_ANY);
    if (pool == NULL || rte_pktmbuf_alloc_bulk(pool, c->burst, BURST) != 0) {
        err_set(err, "no pool of packets: %s", rte_strerror(rte_errno));
        return NULL;
    }
    for (uint32_t i = 0; i < BURST; i++)
        build(c, i);
    return c;
}

// receive: the burst as a driver returns it.
static void receive(struct gro_ctx *c, struct rte_mbuf **burst)
{
    for (uint32_t i = 0; i < BURST; i++) {
        struct rte_mbuf *m = burst[i] = c->burst[i];
        m->next = NULL;
        m->nb_segs = 1;
        m->data_off = RTE_PKTMBUF_HEADROOM;
        m->pkt_len = m->data_len = TCP4_DATA_OFF + PAYLOAD;
        m->packet_type = RTE_PTYPE_L2_ETHER | RTE_PTYPE_L3_IPV4 | RTE_PTYPE_L4_TCP;
        m->l2_len = ETH_BYTES;
        m->l3_len = TCP4_OFF - ETH_BYTES;
        m->l4_len = TCP4_DATA_OFF - TCP4_OFF;
        memcpy(rte_pktmbuf_mtod(m, uint8_t *), c->heads[i], TCP4_DATA_OFF);
    }
}

static void run_gro(void *ctx, struct micro_run *r)
{
    struct gro_ctx *c = ctx;
    struct rte_mbuf *burst[BURST];
    for (unsigned i = 0; i < REPEAT; i++) {
        receive(c, burst);
        const uint64_t start = tsc_read();
        const uint16_t left = rte_gro_reassemble_burst(burst, BURST, &c->param);
        r->cycles += tsc_read() - start;
        r->ops += BURST;
        CHECK(left == MAX(c->flows, PARTS));
    }
}

const struct micro micro_gro[] = {
    {"CoalesceRte",
     NULL,
     "DPDK's rte_gro: 64 segments of 1,448 bytes, of SIZE connections",
     {1, 4, 16, 64},
     false,
     gro_open,
     run_gro,
     NULL},
    {.name = NULL},
};
