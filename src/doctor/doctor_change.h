// SPDX-License-Identifier: BSD-3-Clause
// doctor_change.h: one change of the machine: a place, what is there, and what is to be there.
// Values are text, so that a change is undone by writing back what was read.
#pragma once
#include "doctor/doctor_host.h"

enum { DOCTOR_BOOT_BYTES = 40 };  // a boot id is a UUID

enum doctor_change_kind {
    DOCTOR_LINE,    // a file of one line
    DOCTOR_CHOICE,  // a file that shows its choices: "always [madvise] never"
    DOCTOR_MASK,    // a file with a mask of CPUs, which the kernel pads
    DOCTOR_FILE,    // a whole file, on a disk
    DOCTOR_DIR,     // a directory: "" where it exists
    DOCTOR_MODULE,  // a module of the kernel, by its name: "" where it is loaded
    DOCTOR_DRIVER,  // a PCI device: "DRIVER OVERRIDE", each "-" for none
    DOCTOR_KINDS,
};

// doctor_change: was and want belong to it. NULL: nothing is there, or is to be there.
struct doctor_change {
    enum doctor_change_kind kind;
    char row[32];
    char path[DOCTOR_PATH_BYTES];
    char *was;
    char *want;
    char restart[32];              // the service that reads the file at its start; "": none
    bool may_refuse;               // that the kernel does not take it is no failure
    bool done;                     // in a record: it was made to the end, with the restart
    char boot[DOCTOR_BOOT_BYTES];  // in a record: the boot in which it was made; "": not known
};

enum { DOCTOR_CHANGES_MAX = 4096 };

// doctor_kind_on_disk: a reboot does not undo a change of this kind.
bool doctor_kind_on_disk(enum doctor_change_kind kind);

// doctor_changes: in the order in which they are made. `error`: one could not be added.
struct doctor_changes {
    const char *row;  // of the changes that are added
    unsigned n;
    struct doctor_change *at;
    bool error;
};

void doctor_changes_init(struct doctor_changes *c);
void doctor_changes_free(struct doctor_changes *c);

// doctor_changes_add: adds a change unless the place has the value already. want NULL: nothing is
// to be there.
struct doctor_change *doctor_changes_add(struct doctor_changes *c, const struct doctor_host *h,
                                         enum doctor_change_kind kind, const char *path,
                                         const char *want);

// doctor_changes_add_dir: the same of a directory and those above it that are not there.
void doctor_changes_add_dir(struct doctor_changes *c, const struct doctor_host *h,
                            const char *path);

void doctor_change_free(struct doctor_change *c);

const char *doctor_kind_name(enum doctor_change_kind kind);

// doctor_kind_find: DOCTOR_KINDS: there is none of that name.
enum doctor_change_kind doctor_kind_find(const char *name);

// doctor_value_read: what the place has now; the caller frees it. NULL: nothing is there.
char *doctor_value_read(const struct doctor_host *h, enum doctor_change_kind kind,
                        const char *path);

// doctor_value_same: either may be NULL.
bool doctor_value_same(const char *a, const char *b);

// doctor_value_write: puts the value there, and restarts the service. What it leaves may differ
// where the kernel has the last word: read it again. 0, or -1 with *err.
int doctor_value_write(const struct doctor_host *h, const struct doctor_change *c,
                       const char *value, struct err *err);

// doctor_change_print: "PATH: was -> value", or of a file its lines that go and come.
void doctor_change_print(const struct doctor_change *c, const char *from, const char *to,
                         struct text *out);
