// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_xdp.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rte_eal.h>
#include <rte_memory.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/af_xdp_rings.h"
#include "drivers/bpf_maps.h"
#include "drivers/ethdev_replug.h"
#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

// As many buffers as DPDK 22.11 gives to the kernel: with fewer places what is lost for want of one
// would be in no counter of the device.
enum { RING_DEFAULT = 2048 };

static void close_port(struct port *p)
{
    struct af_xdp_rings *rings = ((struct ethdev *)p->priv)->rings;
    struct bpf_maps *maps = bpf_maps_note();
    af_xdp_rings_collect(rings);
    vdev_close(p);
    af_xdp_rings_free(rings);
    bpf_maps_close_rest(maps);
}

static const struct port_ops ops = {
    .driver = "af_xdp",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = close_port,
    .view = &ethdev_view,
    .wait = &ethdev_socket_wait,
};

// Of a port whose rings are known: each opening takes packets, and closing gives them back.
static const struct port_ops ops_replug = {
    .driver = "af_xdp",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = close_port,
    .view = &ethdev_view,
    .replug = &ethdev_replug,
    .wait = &ethdev_socket_wait,
};

// The device cannot send chains (MULTI_SEGS).
static const struct ethdev_profile profile = {.ops = &ops};

// The number of queues that both receive and send. 1 if the interface does not report it.
static unsigned combined_queues(const char *device)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ifreq req = {.ifr_data = (char *)&channels};
    strcpy(req.ifr_name, device);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const int rc = fd < 0 ? -1 : ioctl(fd, SIOCETHTOOL, &req);
    if (fd >= 0)
        close(fd);
    return rc == 0 && channels.combined_count != 0 ? channels.combined_count : 1;
}

// DPDK's net_af_xdp shares packets of one page at most with the kernel, and receives no frame in
// several of them.
int af_xdp_check(const struct port_params *params, struct err *err)
{
    if (params->mtu > PORT_MTU_SMALL) {
        err_set(err, "port %s: mtu = %u: at most %d was expected with driver af_xdp", params->name,
                params->mtu, PORT_MTU_SMALL);
        return err_key(err, "port.%s.mtu", params->name);
    }
    return vdev_kernel_check(params, "af_xdp", AF_XDP, err);
}

static void find_rings(struct port *port, const struct port_params *p)
{
    struct ethdev *e = port->priv;
    e->rings = af_xdp_rings_find(e->kernel, p->pools[0], p->rx_ring);
    e->failed_open_keeps_packets = true;
    if (e->rings != NULL)
        port->ops = &ops_replug;
}

// packets_that_fill: how many packets without gaps fill the memory of mp up to its last one. The
// memory behind that is DPDK's as well, except at the very end of it.
static uint32_t packets_that_fill(const struct rte_mempool *mp)
{
    const size_t each = mp->header_size + mp->elt_size + mp->trailer_size;
    const uintptr_t begin = (uintptr_t)STAILQ_FIRST(&mp->mem_list)->addr;
    uintptr_t end = begin;
    const struct rte_mempool_objhdr *packet = STAILQ_FIRST(&mp->elt_list);
    for (; packet != NULL; packet = STAILQ_NEXT(packet, next))
        end = MAX(end, (uintptr_t)packet + sizeof(*packet) - mp->header_size + each);
    const size_t n = (end - begin + each - 1) / each;
    const bool is_ours = rte_mem_virt2memseg((void *)(begin + n * each - 1), NULL) != NULL;
    return (uint32_t)(is_ours ? n : n - 1);
}

// open_whole: DPDK 22.11's net_af_xdp shares as many bytes of a pool with the kernel as its packets
// have without gaps (xdp_umem_configure()). But there is a gap in front of each hugepage, and the
// kernel would refuse the last packets. So while the queues are set up the pools have as many
// packets as fill their memory.
static struct port *open_whole(const struct port_params *p, const char *args, struct err *err)
{
    uint32_t sizes[PORT_QUEUES_MAX];
    for (unsigned q = 0; q < p->queues && p->pools[q] != NULL; q++) {
        sizes[q] = p->pools[q]->mp.populated_size;
        p->pools[q]->mp.populated_size = packets_that_fill(&p->pools[q]->mp);
    }
    struct port *port = vdev_open_kernel(p, "af_xdp", args, &profile, AF_XDP, err);
    for (unsigned q = 0; q < p->queues && p->pools[q] != NULL; q++)
        p->pools[q]->mp.populated_size = sizes[q];
    return port;
}

struct port *af_xdp_open(const struct port_params *params, struct err *err)
{
    if (af_xdp_check(params, err) != 0)
        return NULL;
    char args[96];
    struct port_params p = *params;
    if (p.rx_ring == 0)
        p.rx_ring = RING_DEFAULT;
    p.queues = (uint16_t)MIN((unsigned)params->queues, combined_queues(params->device));
    // Zero copy needs each frame in one piece of physical memory. Without hugepages frames cross
    // pages (pkt_pool_create()); the kernel would refuse these.
    snprintf(args, sizeof(args), "iface=%s,start_queue=0,queue_count=%u,force_copy=%d", p.device,
             p.queues, rte_eal_has_hugepages() ? 0 : 1);
    struct port *port = open_whole(&p, args, err);
    if (port != NULL && p.queues == 1)
        find_rings(port, &p);
    return port;
}
