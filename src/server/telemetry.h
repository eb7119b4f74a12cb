// SPDX-License-Identifier: BSD-3-Clause
// telemetry.h: commands on DPDK's telemetry socket (dpdk-telemetry.py), for those who do not name
// DPDK.
//
// They run on threads of DPDK's own, one a client, one at a time (a lock sees to that): what they
// read has a single writer that does not wait, or does not change after the start. They allocate
// nothing of the tree and touch no state of the control thread's.
#pragma once
#include "base/base.h"

struct telemetry_out;  // the answer

// telemetry_read: fills the answer to `CMD,params` (params NULL: none). 0, or -1: null is answered.
typedef int telemetry_read(struct telemetry_out *out, const char *params, const void *arg);

enum { TELEMETRY_COMMANDS_MAX = 16, TELEMETRY_ENTRIES_MAX = 256 };  // DPDK's limit of entries

// telemetry_add: `cmd` ("/c10m/cores") calls read(out, params, arg) from now on. 0, or -1: it is
// taken, or there are TELEMETRY_COMMANDS_MAX.
int telemetry_add(const char *cmd, telemetry_read *read, const void *arg, const char *help);

// telemetry_close: waits for one that runs; afterwards every command answers null, until it is
// added again.
void telemetry_close(void);

// telemetry_u64, telemetry_text: a name of an answer that is a dictionary: letters, digits, _ and
// /. telemetry_item: one of an answer that is a list. What is over the limits is left out.
void telemetry_u64(struct telemetry_out *out, const char *name, uint64_t value);
void telemetry_text(struct telemetry_out *out, const char *name, const char *value);
void telemetry_item(struct telemetry_out *out, const char *value);
