// SPDX-License-Identifier: BSD-3-Clause
// stopping.h: the orderly end of a worker.
#pragma once
#include "worker/worker.h"

// stopping_reset_all: resets every connection, WORKER_STOP_MAX a turn, so that each peer hears of
// it. Makes system calls while it waits for a port that is full.
void stopping_reset_all(struct worker *w);
