// SPDX-License-Identifier: BSD-3-Clause
// file_rules.h: which files a thread, and the threads that it creates, may open (Landlock). What is
// open already stays open. Sockets, and devices that are open, are not concerned. The kernel then
// also refuses every change of mounts.
#pragma once
#include "base/err.h"

enum file_right {
    FILE_READ,   // read files, list directories
    FILE_WRITE,  // also write, truncate, create and remove files, directories and sockets
};

// file_rules: the descriptor of a set of rules; -1: there is none.
struct file_rules {
    int fd;
    int version;  // of the kernel's Landlock; 0: this kernel has none
};

// file_rules_open: begins a set of rules that allows nothing yet. Returns 0, also where the kernel
// has no Landlock, or -1 with *err.
int file_rules_open(struct file_rules *r, struct err *err);

// file_rules_allow: all files at and below path. A path that does not exist, or is "", is left out.
// Returns 0, or -1 with *err.
int file_rules_allow(struct file_rules *r, const char *path, enum file_right right,
                     struct err *err);

// file_rules_obey: the calling thread obeys the rules from here on. Returns 0, or -1 with *err.
// Closes the set.
int file_rules_obey(struct file_rules *r, struct err *err);

// file_rules_close: more than once does nothing.
void file_rules_close(struct file_rules *r);
