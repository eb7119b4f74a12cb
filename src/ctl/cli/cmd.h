// SPDX-License-Identifier: BSD-3-Clause
// cmd.h: the commands that access a running server over its control socket: c10m cat, ls, write,
// watch, dump, report. Each returns the exit status: 0 done, 1 failed, 2 wrong usage.
#pragma once
#include "ctl/cli/client.h"

int ctl_cat_main(int argc, char **argv);
int ctl_ls_main(int argc, char **argv);
int ctl_write_main(int argc, char **argv);
int ctl_watch_main(int argc, char **argv);
int ctl_dump_main(int argc, char **argv);
int ctl_report_main(int argc, char **argv);

// ctl_cmd_socket: the default path of the socket: $C10M_SOCKET, or else CTL_SOCKET_DEFAULT.
const char *ctl_cmd_socket(void);
