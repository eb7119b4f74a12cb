// SPDX-License-Identifier: BSD-3-Clause
// node.h: structures and functions that the files of src/tree share.
//
// Every entry has a slot. Its id is the slot's generation (upper half) and the slot's number plus
// one (lower half). A slot is reused, with the next generation, only after its entry was removed
// and its last handle closed. An id that the kernel still remembers therefore finds its entry or
// nothing.
#pragma once
#include "base/err.h"
#include "tree/access.h"

enum { TREE_OWNER_NAME_BYTES = 64 };  // in messages; longer names are truncated

// tree_node: refs: 1 while it is in the tree, plus 1 for each handle. parent is NULL for the root
// and after removal.
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
    struct tree_owner *owner;     // NULL: none
    LIST_ENTRY(tree_node) owned;  // link in owner's list
    char name[];
};

// tree_owner: nodes: all entries that belong to it, with those that were removed and are held open.
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
    uint32_t next_free;  // slot number; SLOT_NONE: last
};

enum {
    SLOT_NONE = UINT32_MAX,
    USERS_MAX = 2 * TREE_HANDLES_MAX,  // places; half of them stay free, which keeps searches short
};

// tree_user: the number of open handles of a user; 0: the place is free.
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

// tree_fail: stores the reason in t and sets errno to code.
void tree_fail(struct tree *t, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// node_create: a new entry with one reference that is in no directory yet; NULL with errno ENOSPC
// or ENOMEM.
struct tree_node *node_create(struct tree *t, const char *name, size_t name_len,
                              enum tree_kind kind, unsigned mode);

// node_unref: drops a reference. The last one calls release and frees the entry.
void node_unref(struct tree_node *node);

// node_find: the child `name` of dir, or NULL; *at: its place, or where it would be inserted.
struct tree_node *node_find(const struct tree_node *dir, const char *name, size_t name_len,
                            uint32_t *at);

// node_attach: inserts node into dir at place `at` and gives it dir's owner; the tree takes the
// reference. 0, or -1 with errno ENOMEM.
int node_attach(struct tree_node *dir, struct tree_node *node, uint32_t at);

// node_bury: drops the tree's reference to each node of the list `dead`, linked by next_dead.
void node_bury(struct tree_node *dead);

// node_kill: marks node and everything below it as removed and puts them on the list *dead. The
// caller removes it from its parent directory.
void node_kill(struct tree_node *node, struct tree_node **dead);

// owner_take: assigns node to owner (NULL: none). owner_drop: removes it from its owner; the last
// node ends an owner that is leaving.
void owner_take(struct tree_owner *owner, struct tree_node *node);
void owner_drop(struct tree_owner *owner, struct tree_node *node);

// node_detach: removes node, and everything below a directory, from the tree and drops the tree's
// references. The tree is consistent before the first release callback runs.
void node_detach(struct tree_node *node);
