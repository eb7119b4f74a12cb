// SPDX-License-Identifier: BSD-3-Clause
// report_machine.h: the parts of `c10m report` about this machine and a NIC. They contain no
// address, name or serial number.
#pragma once
#include "base/text.h"

// report_machine: appends lines `NAME VALUE`: CPU, hypervisor, memory, hugepages, kernel, and the
// words of its command line that isolate cores. sys_root and proc_root: "/sys" and "/proc".
void report_machine(const char *sys_root, const char *proc_root, struct text *out);

// report_nic: appends vendor id, device id and PCIe link of the PCI device at `address`, such as
// 0000:01:00.0, from sysfs. Nothing if there is no such device.
void report_nic(const char *sys_root, const char *address, struct text *out);
