// SPDX-License-Identifier: BSD-3-Clause
// datagrams.h: the UDP of applications: the calls of c10m/socket.h about datagrams, and what
// arrives for them. The worker.
#pragma once
#include "worker/worker.h"

// worker_udp_take: u, of kind UDP_TO_OPEN or UDP_ERROR, to its application.
void worker_udp_take(struct worker *w, const struct udp_in *u);
