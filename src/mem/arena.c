// SPDX-License-Identifier: BSD-3-Clause
#include "mem/arena.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mem/hugedir.h"
#include "mem/ledger.h"

enum { NODES_MAX = 1024, BITS_PER_LONG = 8 * sizeof(long) };

struct arena {
    char name[HUGEDIR_NAME_BYTES];
    uint8_t *at;  // MAP_FAILED: not mapped
    uint64_t reserved_bytes;
    uint64_t carved_bytes;
    size_t page_bytes;
    bool has_dir, kept;
    struct arena *before;  // which it is to replace; NULL: none
    struct err fault;      // of what a dead process kept
    struct hugedir dir;
    unsigned n_rows;
    struct arena_row rows[ARENA_ROWS_MAX];
};

static int bind_to_node(const struct arena *a, int node, struct err *e)
{
    unsigned long mask[NODES_MAX / BITS_PER_LONG] = {0};
    if (node < 0 || (node == 0 && numa_available() < 0))
        return 0;
    if (node >= NODES_MAX)
        return err_set(e, "NUMA node %d: expected at most %d", node, NODES_MAX - 1);
    mask[(unsigned)node / BITS_PER_LONG] |= 1ul << (unsigned)node % BITS_PER_LONG;
    if (mbind(a->at, a->reserved_bytes, MPOL_BIND, mask, NODES_MAX + 1, 0) != 0)
        return err_set(e, "NUMA node %d: cannot bind memory to it: %s", node, strerror(errno));
    return 0;
}

// touch: populates every page now. If a page is missing, madvise() fails here; without it, the
// first access would end the program with SIGBUS.
static int touch(const struct arena *a, struct err *e)
{
    char bytes[LEDGER_GROUPED_BYTES];
    if (madvise(a->at, a->reserved_bytes, MADV_POPULATE_WRITE) == 0)
        return 0;
    return err_set(e, "%s: the kernel did not hand out %s bytes in pages of %zu KiB: %s", a->name,
                   ledger_grouped(bytes, a->reserved_bytes), a->page_bytes / 1024, strerror(errno));
}

// keep_at: far from what Linux, DPDK and the sanitizers choose. One for an arena, and one for the
// arena that replaces it.
static uint8_t *const keep_at[] = {(uint8_t *)0x300000000000, (uint8_t *)0x380000000000};

static bool map_at(struct arena *a, int fd, uint8_t *at)
{
    a->at = mmap(at, a->reserved_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED_NOREPLACE,
                 fd, 0);
    return a->at != MAP_FAILED;
}

static uint8_t *address_of_next(const struct arena *a)
{
    return keep_at[a->before != NULL && a->before->at == keep_at[0]];
}

static int map(struct arena *a, int fd, int flags, struct err *e)
{
    char bytes[LEDGER_GROUPED_BYTES];
    if (fd >= 0 && (a->dir.keep || a->before != NULL) && map_at(a, fd, address_of_next(a)))
        return 0;
    a->at = mmap(NULL, a->reserved_bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (a->at != MAP_FAILED)
        return 0;
    return err_set(e, "%s: cannot map %s bytes: %s", a->name,
                   ledger_grouped(bytes, a->reserved_bytes), strerror(errno));
}

static int create_file(const struct arena *a, struct err *e)
{
    return a->before != NULL ? hugedir_create_next(&a->before->dir, a->page_bytes, e)
                             : hugedir_create(&a->dir, a->page_bytes, e);
}

static int map_file(struct arena *a, int node, struct err *e)
{
    const int fd = create_file(a, e);
    if (fd < 0)
        return err_key(e, "memory.hugetlbfs");
    int rc = ftruncate(fd, (off_t)a->reserved_bytes);
    if (rc != 0)
        err_set(e, "%s: %s", a->name, strerror(errno));
    else
        rc = map(a, fd, MAP_SHARED, e);
    close(fd);
    if (rc != 0 || bind_to_node(a, node, e) != 0)
        return -1;
    return touch(a, e);
}

// map_where_it_was: the address is in the file.
static int map_where_it_was(struct arena *a, int fd, uint64_t at_offset, struct err *e)
{
    uint8_t *was;
    if (map(a, fd, MAP_SHARED, e) != 0)
        return -1;
    if (at_offset + sizeof(was) > a->reserved_bytes)
        return 0;
    memcpy(&was, a->at + at_offset, sizeof(was));
    if (was == a->at || was != keep_at[1])
        return 0;
    munmap(a->at, a->reserved_bytes);
    return map_at(a, fd, keep_at[1]) ? 0 : map(a, fd, MAP_SHARED, e);
}

// map_whole: maps a file that a dead process kept, if all of it is there: no access fails later.
static int map_whole(struct arena *a, int fd, const struct hugedir_kept *k, uint64_t at_offset,
                     struct err *e)
{
    char held[LEDGER_GROUPED_BYTES], bytes[LEDGER_GROUPED_BYTES];
    if (k->bytes == 0 || k->held_bytes < k->bytes)
        return err_set(e, "its file has %s of %s bytes", ledger_grouped(held, k->held_bytes),
                       ledger_grouped(bytes, k->bytes));
    return map_where_it_was(a, fd, at_offset, e) != 0 ? -1 : touch(a, e);
}

// map_kept: the file of a dead process, whatever its size: a->fault. False: there is none.
static bool map_kept(struct arena *a, uint64_t at_offset)
{
    struct hugedir_kept k;
    const int fd = hugedir_reopen(&a->dir, &k);
    if (fd < 0)
        return false;
    a->kept = true;
    a->page_bytes = k.page_bytes;
    a->reserved_bytes = k.bytes;
    map_whole(a, fd, &k, at_offset, &a->fault);
    close(fd);
    return true;
}

// open_dir: 1: the arena is what a dead process kept.
static int open_dir(struct arena *a, const struct arena_params *p, struct err *e)
{
    if (hugedir_open(&a->dir, p->dir, p->name, p->keep, e) != 0)
        return err_key(e, "memory.hugetlbfs");
    a->has_dir = true;
    if (p->keep)
        hugedir_settle(&a->dir, p->at_offset);
    if (p->keep && map_kept(a, p->at_offset))
        return 1;
    hugedir_drop(&a->dir);  // a mark without a file
    return p->keep ? hugedir_keep(&a->dir, e) : 0;
}

// kind_of: the size of pages stays in an arena that replaces another one.
static enum pages_kind kind_of(const struct arena *a, const struct arena_params *p)
{
    if (a->before == NULL || p->pages != PAGES_AUTO)
        return p->pages;
    return a->before->page_bytes == PAGE_1G ? PAGES_1G : PAGES_2M;
}

static int choose_pages(struct arena *a, const struct arena_params *p, struct err *e)
{
    struct page_supply h;
    struct memory_4k of_4k;
    page_supply_read(&h, "/sys", p->node);
    memory_4k_read(&of_4k, "/proc");
    page_supply_spare(&h, &of_4k);
    if (page_supply_choose(&h, kind_of(a, p), p->bytes, p->leave_bytes, &a->page_bytes, e) != 0)
        return -1;
    a->reserved_bytes = ALIGN_UP(p->bytes, a->page_bytes);
    return 0;
}

static int reserve(struct arena *a, const struct arena_params *p, struct err *e)
{
    const int rc = p->pages == PAGES_NONE || a->before != NULL ? 0 : open_dir(a, p, e);
    if (rc != 0)
        return MIN(rc, 0);
    if (choose_pages(a, p, e) != 0)
        return -1;
    if (a->before != NULL && a->page_bytes != a->before->page_bytes)
        return err_set(e, "%s: its pages have another size than before", a->name);
    if (p->pages != PAGES_NONE)
        return map_file(a, p->node, e);
    if (map(a, -1, MAP_PRIVATE | MAP_ANONYMOUS, e) != 0)
        return -1;
    return bind_to_node(a, p->node, e);
}

static struct arena *open_arena(struct arena *before, const struct arena_params *params,
                                struct err *e)
{
    CHECK(params->bytes != 0);
    struct arena *a = calloc(1, sizeof(*a));
    if (a == NULL) {
        err_set(e, "%s: no memory", params->name);
        return NULL;
    }
    a->at = MAP_FAILED;
    a->before = before;
    snprintf(a->name, sizeof(a->name), "%s", params->name);
    if (reserve(a, params, e) == 0)
        return a;
    arena_close(a);
    return NULL;
}

struct arena *arena_open(const struct arena_params *params, struct err *e)
{
    return open_arena(NULL, params, e);
}

struct arena *arena_open_next(struct arena *kept, const struct arena_params *params, struct err *e)
{
    CHECK(kept->has_dir && kept->kept && params->pages != PAGES_NONE);
    return open_arena(kept, params, e);
}

void arena_succeed(struct arena *a)
{
    a->dir = a->before->dir;
    a->has_dir = true;
    a->before->has_dir = false;
    a->before = NULL;
}

void arena_free_pages(struct arena *kept)
{
    madvise(kept->at, kept->reserved_bytes, MADV_REMOVE);  // else the next start does
}

bool arena_is_kept(const struct arena *a)
{
    return a->kept;
}

const char *arena_fault(const struct arena *a)
{
    return a->fault.text[0] != '\0' ? a->fault.text : NULL;
}

void arena_drop(struct arena *a)
{
    if (a->has_dir)
        hugedir_drop(&a->dir);
}

int arena_images(struct arena *a, bool *kept, struct err *e)
{
    struct hugedir_kept k;
    if (a->before != NULL)
        return arena_images(a->before, kept, e);
    if (!a->has_dir || !a->dir.keep)
        return err_set(e, "%s does not outlive the process", a->name);
    const int fd = a->kept ? hugedir_reopen_4k(&a->dir, &k) : -1;
    *kept = fd >= 0;
    return fd >= 0 ? fd : hugedir_create(&a->dir, PAGE_4K, e);
}

void arena_close(struct arena *a)
{
    if (a == NULL)
        return;
    if (a->at != MAP_FAILED)
        munmap(a->at, a->reserved_bytes);
    if (a->before != NULL)
        hugedir_drop_next(&a->before->dir);
    if (a->has_dir)
        hugedir_close(&a->dir);
    free(a);
}

void arena_abandon(struct arena *a)
{
    if (a != NULL && a->before != NULL)
        hugedir_drop_next(&a->before->dir);
    else if (a != NULL && a->has_dir)
        hugedir_abandon(&a->dir);
}

static struct arena_row *row_of(struct arena *a, const char *name)
{
    for (unsigned i = 0; i < a->n_rows; i++)
        if (strcmp(a->rows[i].name, name) == 0)
            return &a->rows[i];
    CHECK(a->n_rows < ARENA_ROWS_MAX && strlen(name) < ARENA_ROW_NAME_BYTES);
    struct arena_row *r = &a->rows[a->n_rows++];
    snprintf(r->name, sizeof(r->name), "%s", name);
    return r;
}

void *arena_carve(struct arena *a, const char *name, uint64_t bytes, uint64_t align)
{
    CHECK(align != 0 && (align & (align - 1)) == 0 && align <= a->page_bytes);
    CHECK(arena_fault(a) == NULL);
    const uint64_t from = ALIGN_UP(a->carved_bytes, align);
    if (from > a->reserved_bytes || bytes > a->reserved_bytes - from)
        return NULL;
    row_of(a, name)->bytes += bytes;
    a->carved_bytes = from + bytes;
    return a->at + from;
}

const char *arena_name(const struct arena *a)
{
    return a->name;
}

size_t arena_page_bytes(const struct arena *a)
{
    return a->page_bytes;
}

uint64_t arena_reserved_bytes(const struct arena *a)
{
    return a->reserved_bytes;
}

uint64_t arena_carved_bytes(const struct arena *a)
{
    return a->carved_bytes;
}

unsigned arena_stale_removed(const struct arena *a)
{
    return a->dir.removed;
}

const struct arena_row *arena_rows(const struct arena *a, unsigned *n)
{
    *n = a->n_rows;
    return a->rows;
}
