// SPDX-License-Identifier: BSD-3-Clause
// tree_files_internal.h: declarations shared by the files that fill the tree.
#pragma once
#include "c10m/tree.h"
#include "ctl/files/tree_files.h"
#include "server/core_name.h"

// Create the entries of one directory each. Return 0, or -1 with the reason in tree_error().
int ctl_tree_cores(const struct ctl_shown *s);
int ctl_tree_ports(const struct ctl_shown *s);
int ctl_tree_net(const struct ctl_shown *s);
int ctl_tree_mem(const struct ctl_shown *s);

// ctl_ports_open, ctl_ports_look, ctl_ports_close: allocate, update and free the copies of the
// ports' counters. open returns 0, or -1 without memory.
int ctl_ports_open(struct ctl_shown *s);
void ctl_ports_look(const struct ctl_shown *s);
void ctl_ports_close(struct ctl_shown *s);

// ctl_verdict_open, ctl_verdict_look, ctl_verdict_close: allocate, update (every second) and free
// the verdict. open returns 0, or -1 without memory. ctl_verdict_hurry: the next look does not wait
// for its second.
int ctl_verdict_open(struct ctl_shown *s);
void ctl_verdict_look(const struct ctl_shown *s);
void ctl_verdict_hurry(const struct ctl_shown *s);
void ctl_verdict_close(struct ctl_shown *s);

// ctl_history_open, ctl_history_look, ctl_history_close: allocate, extend (every second) and free
// the history. open returns 0, or -1 without memory. ctl_history_change: the callback `changed` of
// struct verdict; shown: the ctl_shown.
int ctl_history_open(struct ctl_shown *s);
void ctl_history_look(const struct ctl_shown *s);
void ctl_history_close(struct ctl_shown *s);
void ctl_history_change(void *shown, const struct verdict_item *item, uint64_t now_ns);
int ctl_tree_history(const struct ctl_shown *s);

// ctl_tree_adoption: creates the entry `control/adoption`, if connections outlive the server.
int ctl_tree_adoption(const struct ctl_shown *s);

// ctl_tree_verdict: creates the entry `verdict`.
int ctl_tree_verdict(const struct ctl_shown *s);

// ctl_tree_add: creates a read-only file. Returns 0 or -1.
static inline int ctl_tree_add(const struct ctl_shown *s, const char *path,
                               int (*read)(struct tree_out *, void *), const void *data)
{
    return tree_file_ro(tree_root(s->tree), path, read, (void *)(uintptr_t)data) == NULL ? -1 : 0;
}
