// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/loaded.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct list {
    struct loaded_file *files;
    unsigned n;
};

void loaded_hex(const uint8_t *bytes, size_t n, char out[2 * LOADED_BUILD_ID_BYTES + 1])
{
    out[0] = '\0';
    for (size_t i = 0; i < n && n <= LOADED_BUILD_ID_BYTES; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
}

// note_build_id: looks for the build id among the notes of one segment.
static void note_build_id(const uint8_t *at, size_t n, char *out)
{
    while (n >= sizeof(ElfW(Nhdr))) {
        const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
        const size_t name = ALIGN_UP((size_t)note->n_namesz, 4),
                     body = ALIGN_UP((size_t)note->n_descsz, 4), all = sizeof(*note) + name + body;
        if (all > n)
            return;
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
            memcmp(note + 1, "GNU", sizeof("GNU")) == 0)
            loaded_hex((const uint8_t *)(note + 1) + name, note->n_descsz, out);
        at += all;
        n -= all;
    }
}

static void find_build_id(const struct dl_phdr_info *info, char *out)
{
    out[0] = '\0';
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            note_build_id((const uint8_t *)(info->dlpi_addr + p->p_vaddr), p->p_memsz, out);
    }
}

// path_of: the program has no name in the list. Its link names a deleted file with a suffix.
static char *path_of(const struct dl_phdr_info *info)
{
    static const char deleted[] = " (deleted)";
    char path[PATH_MAX];
    if (info->dlpi_name[0] != '\0')
        return strdup(strcmp(info->dlpi_name, "linux-vdso.so.1") == 0 ? "[vdso]" : info->dlpi_name);
    const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    if (len < 0)
        return strdup("[program]");
    path[len] = '\0';
    char *suffix = strstr(path, deleted);
    if (suffix != NULL && suffix[sizeof(deleted) - 1] == '\0')
        *suffix = '\0';
    return strdup(path);
}

// find_frames: the segment with .eh_frame_hdr, and the memory around it, which has .eh_frame, too.
static void find_frames(const struct dl_phdr_info *info, struct loaded_file *f)
{
    uintptr_t frames = 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            frames = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (unsigned i = 0; i < info->dlpi_phnum && frames != 0; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const uintptr_t start = info->dlpi_addr + p->p_vaddr;
        if (p->p_type != PT_LOAD || frames - start >= p->p_filesz)
            continue;
        f->frames = (const uint8_t *)frames;
        f->image = (const uint8_t *)start;
        f->image_limit = f->image + p->p_filesz;
    }
}

static bool add(struct list *l, const struct dl_phdr_info *info, const ElfW(Phdr) * p)
{
    struct loaded_file *f = &l->files[l->n];
    const uint64_t page = (uint64_t)getpagesize(), within = p->p_vaddr % page;
    *f = (struct loaded_file){.base = info->dlpi_addr,
                              .start = info->dlpi_addr + p->p_vaddr - within,
                              .limit = info->dlpi_addr + ALIGN_UP(p->p_vaddr + p->p_memsz, page),
                              .offset = p->p_offset - within,
                              .path = path_of(info),
                              .program = info->dlpi_name[0] == '\0'};
    find_build_id(info, f->build_id);
    find_frames(info, f);
    l->n += f->path != NULL;
    return f->path != NULL;
}

static int visit(struct dl_phdr_info *info, size_t size, void *list)
{
    struct list *l = list;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) != 0 &&
            (l->n == LOADED_FILES_MAX || !add(l, info, p)))
            return -1;
    }
    return 0;
}

static int by_start(const void *a, const void *b)
{
    const struct loaded_file *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

struct loaded_file *loaded_list(unsigned *n)
{
    struct list l = {.files = calloc(LOADED_FILES_MAX, sizeof(*l.files))};
    *n = 0;
    if (l.files == NULL)
        return NULL;
    dl_iterate_phdr(visit, &l);
    qsort(l.files, l.n, sizeof(*l.files), by_start);
    *n = l.n;
    return l.files;
}

void loaded_free(struct loaded_file *files, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        free(files[i].path);
    free(files);
}

const struct loaded_file *loaded_at(const struct loaded_file *files, unsigned n, uint64_t address)
{
    unsigned low = 0, high = n;
    while (low < high) {
        const unsigned middle = (low + high) / 2;
        if (files[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 || address >= files[low - 1].limit ? NULL : &files[low - 1];
}

// touch: a kernel before 5.14 does not know the advice.
static void touch(const volatile uint8_t *from, const volatile uint8_t *limit)
{
    const uintptr_t page = (uintptr_t)getpagesize(), first = (uintptr_t)from / page * page;
    if (madvise((void *)first, (uintptr_t)limit - first, MADV_POPULATE_READ) == 0)
        return;
    for (; from < limit; from += page)
        (void)*from;
}

void loaded_touch(const struct loaded_file *files, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct loaded_file *f = &files[i];
        if (f->frames != NULL)
            touch(f->frames, f->image_limit);
        if (f->program)
            touch((const uint8_t *)f->start, (const uint8_t *)f->limit);
    }
}
