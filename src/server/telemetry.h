// telemetry.h: commands on DPDK's telemetry socket (dpdk-telemetry.py), for those who do not name
// DPDK.
//
// They run on threads of DPDK's own, one a client, one at a time (a lock sees to that): what they
// read has a single writer that does not wait, or does not change after the start. They allocate
// nothing of the tree and touch no state of the control thread's.
#pragma once
#include "base/base.h"

struct tele_out;  // the answer

// tele_read: fills the answer to `CMD,params` (params NULL: none). 0, or -1: null is answered.
typedef int tele_read(struct tele_out *out, const char *params, const void *arg);

enum { TELE_COMMANDS_MAX = 16, TELE_ENTRIES_MAX = 256 };  // DPDK's limit of entries

// tele_add: `cmd` ("/c10m/cores") calls read(out, params, arg) from now on. 0, or -1: it is taken,
// or there are TELE_COMMANDS_MAX.
int tele_add(const char *cmd, tele_read *read, const void *arg, const char *help);

// tele_close: waits for one that runs; afterwards every command answers null, until it is added
// again.
void tele_close(void);

// tele_u64, tele_text: a name of an answer that is a dictionary: letters, digits, _ and /.
// tele_item: one of an answer that is a list. What is over the limits is left out.
void tele_u64(struct tele_out *out, const char *name, uint64_t value);
void tele_text(struct tele_out *out, const char *name, const char *value);
void tele_item(struct tele_out *out, const char *value);
