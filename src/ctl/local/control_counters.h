// SPDX-License-Identifier: BSD-3-Clause
// control_counters.h: the file control/doors: counters of the socket and of the tree.
#pragma once
#include "ctl/local/control_socket.h"

// ctl_counters_add: creates the file. sock NULL: there is no socket; otherwise sock must outlive
// the tree's entries. Returns 0, or -1 with errno of tree_file().
int ctl_counters_add(struct tree *t, const struct ctl_sock *sock);
