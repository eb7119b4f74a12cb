// SPDX-License-Identifier: BSD-3-Clause
#include <malloc.h>
#include <stdlib.h>

#include "prof/heap_internal.h"
#include "server/capture_reader.h"
#include "sock/sock.h"

void heap_put(const struct heap *h, const struct frames *f, struct amount alloc,
              struct amount inuse, uint64_t reserved)
{
    const int64_t values[HEAP_TYPES] = {
        h->sign * (int64_t)alloc.objects, h->sign * (int64_t)alloc.bytes,
        h->sign * (int64_t)inuse.objects, h->sign * (int64_t)inuse.bytes,
        h->sign * (int64_t)reserved};
    frames_put(f, h->r->profile, values);
}

void heap_put_used(const struct heap *h, const struct frames *f, struct amount a)
{
    if (a.objects != 0 || a.bytes != 0)
        heap_put(h, f, a, a, a.bytes);
}

static void put_of_process(const struct heap *h, const char *what, const char *owner,
                           struct amount used, uint64_t reserved)
{
    struct frames f = {.n = 0};
    frames_add(&f, "%s", what);
    frames_add(&f, "%s", owner);
    if (reserved != 0)
        heap_put(h, &f, used, used, reserved);
}

static void put_images(const struct heap *h)
{
    const struct server *s = h->r->shown.server;
    for (unsigned i = 0; i < server_params_of(s)->n_services; i++) {
        const struct c10m_service *sv = server_service(s, i);
        const struct amount a = {shared_u64_load(&sv->image_count),
                                 shared_u64_load(&sv->image_bytes)};
        struct frames f = {.n = 0};
        frames_add(&f, "image");
        frames_service(&f, s, i);
        frames_add(&f, "images");
        heap_put_used(h, &f, a);
    }
}

static void put_libc(const struct heap *h)
{
    const struct mallinfo2 m = mallinfo2();
    const uint64_t mapped = m.hblkhd;
    put_of_process(h, "allocated", "libc heap", (struct amount){0, m.uordblks}, m.uordblks);
    put_of_process(h, "allocated, large", "libc heap", (struct amount){m.hblks, mapped}, mapped);
    put_of_process(h, "free", "libc heap", (struct amount){0, 0}, m.fordblks);
}

static void put_dumps(const struct heap *h)
{
    const uint64_t bytes = capture_bytes(h->r->shown.server);
    put_of_process(h, "rings of dumps", "control thread", (struct amount){1, bytes}, bytes);
}

void heap_memory(const struct reading *r, int64_t sign)
{
    const struct server *s = r->shown.server;
    struct conn_tally *tally = calloc(server_workers(s), sizeof(*tally));
    if (tally == NULL) {
        profile_lose(r->profile, 1);
        return;
    }
    conn_tally_take(s, &r->over, tally);
    struct heap h = {.r = r, .sign = sign};
    for (; h.worker < server_workers(s); h.worker++) {
        h.tally = &tally[h.worker];
        heap_put_worker(&h);
    }
    put_images(&h);
    put_libc(&h);
    put_dumps(&h);
    if (sign > 0)
        profile_comment(r->profile, "alloc: since the start for blocks, records of handshakes and "
                                    "TIME-WAIT, and packets; else as inuse");
    free(tally);
}

uint64_t heap_objects(const struct prof_shown *s)
{
    uint64_t n = 0;
    for (unsigned w = 0; w < server_workers(s->server); w++) {
        struct fill_pool pools[FILL_POOLS_MAX];
        const unsigned n_pools = fill_pools_now(s->server, w, pools);
        for (unsigned i = 0; i < n_pools; i++)
            n += pools[i].used;
    }
    return n;
}
