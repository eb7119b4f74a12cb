// SPDX-License-Identifier: BSD-3-Clause
// node.h: what the files of src/tree share.
//
// Every entry has a slot; its id is the slot's generation (upper half) and the slot's number + 1
// (lower half). A slot is used again under the next generation only when its entry was removed and
// its last handle closed, so an id that the kernel still remembers finds its entry or nothing.
#pragma once
#include "base/err.h"
#include "tree/door.h"

enum { TREE_OWNER_NAME_BYTES = 64 };  // in messages; what is longer is cut

// node: refs = 1 while in the tree + one a handle. parent is NULL for the root and once removed.
struct tree_node {
    struct tree *tree;
    struct tree_node *parent;
    uint64_t id;
    int64_t made_s;
    uint32_t uid, gid, refs;
    uint16_t mode;
    uint8_t kind;  // enum tree_kind
    bool removed;
    // directory: sorted by name
    struct tree_node **children;
    uint32_t child_count, child_room, dir_count;
    // file
    struct tree_ops ops;
    void *data;
    // symlink; owned
    char *target;
    struct tree_node *next_dead;
    struct tree_owner *owner;     // NULL: nobody
    LIST_ENTRY(tree_node) owned;  // of owner
    char name[];
};

// tree_owner: nodes are all that belong to it, those too that are removed and held open.
struct tree_owner {
    LIST_ENTRY(tree_owner) link;
    struct tree *tree;
    LIST_HEAD(tree_owned_list, tree_node) nodes;
    uint64_t entries, open;
    bool leaving;
    void (*gone)(void *arg);
    void *arg;
    char name[TREE_OWNER_NAME_BYTES];
};

struct tree_slot {
    struct tree_node *node;
    uint32_t generation;
    uint32_t next_free;  // slot number, SLOT_NONE: last
};

enum {
    SLOT_NONE = UINT32_MAX,
    USERS_MAX = 2 * TREE_HANDLES_MAX,  // places: half of them free, so that a search ends soon
};

// tree_user: how many handles a user has open; 0: the place is free.
struct tree_user {
    uint32_t uid, handles;
};

struct tree {
    struct tree_node *root;
    struct tree_slot *slots;
    uint32_t slot_count, slot_room, slot_free;
    struct tree_usage usage;
    struct err error;
    LIST_HEAD(tree_owner_list, tree_owner) owners;
    struct tree_user users[USERS_MAX];  // by uid, open addressing
};

struct tree_out {
    struct text text;
};

// tree_fail: notes the reason in t and sets errno to code.
void tree_fail(struct tree *t, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// node_create: an entry that is in no directory yet, one reference; NULL with errno ENOSPC or
// ENOMEM.
struct tree_node *node_create(struct tree *t, const char *name, size_t name_len,
                              enum tree_kind kind, unsigned mode);

// node_unref: drops one reference; the last one calls release and frees the entry.
void node_unref(struct tree_node *node);

// node_find: the child `name` of dir, or NULL; *at = its place, or where it would go.
struct tree_node *node_find(const struct tree_node *dir, const char *name, size_t name_len,
                            uint32_t *at);

// node_attach: puts node into dir at place `at` and gives it dir's owner; takes over the reference.
// 0, or -1 with errno ENOMEM.
int node_attach(struct tree_node *dir, struct tree_node *node, uint32_t at);

// node_bury: drops the tree's reference of each node of the list `dead`, linked by next_dead.
void node_bury(struct tree_node *dead);

// node_kill: marks node and all below it removed, and puts them on the list *dead. The directory
// above is the caller's to change.
void node_kill(struct tree_node *node, struct tree_node **dead);

// owner_take: node belongs to owner (NULL: nobody). owner_drop: no more; a leaving owner ends with
// its last.
void owner_take(struct tree_owner *owner, struct tree_node *node);
void owner_drop(struct tree_owner *owner, struct tree_node *node);

// node_detach: takes node, and if it is a directory all below it, out of the tree and drops the
// tree's references. The tree is whole again before the first release callback runs.
void node_detach(struct tree_node *node);
