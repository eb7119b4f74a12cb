// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pci.h"

#include <ctype.h>
#include <limits.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "drivers/ethdev_view.h"
#include "drivers/vdev.h"

static const struct port_ops ops = {
    .driver = "pci",
    .rx_burst = ethdev_rx_burst,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = vdev_close,
    .view = &ethdev_view,
};

static const struct ethdev_profile profile = {
    .ops = &ops,
    .rx_offloads =
        RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
    .tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
                   RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                   RTE_ETH_TX_OFFLOAD_TCP_TSO,
    .rss = true,
};

// "01:00.0" is 0000:01:00.0, as DPDK and the kernel call it.
static void full_address(const char *device, char *out, size_t bytes)
{
    const char *colon = strchr(device, ':');
    bool domain = colon != NULL && strchr(colon + 1, ':') != NULL;
    snprintf(out, bytes, "%s%s", domain ? "" : "0000:", device);
    for (; *out != '\0'; out++)
        *out = (char)tolower((unsigned char)*out);
}

static int check_bound(const struct port_params *p, const char *address, struct err *err)
{
    char path[96], target[PATH_MAX];
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", address);
    if (access(path, F_OK) != 0)
        return err_set(err, "port %s: there is no PCI device %s (see: lspci -D)", p->name, address);
    strcat(path, "/driver");
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    target[len > 0 ? len : 0] = '\0';
    const char *driver = strrchr(target, '/');
    driver = driver == NULL ? "no driver" : driver + 1;
    if (strcmp(driver, "vfio-pci") != 0 && strcmp(driver, "uio_pci_generic") != 0 &&
        strcmp(driver, "igb_uio") != 0)
        return err_set(err,
                       "port %s: PCI device %s is bound to %s: dpdk-devbind.py --bind=vfio-pci %s",
                       p->name, address, driver, address);
    return 0;
}

// Why a PCI device that EAL was told of has no port.
static int explain(const struct port_params *p, const char *address, struct err *err)
{
    if (check_bound(p, address, err) != 0)
        return -1;
    return err_set(err,
                   "port %s: PCI device %s: DPDK has no driver for it among its plugins, or could "
                   "not open it (its own message is above)",
                   p->name, address);
}

// name: as DPDK calls the device.
static int find(const struct port_params *p, char *name, size_t bytes, uint16_t *id,
                struct err *err)
{
    bool virtual = strncmp(p->device, "net_", 4) == 0;
    const char *bus = virtual ? "vdev" : "pci";
    if (virtual)
        snprintf(name, bytes, "%s", p->device);
    else
        full_address(p->device, name, bytes);
    if (rte_eth_dev_get_port_by_name(name, id) == 0) {
        if (!virtual)
            return 0;
        return err_set(err, "port %s: device %s is in use", p->name, name);
    }
    int rc = rte_eal_hotplug_add(bus, name, "");
    if (rc == 0 && rte_eth_dev_get_port_by_name(name, id) == 0)
        return 0;
    if (rc == 0)
        rte_eal_hotplug_remove(bus, name);
    if (!virtual)
        return explain(p, name, err);
    return err_set(err, "port %s: DPDK has no device %s among its plugins: %s", p->name, name,
                   rc != 0 ? rte_strerror(-rc) : "no port");
}

static int check_name(const struct port_params *params, struct err *err)
{
    size_t len = params->device == NULL ? 0 : strlen(params->device);
    if (len >= 5 && len <= 40 && strpbrk(params->device, "/, ") == NULL)
        return 0;
    return err_set(err, "port %s: device = %s: a PCI address was expected, as 0000:01:00.0",
                   params->name, params->device ? params->device : "");
}

// Devices that DPDK's own drivers share with the kernel's (mlx5) are bound to those.
int pci_check(const struct port_params *params, struct err *err)
{
    char name[RTE_DEV_NAME_MAX_LEN], path[96];
    if (check_name(params, err) != 0)
        return -1;
    if (strncmp(params->device, "net_", 4) == 0)
        return 0;  // virtual: DPDK makes it
    full_address(params->device, name, sizeof(name));
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.40s/infiniband", name);
    return access(path, F_OK) == 0 ? 0 : check_bound(params, name, err);
}

struct port *pci_open(const struct port_params *params, struct err *err)
{
    char name[RTE_DEV_NAME_MAX_LEN];
    uint16_t id;
    if (check_name(params, err) != 0)
        return NULL;
    if (find(params, name, sizeof(name), &id, err) != 0)
        return NULL;
    struct port *p = ethdev_open(id, params, &profile, err);
    if (p == NULL) {
        rte_eal_hotplug_remove(strncmp(name, "net_", 4) == 0 ? "vdev" : "pci", name);
        return NULL;
    }
    if (params->has_mac && vdev_own_mac(p, params, err) != 0) {
        ops.close(p);
        return NULL;
    }
    return p;
}
