// SPDX-License-Identifier: BSD-3-Clause
// allowed_files.h: the files that a running server that gave up root may still open.
#pragma once
#include "conf/conf.h"
#include "confine/file_rules.h"

// allowed_files: the rules of a server of this configuration, which was read from `file` (NULL:
// from none). Writing: run_dir and the directories of the log and of access logs; and devices and
// /proc, where the user's rights decide. Reading: the directories that are served, the
// configuration, programs and libraries, /etc, /sys, DPDK's directory. Returns 0, or -1 with *err.
int allowed_files(struct file_rules *r, const struct conf *c, const char *file, struct err *err);
