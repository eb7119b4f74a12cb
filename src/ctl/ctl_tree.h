// ctl_tree.h: what the tree of a running server shows (DESIGN: cores, ports, net, mem). Control
// thread.
#pragma once
#include "conf/conf.h"
#include "tree/door.h"
#include "worker/server.h"
#include "worker/stalls.h"

// ctl_tree_fill: makes the entries of server s, configured by c, and of its stalls, which all
// outlive the tree. -1: *err.
int ctl_tree_fill(struct tree *t, const struct server *s, const struct conf *c,
                  const struct stalls *stalls, const char *version, struct err *err);
