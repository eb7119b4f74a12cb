// SPDX-License-Identifier: BSD-3-Clause
// load_ring.h: a server in the client's process, connected by a ring.
#pragma once
#include "c10m/app.h"
#include "load/load_run.h"

// load_ring_set_up: starts a server for the options r->o with `app` on the load's port, and the
// client at the other end of its only port, with a fault port between them if faults are set. Then
// runs the workers. prefix: file prefix of DPDK. Returns 0, or -1 with the reason in *err; the
// caller then frees what was created.
int load_ring_set_up(struct load_run *r, const struct c10m_app *app, const char *prefix,
                     struct err *err);
