// SPDX-License-Identifier: BSD-3-Clause
// pci.h: a port on any device that DPDK has a driver for: a NIC that is bound to vfio-pci, named by
// its PCI address, or one of DPDK's virtual devices, named as net_null0 or net_ring0. Checksums,
// chains, TSO and RSS are done by the device if it offers them, otherwise in software.
#pragma once
#include "pkt/port.h"

// pci_open: opens params->device: a PCI address that was in pci_allow of eal_start(), or net_NAME.
// Control thread. Returns NULL with the reason and the remedy in *err if it fails: no such device,
// bound to a driver of the kernel, no driver of DPDK.
struct port *pci_open(const struct port_params *params, struct err *err);

// pci_check: makes the checks of pci_open() without opening anything. Returns 0, or -1 with the
// reason in *err.
int pci_check(const struct port_params *params, struct err *err);
