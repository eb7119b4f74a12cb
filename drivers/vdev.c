// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/vdev.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

// has_plugin: DPDK loads librte_net_PMD.so.23.0, and librte_net_PMD.so, which only the package for
// developers has.
static bool has_plugin(const char *pmd)
{
    char path[256];
    const int n = snprintf(path, sizeof(path), "%s/librte_net_%s.so.%d.0", RTE_EAL_PMD_PATH, pmd,
                           RTE_VER_YEAR + 1);
    if (n >= (int)sizeof(path) || access(path, R_OK) == 0)
        return true;
    *(strstr(path, ".so.") + sizeof(".so") - 1) = '\0';
    return access(path, R_OK) == 0;
}

int vdev_plugin_check(const struct port_params *p, const char *pmd, struct err *err)
{
    char path[256], package[64];
    if (RTE_EAL_PMD_PATH[0] == '\0' || has_plugin(pmd))
        return 0;
    snprintf(path, sizeof(path), "%s/librte_net_%s.so", RTE_EAL_PMD_PATH, pmd);
    const bool digit = isdigit((unsigned char)pmd[strlen(pmd) - 1]);  // Debian's "-" after a digit
    int len = snprintf(package, sizeof(package), "librte-net-%s%s%d", pmd, digit ? "-" : "",
                       RTE_VER_YEAR + 1);
    for (int i = 0; i < len && i < (int)sizeof(package); i++)
        if (package[i] == '_')
            package[i] = '-';
    return err_set(err, "port %s: driver %s: DPDK's plugin %s is missing: apt install %s", p->name,
                   p->driver, path, package);
}

// is_plugin_of: the plugin of net_null0 is librte_net_null.so.23.0, and that of net_bonding1 is
// librte_net_bond.so.23.0.
static bool is_plugin_of(const char *file, const char *device)
{
    static const char head[] = "librte_";
    const size_t n = strcspn(file, ".");
    return strncmp(file, head, sizeof(head) - 1) == 0 && n > sizeof(head) - 1 &&
           strncmp(device, file + sizeof(head) - 1, n - (sizeof(head) - 1)) == 0;
}

int vdev_name_check(const struct port_params *p, const char *device, struct err *err)
{
    bool found = false;
    DIR *d = RTE_EAL_PMD_PATH[0] == '\0' ? NULL : opendir(RTE_EAL_PMD_PATH);
    if (d == NULL)
        return 0;  // DPDK was linked statically, or loads no plugins
    for (const struct dirent *e; !found && (e = readdir(d)) != NULL;)
        found = is_plugin_of(e->d_name, device);
    closedir(d);
    return found ? 0
                 : err_set(err, "port %s: DPDK has no device %s among its plugins (see: ls %s)",
                           p->name, device, RTE_EAL_PMD_PATH);
}

static int interface_flags(const char *device)
{
    struct ifreq req = {0};
    strcpy(req.ifr_name, device);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int rc = fd < 0 ? -1 : ioctl(fd, SIOCGIFFLAGS, &req);
    if (fd >= 0)
        close(fd);
    return rc != 0 ? 0 : req.ifr_flags;
}

static int interface_check(const struct port_params *p, int family, struct err *err)
{
    const char *device = p->device != NULL ? p->device : "";
    if (device[0] == '\0' || strlen(device) >= IFNAMSIZ || strpbrk(device, "/, ") != NULL)
        return err_set(err,
                       "port %s: device = %s: an interface name of 1 to %d characters was expected",
                       p->name, device, IFNAMSIZ - 1);
    if (if_nametoindex(device) == 0)
        return err_set(err, "port %s: there is no interface %s (see: ip link)", p->name, device);
    if ((interface_flags(device) & IFF_UP) == 0)
        return err_set(err, "port %s: interface %s is down: ip link set %s up", p->name, device,
                       device);
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (fd >= 0) {
        close(fd);
        return 0;
    }
    if (errno == EAFNOSUPPORT)
        return err_set(err, "port %s: this kernel has no %s sockets", p->name,
                       family == AF_XDP ? "AF_XDP (CONFIG_XDP_SOCKETS)" : "AF_PACKET");
    return err_set(err, "port %s: driver %s: %s: run as root or with %s", p->name, p->driver,
                   strerror(errno),
                   family == AF_XDP ? "CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF" : "CAP_NET_RAW");
}

int vdev_kernel_check(const struct port_params *p, const char *pmd, int family, struct err *err)
{
    return interface_check(p, family, err) != 0 ? -1 : vdev_plugin_check(p, pmd, err);
}

int vdev_path_check(const struct port_params *p, const char *key, const char *path, unsigned max,
                    struct err *err)
{
    size_t len = path == NULL ? 0 : strlen(path);
    if (len >= 1 && len <= max && strpbrk(path, ", \t[]\"") == NULL)
        return 0;
    return err_set(err,
                   "port %s: %s = %s: a path of 1 to %u characters without comma, blank, quote or "
                   "bracket was expected",
                   p->name, key, path ? path : "", max);
}

// vdev_own_mac: the device filters by its own address, so the port must be promiscuous.
int vdev_own_mac(struct port *port, const struct port_params *p, struct err *err)
{
    if (!p->has_mac)
        return 0;
    if (p->mac.b[0] & 1)
        return err_set(err, "port %s: mac: not a multicast address", p->name);
    int rc = rte_eth_promiscuous_enable(((struct ethdev *)port->priv)->id);
    if (rc != 0 && rc != -ENOTSUP)
        return err_set(err,
                       "port %s: mac: the device does not receive frames for another address: %s",
                       p->name, rte_strerror(-rc));
    port->mac = p->mac;
    return 0;
}

struct port *vdev_open(const struct port_params *params, const char *pmd, const char *args,
                       const struct ethdev_profile *profile, struct err *err)
{
    char name[RTE_DEV_NAME_MAX_LEN];
    uint16_t id;
    if (vdev_plugin_check(params, pmd, err) != 0)
        return NULL;
    snprintf(name, sizeof(name), "net_%s_%s", pmd, params->name);
    int rc = rte_eal_hotplug_add("vdev", name, args);
    if (rc != 0 || rte_eth_dev_get_port_by_name(name, &id) != 0) {
        err_set(err, "port %s: driver %s: the device could not be created (%s): %s", params->name,
                params->driver, args, rc != 0 ? rte_strerror(-rc) : "no port");
        if (rc == 0)
            rte_eal_hotplug_remove("vdev", name);
        return NULL;
    }
    struct port *p = ethdev_open(id, params, profile, err);
    if (p == NULL) {
        rte_eal_hotplug_remove("vdev", name);
        return NULL;
    }
    if (vdev_own_mac(p, params, err) != 0) {
        vdev_close(p);
        return NULL;
    }
    return p;
}

struct port *vdev_open_kernel(const struct port_params *params, const char *pmd, const char *args,
                              const struct ethdev_profile *profile, int family, struct err *err)
{
    struct kernel_side *k = kernel_side_begin(params, family);
    struct port *p = vdev_open(params, pmd, args, profile, err);
    if (p == NULL) {
        kernel_side_abandon(k);
        return NULL;
    }
    kernel_side_opened(k, false);
    ((struct ethdev *)p->priv)->kernel = k;
    return p;
}

void vdev_close(struct port *p)
{
    char name[RTE_ETH_NAME_MAX_LEN];
    int rc = rte_eth_dev_get_name_by_port(((struct ethdev *)p->priv)->id, name);
    ethdev_close(p);
    if (rc == 0)
        rte_eal_hotplug_remove(strncmp(name, "net_", 4) == 0 ? "vdev" : "pci", name);
}
