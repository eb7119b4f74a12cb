// SPDX-License-Identifier: BSD-3-Clause
// cmd_plan.h: `c10m plan`: the resources that a server would use, and those of this machine. Reads
// /sys and /proc, reserves nothing, needs no root. Control thread.
#pragma once
#include "server/server.h"

// ctl_plan: appends the cores of the server and the ledger of its memory.
void ctl_plan(const struct server_params *p, struct text *out);

// ctl_plan_cores: appends for each CPU of the machine its use, core, siblings, caches and NUMA
// node, from sys_root ("/sys"); the node of each port's device; and warnings about the server's
// choice of CPUs.
void ctl_plan_cores(const struct server_params *p, const char *sys_root, struct text *out);

// ctl_plan_need: appends the hugepages, or the 4 KiB pages, that the server needs, the free ones,
// and the command that reserves the missing pages. Returns 0: the server fits, now or after that
// command; -1: it does not fit into this machine.
int ctl_plan_need(const struct server_params *p, const char *sys_root, const char *proc_root,
                  struct text *out);

// ctl_plan_capacity: appends the number of connections that a server with the parameters p, made
// with `connections = max`, can have: in the free hugepages, and in all free memory, with the
// calculation.
void ctl_plan_capacity(const struct server_params *p, const char *sys_root, const char *proc_root,
                       struct text *out);
