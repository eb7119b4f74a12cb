// SPDX-License-Identifier: BSD-3-Clause
// cmd_clean.h: `c10m clean`: removes what a killed server (SIGKILL, crash, OOM killer) left behind.
// The next start does the same.
#pragma once
#include "base/text.h"
#include "conf/conf.h"

// CLEAN_LOOK: says what would be removed, and removes nothing. CLEAN_KEEP: removes all but what the
// server kept for the next start ([control] adopt).
enum clean_what { CLEAN_ALL, CLEAN_LOOK, CLEAN_KEEP };

// ctl_clean: removes what the server of configuration c left behind: stale mounts, files on
// hugetlbfs and in DPDK's directory (also those of other dead servers), sockets, and directories
// that are then empty. Appends one line for each removal to said. Returns 0, or -1 if a running
// server uses one of them (*err names it); then nothing more is removed.
int ctl_clean(const struct conf *c, enum clean_what what, struct text *said, struct err *err);
