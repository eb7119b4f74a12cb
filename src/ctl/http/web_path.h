// SPDX-License-Identifier: BSD-3-Clause
// web_path.h: resolves the path of a request to an entry of the tree.
#pragma once
#include "tree/access.h"

// web_path_decode: writes the decoded names of `raw` ("", "/", "/a/b%20c/") to out[0..room),
// separated by single /. Returns 0, or -EINVAL: an escape is malformed, or is a control character
// or /; a name is empty, "." or ".."; -ENAMETOOLONG: longer than room.
int web_path_decode(const char *raw, char *out, size_t room);

// web_path_walk: ctl_walk() of the decoded `path`, with the rights of root, or else of others.
int web_path_walk(struct tree *t, const char *path, bool root, struct tree_node **node);

// web_may: whether others, or root, have the rights `how` (TREE_READ, TREE_WRITE).
bool web_may(const struct tree_node *node, unsigned how, bool root);
