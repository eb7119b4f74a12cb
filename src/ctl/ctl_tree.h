// ctl_tree.h: what the tree of a running server shows (DESIGN: cores, ports, net, mem, apps). Each
// file: docs/tree.md. Control thread.
#pragma once
#include <time.h>

#include "conf/conf.h"
#include "tree/door.h"
#include "worker/pulse.h"
#include "worker/server.h"
#include "worker/stalls.h"

// ctl_shown: what the callbacks look at: it and all that it names outlives the tree.
struct ctl_shown {
    const struct server *server;
    const struct conf *conf;
    const struct stalls *stalls;
    struct pulse *pulse;
    const char *version;
    struct timespec started;  // of CLOCK_MONOTONIC
    struct tree *tree;
};

// ctl_tree_fill: makes the entries of *s in s->tree. -1: *err.
int ctl_tree_fill(const struct ctl_shown *s, struct err *err);
