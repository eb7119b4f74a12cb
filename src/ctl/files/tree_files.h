// SPDX-License-Identifier: BSD-3-Clause
// tree_files.h: the files in the tree of a running server (cores, ports, net, mem, apps).
// docs/tree.md describes each file. Control thread.
#pragma once
#include <time.h>

#include "conf/conf.h"
#include "ctl/files/baseline.h"
#include "pkt/port.h"
#include "prof/hang_watch.h"
#include "server/fill_levels.h"
#include "server/link_watch.h"
#include "server/linux_counts.h"
#include "server/liveness.h"
#include "server/rss_watch.h"
#include "server/server.h"
#include "server/stage_watch.h"
#include "server/stalls.h"
#include "server/verdict.h"
#include "tree/access.h"

enum {
    CTL_LOOK_MS = 20,         // ms between two calls of ctl_tree_look()
    CTL_PORTS_LOOK_MS = 500,  // ms between two readings of the ports' counters for other threads
};

struct ctl_port_copies;
struct ctl_verdict;
struct history;

// ctl_shown: the data of the callbacks. It and everything that it points to must outlive the tree.
// The caller sets the first five fields.
struct ctl_shown {
    const struct server *server;
    const struct conf *conf;
    const char *version;
    struct tree *tree;
    const struct ctl_baseline *baseline;  // NULL: nothing was reset
    struct timespec started;              // of CLOCK_MONOTONIC
    struct stalls *stalls;
    struct stage_watch *stages;
    struct liveness *liveness;
    struct hang_watch *hangs;
    struct fill_levels *fill;
    // [worker], counts at ctl_tree_open()
    struct linux_counts *interrupts_before, *softirqs_before;
    struct ctl_port_copies *ports;
    struct link_watch *links;
    struct ctl_verdict *verdict;
    struct rss_watch *rss;  // [port]
    struct history *history;
};

// ctl_tree_open: starts to observe s->server, and creates the entries in s->tree. Returns 0, or -1
// with *err; call ctl_tree_close() in both cases. ctl_tree_close: call it after the tree was
// destroyed; also allowed if only the first five fields were set.
int ctl_tree_open(struct ctl_shown *s, struct err *err);
void ctl_tree_close(struct ctl_shown *s);

// ctl_tree_port_stats: the counters of port i as the control thread has last read them, at most
// CTL_PORTS_LOOK_MS ago. For other threads, because DPDK allows only one thread to read a device.
// Any thread.
void ctl_tree_port_stats(const struct ctl_shown *s, unsigned i, struct port_stats *out);

// ctl_verdict: the problems of the server at the last check, at most VERDICT_LOOK_MS ago. Only
// after ctl_tree_open(). Control thread.
const struct verdict *ctl_verdict(const struct ctl_shown *s);

// ctl_history_json: appends the last hour as JSON (server/history.h), at most
// HISTORY_JSON_BYTES_MAX. Calls at about the same time share one rendering. Returns 0 or
// out->error. Control thread.
int ctl_history_json(const struct ctl_shown *s, struct text *out);

// ctl_tree_look: the periodic checks. Call it every CTL_LOOK_MS. periods: how many have passed
// since the last call, more than 1 if the caller is late.
void ctl_tree_look(struct ctl_shown *s, uint64_t periods);
