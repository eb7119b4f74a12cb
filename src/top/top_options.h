// SPDX-License-Identifier: BSD-3-Clause
// top_options.h: the command line of `c10m top`. Pure but for messages on stderr.
#pragma once
#include "base/base.h"

#define TOP_MOUNT_DEFAULT "/run/c10m/proc"

struct top_options {
    const char *socket, *mount;  // at most one is given, else NULL
    double interval_s;
    unsigned iterations;  // 0: no end
    bool batch;
    unsigned cols;  // batch: columns of text
};

// top_options_parse: 0, or what the command exits with: -1 (help was printed: exit 0), 2 (bad
// usage, said on stderr).
int top_options_parse(int argc, char **argv, struct top_options *o);
