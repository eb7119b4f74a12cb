// SPDX-License-Identifier: BSD-3-Clause
// doctor_fix.h: carries out changes, and takes them back. The order for each change is: say it,
// record what is there (on the disk), change it, look at it again. Whatever moment ends the
// process, the record names every place that may have changed, with what was there before the first
// change.
#pragma once
#include "doctor/doctor_record.h"

// doctor_told: what happens to a change; `now` is what the place has.
enum doctor_event {
    DOCTOR_BEGINS,   // it will be made
    DOCTOR_MADE,     // it has the value
    DOCTOR_REFUSED,  // the kernel does not take it, and that is no failure
    DOCTOR_FAILED,   // why says what happened; the place has `now`
    DOCTOR_PAST,     // a reboot has undone it: it is forgotten
    DOCTOR_EVENTS,
};

// doctor_teller: who is told of it. from, to: values as in struct doctor_change.
struct doctor_teller {
    void (*tell)(void *arg, enum doctor_event event, const struct doctor_change *c,
                 const char *from, const char *to, const char *why);
    void *arg;
};

// doctor_fix: makes the changes in their order, but those whose place has the value already. After
// one that failed the others are made. Returns how many failed, or -1 with *err: the record cannot
// be written, and nothing more was changed.
int doctor_fix(struct doctor_record *r, const struct doctor_changes *changes,
               const struct doctor_teller *teller, struct err *err);

// doctor_fix_finish: what goes before a fix: forgets what a reboot has undone, and does what a fix
// that was interrupted between a file and the restart of its service has left to do. As
// doctor_fix().
int doctor_fix_finish(struct doctor_record *r, const struct doctor_teller *teller, struct err *err);

// doctor_undo: restores every place of the record, the last one first, and forgets it; one that
// cannot be restored stays in the record. What is not there any more (an interrupt, a device) and a
// directory in which others put files are left, and forgotten; so is what a reboot has undone. As
// doctor_fix().
int doctor_undo(struct doctor_record *r, const struct doctor_teller *teller, struct err *err);
