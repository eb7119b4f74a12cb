// SPDX-License-Identifier: BSD-3-Clause
#include "server/capture_reader.h"

#include <errno.h>
#include <rte_ring.h>
#include <rte_ring_peek_zc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "server/capture_filter.h"
#include "server/server_internal.h"
#include "stat/counters.h"
#include "worker/capture_ring.h"

enum { PAGE_BYTES = 4096 };

// part: the state of a dump at one worker.
struct part {
    struct capture_sink *sink;  // NULL: given back, or never made
    void *mem;
    size_t touched_bytes;
    bool attached;  // is in the list that is ordered
    bool has_head;
    struct capture_record head;
};

struct capture_reader {
    struct server *server;
    struct capture_reader_params params;
    struct capture_filter *filter;
    unsigned slots;  // of a ring, a power of two
    size_t mem_bytes;
    bool over;           // detached for good
    bool freed;          // its owner is gone
    unsigned peeked;     // the part that capture_reader_peek() found
    struct part *parts;  // one a worker
};

// old: a list that its worker may still read.
struct old {
    struct old *next;
    struct capture_list *list;
};

struct capture_readers {
    struct capture_reader *dumps[SERVER_WORKERS_MAX];  // at work or waiting, without gaps
    unsigned n;
    uint64_t refused;
    struct old *old[SERVER_WORKERS_MAX];
};

enum { HELD_MAX = SERVER_WORKERS_MAX };  // dumps at work and waiting

static struct capture_readers *capture_readers_of(struct server *s)
{
    if (s->capture_readers == NULL)
        s->capture_readers = calloc(1, sizeof(*s->capture_readers));
    return s->capture_readers;
}

static bool acked(const struct worker *w)
{
    // Acquire: pairs with change_captures(). The worker does not use the old list any more.
    return shared_u32_load_acquire(&w->state) == WORKER_STOPPED ||
           shared_ptr_load_acquire(&w->captures_seen) == shared_ptr_load(&w->captures_ordered);
}

// Returns the list that was published last. This thread has to free it.
static struct capture_list *ordered_list(const struct worker *w)
{
    return (struct capture_list *)(uintptr_t)shared_ptr_load(&w->captures_ordered);
}

static void free_old(struct capture_readers *t, unsigned worker)
{
    for (struct old *o = t->old[worker], *next; o != NULL; o = next) {
        next = o->next;
        free(o->list);
        free(o);
    }
    t->old[worker] = NULL;
}

// publish: worker w is to use a list of the captures that are attached to it; one without
// captures is a list of its own, too: were it NULL again, a worker that is about to follow
// the list before it would look as if it had never heard of that one. 0, or -1: no memory, and
// nothing is changed.
static int publish(struct server *s, unsigned w)
{
    struct capture_readers *t = s->capture_readers;
    struct worker *worker = s->workers[w];
    struct capture_list *list = calloc(1, sizeof(*list));
    struct old *o = calloc(1, sizeof(*o));
    if (list == NULL || o == NULL) {
        free(list);
        free(o);
        return -1;
    }
    for (unsigned i = 0; i < t->n; i++)
        if (t->dumps[i]->parts[w].attached)
            list->at[list->n++] = t->dumps[i]->parts[w].sink;
    o->list = ordered_list(worker);
    if (o->list == NULL) {
        free(o);
    } else {
        o->next = t->old[w];
        t->old[w] = o;
    }
    shared_ptr_store_release(&worker->captures_ordered, list);  // pairs with tick()
    worker_wake(worker);
    return 0;
}

uint64_t capture_bytes(const struct server *s)
{
    return shared_u64_load(&s->capture_bytes);
}

static void count_bytes(const struct capture_reader *d, int64_t bytes)
{
    struct shared_u64 *of = &d->server->capture_bytes;
    shared_u64_store(of, shared_u64_load(of) + (uint64_t)bytes);
}

static void part_free(struct capture_reader *d, struct part *p)
{
    if (p->mem != NULL) {
        munmap(p->mem, d->mem_bytes);
        count_bytes(d, -(int64_t)d->mem_bytes);
    }
    free(p->sink);
    memset(p, 0, sizeof(*p));
}

static void dump_destroy(struct capture_reader *d)
{
    for (unsigned w = 0; d->parts != NULL && w < server_workers(d->server); w++)
        part_free(d, &d->parts[w]);
    free(d->parts);
    capture_filter_free(d->filter);
    free(d);
}

// set_tags: a port of a VLAN that is captured with its parent has the tags that are on the parent's
// wire; captured for itself, it has none, as Linux's interface of a VLAN.
static void set_tags(const struct capture_reader *d, struct capture_sink *sink)
{
    const struct server_params *p = &d->server->params;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const int parent = server_parent(p, i);
        if (parent >= 0 && (d->params.ports >> parent & 1) != 0)
            sink->tags[i] = p->ports[i].port.vlan;
    }
}

static int part_new(struct capture_reader *d, unsigned w)
{
    struct part *p = &d->parts[w];
    p->sink = aligned_alloc(CACHE_LINE, sizeof(*p->sink));
    if (p->sink == NULL)
        return -1;
    memset(p->sink, 0, sizeof(*p->sink));
    p->mem = mmap(NULL, d->mem_bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p->mem == MAP_FAILED) {
        p->mem = NULL;
        return -1;
    }
    count_bytes(d, (int64_t)d->mem_bytes);
    p->sink->filter = d->filter;
    p->sink->ring = p->mem;
    p->sink->snap_bytes = d->params.snap_bytes;
    p->sink->ports = d->params.ports;
    p->sink->directions = d->params.directions;
    p->sink->quiet = w != 0;
    set_tags(d, p->sink);
    CHECK(rte_ring_init(p->sink->ring, "capture", d->slots, RING_F_SP_ENQ | RING_F_SC_DEQ) == 0);
    return 0;
}

static unsigned at_work(const struct capture_readers *t)
{
    unsigned n = 0;
    for (unsigned i = 0; i < t->n; i++)
        n += !t->dumps[i]->freed;
    return n;
}

static unsigned slots_of(uint32_t bytes)
{
    const uint32_t in =
        MIN(MAX(bytes, (uint32_t)CAPTURE_RING_BYTES_MIN), (uint32_t)CAPTURE_RING_BYTES_MAX);
    return (1u << (31 - __builtin_clz(in))) / CAPTURE_UNIT_BYTES;
}

static int make(struct capture_reader *d, const struct capture_reader_params *p, struct err *err)
{
    if (p->program != NULL && (d->filter = capture_filter_new(p->program, err)) == NULL)
        return -1;
    d->params.program = NULL;  // the caller's
    d->slots = slots_of(p->ring_bytes);
    d->mem_bytes = ALIGN_UP((size_t)rte_ring_get_memsize_elem(CAPTURE_UNIT_BYTES, d->slots),
                            (size_t)PAGE_BYTES);
    d->parts = calloc(server_workers(d->server), sizeof(*d->parts));
    for (unsigned w = 0; d->parts != NULL && w < server_workers(d->server); w++)
        if (part_new(d, w) != 0)
            return err_set(err, "no memory for a ring of %zu bytes", d->mem_bytes);
    return d->parts == NULL ? err_set(err, "no memory") : 0;
}

struct capture_reader *capture_reader_new(struct server *s, const struct capture_reader_params *p,
                                          struct err *err)
{
    struct capture_readers *t = capture_readers_of(s);
    struct capture_reader *d = t == NULL ? NULL : calloc(1, sizeof(*d));
    if (d == NULL) {
        err_set(err, "no memory");
        return NULL;
    }
    if (at_work(t) == CAPTURE_READERS_MAX || t->n == HELD_MAX) {
        t->refused++;
        err_set(err, "%d dumps are at work, or not let go of by a worker: there are no more",
                CAPTURE_READERS_MAX);
        free(d);
        return NULL;
    }
    d->server = s;
    d->params = *p;
    if (make(d, p, err) != 0) {
        dump_destroy(d);
        return NULL;
    }
    t->dumps[t->n++] = d;
    return d;
}

// Touches some pages at each call, so that they exist before a worker writes to them.
static bool touch(const struct capture_reader *d, struct part *p)
{
    const size_t end = MIN(d->mem_bytes, p->touched_bytes + CAPTURE_TOUCH_BYTES);
    for (; p->touched_bytes < end; p->touched_bytes += PAGE_BYTES) {
        volatile uint8_t *b = (volatile uint8_t *)p->mem + p->touched_bytes;
        *b = *b;
    }
    return p->touched_bytes >= d->mem_bytes;
}

bool capture_reader_attach(struct capture_reader *d)
{
    for (unsigned w = 0; w < server_workers(d->server) && !d->over; w++) {
        struct part *p = &d->parts[w];
        if (p->attached)
            continue;
        if (!touch(d, p))
            return false;
        p->attached = true;
        p->attached = publish(d->server, w) == 0;
        return false;
    }
    return true;
}

void capture_reader_detach(struct capture_reader *d)
{
    d->over = true;
    for (unsigned w = 0; w < server_workers(d->server); w++) {
        struct part *p = &d->parts[w];
        if (!p->attached)
            continue;
        p->attached = false;
        p->attached = publish(d->server, w) != 0;  // no memory: capture_readers_reap() tries again
    }
}

bool capture_reader_acked(const struct capture_reader *d)
{
    for (unsigned w = 0; w < server_workers(d->server); w++)
        if (d->parts[w].attached == d->over || !acked(d->server->workers[w]))
            return false;
    return true;
}

static bool fetch_head(struct part *p)
{
    struct rte_ring_zc_data zc;
    if (p->has_head)
        return true;
    CAPTURE_RING_ONE(p->sink->ring, cons);
    if (rte_ring_dequeue_zc_bulk_elem_start(p->sink->ring, CAPTURE_UNIT_BYTES, 1, &zc, NULL) == 0)
        return false;
    memcpy(&p->head, zc.ptr1, sizeof(p->head));
    CAPTURE_RING_ONE(p->sink->ring, cons);
    rte_ring_dequeue_zc_elem_finish(p->sink->ring, 1);
    p->has_head = true;
    return true;
}

bool capture_reader_peek(struct capture_reader *d, struct capture_frame *f)
{
    const struct part *first = NULL;
    for (unsigned w = 0; w < server_workers(d->server); w++) {
        struct part *p = &d->parts[w];
        if (p->sink != NULL && fetch_head(p) &&
            (first == NULL || (int64_t)(p->head.tsc - first->head.tsc) < 0)) {
            first = p;
            d->peeked = w;
        }
    }
    if (first == NULL)
        return false;
    *f = (struct capture_frame){.tsc = first->head.tsc,
                                .bytes = first->head.bytes,
                                .orig_bytes = first->head.orig_bytes,
                                .port = first->head.port,
                                .direction = first->head.direction,
                                .worker = (uint16_t)d->peeked};
    return true;
}

// The worker enqueues whole records: after a head its data is there.
void capture_reader_take(struct capture_reader *d, uint8_t *to)
{
    struct part *p = &d->parts[d->peeked];
    const unsigned units = capture_units(p->head.bytes);
    struct rte_ring_zc_data zc;
    CHECK(p->has_head);
    p->has_head = false;
    if (units == 0)
        return;
    CAPTURE_RING_ONE(p->sink->ring, cons);
    CHECK(rte_ring_dequeue_zc_bulk_elem_start(p->sink->ring, CAPTURE_UNIT_BYTES, units, &zc,
                                              NULL) == units);
    const size_t first = MIN((size_t)p->head.bytes, (size_t)zc.n1 * CAPTURE_UNIT_BYTES);
    if (to != NULL) {
        memcpy(to, zc.ptr1, first);
        if (first < p->head.bytes)
            memcpy(to + first, zc.ptr2, p->head.bytes - first);
    }
    CAPTURE_RING_ONE(p->sink->ring, cons);
    rte_ring_dequeue_zc_elem_finish(p->sink->ring, units);
}

struct capture_ring_counts capture_reader_counts(const struct capture_reader *d, unsigned port)
{
    struct capture_ring_counts sum = {0};
    for (unsigned w = 0; w < server_workers(d->server); w++) {
        const struct capture_ring_counts *c = &d->parts[w].sink->counts[port];
        sum.seen += stat_load(&c->seen);
        sum.matched += stat_load(&c->matched);
        sum.dropped += stat_load(&c->dropped);
    }
    return sum;
}

void capture_reader_free(struct capture_reader *d)
{
    if (d == NULL)
        return;
    capture_reader_detach(d);
    d->freed = true;
    capture_readers_reap(d->server);
}

void capture_readers_reap(struct server *s)
{
    struct capture_readers *t = s->capture_readers;
    if (t == NULL)
        return;
    for (unsigned w = 0; w < server_workers(s); w++)
        if (t->old[w] != NULL && acked(s->workers[w]))
            free_old(t, w);
    for (unsigned i = t->n; i-- > 0;) {
        struct capture_reader *d = t->dumps[i];
        if (!d->freed)
            continue;
        capture_reader_detach(d);
        if (!capture_reader_acked(d))
            continue;
        dump_destroy(d);
        t->dumps[i] = t->dumps[--t->n];
    }
}

void capture_readers_stop(struct server *s)
{
    struct capture_readers *t = s->capture_readers;
    if (t == NULL)
        return;
    for (unsigned i = 0; i < t->n; i++)
        dump_destroy(t->dumps[i]);
    for (unsigned w = 0; w < server_workers(s) && s->workers[w] != NULL; w++) {
        struct worker *worker = s->workers[w];
        free_old(t, w);
        free(ordered_list(worker));
        shared_ptr_store(&worker->captures_ordered, NULL);
        shared_ptr_store(&worker->captures_seen, NULL);
        worker->captures = NULL;
    }
    free(t);
    s->capture_readers = NULL;
}

struct capture_readers_usage capture_readers_usage(const struct server *s)
{
    const struct capture_readers *t = s->capture_readers;
    struct capture_readers_usage u = {0};
    if (t == NULL)
        return u;
    u.dumps = at_work(t);
    u.waiting = t->n - u.dumps;
    u.refused = t->refused;
    for (unsigned i = 0; i < t->n; i++)
        u.ring_bytes += (uint64_t)t->dumps[i]->mem_bytes * server_workers(s);
    return u;
}

uint64_t capture_reader_ns(const struct capture_reader *d, uint64_t tsc)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t ago = tsc_read() - tsc, hz = worker_tsc_hz(d->server->workers[0]);
    const uint64_t ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    return (int64_t)ago < 0 ? ns : ns - (uint64_t)((unsigned __int128)ago * 1000000000 / hz);
}
