// SPDX-License-Identifier: BSD-3-Clause
// tree_files_internal.h: what the files that fill the tree share.
#pragma once
#include "c10m/tree.h"
#include "ctl/files/tree_files.h"

enum { CORE_NAME_BYTES = 24 };

// One each for a directory: its entries. 0, or -1: tree_error() says why.
int ctl_tree_cores(const struct ctl_shown *s);
int ctl_tree_ports(const struct ctl_shown *s);
int ctl_tree_net(const struct ctl_shown *s);
int ctl_tree_mem(const struct ctl_shown *s);

// ctl_ports_open, ctl_ports_look, ctl_ports_close: the copies of the ports' counters. open: 0, or
// -1: no memory.
int ctl_ports_open(struct ctl_shown *s);
void ctl_ports_look(const struct ctl_shown *s);
void ctl_ports_close(struct ctl_shown *s);

// ctl_verdict_open, ctl_verdict_look, ctl_verdict_close: the judgement of each second. open: 0, or
// -1: no memory.
int ctl_verdict_open(struct ctl_shown *s);
void ctl_verdict_look(const struct ctl_shown *s);
void ctl_verdict_close(struct ctl_shown *s);

// ctl_history_open, ctl_history_look, ctl_history_close: what is kept of each second. open: 0, or
// -1: no memory. ctl_history_change: of `changed` in struct verdict; shown: the ctl_shown.
int ctl_history_open(struct ctl_shown *s);
void ctl_history_look(const struct ctl_shown *s);
void ctl_history_close(struct ctl_shown *s);
void ctl_history_change(void *shown, const struct verdict_item *item, uint64_t now_ns);
int ctl_tree_history(const struct ctl_shown *s);

// ctl_tree_verdict: its entry.
int ctl_tree_verdict(const struct ctl_shown *s);

// ctl_tree_core_name: N of cores/N, of worker w: its CPU, and the others' on the same CPU N.1, N.2
// and so on.
void ctl_tree_core_name(const struct server *s, unsigned w, char out[CORE_NAME_BYTES]);

// ctl_tree_add: a read-only file. 0 or -1.
static inline int ctl_tree_add(const struct ctl_shown *s, const char *path,
                               int (*read)(struct tree_out *, void *), const void *data)
{
    return tree_file_ro(tree_root(s->tree), path, read, (void *)(uintptr_t)data) == NULL ? -1 : 0;
}
