// SPDX-License-Identifier: BSD-3-Clause
// pci_driver.h: the kernel's drivers that give a PCI device to a process.
#pragma once
#include <stdbool.h>
#include <string.h>

// pci_driver_is_user_space: DPDK reaches a device that is bound to this driver.
static inline bool pci_driver_is_user_space(const char *driver)
{
    return strcmp(driver, "vfio-pci") == 0 || strcmp(driver, "uio_pci_generic") == 0 ||
           strcmp(driver, "igb_uio") == 0;
}
