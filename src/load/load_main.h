// SPDX-License-Identifier: BSD-3-Clause
// load_main.h: `c10m load`: the load generator, connected by a ring to a server in the same
// process, or by a port to a server elsewhere.
#pragma once
#include "c10m/app.h"

// load_main: argv[0] is "load", argv[1] the kind of load. apps: the applications for a server in
// this process, ended by NULL; echo, chargen and http must be among them. Returns the exit status:
// 0 every answer arrived and was correct; 1 an answer was missing or wrong, the run was
// interrupted, or it could not start; 2 wrong usage. SIGINT and SIGTERM end the run and print its
// report.
int load_main(int argc, char **argv, const struct c10m_app *const *apps);
