// SPDX-License-Identifier: BSD-3-Clause
// vdev.h: functions that the ports on DPDK's virtual devices share. The device is created for the
// port and removed with it.
#pragma once
#include "drivers/ethdev.h"

// vdev_open: makes the device net_PMD_PORT with these arguments and opens it by `profile`. With
// params->has_mac the port takes that address and, where the device filters, everything that
// arrives. NULL: err says why (and which Debian package has a plugin that is not there), and
// nothing is left behind.
struct port *vdev_open(const struct port_params *params, const char *pmd, const char *args,
                       const struct ethdev_profile *profile, struct err *err);

// vdev_open_kernel: the same for params->device, an interface of the kernel. The packets that its
// sockets, of `family`, and the interface lose are counted (kernel_side.h).
struct port *vdev_open_kernel(const struct port_params *params, const char *pmd, const char *args,
                              const struct ethdev_profile *profile, int family, struct err *err);

// vdev_close: the `close` of such a port, or of one on a PCI device: removes the device as well.
void vdev_close(struct port *p);

// vdev_own_mac: with params->has_mac gives the open port that address and everything that arrives.
// 0, or -1 with the reason.
int vdev_own_mac(struct port *port, const struct port_params *p, struct err *err);

// vdev_plugin_check: 0, or -1 with the package to install if the plugin folder has no net_PMD.
int vdev_plugin_check(const struct port_params *params, const char *pmd, struct err *err);

// vdev_name_check: 0, or -1 if no plugin of DPDK is for a virtual device of this name, as
// net_null0.
int vdev_name_check(const struct port_params *params, const char *device, struct err *err);

// vdev_kernel_check: is params->device a kernel interface that is up, may this process open a
// socket of that family (AF_PACKET, AF_XDP), and is net_PMD in the plugin folder? Else -1 with what
// to do.
int vdev_kernel_check(const struct port_params *params, const char *pmd, int family,
                      struct err *err);

// vdev_path_check: is `path` one that a device's arguments can carry: 1 to max characters, without
// comma or blank? Else -1; `key` is its name in the message.
int vdev_path_check(const struct port_params *params, const char *key, const char *path,
                    unsigned max, struct err *err);
