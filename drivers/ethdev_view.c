// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_view.h"

#include <rte_dev.h>
#include <rte_ethdev.h>
#include <stdlib.h>
#include <string.h>

static uint16_t id_of(const struct port *p)
{
    return ((const struct ethdev *)p->priv)->id;
}

static void view_link(struct port *p, struct port_link *out)
{
    struct rte_eth_link l;
    memset(out, 0, sizeof(*out));
    if (rte_eth_link_get_nowait(id_of(p), &l) != 0)
        return;
    out->up = l.link_status == RTE_ETH_LINK_UP;
    out->full_duplex = l.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
    out->speed_mbps = l.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : l.link_speed;
}

// DPDK's names may hold blanks, which would end a name in the tree.
static void set_name(struct port_xstat *x, const char *name)
{
    size_t n = 0;
    for (; name[n] != '\0' && n < sizeof(x->name) - 1; n++)
        x->name[n] = name[n] == ' ' ? '_' : name[n];
    x->name[n] = '\0';
}

// Values come with the place of their names; DPDK wants room for all of them or gives none.
static unsigned view_xstats(struct port *p, struct port_xstat *out, unsigned max)
{
    const uint16_t id = id_of(p);
    const int n = rte_eth_xstats_get_names(id, NULL, 0);
    if (n <= 0)
        return 0;
    struct rte_eth_xstat_name *names = calloc((size_t)n, sizeof(*names));
    struct rte_eth_xstat *values = calloc((size_t)n, sizeof(*values));
    unsigned got = 0;
    if (names != NULL && values != NULL && rte_eth_xstats_get_names(id, names, (unsigned)n) == n &&
        rte_eth_xstats_get(id, values, (unsigned)n) == n)
        for (; got < (unsigned)n && got < max; got++) {
            const bool known = values[got].id < (uint64_t)n;
            set_name(&out[got], known ? names[values[got].id].name : "unnamed");
            out[got].value = values[got].value;
        }
    free(names);
    free(values);
    return got < max ? got : (unsigned)n;
}

static int view_rx_waiting(struct port *p, uint16_t q)
{
    const int n = rte_eth_rx_queue_count(id_of(p), q);
    return n < 0 ? -1 : n;
}

static unsigned view_rss_table(struct port *p, uint16_t *queues, unsigned max)
{
    struct rte_eth_rss_reta_entry64 reta[RTE_ETH_RSS_RETA_SIZE_512 / RTE_ETH_RETA_GROUP_SIZE];
    const unsigned n = p->rss_entries;
    if ((p->caps & PORT_RSS) == 0 || n > RTE_ETH_RSS_RETA_SIZE_512)
        return 0;
    memset(reta, 0, sizeof(reta));
    for (unsigned i = 0; i < ARRAY_LEN(reta); i++)
        reta[i].mask = UINT64_MAX;
    if (rte_eth_dev_rss_reta_query(id_of(p), reta, (uint16_t)n) != 0)
        return 0;
    for (unsigned i = 0; i < MIN(n, max); i++)
        queues[i] = reta[i / RTE_ETH_RETA_GROUP_SIZE].reta[i % RTE_ETH_RETA_GROUP_SIZE];
    return n;
}

static void describe_rings(uint16_t id, struct text *out)
{
    struct rte_eth_rxq_info rx;
    struct rte_eth_txq_info tx;
    if (rte_eth_rx_queue_info_get(id, 0, &rx) == 0)
        text_printf(out, "rx_ring %u\n", rx.nb_desc);
    if (rte_eth_tx_queue_info_get(id, 0, &tx) == 0)
        text_printf(out, "tx_ring %u\n", tx.nb_desc);
}

static void view_describe(struct port *p, struct text *out)
{
    const uint16_t id = id_of(p);
    struct rte_eth_dev_info info;
    text_printf(out, "dpdk_port %u\n", id);
    if (rte_eth_dev_info_get(id, &info) != 0)
        return;
    text_printf(out, "dpdk_driver %s\n", info.driver_name);
    if (info.device != NULL)
        text_printf(out, "device %s\n", rte_dev_name(info.device));
    text_printf(out, "node %d\nqueues_max %u\n", rte_eth_dev_socket_id(id),
                MIN(info.max_rx_queues, info.max_tx_queues));
    text_printf(out, "promiscuous %d\nallmulticast %d\n", rte_eth_promiscuous_get(id) == 1,
                rte_eth_allmulticast_get(id) == 1);
    describe_rings(id, out);
}

const struct port_view ethdev_view = {
    .link = view_link,
    .xstats = view_xstats,
    .rx_waiting = view_rx_waiting,
    .rss_table = view_rss_table,
    .describe = view_describe,
};
