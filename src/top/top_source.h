// SPDX-License-Identifier: BSD-3-Clause
// top_source.h: where the live view reads the tree: through the mount, or through the unix socket.
#pragma once
#include "base/text.h"

// top_source: each call appends to `out` and returns 0 or -errno; -ENOENT: no such entry. `list`
// appends the names in a directory, one a line. A source may open and close its way to the server
// at each call; after a failure the next call tries anew.
struct top_source {
    int (*read)(struct top_source *s, const char *path, struct text *out);
    int (*list)(struct top_source *s, const char *path, struct text *out);
    void (*close)(struct top_source *s);
    const char *name;  // what it reads, for messages
};

// top_source_dir: the tree mounted at `dir`, which stays the caller's. NULL: no memory.
struct top_source *top_source_dir(const char *dir);

// top_source_sock: the tree behind the unix socket at `path`, which stays the caller's. NULL: no
// memory.
struct top_source *top_source_sock(const char *path);
