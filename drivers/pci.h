// SPDX-License-Identifier: BSD-3-Clause
// pci.h: a port on any device that DPDK has a driver for: a NIC by its PCI address, bound to
// vfio-pci, or by name one of DPDK's own devices that need no hardware (net_null0, net_ring0). What
// it offers of checksums, chains, TSO and RSS is taken, the rest is done in software.
#pragma once
#include "pkt/port.h"

// pci_open: params->device is the PCI address (which eal_start() was given), or net_NAME. Control
// thread. NULL: err says why and what to do (no such device, bound to the kernel, no driver).
struct port *pci_open(const struct port_params *params, struct err *err);

// pci_check: refuses what pci_open would refuse, and takes no resources. 0, or -1 with the reason.
int pci_check(const struct port_params *params, struct err *err);
