// SPDX-License-Identifier: BSD-3-Clause
// load_ring.h: a server in the client's own process, the two joined by a ring.
#pragma once
#include "c10m/app.h"
#include "load/load_run.h"

// load_ring_set_up: starts a server of r->o's size with `app` on the load's port, the client at the
// other end of its only port (a fault port between them if there is to be trouble), and lets the
// workers run. prefix names DPDK's files. -1: *err; the caller tears down what there is.
int load_ring_set_up(struct load_run *r, const struct c10m_app *app, const char *prefix,
                     struct err *err);
