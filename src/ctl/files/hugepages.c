// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/files/hugepages.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"

enum { PATH_BYTES = 512, LINE_BYTES = 4096 };

// mapped: hugepages of this process by node and size.
struct mapped {
    unsigned n_sizes;
    unsigned kb[HUGE_SIZES_MAX];
    uint64_t pages[HUGE_NODES_MAX][HUGE_SIZES_MAX];
};

static int smaller_first(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

static void read_sizes(const char *sys_root, struct mapped *m)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof(path), "%s/kernel/mm/hugepages", sys_root);
    DIR *d = opendir(path);
    unsigned kb;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (m->n_sizes < HUGE_SIZES_MAX && sscanf(e->d_name, "hugepages-%ukB", &kb) == 1)
            m->kb[m->n_sizes++] = kb;
    if (d != NULL)
        closedir(d);
    qsort(m->kb, m->n_sizes, sizeof(m->kb[0]), smaller_first);
}

// Parses a line of numa_maps: ADDRESS POLICY ... huge ... N0=12 N1=3 kernelpagesize_kB=2048
static void read_mapping(char *line, struct mapped *m)
{
    const char *kb = strstr(line, " kernelpagesize_kB=");
    unsigned size = 0;
    if (kb == NULL || strstr(line, " huge ") == NULL)
        return;
    while (size < m->n_sizes && m->kb[size] != strtoul(kb + 19, NULL, 10))
        size++;
    if (size == m->n_sizes)
        return;
    for (const char *at = line; (at = strstr(at, " N")) != NULL; at += 2) {
        unsigned node;
        uint64_t pages;
        if (sscanf(at, " N%u=%" SCNu64, &node, &pages) == 2 && node < HUGE_NODES_MAX)
            m->pages[node][size] += pages;
    }
}

// Whether the process has hugepages. If not, numa_maps is not read, because the kernel would walk
// all other pages.
static bool has_any(const char *proc)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof(path), "%s/self/status", proc);
    FILE *f = fopen(path, "re");
    bool any = false;
    unsigned long kb;
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        any |= sscanf(line, "HugetlbPages: %lu", &kb) == 1 && kb != 0;
    if (f != NULL)
        fclose(f);
    return any;
}

static void read_mapped(const char *proc, struct mapped *m)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    if (!has_any(proc))
        return;
    snprintf(path, sizeof(path), "%s/self/numa_maps", proc);
    FILE *f = fopen(path, "re");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL)
        read_mapping(line, m);
    if (f != NULL)
        fclose(f);
}

static void size_lines(struct text *out, const char *folder, const char *prefix, unsigned kb,
                       bool has_reserved, uint64_t mapped)
{
    static const struct {
        const char *name, *file;
    } rows[] = {{"total", "nr_hugepages"},
                {"free", "free_hugepages"},
                {"reserved", "resv_hugepages"},  // the kernel has no value for each node
                {"surplus", "surplus_hugepages"}};
    for (unsigned i = 0; i < ARRAY_LEN(rows); i++) {
        char path[PATH_BYTES + 64];
        if (i == 2 && !has_reserved)
            continue;
        uint64_t pages;
        snprintf(path, sizeof(path), "%s/hugepages-%ukB/%s", folder, kb, rows[i].file);
        io_read_number(path, &pages);
        text_printf(out, "%s_%ukB_%s %" PRIu64 "\n", prefix, kb, rows[i].name, pages);
    }
    text_printf(out, "%s_%ukB_mapped %" PRIu64 "\n", prefix, kb, mapped);
}

static bool is_there(const char *path)
{
    DIR *d = opendir(path);
    if (d != NULL)
        closedir(d);
    return d != NULL;
}

void ctl_hugepages_render(const char *sys_root, const char *proc, struct text *out)
{
    struct mapped m;
    char folder[PATH_BYTES], prefix[32];
    memset(&m, 0, sizeof(m));
    read_sizes(sys_root, &m);
    read_mapped(proc, &m);
    snprintf(folder, sizeof(folder), "%s/kernel/mm/hugepages", sys_root);
    for (unsigned s = 0; s < m.n_sizes; s++) {
        uint64_t sum = 0;
        for (unsigned node = 0; node < HUGE_NODES_MAX; node++)
            sum += m.pages[node][s];
        size_lines(out, folder, "all", m.kb[s], true, sum);
    }
    for (unsigned node = 0; node < HUGE_NODES_MAX; node++) {
        snprintf(folder, sizeof(folder), "%s/devices/system/node/node%u/hugepages", sys_root, node);
        snprintf(prefix, sizeof(prefix), "node_%u", node);
        if (!is_there(folder))
            continue;
        for (unsigned s = 0; s < m.n_sizes; s++)
            size_lines(out, folder, prefix, m.kb[s], false, m.pages[node][s]);
    }
}
