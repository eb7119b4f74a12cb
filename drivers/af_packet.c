// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_packet.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "drivers/ethdev_replug.h"
#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

enum {
    // Of each queue and direction, of 2 KiB each. A thousand connections that each send a segment
    // and an acknowledgment at once send 2,000 frames, and the worker may be late.
    FRAMES_DEFAULT = 4096,
    FRAME_BYTES = 2048,
    FRAME_HEAD = 128,  // the header that the kernel writes before the frame, and VLAN tags
    BLOCK_BYTES = 4096,
    // With jumbo frames. The driver wants what a frame has for data to fit in one packet, and
    // blocks of whole frames and pages.
    JUMBO_FRAMES_DEFAULT = 1024,
    JUMBO_FRAME_BYTES = PKT_JUMBO_ROOM,
    JUMBO_BLOCK_BYTES = 4 * JUMBO_FRAME_BYTES,
};

static_assert(FRAME_BYTES - FRAME_HEAD >= PORT_MTU_SMALL + 18, "a frame with its header");
static_assert(JUMBO_BLOCK_BYTES % BLOCK_BYTES == 0, "whole pages");
static_assert(JUMBO_FRAME_BYTES - FRAME_HEAD >= PORT_MTU_MAX + 18, "a frame with its header");

static const struct port_ops ops = {
    .driver = "af_packet",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
    .replug = &ethdev_replug,
    .wait = &ethdev_socket_wait,
};

// Without MULTI_SEGS ethdev.c copies each chain into one segment.
static const struct ethdev_profile profile = {.ops = &ops};
static const struct ethdev_profile profile_apart = {.ops = &ops, .keeps_mtu = true};

int af_packet_check(const struct port_params *params, struct err *err)
{
    return vdev_kernel_check(params, "af_packet", AF_PACKET, err);
}

// set_mtu: of the interface. DPDK's net_af_packet says that it takes no frame above 1,518 bytes, so
// that rte_eth_dev_set_mtu() would refuse a larger MTU; it takes what fits in its frames. Without
// the privilege, the interface may have the MTU already.
static int set_mtu(const struct port_params *p, struct err *err)
{
    struct ifreq req = {0};
    int rc = 0;
    strcpy(req.ifr_name, p->device);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFMTU, &req) != 0)
        rc = errno;
    if (rc == 0 && req.ifr_mtu != p->mtu) {
        req.ifr_mtu = p->mtu;
        rc = ioctl(fd, SIOCSIFMTU, &req) == 0 ? 0 : errno;
    }
    if (fd >= 0)
        close(fd);
    if (rc == 0)
        return 0;
    err_set(err, "port %s: mtu = %u: interface %s: %s", p->name, p->mtu, p->device, strerror(rc));
    return err_key(err, "port.%s.mtu", p->name);
}

struct port *af_packet_open(const struct port_params *params, struct err *err)
{
    const bool apart = params->mtu > PORT_MTU_DEFAULT, jumbo = params->mtu > PORT_MTU_SMALL;
    const uint32_t usual = jumbo ? JUMBO_FRAMES_DEFAULT : FRAMES_DEFAULT;
    char args[192];
    if (af_packet_check(params, err) != 0 || (apart && set_mtu(params, err) != 0))
        return NULL;
    snprintf(args, sizeof(args),
             "iface=%s,qpairs=%u,blocksz=%d,framesz=%d,framecnt=%u,qdisc_bypass=1", params->device,
             params->queues, jumbo ? JUMBO_BLOCK_BYTES : BLOCK_BYTES,
             jumbo ? JUMBO_FRAME_BYTES : FRAME_BYTES, params->rx_ring ? params->rx_ring : usual);
    return vdev_open_kernel(params, "af_packet", args, apart ? &profile_apart : &profile, AF_PACKET,
                            err);
}
