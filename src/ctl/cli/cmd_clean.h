// SPDX-License-Identifier: BSD-3-Clause
// cmd_clean.h: `c10m clean`: removes what a killed server (SIGKILL, a crash, the OOM killer) left
// behind, as its next start would.
#pragma once
#include "base/text.h"
#include "conf/conf.h"

// ctl_clean: of the server that c describes: its dead mounts, its files on hugetlbfs and in DPDK's
// directory (those of other dead servers there, too), its sockets, directories that are then empty.
// What it removed is put to said, a line each. -1: a living server has one of them (*err names it),
// and nothing, or nothing more, is removed.
int ctl_clean(const struct conf *c, struct text *said, struct err *err);
