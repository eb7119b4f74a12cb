// SPDX-License-Identifier: BSD-3-Clause
// node.c: entries, the table of their slots, and directories as sorted arrays.
#include "tree/node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int slots_grow(struct tree *t)
{
    uint32_t room = MAX(t->slot_room * 2, 64u);
    struct tree_slot *slots = realloc(t->slots, room * sizeof(*slots));
    if (slots == NULL)
        return -1;
    t->slots = slots;
    t->slot_room = room;
    return 0;
}

// slot_take: gives node a slot and an id. Returns 0, or -1 without memory.
static int slot_take(struct tree *t, struct tree_node *node)
{
    uint32_t slot = t->slot_free;
    if (slot != SLOT_NONE) {
        t->slot_free = t->slots[slot].next_free;
    } else {
        if (t->slot_count == t->slot_room && slots_grow(t) != 0)
            return -1;
        slot = t->slot_count++;
        t->slots[slot].generation = 0;
    }
    t->slots[slot].node = node;
    node->id = (uint64_t)t->slots[slot].generation << 32 | (slot + 1);
    t->usage.entries++;
    return 0;
}

static void slot_give(struct tree *t, struct tree_node *node)
{
    uint32_t slot = (uint32_t)node->id - 1;
    CHECK(t->slots[slot].node == node);
    t->slots[slot].node = NULL;
    t->slots[slot].generation++;
    t->slots[slot].next_free = t->slot_free;
    t->slot_free = slot;
    t->usage.entries--;
}

struct tree_node *tree_by_id(struct tree *t, uint64_t id)
{
    uint32_t slot = (uint32_t)id - 1;
    if (slot >= t->slot_count || t->slots[slot].node == NULL || t->slots[slot].node->id != id)
        return NULL;
    return t->slots[slot].node;
}

struct tree_node *node_create(struct tree *t, const char *name, size_t name_len,
                              enum tree_kind kind, unsigned mode)
{
    if (t->usage.entries == TREE_ENTRIES_MAX) {
        t->usage.entries_refused++;
        tree_fail(t, ENOSPC, "%.*s: the tree is full (%d entries)", (int)name_len, name,
                  TREE_ENTRIES_MAX);
        return NULL;
    }
    struct tree_node *node = calloc(1, sizeof(*node) + name_len + 1);
    if (node == NULL || slot_take(t, node) != 0) {
        free(node);
        tree_fail(t, ENOMEM, "%.*s: no memory for the entry", (int)name_len, name);
        return NULL;
    }
    node->tree = t;
    node->refs = 1;
    node->kind = (uint8_t)kind;
    node->mode = (uint16_t)mode;
    node->made_s = time(NULL);
    memcpy(node->name, name, name_len);
    return node;
}

void node_unref(struct tree_node *node)
{
    CHECK(node->refs > 0);
    if (--node->refs > 0)
        return;
    CHECK(node->child_count == 0);
    struct tree_owner *owner = node->owner;
    slot_give(node->tree, node);
    if (node->ops.release != NULL)
        node->ops.release(node->data);
    if (owner != NULL)
        owner_drop(owner, node);
    free(node->children);
    free(node->target);
    free(node);
}

static int name_compare(const struct tree_node *node, const char *name, size_t name_len)
{
    int order = strncmp(node->name, name, name_len);
    return order != 0 ? order : node->name[name_len] != '\0';
}

struct tree_node *node_find(const struct tree_node *dir, const char *name, size_t name_len,
                            uint32_t *at)
{
    uint32_t low = 0, high = dir->child_count;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        int order = name_compare(dir->children[mid], name, name_len);
        if (order == 0) {
            *at = mid;
            return dir->children[mid];
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    *at = low;
    return NULL;
}

int node_attach(struct tree_node *dir, struct tree_node *node, uint32_t at)
{
    if (dir->child_count == dir->child_room) {
        uint32_t room = MAX(dir->child_room * 2, 8u);
        struct tree_node **children = realloc(dir->children, room * sizeof(struct tree_node *));
        if (children == NULL) {
            tree_fail(dir->tree, ENOMEM, "%s: no memory for another entry", dir->name);
            return -1;
        }
        dir->children = children;
        dir->child_room = room;
    }
    memmove(&dir->children[at + 1], &dir->children[at],
            (dir->child_count - at) * sizeof(struct tree_node *));
    dir->children[at] = node;
    dir->child_count++;
    dir->dir_count += node->kind == TREE_DIR;
    node->parent = dir;
    node->uid = dir->uid;
    node->gid = dir->gid;
    owner_take(dir->owner, node);
    return 0;
}

// node_kill: the depth of the recursion is at most TREE_DEPTH_MAX.
void node_kill(struct tree_node *node, struct tree_node **dead)
{
    for (uint32_t i = 0; i < node->child_count; i++)
        node_kill(node->children[i], dead);
    node->child_count = node->dir_count = 0;
    node->parent = NULL;
    node->removed = true;
    node->next_dead = *dead;
    *dead = node;
}

void node_bury(struct tree_node *dead)
{
    while (dead != NULL) {
        struct tree_node *next = dead->next_dead;
        node_unref(dead);
        dead = next;
    }
}

void node_detach(struct tree_node *node)
{
    struct tree_node *dir = node->parent, *dead = NULL;
    if (dir != NULL) {
        uint32_t at;
        CHECK(node_find(dir, node->name, strlen(node->name), &at) == node);
        dir->child_count--;
        dir->dir_count -= node->kind == TREE_DIR;
        memmove(&dir->children[at], &dir->children[at + 1],
                (dir->child_count - at) * sizeof(struct tree_node *));
    }
    node_kill(node, &dead);
    node_bury(dead);
}
