// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif.h"

#include <rte_log.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

enum {
    SOCKET_PATH_MAX = 107,  // sun_path
    RING_DEFAULT = 1024,
    RING_MAX = 16384,  // MEMIF_MAX_LOG2_RING_SIZE is 14
};

static const struct port_ops ops = {
    .driver = "memif",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
};

// No MULTI_SEGS: a frame then lies in one buffer of the peer, as one packet.
static const struct ethdev_profile profile = {.ops = &ops};

// The folder of the socket has to be there, and the socket for a client: DPDK would only say that
// it failed.
static int check_socket(const struct port_params *p, struct err *err)
{
    char folder[SOCKET_PATH_MAX + 1];
    strcpy(folder, p->device);
    char *slash = strrchr(folder, '/');
    if (folder[0] != '/')
        return err_set(err, "port %s: device = %s: the absolute path of a socket was expected",
                       p->name, p->device);
    slash[slash == folder] = '\0';
    if (access(folder, W_OK | X_OK) != 0)
        return err_set(err, "port %s: device = %s: the folder is not there or not writable",
                       p->name, p->device);
    if (p->memif_client && access(p->device, F_OK) != 0)
        return err_set(err, "port %s: device = %s: no server has made it yet: start that first",
                       p->name, p->device);
    return 0;
}

static uint32_t ring_of(const struct port_params *params)
{
    return params->rx_ring ? params->rx_ring : RING_DEFAULT;
}

int memif_check(const struct port_params *params, struct err *err)
{
    const uint32_t ring = ring_of(params);
    if (vdev_path_check(params, "device", params->device, SOCKET_PATH_MAX, err) != 0 ||
        check_socket(params, err) != 0)
        return -1;
    if (ring > RING_MAX || (ring & (ring - 1)) != 0)
        return err_set(err, "port %s: rx_ring = %u: a power of two up to %d was expected",
                       params->name, ring, RING_MAX);
    return vdev_plugin_check(params, "memif", err);
}

struct port *memif_open(const struct port_params *params, struct err *err)
{
    const uint32_t ring = ring_of(params);
    if (memif_check(params, err) != 0)
        return NULL;
    char args[256];
    snprintf(args, sizeof(args), "role=%s,id=%u,socket=%s,socket-abstract=no,rsize=%d,bsize=%d",
             params->memif_client ? "client" : "server", params->memif_id, params->device,
             __builtin_ctz(ring), PKT_ROOM);
    // It warns where other processes cannot share its memory (hugepage = none): nobody wants to.
    rte_log_set_level_pattern("pmd.net.memif", RTE_LOG_ERR);
    // A queue that the peer does not have as well would carry nothing.
    struct port_params one = *params;
    one.queues = 1;
    return vdev_open(&one, "memif", args, &profile, err);
}
