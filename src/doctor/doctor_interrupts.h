// SPDX-License-Identifier: BSD-3-Clause
// doctor_interrupts.h: on which CPUs interrupts may run.
#pragma once
#include "doctor/doctor.h"

// doctor_interrupts_rescue: moves the interrupts that may run on no online CPU but those of `off`,
// before these go off line: the kernel would widen their affinity to all CPUs, and an undo could
// not know what it was.
void doctor_interrupts_rescue(const struct doctor *d, const struct doctor_cpus *off,
                              struct doctor_changes *out);
