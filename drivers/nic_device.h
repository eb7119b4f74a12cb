// SPDX-License-Identifier: BSD-3-Clause
// nic_device.h: which DPDK driver a PCI device needs. The source is Linux's own table of devices
// and modules (modules.alias), which every machine has. Each profile names the modules of Linux for
// the devices of its DPDK driver.
#pragma once
#include "drivers/nic_profiles.h"

// nic_of_device: the profile for a device. modalias_path is the device's file `modalias`,
// aliases_path the table `modules.alias` of a kernel. NULL: a file is missing, or no profile fits.
const struct nic_profile *nic_of_device(const char *modalias_path, const char *aliases_path);

// nic_of_address: the same for a PCI address of this machine and its running kernel.
const struct nic_profile *nic_of_address(const char *address);
