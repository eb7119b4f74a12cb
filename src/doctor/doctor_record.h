// SPDX-License-Identifier: BSD-3-Clause
// doctor_record.h: the file that remembers what `fix` found before its changes, so that `undo`
// restores exactly that. It is written, and on the disk, before each change.
#pragma once
#include "doctor/doctor_change.h"

#define DOCTOR_RECORD_DIR  "/var/lib/c10m"
#define DOCTOR_RECORD_FILE DOCTOR_RECORD_DIR "/doctor.json"

struct doctor_record {
    const struct doctor_host *host;
    int lock_fd;  // the directory, locked by this process; -1: it is not, and has no directory
    char boot[DOCTOR_BOOT_BYTES];  // the present boot; "": the kernel does not say
    struct doctor_changes changes;
};

// doctor_record_open: reads the record; no file is an empty one. make: creates the directory, which
// only its owner may enter. -1: another doctor is at work, the directory is somebody else's, the
// file cannot be read, or is no record; *err says which.
int doctor_record_open(struct doctor_record *r, const struct doctor_host *h, bool make,
                       struct err *err);

// doctor_record_close: removes the directory, too, if it is locked and nothing lies in it.
void doctor_record_close(struct doctor_record *r);

// doctor_record_find: the entry of that place, or NULL.
struct doctor_change *doctor_record_find(struct doctor_record *r, const struct doctor_change *c);

// doctor_record_holds: whether the record can keep what the place has, so that an undo restores it.
// -1 with *why: it is no text in UTF-8, or cannot be read. Then nothing may be changed there.
int doctor_record_holds(const struct doctor_record *r, const struct doctor_change *c,
                        struct err *why);

// doctor_record_note: notes, on the disk, that the place is about to become c->want. A place that
// is in the record keeps what was there first. -1 with *err: then nothing may be changed.
int doctor_record_note(struct doctor_record *r, const struct doctor_change *c, struct err *err);

// doctor_record_done: notes that the change of the place was made to the end.
int doctor_record_done(struct doctor_record *r, const struct doctor_change *c, struct err *err);

// doctor_record_past: the entry was made in an earlier boot, and is not on a disk: what is there
// now was chosen by this boot, and the entry says nothing about it.
bool doctor_record_past(const struct doctor_record *r, const struct doctor_change *c);

// doctor_record_drop_past: forgets all of these.
int doctor_record_drop_past(struct doctor_record *r, struct err *err);

// doctor_record_drop: forgets the place.
int doctor_record_drop(struct doctor_record *r, const struct doctor_change *c, struct err *err);
