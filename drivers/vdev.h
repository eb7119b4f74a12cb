// SPDX-License-Identifier: BSD-3-Clause
// vdev.h: functions that the ports on DPDK's virtual devices share. The device is created for the
// port and removed with it.
#pragma once
#include "drivers/ethdev.h"

// vdev_open: creates the device net_PMD_PORT with these arguments and opens it with `profile`. If
// params->has_mac is set, the port gets that address; a device that filters addresses is set to
// receive everything. If it fails, it leaves nothing behind and returns NULL with the reason in
// *err, which names the Debian package of a missing plugin.
struct port *vdev_open(const struct port_params *params, const char *pmd, const char *args,
                       const struct ethdev_profile *profile, struct err *err);

// vdev_open_kernel: the same for the kernel interface params->device. Packets that the interface or
// the device's sockets lose are counted (kernel_side.h); `family` is that of the sockets.
struct port *vdev_open_kernel(const struct port_params *params, const char *pmd, const char *args,
                              const struct ethdev_profile *profile, int family, struct err *err);

// vdev_close: closes a port of vdev_open() or pci_open() and removes its device.
void vdev_close(struct port *p);

// vdev_own_mac: if p->has_mac is set, gives the open port that address, and sets its device to
// receive everything. Returns 0, or -1 with the reason in *err.
int vdev_own_mac(struct port *port, const struct port_params *p, struct err *err);

// vdev_plugin_check: whether the folder of DPDK's plugins has net_PMD. Returns 0, or -1; then *err
// names the package to install.
int vdev_plugin_check(const struct port_params *params, const char *pmd, struct err *err);

// vdev_name_check: whether a plugin of DPDK has the driver for a virtual device of this name, such
// as net_null0. Returns 0, or -1 with the reason in *err.
int vdev_name_check(const struct port_params *params, const char *device, struct err *err);

// vdev_kernel_check: checks that params->device is a kernel interface that is up, that this process
// may open a socket of that family (AF_PACKET, AF_XDP), and that the folder of plugins has net_PMD.
// Returns 0, or -1 with the remedy in *err.
int vdev_kernel_check(const struct port_params *params, const char *pmd, int family,
                      struct err *err);

// vdev_path_check: checks that the arguments of a device can contain `path`: 1 to max characters,
// without comma or blank. `key` is its name in the message. Returns 0, or -1 with the reason in
// *err.
int vdev_path_check(const struct port_params *params, const char *key, const char *path,
                    unsigned max, struct err *err);
