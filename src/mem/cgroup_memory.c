// SPDX-License-Identifier: BSD-3-Clause
#include "mem/cgroup_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/io.h"

enum { PATH_BYTES = 1024 };

// own_group: the path of the group, "" for the root. A path that leads out of what is mounted here
// is the root's.
static void own_group(const char *proc_root, char group[PATH_BYTES])
{
    char path[PATH_BYTES], line[PATH_BYTES];
    group[0] = '\0';
    snprintf(path, sizeof(path), "%s/self/cgroup", proc_root);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return;
    while (fgets(line, sizeof(line), f) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0 && strstr(line, "/..") == NULL)
            snprintf(group, PATH_BYTES, "%s", line + 3);
    }
    fclose(f);
}

static bool read_number(const char *dir, const char *file, uint64_t *out)
{
    char path[PATH_BYTES + 32];
    snprintf(path, sizeof(path), "%s/%s", dir, file);
    return io_read_number(path, out);
}

// droppable: bytes of the page cache that the kernel drops before it ends a process.
static uint64_t droppable(const char *dir)
{
    char path[PATH_BYTES + 32], line[256];
    uint64_t bytes = 0;
    snprintf(path, sizeof(path), "%s/memory.stat", dir);
    FILE *f = fopen(path, "re");
    if (f == NULL)
        return 0;
    while (fgets(line, sizeof(line), f) != NULL &&
           sscanf(line, "inactive_file %" SCNu64, &bytes) != 1)
        ;
    fclose(f);
    return bytes;
}

// bound_by: memory.max is a number, or "max".
static void bound_by(struct memory_4k *m, const char *dir)
{
    uint64_t max, used;
    if (!read_number(dir, "memory.max", &max))
        return;
    read_number(dir, "memory.current", &used);
    used -= MIN(used, droppable(dir));
    m->total_bytes = MIN(m->total_bytes, max);
    m->available_bytes = MIN(m->available_bytes, max - MIN(max, used));
    m->linux_bytes = MIN(m->linux_bytes, m->available_bytes);
}

void cgroup_memory_bound(struct memory_4k *m, const char *proc_root, const char *cgroup_root)
{
    char group[PATH_BYTES], dir[PATH_BYTES];
    own_group(proc_root, group);
    for (;;) {
        if (snprintf(dir, sizeof(dir), "%s%s", cgroup_root, group) < (int)sizeof(dir))
            bound_by(m, dir);
        char *last = strrchr(group, '/');
        if (last == NULL)
            return;
        *last = '\0';
    }
}
