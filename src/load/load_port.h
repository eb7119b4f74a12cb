// SPDX-License-Identifier: BSD-3-Clause
// load_port.h: a client with a port in its own process; the server is elsewhere.
#pragma once
#include <stdio.h>

#include "load/load_run.h"

// load_port_read: reads o->config with its overrides and checks it against the other options: one
// port with an address, a route to the server, and client addresses that include neither the server
// nor the next hop. Returns 0, or -1 after writing every error to `errors`. Call it before
// load_port_set_up().
int load_port_read(const struct load_options *o, FILE *errors);

// load_port_set_up: starts DPDK on the core of the first worker (the calling thread is pinned to
// it) and creates packets, port and client. prefix: file prefix of DPDK. Returns 0, or -1 with the
// reason in *err; the caller then frees what was created.
int load_port_set_up(struct load_run *r, const char *prefix, struct err *err);
