// SPDX-License-Identifier: BSD-3-Clause
// stopping.h: the orderly end of a worker.
#pragma once
#include "worker/worker.h"

// stopping_reset_all: resets every connection, WORKER_STOP_MAX in a turn, so that each peer gets a
// RST. Makes system calls while it waits for a full port.
void stopping_reset_all(struct worker *w);

// stopping_keep: resets those of applications that do not go on in another process, and sends what
// was built. Of the others nothing is in hand (worker/hand.h): the next process adopts all of them.
void stopping_keep(struct worker *w);
