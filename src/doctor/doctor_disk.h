// SPDX-License-Identifier: BSD-3-Clause
// doctor_disk.h: replaces a file on a disk so that at any moment, also at a loss of power, either
// the old file or the new one is there.
#pragma once
#include "base/err.h"

// doctor_disk_replace: the file at `path` becomes `text`, with mode and owner of the file that was
// there (0644 and this process if there was none), on the disk when it returns. Of a symbolic link
// the file that it names is replaced, and the link stays; a link to nothing, and what is no regular
// file, is refused. text NULL: the file is removed; that there is none is no error. 0, or -1 with
// *err; then nothing is left behind. Only a process that is killed leaves its file FILE.c10m-new.
int doctor_disk_replace(const char *path, const char *text, struct err *err);

// doctor_disk_clean: removes what a killed doctor_disk_replace() left beside the file.
void doctor_disk_clean(const char *path);
