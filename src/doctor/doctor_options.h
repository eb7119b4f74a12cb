// SPDX-License-Identifier: BSD-3-Clause
// doctor_options.h: the command line of `c10m doctor`.
#pragma once
#include "doctor/doctor_report.h"

enum doctor_command { DOCTOR_CHECK, DOCTOR_FIX, DOCTOR_UNDO, DOCTOR_EXPLAIN };

enum { DOCTOR_SETS_MAX = 256 };

struct doctor_options {
    enum doctor_command command;
    struct doctor_rows_asked asked;
    const char *file;  // of the configuration; NULL: the defaults of the keys
    char *sets[DOCTOR_SETS_MAX];
    unsigned n_sets;
    bool json, force, dry_run;
    const char *root;  // of a made-up machine, for tests; "": this one
};

// doctor_options_parse: 0: go on; 1: help was asked for, and printed; 2: bad usage, said on stderr.
int doctor_options_parse(int argc, char **argv, struct doctor_options *o);
