// capture_filter.h: the filters of dumps (worker/capture.h), made by the control thread and run by
// the workers.
#pragma once
#include "base/err.h"
#include "worker/capture.h"

enum { TAP_PROGRAM_MAX = 1024 };  // instructions of a filter

// tap_filter_new: a program of classic BPF in tcpdump -ddd's form, blanks or commas between the
// numbers: "COUNT CODE JT JF K CODE JT JF K ...", checked, converted and verified.
// NULL: *err. Control thread.
struct tap_filter *tap_filter_new(const char *program, struct err *err);
void tap_filter_free(struct tap_filter *f);
