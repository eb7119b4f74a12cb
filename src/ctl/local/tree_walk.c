// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/tree_walk.h"

#include <errno.h>
#include <string.h>

// BYTES_MAX: limit of the rest of the path, including targets of symlinks.
enum { BYTES_MAX = 8192 };

// walk: the present position: dirs[depth] is the present directory, the others its parents.
struct walk {
    struct tree_node *dirs[TREE_DEPTH_MAX + 1];
    unsigned depth, links;
    bool slashed;  // a slash follows the present name, so it must be a directory
    const struct ctl_who *who;
    size_t at, end;        // the unresolved part of rest[]
    char rest[BYTES_MAX];  // filled from the end, so that a target can be inserted before it
};

bool ctl_may(const struct ctl_who *who, const struct tree_stat *s, unsigned want)
{
    if (who->uid == 0)
        return true;
    if (who->uid == s->uid)
        return (s->mode >> 6 & want) == want;
    bool in_group = who->gid == s->gid;
    for (uint32_t i = 0; i < who->n_groups && !in_group; i++)
        in_group = who->groups[i] == s->gid;
    return (s->mode >> (in_group ? 3 : 0) & want) == want;
}

// follow_link: replaces the present name by the target. Returns 0 or -errno.
static int follow_link(struct walk *w, const char *target)
{
    const size_t n = strlen(target);
    if (++w->links > WALK_LINKS_MAX)
        return -ELOOP;
    if (target[0] == '/')
        return -EXDEV;
    if (w->at < n + w->slashed)
        return -ENAMETOOLONG;
    if (w->slashed)
        w->rest[--w->at] = '/';
    w->at -= n;
    memcpy(w->rest + w->at, target, n);
    return 0;
}

// next_name: the next name, skipping empty names and "."; false: there is none.
static bool next_name(struct walk *w, char *name, size_t *n)
{
    while (w->at < w->end) {
        const char *from = w->rest + w->at;
        const char *slash = memchr(from, '/', w->end - w->at);
        *n = slash == NULL ? w->end - w->at : (size_t)(slash - from);
        w->slashed = slash != NULL;
        w->at += *n + w->slashed;
        if (*n == 0 || (*n == 1 && from[0] == '.'))
            continue;
        const size_t kept = MIN(*n, (size_t)TREE_NAME_BYTES_MAX);
        memcpy(name, from, kept);
        name[kept] = '\0';
        return true;
    }
    return false;
}

// step: resolves `name` in the present directory. Returns 1: *node is the result; 0: continue; or
// -errno.
static int step(struct walk *w, const char *name, size_t n, bool follow, struct tree_node **node)
{
    const struct tree_stat dir = tree_stat(w->dirs[w->depth]);
    if (!ctl_may(w->who, &dir, MAY_SEARCH))
        return -EACCES;
    if (n > TREE_NAME_BYTES_MAX)
        return -ENAMETOOLONG;
    if (strcmp(name, "..") == 0) {
        if (w->depth == 0)
            return -EXDEV;
        w->depth--;
        return 0;
    }
    struct tree_node *child = tree_lookup(w->dirs[w->depth], name);
    if (child == NULL)
        return -errno;
    const enum tree_kind kind = tree_stat(child).kind;
    if (kind == TREE_LINK && (w->slashed || follow))
        return follow_link(w, tree_target(child));
    if (kind == TREE_DIR) {
        CHECK(w->depth < TREE_DEPTH_MAX);
        w->dirs[++w->depth] = child;
        return 0;
    }
    *node = child;
    return w->slashed ? -ENOTDIR : 1;
}

int ctl_walk(struct tree *t, const struct ctl_who *who, const char *path, size_t n, bool follow,
             struct tree_node **node)
{
    struct walk w;
    char name[TREE_NAME_BYTES_MAX + 1];
    size_t name_bytes;
    w.dirs[0] = tree_root(t);
    w.depth = w.links = 0;
    w.who = who;
    w.at = w.end = sizeof(w.rest);
    if (n > sizeof(w.rest))
        return -ENAMETOOLONG;
    w.at -= n;
    memcpy(w.rest + w.at, path, n);
    while (next_name(&w, name, &name_bytes)) {
        const int rc = step(&w, name, name_bytes, follow, node);
        if (rc != 0)
            return rc < 0 ? rc : 0;
    }
    *node = w.dirs[w.depth];
    return 0;
}
