// SPDX-License-Identifier: BSD-3-Clause
// top_main.h: `c10m top`: the live view.
#pragma once

// top_main: argv[0] is "top". Returns the exit status: 0 ended by q or after -n, 1 no server with
// -b, no terminal, or no memory, 2 wrong usage. On SIGINT, SIGTERM or SIGHUP it restores the
// terminal and ends the process by the signal.
int top_main(int argc, char **argv);
