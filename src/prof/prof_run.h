// SPDX-License-Identifier: BSD-3-Clause
// prof_run.h: one run of a kind, from its begin to its result; prof.h has the limits over all runs.
// Control thread, except for the thread that a run creates to write.
#pragma once
#include <pthread.h>

#include "base/shared.h"
#include "prof/prof.h"

enum { PROF_NICE = 10 };  // of the thread that writes: the control thread goes first

// prof_run: kind NULL: the place is free. Until the thread is joined, out, err and rc are its own.
struct prof_run {
    struct prof *prof;
    const struct prof_kind *kind;
    struct prof_query query;
    char *format, *filter;  // of query; owned
    char client[PROF_CLIENT_BYTES];
    bool root;
    bool left;  // its client does not wait for it any more
    enum prof_phase phase;
    uint64_t began_ms, due_ms;
    void *state;
    bool begun;  // state is to be released
    pthread_t thread;
    struct shared_bool written;  // the thread is at its end; set with release
    int rc;                      // of write()
    struct text out;
    struct err err;
};

// run_begin: makes *r, which is free, a run that takes its profile. Returns 0, or a negative errno
// as prof_start() does with *err, and *r is free again.
int run_begin(struct prof_run *r, const struct prof_shown *shown, const struct prof_order *order,
              uint64_t now_ms, struct err *err);

// run_step: does what is due now. run_look: only looks whether the thread has written.
void run_step(struct prof_run *r, const struct prof_shown *shown, uint64_t now_ms);
void run_look(struct prof_run *r);

// run_free: releases everything and makes the place free; waits for a thread that writes.
void run_free(struct prof_run *r);
