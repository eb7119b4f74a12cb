// SPDX-License-Identifier: BSD-3-Clause
// report_machine.h: what `c10m report` says about this machine and about a NIC. Nothing of it names
// the machine, its owner or its network: no address, name or serial number.
#pragma once
#include "base/text.h"

// report_machine: appends lines `NAME VALUE`: CPU, hypervisor, memory, hugepages, kernel, and what
// of the boot line isolates cores. sys_root and proc_root: "/sys" and "/proc".
void report_machine(const char *sys_root, const char *proc_root, struct text *out);

// report_nic: appends what sysfs tells of the PCI device at `address`, as 0000:01:00.0: its vendor
// and device numbers, and its PCIe link. Nothing if there is no such device.
void report_nic(const char *sys_root, const char *address, struct text *out);
