// SPDX-License-Identifier: BSD-3-Clause
// stop_workers.h: stops the workers within a bounded time, also if a worker hangs.
#pragma once
#include "server/server.h"

enum { STOP_STUCK_MS = 5000, STOP_LOOK_MS = 50 };

// ctl_stop_workers: calls server_stop_workers(). If for STOP_STUCK_MS no connection was reset and
// no worker has ended, it logs which worker hangs and where, removes the server's files and an
// empty run_dir, and ends the process: by the signal `crash`, whose core dump shows where the
// worker hangs, or with status 1 (0). Control thread.
void ctl_stop_workers(struct server *s, const char *run_dir, int crash);
