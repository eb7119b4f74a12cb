// SPDX-License-Identifier: BSD-3-Clause
// doctor_pci.h: PCI devices, the interfaces on them, and what Linux uses these for.
#pragma once
#include "doctor/doctor.h"
#include "doctor/doctor_uses.h"

enum { DOCTOR_NAME_BYTES = 64, DOCTOR_USES_BYTES = 512 };

// doctor_pci_path: /sys/bus/pci/devices/ADDRESS/FILE. Returns out.
const char *doctor_pci_path(char out[DOCTOR_PATH_BYTES], const char *address, const char *file);

// doctor_pci_driver: the driver that the device is bound to, "" for none.
void doctor_pci_driver(const struct doctor_host *h, const char *address,
                       char out[DOCTOR_NAME_BYTES]);

// doctor_pci_interface: the first interface of Linux on the device, "" for none.
void doctor_pci_interface(const struct doctor_host *h, const char *address,
                          char out[DOCTOR_NAME_BYTES]);

// doctor_pci_beside: DPDK's driver works beside the kernel's (mlx5): the device stays bound.
bool doctor_pci_beside(const struct doctor_host *h, const char *address);

// doctor_pci_device_file: the file through which a process holds the device: /dev/vfio/GROUP, or
// /dev/uioN. False: it is bound to neither.
bool doctor_pci_device_file(const struct doctor_host *h, const char *address,
                            char out[DOCTOR_PATH_BYTES]);

// doctor_iommu_on: the kernel has an IOMMU in use. doctor_noiommu: vfio works without one, because
// somebody allowed it (enable_unsafe_noiommu_mode).
bool doctor_iommu_on(const struct doctor_host *h);
bool doctor_noiommu(const struct doctor_host *h);

// doctor_wanted_driver: what the device should be bound to: vfio-pci, or uio_pci_generic where no
// IOMMU lets vfio-pci work.
const char *doctor_wanted_driver(const struct doctor_host *h);

// doctor_bound: the device is bound to a driver through which DPDK reaches it.
bool doctor_bound(const struct doctor_host *h, const char *address);

// doctor_carries: whether Linux cannot do without the device: a default route or a session goes
// over one of its interfaces, or over one of its virtual functions, also through a bridge, a bond
// or a VLAN above it; or it is up, and one goes through a tunnel whose way is not known. `uses`
// says what.
bool doctor_carries(const struct doctor_host *h, const char *address, const struct doctor_uses *all,
                    char uses[DOCTOR_USES_BYTES]);
