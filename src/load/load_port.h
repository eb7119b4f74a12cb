// SPDX-License-Identifier: BSD-3-Clause
// load_port.h: a client on a port of its own, in a process of its own; the server is elsewhere.
#pragma once
#include <stdio.h>

#include "load/load_run.h"

// load_port_read: reads o->config with its overrides and checks it against the other options: one
// port with an address, a way to the server, client addresses that nobody else has. -1: every error
// is written to `errors`. To be called before load_port_set_up().
int load_port_read(const struct load_options *o, FILE *errors);

// load_port_set_up: DPDK on the first worker's core (the caller is pinned to it), packets, the port
// and the client. prefix names DPDK's files. -1: *err; the caller tears down what there is.
int load_port_set_up(struct load_run *r, const char *prefix, struct err *err);
