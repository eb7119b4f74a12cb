// SPDX-License-Identifier: BSD-3-Clause
// doctor_process.h: other processes, by /proc.
#pragma once
#include "doctor/doctor_cpus.h"
#include "doctor/doctor_host.h"

enum { DOCTOR_COMM_BYTES = 32 };

// doctor_process_named: the first process of root of that name, as any user can give one of his any
// name; 0: there is none.
long doctor_process_named(const struct doctor_host *h, const char *name);

// doctor_process_comm: its name, "" if it is gone. Whatever a terminal would not print is "?".
void doctor_process_comm(const struct doctor_host *h, long pid, char out[DOCTOR_COMM_BYTES]);

// doctor_process_holds: a process but this one that has the file `target` open; 0: none that may be
// seen. hidden: set if there are processes whose files this user may not see.
long doctor_process_holds(const struct doctor_host *h, const char *target, bool *hidden);

// doctor_process_pinned: the CPUs to which threads of the process are bound, one thread to one CPU.
struct doctor_cpus doctor_process_pinned(const struct doctor_host *h, long pid);
