// SPDX-License-Identifier: BSD-3-Clause
// steering.h: the files of ctl/, which change a running server. Reading a file shows its help in
// lines that begin with `#`, then the present state and the result of the last order.
// docs/steering.md describes all files.
//
//     write --> parsed completely, or -EINVAL, -ERANGE, -EBUSY and no change
//           --> an order to the workers (server/orders.h); the write returns at once
//     answers, checked by a timer that runs only while orders are pending --> `last: ...`
//
// Control thread only.
#pragma once
#include "conf/conf.h"
#include "ctl/event_loop.h"
#include "ctl/files/baseline.h"
#include "ctl/files/tree_files.h"
#include "server/orders.h"
#include "server/server.h"
#include "tree/access.h"

enum { STEERING_LINE_BYTES = 512 };  // length of one order

// ctl_steering_params: the parameters, which must outlive the steering. conf changes with its keys.
// file and sets: its sources, for SIGHUP; file NULL: no file.
struct ctl_steering_params {
    struct ctl_loop *loop;
    struct server *server;
    const struct ctl_shown *shown;  // its stalls are reset by ctl/reset; NULL: none
    struct conf *conf;
    const char *file;
    char *const *sets;
    unsigned n_sets;
};

struct ctl_steering;
struct recorder;

// ctl_steering_new: returns NULL with the reason in *err on failure. ctl_steering_free: drops
// pending orders; destroy the tree before.
struct ctl_steering *ctl_steering_new(const struct ctl_steering_params *p, struct err *err);
void ctl_steering_free(struct ctl_steering *st);

// ctl_steering_set_recorder: the recorder that ctl/trace commands. Without it, or with NULL, there
// is no ctl/trace. Call it before ctl_steering_fill().
void ctl_steering_set_recorder(struct ctl_steering *st, struct recorder *recorder);

// ctl_steering_fill: creates the files below root. Returns 0, or -1 with the reason in
// tree_error().
int ctl_steering_fill(struct ctl_steering *st, struct tree_node *root);

// ctl_steering_baseline: the baseline of ctl/reset.
const struct ctl_baseline *ctl_steering_baseline(const struct ctl_steering *st);

// ctl_steering_on_change: fn(arg) is called after keys of the configuration have changed, except
// those of workers and of the log. fn NULL: no callback.
void ctl_steering_on_change(struct ctl_steering *st, void (*fn)(void *arg), void *arg);

// ctl_steering_reload: reads the configuration again and applies the keys that may change while the
// server runs. Logs which keys have changed and which need a restart. If the configuration is
// invalid, it logs the errors and changes nothing. Tells the service manager of it. Otherwise it
// also orders the services to read their files again, and does not wait for that. Returns 0, or -1
// with the first error in *err.
int ctl_steering_reload(struct ctl_steering *st, struct err *err);

// ctl_steering_look: closes draining services that have no connections left, looks at the
// interfaces that ports follow, and goes on with reloads of files. Call it every CTL_LOOK_MS.
void ctl_steering_look(struct ctl_steering *st);

// ctl_steering_restarts: whether ctl/restart was written, so that the loop ends.
// ctl_steering_restart_drop: it was not: the server was told to stop before it had ended.
bool ctl_steering_restarts(const struct ctl_steering *st);
void ctl_steering_restart_drop(struct ctl_steering *st);

// ctl_steering_stop: drains for [control] drain_s, then stops the loop. A second call stops it at
// once.
void ctl_steering_stop(struct ctl_steering *st);
