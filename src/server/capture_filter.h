// SPDX-License-Identifier: BSD-3-Clause
// capture_filter.h: the filters of dumps (worker/capture.h), made by the control thread and run by
// the workers.
#pragma once
#include "base/err.h"
#include "worker/capture.h"

enum { CAPTURE_PROGRAM_MAX = 1024 };  // instructions of a filter

// capture_filter_new: a program of classic BPF in tcpdump -ddd's form, blanks or commas between the
// numbers: "COUNT CODE JT JF K CODE JT JF K ...", checked, converted and verified.
// NULL: *err. Control thread.
struct capture_filter *capture_filter_new(const char *program, struct err *err);
void capture_filter_free(struct capture_filter *f);
