// SPDX-License-Identifier: BSD-3-Clause
// doctor_rows.h: the functions of the rows, by subject: one file for each block.
#pragma once
#include "doctor/doctor.h"

#define DOCTOR_LOOK(row) void doctor_look_##row(const struct doctor *d, struct doctor_finding *f)
#define DOCTOR_PLAN(row) void doctor_plan_##row(const struct doctor *d, struct doctor_changes *out)

// doctor_hugepages.c
DOCTOR_LOOK(hugepages);
DOCTOR_PLAN(hugepages);
DOCTOR_LOOK(hugepages_boot);
DOCTOR_PLAN(hugepages_boot);
DOCTOR_LOOK(thp);
DOCTOR_PLAN(thp);

// doctor_binding.c
DOCTOR_LOOK(iommu);
DOCTOR_LOOK(vfio);
DOCTOR_PLAN(vfio);
DOCTOR_LOOK(nic_free);
DOCTOR_LOOK(nic_driver);
DOCTOR_PLAN(nic_driver);
DOCTOR_LOOK(nic_boot);
DOCTOR_PLAN(nic_boot);

// doctor_isolation.c
DOCTOR_LOOK(isolation);
DOCTOR_LOOK(siblings);
DOCTOR_PLAN(siblings);

// doctor_interrupts.c
DOCTOR_LOOK(irq_affinity);
DOCTOR_PLAN(irq_affinity);
DOCTOR_LOOK(workqueues);
DOCTOR_PLAN(workqueues);
DOCTOR_LOOK(irqbalance);
DOCTOR_PLAN(irqbalance);

// doctor_power.c
DOCTOR_LOOK(governor);
DOCTOR_PLAN(governor);
DOCTOR_LOOK(cstates);
DOCTOR_PLAN(cstates);
DOCTOR_LOOK(idle);

// doctor_placement.c
DOCTOR_LOOK(numa);
DOCTOR_LOOK(pcie);
DOCTOR_LOOK(queues);

// doctor_limits.c
DOCTOR_LOOK(memlock);
DOCTOR_LOOK(nofile);

// doctor_rights.c
DOCTOR_LOOK(user);
DOCTOR_LOOK(capabilities);
DOCTOR_LOOK(confinement);

// doctor_others.c
DOCTOR_LOOK(cores_taken);
DOCTOR_LOOK(device_taken);
