// SPDX-License-Identifier: BSD-3-Clause
// doctor_boot.h: what this boot's command line says, and what the next boot will find.
#pragma once
#include "doctor/doctor_cpus.h"
#include "doctor/doctor_host.h"

// doctor_boot_word: the value of the last NAME=VALUE on the kernel's command line. False, and "":
// it is not there.
bool doctor_boot_word(const struct doctor_host *h, const char *name, char *out, size_t room);

// doctor_boot_cpus: the CPUs of NAME=LIST on the command line; words before the list, such as those
// of isolcpus=managed_irq,domain,2-3, are skipped.
void doctor_boot_cpus(const struct doctor_host *h, const char *name, struct doctor_cpus *out);

// doctor_boot_pages: the most pages of this size that the command line (hugepages=), sysctl.d
// (vm.nr_hugepages, of 2 MiB) or tmpfiles.d (nr_hugepages of nodes) reserves at boot; `from` says
// which of them, or "nothing".
uint64_t doctor_boot_pages(const struct doctor_host *h, size_t page_bytes,
                           char from[DOCTOR_PATH_BYTES]);
