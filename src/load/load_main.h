// SPDX-License-Identifier: BSD-3-Clause
// load_main.h: `c10m load`: the load generator, and a server in the same process, joined by a wire;
// or with a port of its own and the server elsewhere.
#pragma once
#include "c10m/app.h"

// load_main: argv[0] is "load", argv[1] the kind of load. apps: what a server in this process may
// run, ended by NULL: echo and chargen are among them.
// Exit status: 0 every answer came and was right; 1 not, or interrupted, or it could not start; 2
// bad usage. Ctrl-C and SIGTERM end it with its report.
int load_main(int argc, char **argv, const struct c10m_app *const *apps);
