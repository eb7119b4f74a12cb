// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev.h"

#include <errno.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/toeplitz.h"
#include "drivers/ethdev_rss.h"

enum { RING_DEFAULT = 1024 };

#define RSS_FIELDS                                                                                 \
    (RTE_ETH_RSS_IPV4 | RTE_ETH_RSS_NONFRAG_IPV4_TCP | RTE_ETH_RSS_NONFRAG_IPV4_UDP |              \
     RTE_ETH_RSS_IPV6 | RTE_ETH_RSS_NONFRAG_IPV6_TCP | RTE_ETH_RSS_NONFRAG_IPV6_UDP)

static const struct {
    bool rx;
    uint64_t offloads;  // DPDK's bits, all of which are needed
    uint32_t cap;
} granted[] = {
    {true, RTE_ETH_RX_OFFLOAD_IPV4_CKSUM, PORT_RX_IP_CKSUM},
    {true, RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM, PORT_RX_L4_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_IPV4_CKSUM, PORT_TX_IP_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_UDP_CKSUM, PORT_TX_L4_CKSUM},
    {false, RTE_ETH_TX_OFFLOAD_MULTI_SEGS, PORT_MULTI_SEG},
    {false, RTE_ETH_TX_OFFLOAD_TCP_TSO, PORT_TSO},
};

uint32_t ethdev_caps(const char *dpdk_driver, uint64_t rx, uint64_t tx)
{
    const uint32_t tso_needs = PORT_TX_L4_CKSUM | PORT_MULTI_SEG;
    uint32_t caps = nic_profile_of(dpdk_driver)->caps;
    for (size_t i = 0; i < ARRAY_LEN(granted); i++)
        if (((granted[i].rx ? rx : tx) & granted[i].offloads) == granted[i].offloads)
            caps |= granted[i].cap;
    if ((caps & PORT_RX_L4_CKSUM) == 0)
        caps &= ~(uint32_t)PORT_RX_L4_LEFT;
    return (caps & tso_needs) == tso_needs ? caps : caps & ~(uint32_t)PORT_TSO;
}

uint16_t ethdev_chain_max(const char *dpdk_driver, uint16_t said)
{
    const uint16_t most = MIN(nic_profile_of(dpdk_driver)->chain_max, (uint16_t)PKT_CHAIN_MAX);
    return said != 0 ? MIN(said, most) : most;
}

// wanted: the offloads to request from the device, for rx or for tx.
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
    // A driver with both offloads sets the checksum flags of each packet anew.
    e->clear_flags = verdicts != (PORT_RX_IP_CKSUM | PORT_RX_L4_CKSUM);
    // L4_CKSUM_NONE has the bits of GOOD and BAD. Clearing left_flags makes it GOOD or unknown.
    e->left_flags = (e->port.caps & PORT_RX_L4_LEFT) != 0 ? RTE_MBUF_F_RX_L4_CKSUM_BAD
                                                          : RTE_MBUF_F_RX_L4_CKSUM_NONE;
    e->clear_flags |= (e->port.caps & PORT_RX_L4_LEFT) != 0;
}

// fail: a driver that returns -1 for every failure (net_tap's queues) may have set errno. As an
// error number, -1 would read "Operation not permitted".
static int fail(struct err *err, const struct port_params *p, const char *step, int rc)
{
    const int why = rc == -1 ? errno : -rc;
    return err_set(err, "port %s: driver %s: %s: %s", p->name, p->driver, step,
                   why == 0 ? "the driver gives no reason" : rte_strerror(why));
}

static bool params_are_jumbo(const struct port_params *p)
{
    return p->mtu > PORT_MTU_SMALL;
}

static int configure(struct ethdev *e, const struct port_params *p,
                     const struct ethdev_profile *profile, struct err *err)
{
    struct rte_eth_dev_info info;
    int rc = rte_eth_dev_info_get(e->id, &info);
    if (rc != 0)
        return fail(err, p, "no information about the device", rc);
    e->nic = nic_profile_of(info.driver_name);
    uint16_t queues = MIN(p->queues, MIN(info.max_rx_queues, info.max_tx_queues));
    if (e->nic->queues_max != 0)
        queues = MIN(queues, e->nic->queues_max);
    if (queues == 0)
        return err_set(err, "port %s: the device has no queues", p->name);
    struct rte_eth_conf conf = {
        .rxmode.offloads =
            wanted(p, true, profile->rx_offloads, profile->rx_by_name) & info.rx_offload_capa,
        .txmode.offloads =
            wanted(p, false, profile->tx_offloads, profile->tx_by_name) & info.tx_offload_capa,
    };
    if (params_are_jumbo(p)) {
        conf.rxmode.offloads |= profile->rx_jumbo & info.rx_offload_capa;
        e->gathers = true;
    }
    conf.intr_conf.rxq = profile->rx_interrupts && p->waits;
    const bool rss = profile->rss && (!p->has_offloads || (p->offloads & PORT_RSS) != 0);
    const uint64_t types = RSS_FIELDS | e->nic->rss_types;
    uint64_t spread = rss && queues > 1 ? info.flow_type_rss_offloads & types : 0;
    if (spread != 0) {
        conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        conf.rx_adv_conf.rss_conf.rss_hf = spread;
        conf.rxmode.offloads |= e->nic->rx_needs & info.rx_offload_capa;
        memcpy(e->rss_key, p->rss_key != NULL ? p->rss_key : toeplitz_key, sizeof(e->rss_key));
        ethdev_rss_set_key(e, &info, &conf.rx_adv_conf.rss_conf);
    }
    if (p->n_vlans != 0 && e->nic->filters_vlans)
        conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_VLAN_FILTER & info.rx_offload_capa;
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
    const struct rte_eth_rxconf *rx_conf = NULL;  // the driver's default
    struct rte_eth_dev_info info;
    int rc = rte_eth_dev_adjust_nb_rx_tx_desc(e->id, &rx, &tx);
    if (rc != 0)
        return fail(err, p, "ring sizes", rc);
    e->rx_slots = rx;
    if (nic_profile_drops(e->nic, e->port.queues) && rte_eth_dev_info_get(e->id, &info) == 0) {
        info.default_rxconf.rx_drop_en = 1;
        rx_conf = &info.default_rxconf;
    }
    unsigned node = (unsigned)(p->node < 0 ? (int)SOCKET_ID_ANY : p->node);
    for (uint16_t q = 0; q < e->port.queues; q++) {
        if (p->pools[q] == NULL)
            return err_set(err, "port %s: queue %u has no packet pool", p->name, q);
        errno = 0;
        rc = rte_eth_rx_queue_setup(e->id, q, rx, node, rx_conf, &p->pools[q]->mp);
        if (rc == 0)
            rc = rte_eth_tx_queue_setup(e->id, q, tx, node, NULL);
        if (rc != 0)
            return fail(err, p, "queue set-up", rc);
    }
    return 0;
}

// map_counters: without the mapping, these drivers do not count the drops of each queue.
static void map_counters(const struct ethdev *e)
{
    for (uint16_t q = 0; e->nic->maps_counters && q < e->port.queues; q++)
        rte_eth_dev_set_rx_queue_stats_mapping(e->id, q, (uint8_t)q);
}

// take_multicast: neighbor discovery arrives by multicast. A device that cannot receive all
// multicast frames is made promiscuous. For a kernel port, the operator must configure the
// interface (docs/ports.md).
static void take_multicast(const struct ethdev *e, const struct port_params *p)
{
    const int rc = rte_eth_allmulticast_enable(e->id);
    if (rc == 0 || rte_eth_promiscuous_get(e->id) == 1)
        return;
    if (rte_eth_promiscuous_enable(e->id) == 0)
        log_say(LOG_port, LOG_WARN,
                "port %s: the device does not take all multicast frames (%s): it is promiscuous "
                "instead",
                p->name, rte_strerror(-rc));
    else
        log_say(LOG_port, LOG_WARN,
                "port %s: the device may lose multicast frames (%s): neighbor discovery of IPv6 "
                "may fail, and groups get nothing; see docs/ports.md",
                p->name, rte_strerror(-rc));
}

// take_vlans: tags stay in the frames, and a device that filters by VLAN lets these pass: 0 is that
// of frames with a priority alone.
static int take_vlans(const struct ethdev *e, const struct port_params *p, struct err *err)
{
    const int on = rte_eth_dev_get_vlan_offload(e->id);
    for (uint16_t q = 0; p->n_vlans != 0 && q < e->port.queues; q++)
        rte_eth_dev_set_vlan_strip_on_queue(e->id, q, 0);
    if (on > 0 && (on & RTE_ETH_VLAN_STRIP_OFFLOAD) != 0 &&
        rte_eth_dev_set_vlan_offload(e->id, on & ~RTE_ETH_VLAN_STRIP_OFFLOAD) != 0)
        return err_set(err, "port %s: driver %s: the device removes the tags of VLANs", p->name,
                       p->driver);
    if (on <= 0 || (on & RTE_ETH_VLAN_FILTER_OFFLOAD) == 0 || p->n_vlans == 0)
        return 0;
    rte_eth_dev_vlan_filter(e->id, 0, 1);  // some devices let it pass always, and refuse this
    for (unsigned i = 0; i < p->n_vlans; i++) {
        const int rc = rte_eth_dev_vlan_filter(e->id, p->vlans[i], 1);
        if (rc != 0)
            return fail(err, p, "VLAN filter", rc);
    }
    return 0;
}

static int start(struct ethdev *e, const struct port_params *p,
                 const struct ethdev_profile *profile, struct err *err)
{
    e->port.mtu = p->mtu ? p->mtu : PORT_MTU_DEFAULT;
    int rc = profile->keeps_mtu ? 0 : rte_eth_dev_set_mtu(e->id, e->port.mtu);
    if (rc != 0 && rc != -ENOTSUP)  // ENOTSUP: the device carries what fits in a packet
        return fail(err, p, "mtu", rc);
    if ((rc = rte_eth_dev_start(e->id)) != 0)
        return fail(err, p, "start", rc);
    if (take_vlans(e, p, err) != 0)
        return -1;
    if (profile->filters_mac)
        take_multicast(e, p);
    else
        rte_eth_allmulticast_enable(e->id);
    map_counters(e);
    ethdev_rss_start(e);
    struct rte_ether_addr mac;
    if ((rc = rte_eth_macaddr_get(e->id, &mac)) != 0)
        return fail(err, p, "MAC address", rc);
    static const struct mac_addr none;
    memcpy(e->port.mac.b, mac.addr_bytes, 6);
    if (memcmp(&e->port.mac, &none, sizeof(none)) == 0)  // net_ring has no MAC address
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
    memcpy(e->away.pools, params->pools, sizeof(e->away.pools));
    strcpy(e->port.name, params->name);
    if (configure(e, params, profile, err) == 0 && set_queues(e, params, err) == 0 &&
        start(e, params, profile, err) == 0)
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

// clean: clears all flags of a received packet except the device's checksum results as pkt.h
// defines them.
static inline void clean(const struct ethdev *e, struct rte_mbuf *m)
{
    m->ol_flags &= e->keep_flags;
    if (unlikely((m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK) == RTE_MBUF_F_RX_L4_CKSUM_NONE))
        m->ol_flags &= ~e->left_flags;
}

static NOINLINE void gather(struct pkt_pool *pool, struct pkt **pkts, uint16_t n)
{
    for (uint16_t i = 0; i < n; i++)
        pkts[i] = pkt_gather(pool, pkts[i]);
}

uint16_t ethdev_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    const struct ethdev *e = p->priv;
    uint16_t got = rte_eth_rx_burst(e->id, q, (struct rte_mbuf **)pkts, n);
    if (e->clear_flags)
        for (uint16_t i = 0; i < got; i++)
            clean(e, &pkts[i]->m);
    if (unlikely(e->gathers))
        gather(e->away.pools[q], pkts, got);
    return got;
}

int ethdev_rx_waiting(struct port *p, uint16_t q, uint32_t *slots)
{
    const struct ethdev *e = p->priv;
    const int n = rte_eth_rx_queue_count(e->id, q);
    *slots = e->rx_slots;
    return n < 0 ? -1 : n;
}

// one_segment: makes a packet one segment if possible. A first segment with other references must
// not be written.
static bool one_segment(struct pkt *p)
{
    if (likely(!pkt_is_chain(p)))
        return true;
    return rte_mbuf_refcnt_read(&p->m) == 1 && RTE_MBUF_DIRECT(&p->m) &&
           rte_pktmbuf_linearize(&p->m) == 0;
}

// can_go: rte_eth_tx_prepare() lets the driver prepare a large segment, or refuse it.
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

static int socket_fds(struct port *p, uint16_t q, int *out, unsigned max)
{
    const struct ethdev *e = p->priv;
    (void)q;
    const unsigned n = e->kernel != NULL ? kernel_side_sockets(e->kernel, out, max) : 0;
    return n != 0 && n <= max ? (int)n : PORT_WAIT_NOT;
}

const struct port_wait ethdev_socket_wait = {.fds = socket_fds};

// read_device: not what a device that was pulled out has counted: all its registers read as ones.
static void read_device(struct ethdev *e)
{
    struct rte_eth_stats s;
    if (!pci_slot_answers(&e->slot) || rte_eth_stats_get(e->id, &s) != 0 ||
        !pci_slot_answers(&e->slot))
        return;
    e->seen = (struct port_stats){.rx_packets = s.ipackets,
                                  .rx_bytes = s.ibytes,
                                  .tx_packets = s.opackets,
                                  .tx_bytes = s.obytes,
                                  .rx_missed = s.imissed,
                                  .rx_nombuf = s.rx_nombuf,
                                  .rx_errors = s.ierrors,
                                  .tx_errors = s.oerrors};
    if (e->nic->drops_in_queue)
        for (unsigned q = 0; q < RTE_ETHDEV_QUEUE_STAT_CNTRS; q++)
            e->seen.rx_missed += s.q_errors[q];
}

void ethdev_device_stats(struct ethdev *e, struct port_stats *sum)
{
    read_device(e);
    sum->rx_packets += e->seen.rx_packets;
    sum->rx_bytes += e->seen.rx_bytes;
    sum->tx_packets += e->seen.tx_packets;
    sum->tx_bytes += e->seen.tx_bytes;
    sum->rx_missed += e->seen.rx_missed;
    sum->rx_nombuf += e->seen.rx_nombuf;
    sum->rx_errors += e->seen.rx_errors;
    sum->tx_errors += e->seen.tx_errors;
    if (e->kernel != NULL)
        kernel_side_add(e->kernel, sum);
}

void ethdev_stats(struct port *p, struct port_stats *out)
{
    struct ethdev *e = p->priv;
    *out = e->away.base;
    if (!e->away.closed)
        ethdev_device_stats(e, out);
    for (unsigned q = 0; q < p->queues; q++)
        out->tx_no_device += __atomic_load_n(&e->away.tx_no_device[q], __ATOMIC_RELAXED);
    out->tx_errors += out->tx_no_device;
    for (unsigned q = 0; q < p->queues; q++)
        out->tx_errors += __atomic_load_n(&e->tx_refused[q], __ATOMIC_RELAXED);
}
