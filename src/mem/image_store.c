// SPDX-License-Identifier: BSD-3-Clause
#include "mem/image_store.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/shared.h"
#include "mem/page_supply.h"

enum {
    STORE_VERSION = 1,
    HEAD_BYTES = 2 << 20,       // spans begin on a hugepage
    GIVE_STEP_BYTES = 64 << 20  // freed at once: each interrupts the workers' cores
};

#define STORE_BYTES (HEAD_BYTES + IMAGE_SPANS * IMAGE_SPAN_BYTES)

static const char MAGIC[8] = "c10mimgs";

// STORE_AT: far from the arena that is kept (mem/arena.c), and from what others choose.
static void *const STORE_AT = (void *)0x400000000000;

// A span is FILLED by a start, and CONFIRMED when that has decided which connections go on.
enum { FREE, FILLED, CONFIRMED };

// span: `state` is stored first and cleared last: of a span that a killed process had half taken or
// half freed no byte is used.
struct span {
    uint64_t used;
    uint8_t state, owner;
};

struct head {
    char magic[8];
    uint32_t version;
    struct span spans[IMAGE_SPANS];
};
static_assert(sizeof(struct head) <= HEAD_BYTES, "the head");

struct image_store {
    struct head *head;
    uint64_t left;          // spans of a process before
    _Atomic uint64_t held;  // of those, with connections that go on
    bool confirmed;
    struct shared_u32 spans_now;  // that are not free
};

// ordered: the compiler keeps the order of stores, because the process may be killed between them.
static void ordered(void)
{
    __asm__ volatile("" ::: "memory");
}

static uint8_t *at_of(const struct image_store *s, unsigned span)
{
    return (uint8_t *)s->head + HEAD_BYTES + span * IMAGE_SPAN_BYTES;
}

// clear: frees what is used step by step, and what a killed process may have had behind that.
static void clear(const struct image_store *s, unsigned span, uint64_t used)
{
    uint64_t at = 0;
    for (; at < used; at += MIN(used - at, (uint64_t)GIVE_STEP_BYTES))
        madvise(at_of(s, span) + at, MIN(used - at, (uint64_t)GIVE_STEP_BYTES), MADV_REMOVE);
    madvise(at_of(s, span) + at, IMAGE_SPAN_BYTES - at, MADV_REMOVE);
}

static bool is_whole(const struct head *h)
{
    bool whole = memcmp(h->magic, MAGIC, sizeof(h->magic)) == 0 && h->version == STORE_VERSION;
    for (unsigned i = 0; i < IMAGE_SPANS; i++) {
        const struct span *sp = &h->spans[i];
        whole &= sp->used <= IMAGE_SPAN_BYTES && sp->used % PAGE_4K == 0 &&
                 sp->state <= CONFIRMED && (sp->state != FREE || sp->used == 0);
    }
    return whole;
}

// has_memory: whether the file has what its spans use. In a hole there are other bytes than those
// that connections have begun to send, and memory that is taken when they are read.
static bool has_memory(const struct head *h, int fd)
{
    struct stat st;
    uint64_t used = 0;
    for (unsigned i = 0; i < IMAGE_SPANS; i++)
        used += h->spans[i].used;
    return fstat(fd, &st) == 0 && used <= (uint64_t)st.st_blocks * 512;
}

// begin_anew: whatever is in the file is gone.
static int begin_anew(struct image_store *s, int fd, struct err *e)
{
    if (ftruncate(fd, 0) != 0 || ftruncate(fd, (off_t)STORE_BYTES) != 0 ||
        madvise(s->head, PAGE_4K, MADV_POPULATE_WRITE) != 0)
        return err_set(e, "images: %s", strerror(errno));
    s->head->version = STORE_VERSION;
    ordered();
    memcpy(s->head->magic, MAGIC, sizeof(s->head->magic));
    return 0;
}

static void add_span(struct image_store *s, int n)
{
    shared_u32_store(&s->spans_now, shared_u32_load(&s->spans_now) + (uint32_t)n);
}

// look: finds what a process before has left. What it had begun to take or to free is freed, and
// what a start has filled that failed.
static void look(struct image_store *s)
{
    for (unsigned i = 0; i < IMAGE_SPANS; i++) {
        const struct span *sp = &s->head->spans[i];
        add_span(s, sp->state != FREE);
        if (sp->state == CONFIRMED && sp->used != 0)
            s->left |= UINT64_C(1) << i;
        else if (sp->state != FREE)
            image_store_give(s, i);
    }
}

static bool has_size(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && (uint64_t)st.st_size == STORE_BYTES;
}

static int enter(struct image_store *s, int fd, bool kept, struct err *e)
{
    s->head = mmap(STORE_AT, STORE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd, 0);
    if (s->head == MAP_FAILED)
        return err_set(e, "images: cannot map their file: %s", strerror(errno));
    if (!kept || !has_size(fd) || !is_whole(s->head) || !has_memory(s->head, fd))
        return begin_anew(s, fd, e);
    look(s);
    return 0;
}

struct image_store *image_store_open(int fd, bool kept, struct err *e)
{
    struct image_store *s = calloc(1, sizeof(*s));
    int rc = -1;
    if (s == NULL)
        err_set(e, "images: no memory");
    else
        rc = enter(s, fd, kept, e);
    close(fd);
    if (rc == 0)
        return s;
    if (s != NULL && s->head == MAP_FAILED)
        s->head = NULL;
    image_store_close(s);
    return NULL;
}

void image_store_close(struct image_store *s)
{
    if (s == NULL)
        return;
    for (unsigned i = 0; i < IMAGE_SPANS && s->head != NULL; i++)
        if (s->head->spans[i].state == FILLED)
            image_store_give(s, i);
    if (s->head != NULL)
        munmap(s->head, STORE_BYTES);
    free(s);
}

void image_store_confirm(struct image_store *s)
{
    s->confirmed = true;
    for (unsigned i = 0; i < IMAGE_SPANS; i++) {
        struct span *sp = &s->head->spans[i];
        if (sp->state == FILLED)
            sp->state = CONFIRMED;
        if (s->held >> i & 1)
            madvise(at_of(s, i), sp->used, MADV_POPULATE_READ);
    }
}

unsigned image_store_take(struct image_store *s, uint8_t owner)
{
    unsigned i = 0;
    while (i < IMAGE_SPANS && s->head->spans[i].state != FREE)
        i++;
    if (i == IMAGE_SPANS)
        return IMAGE_SPAN_NONE;
    struct span *sp = &s->head->spans[i];
    sp->state = s->confirmed ? CONFIRMED : FILLED;
    ordered();
    sp->used = 0;
    sp->owner = owner;
    add_span(s, 1);
    return i;
}

uint8_t *image_store_more(struct image_store *s, unsigned span, uint64_t bytes)
{
    struct span *sp = &s->head->spans[span];
    uint8_t *at = at_of(s, span) + sp->used;
    if (bytes > IMAGE_SPAN_BYTES - sp->used)
        return NULL;
    madvise(at, bytes, MADV_HUGEPAGE);
    if (madvise(at, bytes, MADV_POPULATE_WRITE) != 0) {
        madvise(at, bytes, MADV_REMOVE);
        return NULL;
    }
    sp->used += bytes;
    return at;
}

void image_store_give(struct image_store *s, unsigned span)
{
    struct span *sp = &s->head->spans[span];
    const uint64_t used = sp->used;
    sp->used = 0;
    ordered();
    clear(s, span, used);
    ordered();
    sp->state = FREE;
    add_span(s, -1);
    s->left &= ~(UINT64_C(1) << span);
    s->held &= ~(UINT64_C(1) << span);
}

static void give_all(struct image_store *s, uint64_t spans)
{
    for (unsigned i = 0; i < IMAGE_SPANS; i++)
        if (spans >> i & 1)
            image_store_give(s, i);
}

void image_store_give_left(struct image_store *s)
{
    give_all(s, s->left);
}

void image_store_give_idle(struct image_store *s)
{
    give_all(s, s->left & ~s->held);
}

uint64_t image_store_left(const struct image_store *s, uint8_t owner)
{
    uint64_t left = 0;
    for (unsigned i = 0; i < IMAGE_SPANS; i++)
        if ((s->held >> i & 1) != 0 && s->head->spans[i].owner == owner)
            left |= UINT64_C(1) << i;
    return left;
}

bool image_store_has_left(const struct image_store *s)
{
    return s->left != 0;
}

bool image_store_holds(struct image_store *s, uint8_t owner, const uint8_t *at, uint64_t len)
{
    const uintptr_t from = (uintptr_t)at_of(s, 0), a = (uintptr_t)at;
    if (a < from || a >= from + IMAGE_SPANS * IMAGE_SPAN_BYTES)
        return false;
    const unsigned i = (unsigned)((a - from) / IMAGE_SPAN_BYTES);
    const struct span *sp = &s->head->spans[i];
    const uint64_t off = (a - from) % IMAGE_SPAN_BYTES;
    if ((s->left >> i & 1) == 0 || sp->owner != owner || off > sp->used || len > sp->used - off)
        return false;
    atomic_fetch_or_explicit(&s->held, UINT64_C(1) << i, memory_order_relaxed);
    return true;
}

uint64_t image_store_used(const struct image_store *s, unsigned span)
{
    return s->head->spans[span].used;
}

unsigned image_store_spans_now(const struct image_store *s)
{
    return shared_u32_load(&s->spans_now);
}
