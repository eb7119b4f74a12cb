// SPDX-License-Identifier: BSD-3-Clause
// Sets of images (c10m/reload.h). Small images share mappings, of which each is as large as all
// before it, within limits; a large image has its own:
//
//     mapping 0, 64 KiB [ image | image | ... ]   mapping 1, 64 KiB [ image | ... ]
//     mapping 2, 128 KiB [ ... ]                  mapping 3 [ one large image ]
//
// If connections outlive the process, what is mapped is the rest of a span of mem/image_store.h,
// which outlives it, too. Where no span is free, or none has room, it is private memory, and
// connections that send from it do not go on in the next process (image_private_bytes).
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "mem/cgroup_memory.h"
#include "mem/image_store.h"
#include "mem/page_supply.h"
#include "sock/sock.h"

enum {
    SHARED_BYTES_MIN = 64 << 10,  // of a mapping for small images
    SHARED_BYTES_MAX = 64 << 20,  // one munmap() of 4 KiB pages: some milliseconds
    LARGE_BYTES = 1 << 20,        // images from here on have their own mapping
    // What a reload leaves to Linux: a 64th of the memory, but at least this.
    LEFT_BYTES_MIN = 32 << 20,
    LEFT_PART = 64,
};

struct mapping {
    uint8_t *at;
    uint64_t bytes;
    struct mapping *next;
};

struct c10m_images {
    struct c10m_service *service;
    struct c10m_image *images;
    struct mapping *mappings;
    uint64_t spans;         // of the service's image_store, one bit each
    unsigned span;          // of those, the one that grows; IMAGE_SPAN_NONE: none
    uint64_t count, bytes;  // of the images
    uint64_t shared_bytes;  // of all mappings for small images
    uint8_t *free_at;       // free part of the last of them
    uint64_t free_bytes;
};

static void add(struct shared_u64 *sum, uint64_t n)
{
    shared_u64_store(sum, shared_u64_load(sum) + n);
}

struct c10m_images *c10m_images_new(struct c10m_service *s)
{
    struct c10m_images *set = calloc(1, sizeof(*set));
    if (set != NULL)
        *set = (struct c10m_images){.service = s, .span = IMAGE_SPAN_NONE};
    return set;
}

struct c10m_images *c10m_images_left(struct c10m_service *s)
{
    struct image_store *store = s->image_store;
    if (store == NULL || !s->started)
        return NULL;
    const uint64_t spans = image_store_left(store, s->image_owner) & ~s->left_taken;
    struct c10m_images *set = spans == 0 ? NULL : c10m_images_new(s);
    if (set == NULL)
        return NULL;
    set->spans = spans;
    s->left_taken |= spans;
    for (unsigned i = 0; i < IMAGE_SPANS; i++)
        set->bytes += spans >> i & 1 ? image_store_used(store, i) : 0;
    add(&s->image_bytes, set->bytes);
    return set;
}

// give_spans: unless the store is closed, and what is in it goes on in another process.
static void give_spans(struct c10m_images *set)
{
    struct c10m_service *s = set->service;
    for (unsigned i = 0; i < IMAGE_SPANS && s->image_store != NULL; i++) {
        if ((set->spans >> i & 1) == 0)
            continue;
        image_store_give(s->image_store, i);
        s->left_taken &= ~(UINT64_C(1) << i);
    }
}

uint64_t c10m_images_bytes(const struct c10m_images *set)
{
    return set->bytes;
}

void c10m_images_free(struct c10m_images *set)
{
    if (set == NULL)
        return;
    struct c10m_service *s = set->service;
    add(&s->image_count, -set->count);
    add(&s->image_bytes, -set->bytes);
    for (struct c10m_image *i = set->images, *next; i != NULL; i = next) {
        next = i->next;
        free(i);
    }
    for (struct mapping *m = set->mappings, *next; m != NULL; m = next) {
        next = m->next;
        munmap(m->at, m->bytes);
        add(&s->image_private_bytes, -m->bytes);
        free(m);
    }
    give_spans(set);
    free(set);
}

// leaves_enough: whether Linux keeps its part if `bytes` are taken, of the machine's memory and of
// what the process may have of it. A start has counted its memory before (server/server_check.h),
// and takes it all the same; after it the kernel would end the process instead.
static bool leaves_enough(uint64_t bytes)
{
    struct memory_4k m;
    memory_4k_read(&m, "/proc");
    if (m.total_bytes == 0)
        return true;
    cgroup_memory_bound(&m, "/proc", "/sys/fs/cgroup");
    const uint64_t left = MAX((uint64_t)LEFT_BYTES_MIN, m.total_bytes / LEFT_PART);
    return m.available_bytes >= bytes + left;
}

// map_span: NULL: there is no store, or no room in it.
static uint8_t *map_span(struct c10m_images *set, uint64_t bytes)
{
    struct c10m_service *s = set->service;
    if (s->image_store == NULL)
        return NULL;
    if (set->span == IMAGE_SPAN_NONE) {
        set->span = image_store_take(s->image_store, s->image_owner);
        if (set->span == IMAGE_SPAN_NONE)
            return NULL;
        set->spans |= UINT64_C(1) << set->span;
    }
    return image_store_more(s->image_store, set->span, bytes);
}

static uint8_t *map_private(struct c10m_images *set, uint64_t bytes)
{
    struct mapping *m = calloc(1, sizeof(*m));
    void *at = MAP_FAILED;
    if (m != NULL)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        free(m);
        return NULL;
    }
    madvise(at, bytes, MADV_HUGEPAGE);
    *m = (struct mapping){at, bytes, set->mappings};
    set->mappings = m;
    add(&set->service->image_private_bytes, bytes);
    return at;
}

// may_take: a start gives up what a process before has left if memory lacks.
static bool may_take(const struct c10m_service *s, uint64_t bytes)
{
    struct image_store *store = s->image_store;
    if (s->started)
        return leaves_enough(bytes);
    if (store != NULL && image_store_has_left(store) && !leaves_enough(bytes))
        image_store_give_left(store);
    return true;
}

// map: a multiple of PAGE_4K. NULL: errno ENOMEM.
static uint8_t *map(struct c10m_images *set, uint64_t bytes)
{
    uint8_t *at = NULL;
    if (may_take(set->service, bytes)) {
        at = map_span(set, bytes);
        if (at == NULL)
            at = map_private(set, bytes);
    }
    if (at == NULL)
        errno = ENOMEM;
    return at;
}

// take: `bytes`, a multiple of a cache line. NULL: errno ENOMEM.
static uint8_t *take(struct c10m_images *set, uint64_t bytes)
{
    if (bytes >= LARGE_BYTES)
        return map(set, ALIGN_UP(bytes, PAGE_4K));
    if (bytes > set->free_bytes) {
        const uint64_t more =
            MAX(ALIGN_UP(bytes, PAGE_4K), MIN(MAX(set->shared_bytes, (uint64_t)SHARED_BYTES_MIN),
                                              (uint64_t)SHARED_BYTES_MAX));
        uint8_t *at = map(set, more);
        if (at == NULL)
            return NULL;
        set->free_at = at;
        set->free_bytes = more;
        set->shared_bytes += more;
    }
    uint8_t *taken = set->free_at;
    set->free_at += bytes;
    set->free_bytes -= bytes;
    return taken;
}

const struct c10m_image *c10m_images_reserve(struct c10m_images *set, uint64_t len, uint8_t **room)
{
    struct c10m_service *s = set->service;
    const uint64_t bytes = ALIGN_UP(len, CACHE_LINE);
    if (len == 0 || (s->image_bytes_max != 0 && set->bytes + bytes > s->image_bytes_max)) {
        errno = ENOSPC;
        return NULL;
    }
    struct c10m_image *image = calloc(1, sizeof(*image));
    uint8_t *at = image == NULL ? NULL : take(set, bytes);
    if (at == NULL) {
        free(image);
        errno = ENOMEM;
        return NULL;
    }
    *image = (struct c10m_image){at, len, set->images};
    set->images = image;
    set->count++;
    set->bytes += bytes;
    add(&s->image_count, 1);
    add(&s->image_bytes, bytes);
    *room = at;
    return image;
}
