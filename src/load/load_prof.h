// SPDX-License-Identifier: BSD-3-Clause
// load_prof.h: the flags --cpuprofile, --memprofile and --trace of `c10m load`: profiles of the
// server in this process and of the client. Without flags the functions do nothing.
#pragma once
#include "load/load_run.h"

// load_prof_open: creates the files. load_prof_begin: when the server runs. load_prof_turn: in each
// turn of the client. load_prof_memory: when the last request is answered; the client waits, and
// counts this as one of its stalls. load_prof_end: before the server stops; also after an error of
// the others. All that return int: 0, or -1 with *err.
int load_prof_open(struct load_run *r, struct err *err);
int load_prof_begin(struct load_run *r, struct err *err);
void load_prof_turn(struct load_run *r, double now_s);
int load_prof_memory(struct load_run *r, struct err *err);
int load_prof_end(struct load_run *r, struct err *err);
