// SPDX-License-Identifier: BSD-3-Clause
// bench_prof.h: the flags --cpuprofile, --memprofile and --trace of `c10m bench`, for benchmarks
// with a server in this process. While it is measured, a thread of its own takes the profiles, on
// the client's core: the thread that is the control thread elsewhere is the client here, and has no
// time. Without flags the functions do nothing. Client's thread.
#pragma once
#include "prof/prof_files.h"

// bench_prof_options: takes the flags out of argv. Returns 0, or -1 with *err: a value is missing,
// or a file cannot be created. bench_prof_wanted: whether there were any.
int bench_prof_options(int *argc, char **argv, struct err *err);
bool bench_prof_wanted(void);

// bench_prof_begin: of this server, whose workers stand still; once. bench_prof_end: takes the
// memory profile, and writes all files, while the connections still exist and the workers stand
// still again; a second call does nothing. Return 0, or -1 with *err.
int bench_prof_begin(struct server *s, struct err *err);
int bench_prof_end(struct err *err);

#define BENCH_PROF_HELP PROF_FILES_HELP
