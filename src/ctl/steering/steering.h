// SPDX-License-Identifier: BSD-3-Clause
// steering.h: the files of ctl/ that change a running server: each, read, shows its help in lines
// that begin with `#`, then what is the case and how the last order ended. docs/steering.md has
// them all.
//
//     write --> parsed whole, or -EINVAL, -ERANGE, -EBUSY and nothing has changed
//           --> an order to the workers (server/orders.h); the write returns at once
//     answers, by a timer that runs only while there is something to wait for --> `last: ...`
//
// Control thread only.
#pragma once
#include "conf/conf.h"
#include "ctl/event_loop.h"
#include "ctl/files/baseline.h"
#include "ctl/files/tree_files.h"
#include "server/orders.h"
#include "server/server.h"
#include "tree/door.h"

enum { STEERING_LINE_BYTES = 512 };  // of one order

// ctl_steering_params: all of it outlives the steering. conf is changed as keys are; file and sets
// are where it came from, for SIGHUP: file NULL: from nowhere.
struct ctl_steering_params {
    struct ctl_loop *loop;
    const struct server *server;
    const struct ctl_shown *shown;  // whose stalls are reset; NULL: none
    struct conf *conf;
    const char *file;
    char *const *sets;
    unsigned n_sets;
};

struct ctl_steering;

// ctl_steering_new: NULL: *err. ctl_steering_free: drops what is under way; the tree is destroyed
// before.
struct ctl_steering *ctl_steering_new(const struct ctl_steering_params *p, struct err *err);
void ctl_steering_free(struct ctl_steering *st);

// ctl_steering_fill: makes the files below root. 0 or -1: tree_error() says why.
int ctl_steering_fill(struct ctl_steering *st, struct tree_node *root);

// ctl_steering_baseline: what ctl/reset has reset.
const struct ctl_baseline *ctl_steering_baseline(const struct ctl_steering *st);

// ctl_steering_on_change: fn(arg) is called whenever keys of the configuration have changed, for
// those who are neither a worker nor the log. NULL: nobody any more.
void ctl_steering_on_change(struct ctl_steering *st, void (*fn)(void *arg), void *arg);

// ctl_steering_reload: reads the configuration again, and applies what may change while running;
// says in the log what changed, what wants a restart, and what is wrong: then nothing changes.
void ctl_steering_reload(struct ctl_steering *st);

// ctl_steering_look: now and then: closes services that had to drain and have no connection left.
void ctl_steering_look(struct ctl_steering *st);

// ctl_steering_stop: drains for [control] drain_s, then stops the loop; at once if asked again.
void ctl_steering_stop(struct ctl_steering *st);
