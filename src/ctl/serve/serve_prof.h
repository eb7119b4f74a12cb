// SPDX-License-Identifier: BSD-3-Clause
// serve_prof.h: the profiles of a running server on the control loop: a timer calls prof_turn()
// while a run exists, and only then; another one looks for the flight recorder while it records.
// Control thread.
#pragma once
#include "ctl/event_loop.h"
#include "ctl/files/tree_files.h"
#include "ctl/files/tree_prof.h"
#include "prof/prof_files.h"

// serve_prof: it does not move. All zero: closed.
struct serve_prof {
    struct ctl_loop *loop;
    struct prof *prof;
    struct ctl_prof_files *files;
    struct recorder *recorder;
    int timer_fd;  // -1: none
    uint32_t period_ms;
    struct prof_files *left;  // the files that are being written at the end; NULL: none
    struct err *left_err;
    int left_rc;
    int flight_fd;  // of the timer of the flight recorder; -1: it does not record
};

// serve_prof_open: creates the profiles of the server `shown`, whose tree is open, and their
// entries in its tree. Returns 0, or -1 with *err; call serve_prof_close() in both cases.
// serve_prof_close: ends all runs, after the tree was destroyed, while the server still exists.
int serve_prof_open(struct serve_prof *k, struct ctl_loop *loop, const struct ctl_shown *shown,
                    struct err *err);
void serve_prof_close(struct serve_prof *k);

// serve_prof_write: writes the files of the flags in the control loop, which serves others
// meanwhile. Whoever stops the loop before they are complete, such as a second signal, ends it:
// they then stay incomplete. Returns 0, or -1 with *err.
int serve_prof_write(struct serve_prof *k, struct prof_files *files, struct err *err);
