// SPDX-License-Identifier: BSD-3-Clause
// subprocess.h: runs a measurement in a process of its own: EAL starts once in a process, and what
// one measurement leaves in the heap and the tables must not meet the next.
#pragma once
#include "base/err.h"

// bench_subprocess: fn(arg, result) in a child; result[0..bytes) comes back, at most 64 KiB. fn
// gives 0, or -1 and *err. 0, or -1 and *err: what fn said, or how the child ended.
int bench_subprocess(int (*fn)(const void *arg, void *result, struct err *err), const void *arg,
                     void *result, size_t bytes, struct err *err);
