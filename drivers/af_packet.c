// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/af_packet.h"

#include <stdio.h>
#include <sys/socket.h>

#include "drivers/ethdev_replug.h"
#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

enum {
    // Of each queue and direction, of 2 KiB each. A thousand connections that each send a segment
    // and an acknowledgment at once send 2,000 frames, and the worker may be late.
    FRAMES_DEFAULT = 4096,
    FRAME_BYTES = 2048,
    FRAME_HEAD = 128,  // more than the header that the kernel writes before the frame
    BLOCK_BYTES = 4096,
};

static const struct port_ops ops = {
    .driver = "af_packet",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
    .replug = &ethdev_replug,
};

// Without MULTI_SEGS ethdev.c copies each chain into one segment.
static const struct ethdev_profile profile = {.ops = &ops};

int af_packet_check(const struct port_params *params, struct err *err)
{
    return vdev_kernel_check(params, "af_packet", AF_PACKET, err);
}

struct port *af_packet_open(const struct port_params *params, struct err *err)
{
    if (af_packet_check(params, err) != 0)
        return NULL;
    uint32_t mtu = params->mtu ? params->mtu : PORT_MTU_DEFAULT;
    uint32_t frame = mtu + 18 > FRAME_BYTES - FRAME_HEAD ? BLOCK_BYTES : FRAME_BYTES;
    char args[192];
    snprintf(args, sizeof(args),
             "iface=%s,qpairs=%u,blocksz=%d,framesz=%u,framecnt=%u,qdisc_bypass=1", params->device,
             params->queues, BLOCK_BYTES, frame,
             params->rx_ring ? params->rx_ring : FRAMES_DEFAULT);
    return vdev_open_kernel(params, "af_packet", args, &profile, AF_PACKET, err);
}
