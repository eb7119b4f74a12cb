// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/pci.h"

#include <limits.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pci_address.h"
#include "base/pci_driver.h"
#include "drivers/eal.h"
#include "drivers/ethdev_replug.h"
#include "drivers/ethdev_view.h"
#include "drivers/nic_device.h"
#include "drivers/open_watch.h"
#include "drivers/vdev.h"

// close_port: the driver of a device that does not answer may wait for its registers for ever.
static void close_port(struct port *p)
{
    struct ethdev *e = p->priv;
    if (pci_slot_answers(&e->slot)) {
        vdev_close(p);
        return;
    }
    eal_leave_devices();
    free(e);
}

static bool line(struct port *p, uint16_t q, struct rte_power_monitor_cond *out)
{
    return rte_eth_get_monitor_addr(((struct ethdev *)p->priv)->id, q, out) == 0;
}

static const struct port_wait wait = {.line = line};

static const struct port_replug replug;

static const struct port_ops ops = {
    .driver = "pci",
    .rx_burst = ethdev_rx_burst,
    .rx_waiting = ethdev_rx_waiting,
    .tx_burst = ethdev_tx_burst,
    .stats = ethdev_stats,
    .close = close_port,
    .view = &ethdev_view,
    .replug = &replug,
    .wait = &wait,
};

static const struct ethdev_profile profile = {
    .ops = &ops,
    .rx_offloads =
        RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_TCP_CKSUM | RTE_ETH_RX_OFFLOAD_UDP_CKSUM,
    .tx_offloads = RTE_ETH_TX_OFFLOAD_IPV4_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_CKSUM |
                   RTE_ETH_TX_OFFLOAD_UDP_CKSUM | RTE_ETH_TX_OFFLOAD_MULTI_SEGS |
                   RTE_ETH_TX_OFFLOAD_TCP_TSO,
    .rx_jumbo = RTE_ETH_RX_OFFLOAD_SCATTER,
    .filters_mac = true,
    .rss = true,
};

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
    if (!pci_driver_is_user_space(driver))
        return err_set(
            err,
            "port %s: PCI device %s is bound to %s: c10m doctor fix nic-driver, with the "
            "same configuration (docs/doctor.md)",
            p->name, address, driver);
    return 0;
}

// check_plugin: 0, or -1 with the name of the package if the plugin for this device is missing.
// nic: NULL if the needed plugin is not known.
static int check_plugin(const struct port_params *p, const struct nic_profile *nic, struct err *err)
{
    return nic == NULL ? 0 : vdev_plugin_check(p, nic->plugin, err);
}

// explain: why a PCI device that EAL may open has no DPDK port.
static int explain(const struct port_params *p, const char *address, struct err *err)
{
    const struct nic_profile *nic = nic_of_address(address);
    if (check_bound(p, address, err) != 0 || check_plugin(p, nic, err) != 0)
        return -1;
    if (nic != NULL)
        return err_set(
            err,
            "port %s: PCI device %s: DPDK's driver %s could not open it (its own message "
            "is above)",
            p->name, address, nic->plugin);
    return err_set(err,
                   "port %s: PCI device %s: DPDK has no driver for it among its plugins, or could "
                   "not open it (its own message is above)",
                   p->name, address);
}

// find: probes the device if necessary. name: the device's name in DPDK.
static int find(const struct port_params *p, char name[PCI_ADDRESS_BYTES], uint16_t *id,
                struct err *err)
{
    bool virtual = strncmp(p->device, "net_", 4) == 0;
    const char *bus = virtual ? "vdev" : "pci";
    if (virtual)
        snprintf(name, PCI_ADDRESS_BYTES, "%.50s", p->device);
    else
        pci_address_full(p->device, name);
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

// pci_check: some of DPDK's drivers (mlx5) work together with the kernel's driver, to which the
// device stays bound.
int pci_check(const struct port_params *params, struct err *err)
{
    char name[PCI_ADDRESS_BYTES], path[96];
    if (check_name(params, err) != 0)
        return -1;
    if (strncmp(params->device, "net_", 4) == 0)
        return vdev_name_check(params, params->device, err);
    pci_address_full(params->device, name);
    snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.40s/infiniband", name);
    if (access(path, F_OK) != 0 && check_bound(params, name, err) != 0)
        return -1;
    return check_plugin(params, nic_of_address(name), err);
}

// hint: what to check if this driver does not return.
static const char *hint(const char *dpdk_driver)
{
    return strcmp(dpdk_driver, "net_virtio") == 0
               ? " (virtio behind an IOMMU has to offer VIRTIO_F_ACCESS_PLATFORM; QEMU: "
                 "iommu_platform=on)"
               : "";
}

// open_device: opens the device. The driver may take up to open_ms.
static struct port *open_device(uint16_t id, const char *name, const struct port_params *params,
                                struct err *err)
{
    struct rte_eth_dev_info info;
    char what[256];
    const char *driver = rte_eth_dev_info_get(id, &info) == 0 ? info.driver_name : "unknown";
    snprintf(what, sizeof(what), "port %s: device %s, driver %s%s", params->name, name, driver,
             hint(driver));
    log_say(LOG_port, LOG_INFO, "opening port %s: device %s, driver %s", params->name, name,
            driver);
    struct open_watch *watch =
        params->open_ms != 0 ? open_watch_begin(params->open_ms, what) : NULL;
    struct port *p = ethdev_open(id, params, &profile, err);
    open_watch_end(watch);
    return p;
}

struct port *pci_open(const struct port_params *params, struct err *err)
{
    char name[PCI_ADDRESS_BYTES];
    struct pci_slot slot = {.address = ""};
    uint16_t id;
    if (check_name(params, err) != 0)
        return NULL;
    if (strncmp(params->device, "net_", 4) != 0)
        pci_slot_take(&slot, params->device);
    if (find(params, name, &id, err) != 0)
        return NULL;
    struct port *p = open_device(id, name, params, err);
    if (p == NULL) {
        rte_eal_hotplug_remove(slot.address[0] == '\0' ? "vdev" : "pci", name);
        return NULL;
    }
    ((struct ethdev *)p->priv)->slot = slot;
    if (params->has_mac && vdev_own_mac(p, params, err) != 0) {
        ops.close(p);
        return NULL;
    }
    return p;
}

// attach: EAL finds the device before the workers wait, because that takes longest and needs none
// of their packets. A device that EAL has, but no port, would never be released.
static int attach(struct port *p, const struct port_params *params, struct err *err)
{
    char name[PCI_ADDRESS_BYTES];
    uint16_t id;
    if (pci_check(params, err) != 0 || find(params, name, &id, err) != 0)
        return -1;
    if (ethdev_replug.attach(p, params, err) == 0)
        return 0;
    if (rte_eth_dev_get_port_by_name(name, &id) == 0)
        rte_eal_hotplug_remove("pci", name);
    return -1;
}

// detach: a driver that closes a device waits for its registers. If they read as ones, igb waits
// for ever. Such a device stays open.
static bool detach(struct port *p)
{
    const struct ethdev *e = p->priv;
    if (e->away.closed || pci_slot_answers(&e->slot))
        return ethdev_replug.detach(p);
    if (ethdev_leave(p))
        log_say(LOG_port, LOG_WARN,
                "port %s: PCI device %s does not answer, so that its driver cannot close it: "
                "restart the server",
                p->name, e->slot.address);
    return false;
}

static const struct port_replug replug = {.detach = detach, .attach = attach};
