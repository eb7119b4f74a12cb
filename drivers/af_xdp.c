#include "drivers/af_xdp.h"

#include <stdio.h>
#include <sys/socket.h>

#include "drivers/vdev.h"

static const struct port_ops ops = {
    .driver = "af_xdp",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
};

// It has no MULTI_SEGS.
static const struct ethdev_profile profile = {.ops = &ops};

struct port *af_xdp_open(const struct port_params *params, struct err *err)
{
    if (vdev_interface_check(params, AF_XDP, err) != 0)
        return NULL;
    char args[96];
    snprintf(args, sizeof(args), "iface=%s,start_queue=0,queue_count=%u", params->device,
             params->queues);
    return vdev_open(params, "af_xdp", args, &profile, err);
}
