// SPDX-License-Identifier: BSD-3-Clause
// stopping.h: the orderly end of a worker.
#pragma once
#include "worker/worker.h"

// stopping_reset_all: resets every connection, WORKER_STOP_MAX in a turn, so that each peer gets a
// RST. Makes system calls while it waits for a full port.
void stopping_reset_all(struct worker *w);
