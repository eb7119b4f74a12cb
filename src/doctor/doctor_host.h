// SPDX-License-Identifier: BSD-3-Clause
// doctor_host.h: the files of the machine. Every path is absolute and looked up below `root`, so
// that a test judges a machine that it made of files. What changes the machine goes through the
// three functions, which a test replaces.
#pragma once
#include "base/err.h"
#include "base/text.h"

enum { DOCTOR_PATH_BYTES = 512, DOCTOR_LINE_BYTES = 4096, DOCTOR_FILE_BYTES_MAX = 1 << 20 };

struct doctor_host {
    const char *root;  // "" for the machine itself
    // write: writes the text into the file of /sys or /proc at `path`. 0, or -errno.
    int (*write)(const struct doctor_host *h, const char *path, const char *text);
    // replace: doctor_disk_replace() below root.
    int (*replace)(const struct doctor_host *h, const char *path, const char *text,
                   struct err *err);
    // run: runs a program of the system, with an environment of its own, and waits for it. 0, or -1
    // with *err.
    int (*run)(const struct doctor_host *h, const char *const *argv, struct err *err);
};

// doctor_host_init: the machine below root.
void doctor_host_init(struct doctor_host *h, const char *root);

// doctor_path: root and the formatted path; one that is too long becomes empty, a file that does
// not exist. Returns out.
const char *doctor_path(const struct doctor_host *h, char out[DOCTOR_PATH_BYTES],
                        const char *format, ...) __attribute__((format(printf, 3, 4)));

// doctor_line: the first line of the file, "" if there is none. doctor_number: its number; false:
// there is none. doctor_word: the word in brackets of a line like "always [madvise] never".
void doctor_line(const struct doctor_host *h, const char *path, char *out, size_t room);
bool doctor_number(const struct doctor_host *h, const char *path, uint64_t *out);
void doctor_word(const struct doctor_host *h, const char *path, char *out, size_t room);

// doctor_file: the whole file, terminated; the caller frees it. NULL: there is none, it cannot be
// read, is longer than DOCTOR_FILE_BYTES_MAX, or has a byte 0.
char *doctor_file(const struct doctor_host *h, const char *path);

// doctor_long_file: the same of a file of up to bytes_max.
char *doctor_long_file(const struct doctor_host *h, const char *path, size_t bytes_max);

// doctor_exists: whether there is such a file, link or directory.
bool doctor_exists(const struct doctor_host *h, const char *path);

// doctor_link: the last part of what the symbolic link points to. False, and "": it is none.
bool doctor_link(const struct doctor_host *h, const char *path, char *out, size_t room);

// doctor_each: calls `each` for every name in the directory that does not begin with a dot, sorted,
// numbers by value, until it returns false.
void doctor_each(const struct doctor_host *h, const char *dir,
                 bool (*each)(void *arg, const char *name), void *arg);
