// SPDX-License-Identifier: BSD-3-Clause
// nic_device.h: which of DPDK's drivers a PCI device needs, by what Linux says of the device: its
// own table of devices and modules is on every machine, and names those of DPDK's drivers as well.
#pragma once
#include "drivers/nic_profiles.h"

// nic_of_device: the profile for the device whose `modalias` file is given, by the table
// `modules.alias` of a kernel; NULL: a file is not there, or no profile fits.
const struct nic_profile *nic_of_device(const char *modalias_path, const char *aliases_path);

// nic_of_address: the same for a PCI address of this machine and its running kernel.
const struct nic_profile *nic_of_address(const char *address);
