// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdlib.h>
#include <string.h>

#include "base/toeplitz.h"

enum { RING_DEFAULT = 1024, RETA_MAX = RTE_ETH_RSS_RETA_SIZE_512 };

#define RSS_FIELDS                                                                                 \
    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |              \
     RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static const struct {
    bool rx;
    uint64_t offloads;  // all of them
    uint32_t cap;
} granted[] = {
    {true, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, PORT_RX_IP_CKSUM},
    {true, RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM, PORT_RX_L4_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, PORT_TX_IP_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM, PORT_TX_L4_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_MULTI_SEGS, PORT_MULTI_SEG},
    {false, RTE_ETH_TX_OFFLOAD_TCP_TSO, PORT_TSO},
};

// What some drivers mean or do by themselves, by their names in DPDK.
static const struct {
    const char *dpdk_driver;
    uint32_t caps;
    uint16_t chain_max;
} own_ways[] = {
    // L4_CKSUM_NONE is VIRTIO_NET_HDR_F_NEEDS_CSUM: a checksum that the host did not fill in.
    // Others
    // use it for datagrams without a checksum (net_tap) or for what was not looked at.
    {"net_virtio", PORT_RX_L4_LEFT, PKT_CHAIN_MAX},
    {"net_virtio_user", PORT_RX_L4_LEFT, PKT_CHAIN_MAX},
    {"net_vmxnet3", 0, 24},  // VMXNET3_MAX_TSO_TXD_PER_PKT: the host drops what has more
};

uint32_t ethdev_caps(const char *dpdk_driver, uint64_t rx, uint64_t tx)
{
    const uint32_t tso_needs = PORT_TX_L4_CKSUM | PORT_MULTI_SEG;
    uint32_t caps = 0;
    for (size_t i = 0; i < ARRAY_LEN(own_ways); i++)
        if (strcmp(own_ways[i].dpdk_driver, dpdk_driver) == 0)
            caps |= own_ways[i].caps;
    for (size_t i = 0; i < ARRAY_LEN(granted); i++)
        if (((granted[i].rx ? rx : tx) & granted[i].offloads) == granted[i].offloads)
            caps |= granted[i].cap;
    if ((caps & PORT_RX_L4_CKSUM) == 0)
        caps &= ~(uint32_t)PORT_RX_L4_LEFT;
    return (caps & tso_needs) == tso_needs ? caps : caps & ~(uint32_t)PORT_TSO;
}

uint16_t ethdev_chain_max(const char *dpdk_driver, uint16_t said)
{
    uint16_t most = said != 0 ? MIN(said, (uint16_t)PKT_CHAIN_MAX) : (uint16_t)PKT_CHAIN_MAX;
    for (size_t i = 0; i < ARRAY_LEN(own_ways); i++)
        if (strcmp(own_ways[i].dpdk_driver, dpdk_driver) == 0)
            most = MIN(most, own_ways[i].chain_max);
    return most;
}

// What is asked of the device in one direction.
static uint64_t wanted(const struct port_params *p, bool rx, uint64_t usual, uint64_t by_name)
{
    uint64_t named = 0;
    for (size_t i = 0; i < ARRAY_LEN(granted); i++)
        if (granted[i].rx == rx && (p->offloads & granted[i].cap) != 0)
            named |= granted[i].offloads;
    return p->has_offloads ? named & (usual | by_name) : usual;
}

void ethdev_verdicts(struct ethdev *e)
{
    const uint32_t verdicts = e->port.caps & (PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM);
    e->keep_flags = RTE_MBUF_F_INDIRECT | RTE_MBUF_F_EXTERNAL;
    if (verdicts & PORT_RX_IP_CKSUM)
        e->keep_flags |= RTE_MBUF_F_RX_IP_CKSUM_MASK;
    if (verdicts & PORT_RX_L4_CKSUM)
        e->keep_flags |= RTE_MBUF_F_RX_L4_CKSUM_MASK;
    // A device that gives both writes the field anew for each packet.
    e->clear_flags = verdicts != (PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM);
    // L4_CKSUM_NONE has the bits of GOOD and of BAD: what is left of it is GOOD, or nothing.
    e->left_flags = (e->port.caps & PORT_RX_L4_LEFT) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_BAD
                                                          : RTE_MBUF_F_RX_L4_CKSUM_NONE;
    e->clear_flags |= (e->port.caps & PORT_RX_L4_LEFT) != 0;
}

// A driver that answers -1 for whatever went wrong (net_tap's queues) may have left it in errno; as
// an error number that would read "Operation not permitted".
static int fail(struct err *err, const struct port_params *p, const char *step, int rc)
{
    const int why = rc == -1 ? errno : -rc;
    return err_set(err, "port %s: driver %s: %s: %s", p->name, p->driver, step,
                   why == 0 ? "the driver tells no reason" : rte_strerror(why));
}

// A device that names no key length takes the specification's.
static void set_key(struct rte_eth_rss_conf *rss, const struct rte_eth_dev_info *info,
                    const uint8_t *key)
{
    const unsigned bytes = info->hash_key_size != 0 ? info->hash_key_size : TOEPLITZ_KEY_BYTES;
    if (bytes > TOEPLITZ_KEY_BYTES_MAX)
        return;
    rss->rss_key = (uint8_t *)(uintptr_t)key;
    rss->rss_key_len = (uint8_t)bytes;
}

static int configure(struct ethdev *e, const struct port_params *p,
                     const struct ethdev_profile *profile, struct err *err)
{
    struct rte_eth_dev_info info;
    int rc = rte_eth_dev_info_get(e->id, &info);
    if (rc != 0)
        return fail(err, p, "no information about the device", rc);
    uint16_t queues = MIN(p->queues, MIN(info.max_rx_queues, info.max_tx_queues));
    if (queues == 0)
        return err_set(err, "port %s: the device has no queues", p->name);
    struct rte_eth_conf conf = {
        .rxmode.offloads =
            wanted(p, true, profile->rx_offloads, profile->rx_by_name) & info.rx_offload_capa,
        .txmode.offloads =
            wanted(p, false, profile->tx_offloads, profile->tx_by_name) & info.tx_offload_capa,
    };
    const bool rss = profile->rss && (!p->has_offloads || (p->offloads & PORT_RSS) != 0);
    uint64_t spread = rss && queues > 1 ? info.flow_type_rss_offloads & RSS_FIELDS : 0;
    if (spread != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = spread;
        e->rss_key = p->rss_key != NULL ? p->rss_key : toeplitz_key;
        set_key(&conf.rx_adv_conf.rss_conf, &info, e->rss_key);
    }
    rc = rte_eth_dev_configure(e->id, queues, queues, &conf);
    if (rc != 0)
        return fail(err, p, "configure", rc);
    e->port.queues = queues;
    e->port.caps = ethdev_caps(info.driver_name, conf.rxmode.offloads, conf.txmode.offloads);
    e->port.chain_max = ethdev_chain_max(info.driver_name, info.tx_desc_lim.nb_seg_max);
    e->spread = spread;
    ethdev_verdicts(e);
    return 0;
}

static int set_queues(struct ethdev *e, const struct port_params *p, struct err *err)
{
    uint16_t rx = (uint16_t)(p->rx_ring ? p->rx_ring : RING_DEFAULT);
    uint16_t tx = (uint16_t)(p->tx_ring ? p->tx_ring : RING_DEFAULT);
    int rc = rte_eth_dev_adjust_nb_rx_tx_desc(e->id, &rx, &tx);
    if (rc != 0)
        return fail(err, p, "ring sizes", rc);
    unsigned node = (unsigned)(p->node < 0 ? (int)SOCKET_ID_ANY : p->node);
    for (uint16_t q = 0; q < e->port.queues; q++) {
        if (p->pools[q] == NULL)
            return err_set(err, "port %s: queue %u has no packet pool", p->name, q);
        errno = 0;
        rc = rte_eth_rx_queue_setup(e->id, q, rx, node, NULL, &p->pools[q]->mp);
        if (rc == 0)
            rc = rte_eth_tx_queue_setup(e->id, q, tx, node, NULL);
        if (rc != 0)
            return fail(err, p, "queue set-up", rc);
    }
    return 0;
}

static bool has_key(const struct ethdev *e)
{
    uint8_t key[TOEPLITZ_KEY_BYTES_MAX] = {0};
    struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = sizeof(key)};
    return rte_eth_dev_rss_hash_conf_get(e->id, &rss) == 0 &&
           (rss.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0 &&
           memcmp(key, e->rss_key, TOEPLITZ_KEY_BYTES) == 0;
}

// Has the device our key, and does it hash TCP by addresses and ports? If that of IPv6 not, its
// packets go home by software. Some take a key only when they run.
static bool hashes_as_we_do(const struct ethdev *e, const struct rte_eth_dev_info *info)
{
    struct rte_eth_rss_conf rss = {.rss_hf = e->spread};
    if (has_key(e))
        return true;
    set_key(&rss, info, e->rss_key);
    return rss.rss_key != NULL && rte_eth_dev_rss_hash_update(e->id, &rss) == 0 && has_key(e);
}

// The table that sends each hash to the queue of its home.
static bool set_table(struct ethdev *e, unsigned entries)
{
    struct rte_eth_rss_reta_entry64 reta[RETA_MAX / RTE_ETH_RETA_GROUP_SIZE];
    memset(reta, 0, sizeof(reta));
    if (entries < RTE_ETH_RETA_GROUP_SIZE || entries > RETA_MAX || (entries & (entries - 1)) != 0)
        return false;
    for (unsigned i = 0; i < entries; i++) {
        struct rte_eth_rss_reta_entry64 *group = &reta[i / RTE_ETH_RETA_GROUP_SIZE];
        group->mask |= UINT64_C(1) << i % RTE_ETH_RETA_GROUP_SIZE;
        group->reta[i % RTE_ETH_RETA_GROUP_SIZE] =
            (uint16_t)toeplitz_home(i, entries, e->port.queues);
    }
    return rte_eth_dev_rss_reta_update(e->id, reta, (uint16_t)entries) == 0;
}

// A device that spreads in a way that cannot be told has no PORT_RSS: packets then go home by
// software.
static void set_rss(struct ethdev *e)
{
    struct rte_eth_dev_info info;
    if (e->spread == 0 || rte_eth_dev_info_get(e->id, &info) != 0 || !hashes_as_we_do(e, &info) ||
        !set_table(e, info.reta_size))
        return;
    e->port.caps |= PORT_RSS;
    e->port.rss_entries = info.reta_size;
}

static int start(struct ethdev *e, const struct port_params *p, struct err *err)
{
    e->port.mtu = p->mtu ? p->mtu : PORT_MTU_DEFAULT;
    int rc = rte_eth_dev_set_mtu(e->id, e->port.mtu);
    if (rc != 0 && rc != -ENOTSUP)  // without: it carries what fits in a packet
        return fail(err, p, "mtu", rc);
    if ((rc = rte_eth_dev_start(e->id)) != 0)
        return fail(err, p, "start", rc);
    // Neighbour discovery comes by multicast. A device that cannot be told so takes all of it, or
    // its interface has to be told (docs/ports.md).
    rte_eth_allmulticast_enable(e->id);
    set_rss(e);
    struct rte_ether_addr mac;
    if ((rc = rte_eth_macaddr_get(e->id, &mac)) != 0)
        return fail(err, p, "MAC address", rc);
    static const struct mac_addr none;
    memcpy(e->port.mac.b, mac.addr_bytes, 6);
    if (memcmp(&e->port.mac, &none, sizeof(none)) == 0)  // net_ring has none
        e->port.mac =
            (struct mac_addr){{0x02, 0xc1, 0x0a, 1, (uint8_t)(e->id >> 8), (uint8_t)e->id}};
    return 0;
}

struct port *ethdev_open(uint16_t id, const struct port_params *params,
                         const struct ethdev_profile *profile, struct err *err)
{
    struct ethdev *e = calloc(1, sizeof(*e));
    CHECK(e != NULL);
    e->id = id;
    e->port.ops = profile->ops;
    e->port.priv = e;
    strcpy(e->port.name, params->name);
    if (configure(e, params, profile, err) == 0 && set_queues(e, params, err) == 0 &&
        start(e, params, err) == 0)
        return &e->port;
    ethdev_close(&e->port);
    return NULL;
}

void ethdev_close(struct port *p)
{
    struct ethdev *e = p->priv;
    rte_eth_dev_stop(e->id);
    rte_eth_dev_close(e->id);
    kernel_side_free(e->kernel);
    free(e);
}

// clean: what of a received packet's flags is the device's verdict, in the terms of pkt.h.
static inline void clean(const struct ethdev *e, struct rte_mbuf *m)
{
    m->ol_flags &= e->keep_flags;
    if (unlikely((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE))
        m->ol_flags &= ~e->left_flags;
}

uint16_t ethdev_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct ethdev *e = p->priv;
    uint16_t got = rte_eth_rx_burst(e->id, q, (struct rte_mbuf **)pkts, n);
    if (e->clear_flags)
        for (uint16_t i = 0; i < got; i++)
            clean(e, &pkts[i]->m);
    return got;
}

// A first segment that others hold too is not written to.
static bool one_segment(struct pkt *p)
{
    if (likely(!pkt_is_chain(p)))
        return true;
    return rte_mbuf_refcnt_read(&p->m) == 1 && RTE_MBUF_DIRECT(&p->m) &&
           rte_pktmbuf_linearize(&p->m) == 0;
}

// What the device cuts is shown to its driver before: some want it their own way, or not at all.
static inline bool can_go(const struct ethdev *e, uint16_t q, struct pkt *p)
{
    if ((e->port.caps & PORT_MULTI_SEG) == 0)
        return one_segment(p);
    struct rte_mbuf *m = &p->m;
    return likely((m->ol_flags & RTE_MBUF_F_TX_TCP_SEG) == 0) ||
           rte_eth_tx_prepare(e->id, q, &m, 1) == 1;
}

uint16_t ethdev_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct ethdev *e = p->priv;
    if ((p->caps & (PORT_MULTI_SEG | PORT_TSO)) == PORT_MULTI_SEG)
        return rte_eth_tx_burst(e->id, q, (struct rte_mbuf **)pkts, n);
    uint16_t taken = 0;
    while (taken < n) {
        uint16_t whole = taken;
        while (whole < n && can_go(e, q, pkts[whole]))
            whole++;
        uint16_t want = (uint16_t)(whole - taken);
        uint16_t sent =
            want == 0 ? 0 : rte_eth_tx_burst(e->id, q, (struct rte_mbuf **)pkts + taken, want);
        taken = (uint16_t)(taken + sent);
        if (sent < want || taken == n)
            break;
        pkt_free(pkts[taken++]);
        __atomic_store_n(&e->tx_refused[q], e->tx_refused[q] + 1, __ATOMIC_RELAXED);
    }
    return taken;
}

void ethdev_stats(struct port *p, struct port_stats *out)
{
    struct rte_eth_stats s;
    memset(out, 0, sizeof(*out));
    if (rte_eth_stats_get(((struct ethdev *)p->priv)->id, &s) != 0)
        return;
    *out = (struct port_stats){.rx_packets = s.ipackets,
                               .rx_bytes = s.ibytes,
                               .tx_packets = s.opackets,
                               .tx_bytes = s.obytes,
                               .rx_missed = s.imissed,
                               .rx_nombuf = s.rx_nombuf,
                               .rx_errors = s.ierrors,
                               .tx_errors = s.oerrors};
    for (unsigned q = 0; q < p->queues; q++)
        out->tx_errors +=
            __atomic_load_n(&((struct ethdev *)p->priv)->tx_refused[q], __ATOMIC_RELAXED);
    if (((struct ethdev *)p->priv)->kernel != NULL)
        kernel_side_add(((struct ethdev *)p->priv)->kernel, out);
}
