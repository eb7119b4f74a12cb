// SPDX-License-Identifier: BSD-3-Clause
// datagrams.h: UDP of applications: the datagram functions of c10m/socket.h, and received
// datagrams. Worker.
#pragma once
#include "worker/worker.h"

// worker_udp_deliver: passes u, which is not of kind UDP_SERVED, to its application.
void worker_udp_deliver(struct worker *w, const struct udp_in *u);
