// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/bpf_maps.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

enum { MAPS_MAX = 256 };  // descriptors; further ones are ignored

struct bpf_maps {
    unsigned n;
    struct {
        int fd;
        unsigned map;  // the kernel's number of it
    } of[MAPS_MAX];
};

// map_of: the kernel numbers maps from 1. 0: fd is no BPF map, or not open.
static unsigned map_of(int fd)
{
    static const char kind[] = "anon_inode:bpf-map";
    char path[64], line[128];
    unsigned map = 0;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (readlink(path, line, sizeof(line)) != sizeof(kind) - 1 ||
        memcmp(line, kind, sizeof(kind) - 1) != 0)
        return 0;
    snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
    FILE *f = fopen(path, "re");
    while (f != NULL && map == 0 && fgets(line, sizeof(line), f) != NULL)
        if (sscanf(line, "map_id: %u", &map) != 1)
            map = 0;
    if (f != NULL)
        fclose(f);
    return map;
}

struct bpf_maps *bpf_maps_note(void)
{
    struct bpf_maps *m = calloc(1, sizeof(*m));
    CHECK(m != NULL);
    DIR *d = opendir("/proc/self/fd");
    for (const struct dirent *e; d != NULL && m->n < MAPS_MAX && (e = readdir(d)) != NULL;) {
        const int fd = atoi(e->d_name);
        const unsigned map = e->d_name[0] == '.' ? 0 : map_of(fd);
        if (map == 0)
            continue;
        m->of[m->n].fd = fd;
        m->of[m->n++].map = map;
    }
    if (d != NULL)
        closedir(d);
    return m;
}

// lost_one: whether a descriptor of that map was closed.
static bool lost_one(const struct bpf_maps *m, const bool *open, unsigned map)
{
    for (unsigned i = 0; i < m->n; i++)
        if (m->of[i].map == map && !open[i])
            return true;
    return false;
}

void bpf_maps_close_rest(struct bpf_maps *m)
{
    bool open[MAPS_MAX];
    for (unsigned i = 0; i < m->n; i++)
        open[i] = map_of(m->of[i].fd) == m->of[i].map;
    for (unsigned i = 0; i < m->n; i++)
        if (open[i] && lost_one(m, open, m->of[i].map))
            close(m->of[i].fd);
    free(m);
}
