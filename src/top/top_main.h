// SPDX-License-Identifier: BSD-3-Clause
// top_main.h: `c10m top`: the live view.
#pragma once

// top_main: argv[0] is "top". The command's exit status: 0 ended by q or after -n, 1 no server in
// batch, no terminal, or no memory, 2 bad usage. A signal that ends it ends it as such, the
// terminal restored before.
int top_main(int argc, char **argv);
