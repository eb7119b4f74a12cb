// SPDX-License-Identifier: BSD-3-Clause
// examples.c: the command c10m with the example applications, built as a user builds his own:
//
//     make                                  # wants the installed c10m.pc in PKG_CONFIG_PATH
//     ./examples serve -c examples.conf     # as root
//
// docs/profiling.md looks for their bottlenecks with `go tool pprof` and `go tool trace`.
#include "examples.h"

#include <c10m/main.h>

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {
        &app_leftpad,    &app_leftpad_fast, &app_loops, &app_loops_fast,
        &app_mandelbrot, &app_sieve,        &app_elvis, NULL,
    };
    return c10m_main(argc, argv, own);
}
