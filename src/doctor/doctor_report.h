// SPDX-License-Identifier: BSD-3-Clause
// doctor_report.h: what the commands print, for people or as JSON.
#pragma once
#include <stdio.h>

#include "doctor/doctor.h"
#include "doctor/doctor_fix.h"

// doctor_rows_asked: rows[n] that were named; n 0: all.
struct doctor_rows_asked {
    unsigned n;
    const struct doctor_row *rows[64];
};

// doctor_check: looks at the rows and prints them. Returns how many fail.
unsigned doctor_check(const struct doctor *d, const struct doctor_rows_asked *asked, bool json,
                      FILE *to);

// doctor_explain: prints what the row is about, what there is, and what `fix` would do.
void doctor_explain(const struct doctor *d, const struct doctor_row *row, bool json, FILE *to);

// doctor_tell_text, doctor_tell_json: of struct doctor_teller, arg is a FILE: a line for a change
// before it is made, and one if it is not.
void doctor_tell_text(void *arg, enum doctor_event event, const struct doctor_change *c,
                      const char *from, const char *to, const char *why);
void doctor_tell_json(void *arg, enum doctor_event event, const struct doctor_change *c,
                      const char *from, const char *to, const char *why);
