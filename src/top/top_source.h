// SPDX-License-Identifier: BSD-3-Clause
// top_source.h: the source of the live view: the mounted tree or the Unix socket.
#pragma once
#include "base/text.h"

// top_source: `read` appends a file and `list` the names in a directory, one per line, to `out`.
// Both return 0 or -errno; -ENOENT: there is no such entry. A source may connect to the server at
// each call; after a failure the next call tries again.
struct top_source {
    int (*read)(struct top_source *s, const char *path, struct text *out);
    int (*list)(struct top_source *s, const char *path, struct text *out);
    void (*close)(struct top_source *s);
    const char *name;  // path of the socket or the mount, for messages
};

// top_source_dir: a source for the tree mounted at `dir`. The caller keeps ownership of `dir`.
// NULL: no memory.
struct top_source *top_source_dir(const char *dir);

// top_source_sock: a source for the Unix socket at `path`. The caller keeps ownership of `path`.
// NULL: no memory.
struct top_source *top_source_sock(const char *path);
