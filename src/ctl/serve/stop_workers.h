// SPDX-License-Identifier: BSD-3-Clause
// stop_workers.h: the end of the workers, bounded: one that hangs does not keep the process.
#pragma once
#include "server/server.h"

enum { STOP_STUCK_MS = 5000, STOP_LOOK_MS = 50 };

// ctl_stop_workers: server_stop_workers(). If nothing moves for STOP_STUCK_MS, no connection reset
// and no worker ended, the log says which worker hangs and where, its files and run_dir (if nothing
// lies in it) are removed, and the process ends with status 1. Control thread.
void ctl_stop_workers(struct server *s, const char *run_dir);
