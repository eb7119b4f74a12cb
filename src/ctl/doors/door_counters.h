// SPDX-License-Identifier: BSD-3-Clause
// door_counters.h: control/doors: what the doors and the registry behind them did and refused.
#pragma once
#include "ctl/doors/socket_door.h"

// ctl_doors_add: makes the file. sock: NULL: there is no socket; it is there as long as the tree's
// entries are. 0, or -1 with errno (tree_file).
int ctl_doors_add(struct tree *t, const struct ctl_sock *sock);
