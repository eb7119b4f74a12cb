// SPDX-License-Identifier: BSD-3-Clause
// web_path.h: from the path of a request to an entry of the tree, and never to anything else.
#pragma once
#include "tree/door.h"

// web_path_decode: out[0..room) = the names of `raw` ("", "/", "/a/b%20c/") with single / between
// them and none at the ends. 0, or -EINVAL: an escape that is none, or one of a control character
// or of /; a name that is empty, "." or ".."; -ENAMETOOLONG: over room.
int web_path_decode(const char *raw, char *out, size_t room);

// web_path_walk: ctl_walk of `path` (decoded). root: every directory may be searched, else those
// that others may.
int web_path_walk(struct tree *t, const char *path, bool root, struct tree_node **node);

// web_may: do these rights (TREE_READ, TREE_WRITE) hold for everybody, or for root?
bool web_may(const struct tree_node *node, unsigned how, bool root);
