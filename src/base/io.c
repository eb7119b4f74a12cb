// SPDX-License-Identifier: BSD-3-Clause
#include "base/io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

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

void io_read_line(const char *dir, const char *file, char *out, size_t room)
{
    char path[PATH_BYTES];
    out[0] = '\0';
    if (snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path))
        return;
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    if (fgets(out, (int)room, f) == NULL)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
    fclose(f);
}
