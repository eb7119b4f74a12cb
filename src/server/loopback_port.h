// SPDX-License-Identifier: BSD-3-Clause
// loopback_port.h: the port of a host's way to itself (worker/loopback.h), at the start. Control
// thread.
#pragma once
#include "server/server.h"

// server_loopback_add: the port behind the others of p, if a service has a thread and there is a
// place.
void server_loopback_add(struct server_params *p);

// server_loopback_same: sets w->loopback_port and w->same: same[ix] = the first local_ix with the
// address of ix, for all of w. Returns w->same; NULL: w has no such port. Before w runs.
const uint16_t *server_loopback_same(const struct server_params *p, struct worker *w);
