// SPDX-License-Identifier: BSD-3-Clause
// show.h: what the service shows in the tree, below apps/NAME/:
//
//   files    a line for each file: path (percent-encoded), bytes, when modified (unix time)
//   limits   the parameters in force, a line each
#pragma once
#include "c10m/app.h"

// http_tree: the application's callback. Control thread.
int http_tree(const struct c10m_service *s, struct tree_node *dir);
