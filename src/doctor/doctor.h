// SPDX-License-Identifier: BSD-3-Clause
// doctor.h: what `c10m doctor` judges: rows, each a fact of the machine on which a server of a
// configuration depends.
//
//   row table -> look: state, value, what to do by hand          (reads only)
//             -> plan: the changes that `fix` would make         (reads only, doctor_change.h)
//
// `check` shows both, `fix` carries the changes out and records what was there (doctor_fix.h).
#pragma once
#include "doctor/doctor_change.h"
#include "doctor/doctor_cpus.h"
#include "doctor/doctor_host.h"
#include "doctor/doctor_needs.h"

enum doctor_state {
    DOCTOR_NONE,  // nothing to judge: the machine or the configuration has no such thing
    DOCTOR_OK,
    DOCTOR_UNKNOWN,  // it cannot be seen, for the reason in the value
    DOCTOR_WARN,     // the server runs, but slower or less evenly than it could
    DOCTOR_FAIL,     // the server would not start, or this Linux would lose something
    DOCTOR_STATES,
};

// doctor_finding: what a row says. `state` only gets worse.
struct doctor_finding {
    enum doctor_state state;
    struct text value;    // what there is; parts are separated by "; "
    struct text by_hand;  // what no fix does: lines
};

struct doctor {
    struct doctor_host host;
    struct doctor_needs needs;
    bool force;  // also a NIC that carries the default route or a session
};

// doctor_row: one row of the table. plan may be NULL: nothing that a program should change.
struct doctor_row {
    const char *name;
    const char *help;  // what is looked at, one line
    const char *why;   // why it matters, with a figure where one was measured
    bool stops;        // a failure would stop `serve`
    void (*look)(const struct doctor *d, struct doctor_finding *f);
    void (*plan)(const struct doctor *d, struct doctor_changes *out);
};

extern const struct doctor_row doctor_rows[];
extern const unsigned doctor_n_rows;

// doctor_row_find: the row of that name, or NULL.
const struct doctor_row *doctor_row_find(const char *name);

// doctor_state_name: "ok", "warn", "fail", "n/a", "unknown".
const char *doctor_state_name(enum doctor_state state);

// doctor_look: looks at one row. doctor_finding_free() frees what it found.
void doctor_look(const struct doctor *d, const struct doctor_row *row, struct doctor_finding *f);
void doctor_finding_free(struct doctor_finding *f);

// doctor_say: adds to the value, and makes the state at least this one.
void doctor_say(struct doctor_finding *f, enum doctor_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// doctor_advise: adds a line to what is to be done by hand.
void doctor_advise(struct doctor_finding *f, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
