// SPDX-License-Identifier: BSD-3-Clause
// io.h: reading and writing files and pipes of the control side.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// io_write_all: writes n bytes with as many calls as needed. Returns 0, or -errno after writing a
// part.
int io_write_all(int fd, const void *data, size_t n);

// io_read_number: reads the decimal number at the begin of the file at `path`, as in sysfs. False:
// there is no file or no number; *out is 0.
bool io_read_number(const char *path, uint64_t *out);

// io_read_line: reads the first line of dir/file without its newline, at most room - 1 bytes. If
// there is no such file, or its path is longer than 511 bytes, out becomes "".
void io_read_line(const char *dir, const char *file, char *out, size_t room);
