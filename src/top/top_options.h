// SPDX-License-Identifier: BSD-3-Clause
// top_options.h: the command line of `c10m top`.
#pragma once
#include "base/base.h"

#define TOP_MOUNT_DEFAULT "/run/c10m/proc"

struct top_options {
    const char *socket, *mount;  // at most one is not NULL
    double interval_s;
    unsigned iterations;  // 0: no end
    bool batch;
    unsigned cols;  // with -b: columns of text
};

// top_options_parse: returns 0: continue; -1: the help was printed, exit status 0; 2: wrong usage,
// reported on stderr.
int top_options_parse(int argc, char **argv, struct top_options *o);
