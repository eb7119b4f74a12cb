// SPDX-License-Identifier: BSD-3-Clause
// tree.c: adding and removing entries.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tree/node.h"

void tree_fail(struct tree *t, int code, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->error.text, sizeof(t->error.text), format, ap);
    va_end(ap);
    errno = code;
}

const char *tree_error(const struct tree_node *node)
{
    return node->tree->error.text;
}

struct tree *tree_create(void)
{
    struct tree *t = calloc(1, sizeof(*t));
    if (t == NULL)
        return NULL;
    t->slot_free = SLOT_NONE;
    LIST_INIT(&t->owners);
    t->root = node_create(t, "", 0, TREE_DIR, 0555);
    if (t->root == NULL) {
        free(t->slots);
        free(t);
        return NULL;
    }
    CHECK(t->root->id == TREE_ROOT_ID);
    t->root->uid = geteuid();
    t->root->gid = getegid();
    return t;
}

void tree_destroy(struct tree *t)
{
    if (t == NULL)
        return;
    CHECK(t->usage.handles == 0);
    while (t->root->child_count > 0)  // release callbacks may still use the root
        node_detach(t->root->children[t->root->child_count - 1]);
    node_detach(t->root);
    for (struct tree_owner *o; (o = LIST_FIRST(&t->owners)) != NULL; free(o)) {
        CHECK(o->entries == 0);
        LIST_REMOVE(o, link);
    }
    free(t->slots);
    free(t);
}

struct tree_node *tree_root(struct tree *t)
{
    return t->root;
}

struct tree_usage tree_usage(const struct tree *t)
{
    return t->usage;
}

// component: returns the length of the first name of *path, and moves *path behind the name and the
// slash after it. *last: whether it was the last name.
static size_t component(const char **path, bool *last)
{
    size_t n = strcspn(*path, "/");
    *last = (*path)[n] == '\0';
    *path += n + !*last;
    return n;
}

static bool name_is_bad(const char *name, size_t n)
{
    if (n == 0 || (n == 1 && name[0] == '.') || (n == 2 && name[0] == '.' && name[1] == '.'))
        return true;
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
            return true;
    return false;
}

static unsigned depth_of(const struct tree_node *node)
{
    unsigned depth = 0;
    for (; node->parent != NULL; node = node->parent)
        depth++;
    return depth;
}

// path_check: whether every name of `path` is valid and the depth is at most TREE_DEPTH_MAX.
static int path_check(struct tree_node *parent, const char *path)
{
    struct tree *t = parent->tree;
    unsigned depth = depth_of(parent);
    for (bool last = false; !last;) {
        const char *name = path;
        size_t n = component(&path, &last);
        if (name_is_bad(name, n)) {
            tree_fail(t, EINVAL,
                      "name %u of the path is empty, . or .., or contains a control character",
                      depth - depth_of(parent) + 1);
            return -1;
        }
        if (n > TREE_NAME_BYTES_MAX) {
            tree_fail(t, ENAMETOOLONG, "%.32s...: name of %zu bytes, at most %d", name, n,
                      TREE_NAME_BYTES_MAX);
            return -1;
        }
        if (++depth > TREE_DEPTH_MAX) {
            tree_fail(t, ENAMETOOLONG, "%.*s: deeper than %d directories", (int)n, name,
                      TREE_DEPTH_MAX);
            return -1;
        }
    }
    return 0;
}

static int parent_check(const struct tree_node *parent, const char *path)
{
    if (parent != NULL && path != NULL && parent->kind == TREE_DIR)
        return 0;
    int code = parent != NULL && path != NULL ? ENOTDIR : EINVAL;
    if (parent != NULL)
        tree_fail(parent->tree, code, "%s: %s", parent->name,
                  code == ENOTDIR ? "not a directory" : "no path given");
    errno = code;
    return -1;
}

static struct tree_node *child_add(struct tree_node *dir, const char *name, size_t n,
                                   enum tree_kind kind, unsigned mode, uint32_t at)
{
    struct tree_node *node = node_create(dir->tree, name, n, kind, mode);
    if (node != NULL && node_attach(dir, node, at) != 0) {
        node_unref(node);
        return NULL;
    }
    return node;
}

// child_get: the directory `name` in dir. A missing one is added, and *made becomes it if *made was
// NULL.
static struct tree_node *child_get(struct tree_node *dir, const char *name, size_t n,
                                   struct tree_node **made)
{
    uint32_t at;
    struct tree_node *node = node_find(dir, name, n, &at);
    if (node == NULL) {
        node = child_add(dir, name, n, TREE_DIR, 0555, at);
        if (*made == NULL)
            *made = node;
    } else if (node->kind != TREE_DIR) {
        tree_fail(dir->tree, ENOTDIR, "%s: is no directory", node->name);
        node = NULL;
    }
    return node;
}

static struct tree_node *leaf_add(struct tree_node *dir, const char *name, size_t n,
                                  enum tree_kind kind, unsigned mode)
{
    uint32_t at;
    if (node_find(dir, name, n, &at) != NULL) {
        tree_fail(dir->tree, EEXIST, "%.*s: exists already", (int)n, name);
        return NULL;
    }
    return child_add(dir, name, n, kind, mode, at);
}

// entry_add: adds the entry at path and the missing directories above it. On failure nothing is
// added.
static struct tree_node *entry_add(struct tree_node *parent, const char *path, enum tree_kind kind,
                                   unsigned mode)
{
    if (parent_check(parent, path) != 0 || path_check(parent, path) != 0)
        return NULL;
    struct tree_node *dir = parent, *made = NULL, *node = NULL;
    for (bool last = false; !last && dir != NULL;) {
        const char *name = path;
        size_t n = component(&path, &last);
        if (last)
            node = leaf_add(dir, name, n, kind, mode);
        else
            dir = child_get(dir, name, n, &made);
    }
    if (node == NULL && made != NULL) {
        int code = errno;
        node_detach(made);
        errno = code;
    }
    return node;
}

struct tree_node *tree_dir(struct tree_node *parent, const char *path)
{
    return entry_add(parent, path, TREE_DIR, 0555);
}

// mode_check: refuses a mode with other bits than permissions, or with a bit for which there is no
// callback.
static int mode_check(struct tree *t, unsigned mode, const struct tree_ops *ops, const char *what)
{
    const char *why = NULL;
    if ((mode & ~0777u) != 0)
        why = "has other bits than 0777";
    else if ((mode & 0444) != 0 && ops->read == NULL && ops->next == NULL)
        why = "can be read, but there is no read callback";
    else if ((mode & 0222) != 0 && ops->write == NULL)
        why = "can be written, but there is no write callback";
    if (why == NULL)
        return 0;
    tree_fail(t, EINVAL, "%.64s: mode %04o %s", what, mode, why);
    return -1;
}

struct tree_node *tree_file(struct tree_node *parent, const char *path, unsigned mode,
                            const struct tree_ops *ops, void *data)
{
    if (parent_check(parent, path) != 0)
        return NULL;
    if (ops == NULL) {
        tree_fail(parent->tree, EINVAL, "%.64s: no callbacks given", path);
        return NULL;
    }
    if ((ops->read != NULL && ops->next != NULL) || ops->cursor_bytes > TREE_CURSOR_BYTES_MAX) {
        tree_fail(parent->tree, EINVAL,
                  "%.64s: expected no read callback with next, and a cursor of at "
                  "most %d bytes",
                  path, TREE_CURSOR_BYTES_MAX);
        return NULL;
    }
    if (mode_check(parent->tree, mode, ops, path) != 0)
        return NULL;
    struct tree_node *node = entry_add(parent, path, TREE_FILE, mode);
    if (node != NULL) {
        node->ops = *ops;
        node->data = data;
    }
    return node;
}

struct tree_node *tree_file_ro(struct tree_node *parent, const char *path,
                               int (*read)(struct tree_out *out, void *data), void *data)
{
    return tree_file(parent, path, 0444, &(struct tree_ops){.read = read}, data);
}

struct tree_node *tree_link(struct tree_node *parent, const char *path, const char *target)
{
    if (parent_check(parent, path) != 0)
        return NULL;
    if (target == NULL || target[0] == '\0' || strlen(target) > TREE_LINK_BYTES_MAX) {
        int code = target != NULL && target[0] != '\0' ? ENAMETOOLONG : EINVAL;
        tree_fail(parent->tree, code, "%.64s: expected a symlink target of 1 to %d bytes", path,
                  TREE_LINK_BYTES_MAX);
        return NULL;
    }
    char *copy = strdup(target);
    if (copy == NULL) {
        tree_fail(parent->tree, ENOMEM, "%.64s: no memory for the target", path);
        return NULL;
    }
    struct tree_node *node = entry_add(parent, path, TREE_LINK, 0777);
    if (node == NULL)
        free(copy);
    else
        node->target = copy;
    return node;
}

int tree_remove(struct tree_node *parent, const char *path)
{
    if (parent_check(parent, path) != 0 || path_check(parent, path) != 0)
        return -1;
    struct tree_node *node = parent;
    for (bool last = false; !last;) {
        const char *name = path;
        size_t n = component(&path, &last);
        uint32_t at;
        if (node->kind != TREE_DIR) {
            tree_fail(parent->tree, ENOTDIR, "%s: is no directory", node->name);
            return -1;
        }
        node = node_find(node, name, n, &at);
        if (node == NULL) {
            tree_fail(parent->tree, ENOENT, "%.*s: no such entry", (int)n, name);
            return -1;
        }
    }
    node_detach(node);
    return 0;
}

void tree_remove_node(struct tree_node *node)
{
    CHECK(node->parent != NULL);
    node_detach(node);
}

int tree_chmod(struct tree_node *node, unsigned mode)
{
    static const struct tree_ops any;
    struct tree *t = node->tree;
    if (node->kind == TREE_LINK) {
        tree_fail(t, EINVAL, "%s: the mode of a symlink cannot change", node->name);
        return -1;
    }
    unsigned checked = node->kind == TREE_FILE ? mode : mode & ~0777u;
    if (mode_check(t, checked, node->kind == TREE_FILE ? &node->ops : &any, node->name) != 0)
        return -1;
    node->mode = (uint16_t)mode;
    return 0;
}

void tree_chown(struct tree_node *node, uint32_t uid, uint32_t gid)
{
    node->uid = uid;
    node->gid = gid;
}
