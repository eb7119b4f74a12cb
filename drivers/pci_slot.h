// SPDX-License-Identifier: BSD-3-Clause
// pci_slot.h: whether the PCI device that was opened at an address is still there.
//
// On hot unplug, `remove` and `unbind`, Linux removes the link `driver` of the device in sysfs, and
// then asks the driver to let the device go. vfio-pci waits until the device has been closed. A
// device that is bound again has a new link, which has another inode number.
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/pci_address.h"

// pci_slot: an empty address: the port has no PCI device, which then is always there.
struct pci_slot {
    char address[PCI_ADDRESS_BYTES];
    ino_t driver_link;  // 0: there was none
};

// pci_slot_take: the device that is at this address now.
void pci_slot_take(struct pci_slot *s, const char *address);

// pci_slot_is_left: whether Linux takes the device away, or has taken it. It may still answer.
bool pci_slot_is_left(const struct pci_slot *s);

// pci_slot_answers: false: all registers of the device read as ones, because it was pulled out
// before Linux knew, or it does not exist.
bool pci_slot_answers(const struct pci_slot *s);
