// SPDX-License-Identifier: BSD-3-Clause
// io.h: files and pipes of the control side, whole.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// io_write_all: n bytes, however many calls they take. 0, or -errno: some may have been written.
int io_write_all(int fd, const void *data, size_t n);

// io_read_number: the decimal number that the file at `path` begins with, as those of sysfs do.
// False: there is no such file, or no number in it; *out is 0.
bool io_read_number(const char *path, uint64_t *out);
