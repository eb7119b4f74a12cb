// SPDX-License-Identifier: BSD-3-Clause
// show.h: the files of the service in the tree, in apps/NAME/:
//
//   files    for each file a line: path (percent-encoded), bytes, time of modification (Unix time)
//   limits   the effective parameters, one per line
#pragma once
#include "c10m/app.h"

// http_tree: the application's callback. Control thread.
int http_tree(const struct c10m_service *s, struct tree_node *dir);
