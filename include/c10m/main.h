// SPDX-License-Identifier: BSD-3-Clause
// c10m/main.h: the command c10m with applications beside the built-in ones, for programs that are
// built out of tree against the installed headers and libc10m.a:
//
//     int main(int argc, char **argv)
//     {
//         static const struct c10m_app *const own[] = {&app_shout, NULL};
//         return c10m_main(argc, argv, own);
//     }
//
//     cc shout.c $(pkg-config --cflags --libs c10m) -o shout
//     ./shout serve -c c10m.conf --set service.s.app=shout --set service.s.port=7
#pragma once
#include "c10m/app.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { C10M_OWN_APPS_MAX = 16 };

// c10m_main: runs the command in argv[1] and returns the exit status of the process: 0 done, 1
// failed, 2 wrong usage or configuration. argc, argv: as main() gets them. `own`: at most
// C10M_OWN_APPS_MAX applications, then NULL. If two applications have the same name, c10m_main()
// prints an error and returns 2. The applications in `own` have the keys of [service NAME] that are
// not reserved for one application. Call c10m_main() once, before the process has other threads.
int c10m_main(int argc, char **argv, const struct c10m_app *const *own);

#ifdef __cplusplus
}
#endif
