// ctl_steer.h: the files of ctl/ that change a running server: each, read, shows its help in lines
// that begin with `#`, then what is the case and how the last order ended. docs/steering.md has
// them all.
//
//     write --> parsed whole, or -EINVAL, -ERANGE, -EBUSY and nothing has changed
//           --> an order to the workers (worker/orders.h); the write returns at once
//     answers, by a timer that runs only while there is something to wait for --> `last: ...`
//
// Control thread only.
#pragma once
#include "conf/conf.h"
#include "ctl/ctl_loop.h"
#include "tree/door.h"
#include "worker/orders.h"
#include "worker/server.h"

enum { STEER_LINE_BYTES = 512 };  // of one order

// steer_params: all of it outlives the steer. conf is changed as keys are; file and sets are where
// it came from, for SIGHUP: file NULL: from nowhere.
struct steer_params {
    struct ctl_loop *loop;
    const struct server *server;
    struct conf *conf;
    const char *file;
    char *const *sets;
    unsigned n_sets;
};

struct steer;

// steer_new: NULL: *err. steer_free: drops what is under way; the tree is destroyed before.
struct steer *steer_new(const struct steer_params *p, struct err *err);
void steer_free(struct steer *st);

// steer_fill: makes the files below root. 0 or -1: tree_error() says why.
int steer_fill(struct steer *st, struct tree_node *root);

// steer_reload: reads the configuration again, and applies what may change while running; says in
// the log what changed, what wants a restart, and what is wrong: then nothing changes.
void steer_reload(struct steer *st);

// steer_stop: drains for [control] drain_s, then stops the loop; at once if asked again.
void steer_stop(struct steer *st);
