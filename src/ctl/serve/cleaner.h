// SPDX-License-Identifier: BSD-3-Clause
// cleaner.h: a second process of a server that gives up root: it stays root, and removes what only
// root can remove when the server has ended, however it ended: its mount, its files on hugetlbfs,
// in DPDK's directory and in /run/lock, and its run_dir. It does what `c10m clean` does. It has no
// descriptor but its end of a pipe and stderr, reads two bytes at most from that pipe, and blocks
// all signals. It is made before the server has opened anything.
#pragma once
#include "conf/conf.h"
#include "server/server.h"

// cleaner: fd -1: there is none.
struct cleaner {
    int fd;  // the end of the pipe that is open as long as the server lives
    int pid;
};

// cleaner_start: the process must have one thread only. Returns 0, or -1 with *err.
int cleaner_start(struct cleaner *k, const struct conf *c, const struct server_params *p,
                  struct err *err);

// cleaner_arm: the server gives up root now. Without it the other process removes nothing.
void cleaner_arm(struct cleaner *k);

// cleaner_finish: the server has released all it could, and ends: the other process does the rest.
// keeps: but for connections that the next server adopts. Waits for that. Does nothing if there is
// no such process.
void cleaner_finish(struct cleaner *k, bool keeps);
