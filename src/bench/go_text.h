// SPDX-License-Identifier: BSD-3-Clause
// go_text.h: results in Go's benchmark format (https://go.dev/design/14313-benchmark-format), which
// benchstat and scripts/bench-compare read. Each benchmark prints one JSON object; it becomes
//
//     BenchmarkEcho/connections=1000-2    1    163.2 bare-cycles    14000000 server-packets/s
//
// - An object in an array is a line. The array's name follows that of the benchmark, unless it is
//   "rows", and then those members that name the case (a table in go_text.c).
// - Every other number is a value; its name is the unit (go_unit.h).
// - The members of an object called "ns" are lines of their own, in ns/op.
// - The top-level object is a line if it has no arrays. Otherwise its members are conditions, which
//   are left out, because benchstat would compare no two runs whose conditions differ.
// Control side; one thread.
#pragma once
#include "base/text.h"

enum { GO_TEXT_BYTES_MAX = 1 << 20 };

// go_text_head: appends the lines about the machine: system, package, processor.
void go_text_head(struct text *out);

// go_text: appends the lines for the JSON object. name: of the benchmark, e.g. "echo"; cpus: the
// number behind the last '-'. Returns 0, or -1 if json is not what a benchmark prints, or if out is
// full (out->error).
int go_text(const char *json, const char *name, unsigned cpus, struct text *out);

// go_text_wanted: whether --go is among the options.
bool go_text_wanted(int argc, char **argv);

// go_text_run: runs the benchmark argv[0] with these options, in which it replaces --go by --json,
// and prints its result in Go's format, or nothing if it fails. Returns its exit status.
int go_text_run(int argc, char **argv, int (*run)(int argc, char **argv));
