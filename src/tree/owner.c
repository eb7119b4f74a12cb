// SPDX-License-Identifier: BSD-3-Clause
// owner.c: counts the entries and open handles of each owner, so that no owner is freed while its
// entries are in use.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tree/node.h"

struct tree_owner *tree_owner_new(struct tree_node *node, const char *name)
{
    struct tree_owner *o = calloc(1, sizeof(*o));
    if (o == NULL) {
        tree_fail(node->tree, ENOMEM, "%s: no memory for an owner", name);
        return NULL;
    }
    o->tree = node->tree;
    LIST_INIT(&o->nodes);
    LIST_INSERT_HEAD(&node->tree->owners, o, link);
    snprintf(o->name, sizeof(o->name), "%s", name);
    return o;
}

uint64_t tree_owner_entries(const struct tree_owner *owner)
{
    return owner->entries;
}

uint64_t tree_owner_open(const struct tree_owner *owner)
{
    return owner->open;
}

void owner_take(struct tree_owner *owner, struct tree_node *node)
{
    if (owner == NULL)
        return;
    CHECK(node->owner == NULL && !owner->leaving);
    node->owner = owner;
    LIST_INSERT_HEAD(&owner->nodes, node, owned);
    owner->entries++;
    owner->open += node->refs - !node->removed;  // one reference is the tree's, the others handles
}

static void owner_end(struct tree_owner *o)
{
    void (*gone)(void *) = o->gone;
    void *arg = o->arg;
    LIST_REMOVE(o, link);
    free(o);
    if (gone != NULL)
        gone(arg);
}

void owner_drop(struct tree_owner *owner, struct tree_node *node)
{
    LIST_REMOVE(node, owned);
    if (--owner->entries == 0 && owner->leaving)
        owner_end(owner);
}

static void own_below(struct tree_node *node, struct tree_owner *owner)
{
    if (node->owner == NULL)
        owner_take(owner, node);
    for (uint32_t i = 0; i < node->child_count; i++)
        own_below(node->children[i], owner);
}

int tree_own(struct tree_node *node, struct tree_owner *owner)
{
    const bool of_another = node->owner != NULL && node->owner != owner;
    if (!of_another && node->parent != NULL) {
        own_below(node, owner);
        return 0;
    }
    tree_fail(node->tree, of_another ? EBUSY : EINVAL,
              of_another ? "%s: belongs to %s already" : "%s: the root has no owner%s", node->name,
              of_another ? node->owner->name : "");
    return -1;
}

// sweep: removes all entries of owner o from the directory in one pass.
static void sweep(struct tree_node *dir, const struct tree_owner *o, struct tree_node **dead)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < dir->child_count; i++) {
        struct tree_node *child = dir->children[i];
        if (child->owner != o) {
            dir->children[kept++] = child;
            continue;
        }
        dir->dir_count -= child->kind == TREE_DIR;
        node_kill(child, dead);
    }
    dir->child_count = kept;
}

void tree_leave_later(struct tree_owner *owner, void (*gone)(void *arg), void *arg)
{
    struct tree_node *node, *dead = NULL;
    CHECK(!owner->leaving);
    owner->leaving = true;
    owner->gone = gone;
    owner->arg = arg;
    // An entry below another entry of the owner is removed together with that entry.
    LIST_FOREACH(node, &owner->nodes, owned)
    if (!node->removed && node->parent->owner != owner)
        sweep(node->parent, owner, &dead);
    if (owner->entries == 0)
        owner_end(owner);
    else
        node_bury(dead);
}

int tree_leave(struct tree_owner *owner)
{
    if (owner->open == 0) {
        tree_leave_later(owner, NULL, NULL);
        return 0;
    }
    tree_fail(owner->tree, EBUSY, "%s: its entries are open %llu times", owner->name,
              (unsigned long long)owner->open);
    return -1;
}
