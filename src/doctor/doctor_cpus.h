// SPDX-License-Identifier: BSD-3-Clause
// doctor_cpus.h: sets of CPUs, in the two notations of the kernel: lists ("0-3,8") and masks
// ("000f,00000103": words of 32 bits, the highest first).
#pragma once
#include "base/base.h"

enum { DOCTOR_CPUS_MAX = 1024, DOCTOR_CPUS_TEXT_BYTES = 4096 };

struct doctor_cpus {
    uint64_t bits[DOCTOR_CPUS_MAX / 64];
};

void doctor_cpus_add(struct doctor_cpus *set, unsigned cpu);
bool doctor_cpus_has(const struct doctor_cpus *set, unsigned cpu);
unsigned doctor_cpus_count(const struct doctor_cpus *set);

// doctor_cpus_and, doctor_cpus_less: the CPUs of both; those of a that are not in b.
struct doctor_cpus doctor_cpus_and(const struct doctor_cpus *a, const struct doctor_cpus *b);
struct doctor_cpus doctor_cpus_less(const struct doctor_cpus *a, const struct doctor_cpus *b);
struct doctor_cpus doctor_cpus_or(const struct doctor_cpus *a, const struct doctor_cpus *b);

// doctor_cpus_parse_list, doctor_cpus_parse_mask: false: the text is no list, or no mask. An empty
// text is the empty set.
bool doctor_cpus_parse_list(struct doctor_cpus *set, const char *text);
bool doctor_cpus_parse_mask(struct doctor_cpus *set, const char *text);

// doctor_cpus_list, doctor_cpus_mask: write the set into out and return out.
const char *doctor_cpus_list(const struct doctor_cpus *set, char out[DOCTOR_CPUS_TEXT_BYTES]);
const char *doctor_cpus_mask(const struct doctor_cpus *set, char out[DOCTOR_CPUS_TEXT_BYTES]);
