// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_view.h"

#include <errno.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ethdev_rss.h"

static uint16_t id_of(const struct port *p)
{
    return ((const struct ethdev *)p->priv)->id;
}

// view_link: most drivers do not notice that their device is gone, because all registers of a
// removed device read as ones.
static void view_link(struct port *p, struct port_link *out)
{
    const struct ethdev *e = p->priv;
    struct rte_eth_link l;
    const int rc = pci_slot_is_left(&e->slot) ? -ENODEV : rte_eth_link_get_nowait(e->id, &l);
    *out = (struct port_link){.reason = PORT_LINK_UNKNOWN};
    if (rc == -ENODEV || rc == -EIO) {
        out->reason = PORT_LINK_GONE;
    } else if (rc == 0) {
        out->up = l.link_status == RTE_ETH_LINK_UP;
        out->reason = PORT_LINK_NO_CARRIER;
        out->full_duplex = l.link_duplex == RTE_ETH_LINK_FULL_DUPLEX;
        out->speed_mbps = l.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : l.link_speed;
    }
    if (e->kernel != NULL)  // DPDK's drivers for kernel interfaces always report a link
        kernel_side_link(e->kernel, out);
}

// set_name: DPDK's names may contain blanks, which would end the name in a file of the tree.
static void set_name(struct port_xstat *x, const char *name)
{
    size_t n = 0;
    for (; name[n] != '\0' && n < sizeof(x->name) - 1; n++)
        x->name[n] = name[n] == ' ' ? '_' : name[n];
    x->name[n] = '\0';
}

// view_xstats: values refer to names by index. DPDK returns nothing unless there is room for all.
static unsigned view_xstats(struct port *p, struct port_xstat *out, unsigned max)
{
    const uint16_t id = id_of(p);
    if (!pci_slot_answers(&((const struct ethdev *)p->priv)->slot))
        return 0;
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
    uint32_t slots;
    return ethdev_rx_waiting(p, q, &slots);
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

// The rings, and what a full receive queue does.
static void describe_rings(uint16_t id, const struct nic_profile *nic, struct text *out)
{
    struct rte_eth_rxq_info rx;
    struct rte_eth_txq_info tx;
    if (rte_eth_rx_queue_info_get(id, 0, &rx) == 0)
        text_printf(out, "rx_ring %u\nrx_drop_en %u\n", rx.nb_desc, rx.conf.rx_drop_en);
    if (rte_eth_tx_queue_info_get(id, 0, &tx) == 0)
        text_printf(out, "tx_ring %u\n", tx.nb_desc);
    if (nic->drop_en)
        text_printf(out, "rx_drops_counted %u\n", !nic->drops_unseen);
}

// describe_firmware: the firmware version as the driver spells it. Most virtual devices have none.
static void describe_firmware(uint16_t id, struct text *out)
{
    char version[128];
    if (rte_eth_dev_fw_version_get(id, version, sizeof(version)) == 0)
        text_printf(out, "firmware %s\n", version);
}

static void view_describe(struct port *p, struct text *out)
{
    const uint16_t id = id_of(p);
    struct rte_eth_dev_info info;
    text_printf(out, "dpdk_port %u\n", id);
    if (rte_eth_dev_info_get(id, &info) != 0)
        return;
    const struct nic_profile *nic = nic_profile_of(info.driver_name);
    text_printf(out, "dpdk_driver %s\nprofile %s\n", info.driver_name,
                nic->dpdk_driver[0] != '\0' ? nic->plugin : "none");
    if (info.device != NULL)
        text_printf(out, "device %s\n", rte_dev_name(info.device));
    describe_firmware(id, out);
    text_printf(out, "node %d\nqueues_max %u\n", rte_eth_dev_socket_id(id),
                MIN(info.max_rx_queues, info.max_tx_queues));
    text_printf(out, "promiscuous %d\nallmulticast %d\n", rte_eth_promiscuous_get(id) == 1,
                rte_eth_allmulticast_get(id) == 1);
    describe_rings(id, nic, out);
}

const struct port_view ethdev_view = {
    .link = view_link,
    .xstats = view_xstats,
    .rx_waiting = view_rx_waiting,
    .rss_table = view_rss_table,
    .rss_check = ethdev_rss_check,
    .describe = view_describe,
};
