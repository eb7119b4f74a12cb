// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_xdp.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <rte_eal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

// As many buffers as DPDK 22.11 gives to the kernel: with fewer places what is lost for want of one
// would be in no counter of the device.
enum { RING_DEFAULT = 2048 };

static const struct port_ops ops = {
    .driver = "af_xdp",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
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

int af_xdp_check(const struct port_params *params, struct err *err)
{
    return vdev_kernel_check(params, "af_xdp", AF_XDP, err);
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
    return vdev_open_kernel(&p, "af_xdp", args, &profile, AF_XDP, err);
}
