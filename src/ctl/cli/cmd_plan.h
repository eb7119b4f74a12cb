// SPDX-License-Identifier: BSD-3-Clause
// cmd_plan.h: `c10m plan`: what a server would take of this machine, and what the machine has.
// Reads /sys and /proc, reserves nothing, needs no root. Control thread.
#pragma once
#include "server/server.h"

// ctl_plan: what the server would take, as text: its cores, then the ledger.
void ctl_plan(const struct server_params *p, struct text *out);

// ctl_plan_cores: each CPU of the machine: what runs there, its core, siblings, caches, NUMA node,
// according to sys_root ("/sys"); the node of each port's device; and what of it speaks against the
// server's choice.
void ctl_plan_cores(const struct server_params *p, const char *sys_root, struct text *out);

// ctl_plan_need: the pages, or the ordinary memory, that the server needs, what is free, and the
// command that makes the missing pages. 0: it fits, now or after that command. -1: it does not fit
// in this machine.
int ctl_plan_need(const struct server_params *p, const char *sys_root, const char *proc_root,
                  struct text *out);

// ctl_plan_capacity: how many connections a server like p, which was made with `connections = max`,
// can have: in the huge pages that are free, and in all memory that is free now, with the
// arithmetic.
void ctl_plan_capacity(const struct server_params *p, const char *sys_root, const char *proc_root,
                       struct text *out);
