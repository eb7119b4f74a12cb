// SPDX-License-Identifier: BSD-3-Clause
// subprocess.h: runs a measurement in a separate process, because EAL starts only once in a
// process, and the state of heap and tables after a measurement must not affect the next one.
#pragma once
#include "base/err.h"

// bench_subprocess: calls fn(arg, result) in a child process and copies result[0..bytes), at most
// 64 KiB, to the caller. fn returns 0, or -1 with the reason in *err. Returns 0, or -1 with *err of
// fn or the exit status of the child.
int bench_subprocess(int (*fn)(const void *arg, void *result, struct err *err), const void *arg,
                     void *result, size_t bytes, struct err *err);
