// SPDX-License-Identifier: BSD-3-Clause
// tree_files.h: what the tree of a running server shows (cores, ports, net, mem, apps).
// Each file: docs/tree.md. Control thread.
#pragma once
#include <time.h>

#include "conf/conf.h"
#include "ctl/files/baseline.h"
#include "pkt/port.h"
#include "server/fill_levels.h"
#include "server/link_watch.h"
#include "server/linux_counts.h"
#include "server/liveness.h"
#include "server/rss_watch.h"
#include "server/server.h"
#include "server/stalls.h"
#include "server/verdict.h"
#include "tree/door.h"

enum {
    CTL_LOOK_MS = 20,         // between two ctl_tree_look()
    CTL_PORTS_LOOK_MS = 500,  // between two readings of the ports' counters for other threads
};

struct ctl_port_copies;
struct ctl_verdict;
struct history;

// ctl_shown: what the callbacks look at: it and all that it names outlives the tree. The first five
// are the caller's.
struct ctl_shown {
    const struct server *server;
    const struct conf *conf;
    const char *version;
    struct tree *tree;
    const struct ctl_baseline *baseline;  // what was reset; NULL: nothing
    struct timespec started;              // of CLOCK_MONOTONIC
    struct stalls *stalls;
    struct liveness *liveness;
    struct fill_levels *fill;
    struct linux_counts *interrupts_before, *softirqs_before;  // [worker] when it was opened
    struct ctl_port_copies *ports;
    struct link_watch *links;
    struct ctl_verdict *verdict;
    struct rss_watch *rss;  // [port]
    struct history *history;
};

// ctl_tree_open: begins to watch s->server, and makes the entries in s->tree. -1: *err, and
// ctl_tree_close is still due. ctl_tree_close: once the tree is gone; of what was never opened, all
// zero but for the first five, too.
int ctl_tree_open(struct ctl_shown *s, struct err *err);
void ctl_tree_close(struct ctl_shown *s);

// ctl_tree_port_stats: port i's counters as the control thread last read them, CTL_PORTS_LOOK_MS
// ago at most. For other threads, as DPDK lets one alone ask a device. Any thread.
void ctl_tree_port_stats(const struct ctl_shown *s, unsigned i, struct port_stats *out);

// ctl_verdict: what is wrong with the server, as of the last look, VERDICT_LOOK_MS ago at most. Of
// a tree that was opened. Control thread.
const struct verdict *ctl_verdict(const struct ctl_shown *s);

// ctl_history_json: the last hour (server/history.h), at most HISTORY_JSON_BYTES_MAX; a rendering
// that those share who ask at about the same time. 0, or out->error. Control thread.
int ctl_history_json(const struct ctl_shown *s, struct text *out);

// ctl_tree_look: what is watched and not only read: every CTL_LOOK_MS.
void ctl_tree_look(struct ctl_shown *s);
