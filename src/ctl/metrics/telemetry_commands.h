// SPDX-License-Identifier: BSD-3-Clause
// telemetry_commands.h: the server's figures as commands on DPDK's telemetry socket:
//
//     /c10m/cores, /c10m/ports     names, as in the tree
//     /c10m/core,N  /c10m/drops,N  /c10m/cycles,N     what cores/N/ has
//     /c10m/port,NAME  /c10m/mem   what ports/NAME/counters and mem/arenas have
#pragma once
#include "ctl/files/tree_files.h"

// ctl_telemetry_start: from now on; *s outlives ctl_telemetry_stop. Nothing where the server has no
// telemetry. Control thread, before the workers run or later.
void ctl_telemetry_start(const struct ctl_shown *s);
void ctl_telemetry_stop(void);
