// SPDX-License-Identifier: BSD-3-Clause
#include "base/topology.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

enum { PATH_BYTES = 512 };

static int read_int(const char *dir, const char *file)
{
    char line[32], *end;
    io_read_line(dir, file, line, sizeof(line));
    const long v = strtol(line, &end, 10);
    return end == line ? -1 : (int)v;
}

// read_size: bytes of a text such as "512K" or "32M".
static uint64_t read_size(const char *dir)
{
    char line[32], *end;
    io_read_line(dir, "size", line, sizeof(line));
    const uint64_t v = strtoull(line, &end, 10);
    return *end == 'K' ? v << 10 : *end == 'M' ? v << 20 : v;
}

static bool read_cache(const char *cpu_dir, unsigned index, struct cpu_cache *c)
{
    char dir[PATH_BYTES], type[32];
    snprintf(dir, sizeof(dir), "%.400s/cache/index%u", cpu_dir, index);
    const int level = read_int(dir, "level");
    if (level <= 0)
        return false;
    io_read_line(dir, "type", type, sizeof(type));
    *c = (struct cpu_cache){.level = (unsigned)level, .type = type[0], .bytes = read_size(dir)};
    io_read_line(dir, "shared_cpu_list", c->shared, sizeof(c->shared));
    return true;
}

// node_of: the NUMA node of a CPU, or -1. sysfs has a link nodeN in the directory of each CPU.
static int node_of(const char *cpu_dir)
{
    DIR *d = opendir(cpu_dir);
    int node = -1;
    if (d == NULL)
        return node;
    for (struct dirent *e; node < 0 && (e = readdir(d)) != NULL;)
        if (sscanf(e->d_name, "node%d", &node) != 1)
            node = -1;
    closedir(d);
    return node;
}

bool topology_read(const char *sys_root, unsigned cpu, struct cpu_place *out)
{
    char dir[PATH_BYTES / 2];
    snprintf(dir, sizeof(dir), "%.200s/devices/system/cpu/cpu%u", sys_root, cpu);
    *out = (struct cpu_place){.cpu = cpu, .node = node_of(dir)};
    if (access(dir, F_OK) != 0)
        return false;
    out->package = read_int(dir, "topology/physical_package_id");
    out->core = read_int(dir, "topology/core_id");
    io_read_line(dir, "topology/thread_siblings_list", out->siblings, sizeof(out->siblings));
    out->has_siblings = strpbrk(out->siblings, ",-") != NULL;
    while (out->n_caches < TOPOLOGY_CACHES_MAX &&
           read_cache(dir, out->n_caches, &out->caches[out->n_caches]))
        out->n_caches++;
    return true;
}

uint64_t topology_cache_bytes(const struct cpu_place *p, unsigned level)
{
    for (unsigned i = 0; i < p->n_caches; i++)
        if (p->caches[i].level == level && p->caches[i].type != 'I')
            return p->caches[i].bytes;
    return 0;
}

unsigned topology_nodes(const char *sys_root)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%.400s/devices/system/node", sys_root);
    DIR *d = opendir(path);
    unsigned n = 0, id;
    char rest;
    if (d == NULL)
        return 1;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += sscanf(e->d_name, "node%u%c", &id, &rest) == 1;
    closedir(d);
    return MAX(n, 1u);
}

int topology_list_next(const char **list, unsigned long *from, unsigned long *to)
{
    const char *at = *list;
    char *end;
    if (*at == '\0' || *at == '\n')
        return 0;
    if (!isdigit((unsigned char)*at))
        return -1;
    *from = *to = strtoul(at, &end, 10);
    if (*end == '-') {
        if (!isdigit((unsigned char)end[1]))
            return -1;
        *to = strtoul(end + 1, &end, 10);
    }
    if (*to < *from || (*end != ',' && *end != '\0' && *end != '\n'))
        return -1;
    *list = *end == ',' ? end + 1 : end;
    return 1;
}

bool topology_list_has(const char *list, unsigned cpu)
{
    unsigned long from, to;
    while (topology_list_next(&list, &from, &to) == 1)
        if (cpu >= from && cpu <= to)
            return true;
    return false;
}
