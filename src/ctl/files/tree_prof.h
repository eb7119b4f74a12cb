// SPDX-License-Identifier: BSD-3-Clause
// tree_prof.h: prof/: profiles as files of the tree. Control thread.
//
//     c10m cat prof/heap >heap.pb.gz                    a read takes a profile, once per reader
//     c10m write prof/query 'seconds=5'                 the parameters of all reads that begin
//     later c10m cat prof/profile >cpu.pb.gz
//
// For root only, except prof/runs: what a profile tells of a server is more than its counters do.
#pragma once
#include "prof/prof.h"
#include "tree/access.h"

struct ctl_prof_files;

// ctl_prof_files_new: creates the entries in t. NULL with *err. ctl_prof_files_free: after the tree
// was destroyed and before prof is freed. NULL is allowed.
struct ctl_prof_files *ctl_prof_files_new(struct tree *t, struct prof *prof, struct err *err);
void ctl_prof_files_free(struct ctl_prof_files *f);
