// SPDX-License-Identifier: BSD-3-Clause
#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int io_write_all(int fd, const void *data, size_t n)
{
    const uint8_t *at = data;
    while (n > 0) {
        const ssize_t put = write(fd, at, n);
        if (put < 0 && errno != EINTR)
            return -errno;
        at += put < 0 ? 0 : put;
        n -= put < 0 ? 0 : (size_t)put;
    }
    return 0;
}

bool io_read_number(const char *path, uint64_t *out)
{
    *out = 0;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return false;
    const bool ok = fscanf(f, "%" SCNu64, out) == 1;
    fclose(f);
    return ok;
}
