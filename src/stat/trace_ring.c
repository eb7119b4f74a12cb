// SPDX-License-Identifier: BSD-3-Clause
#include "stat/trace_ring.h"

#include <string.h>

size_t trace_ring_footprint(uint32_t records)
{
    return ALIGN_UP(sizeof(struct trace_ring) + (size_t)records * sizeof(struct trace_record),
                    CACHE_LINE);
}

struct trace_ring *trace_ring_init(void *mem, uint32_t records, const struct shared_u32 *stage)
{
    struct trace_ring *r = mem;
    CHECK(records >= TRACE_RING_MIN && (records & (records - 1)) == 0);
    r->mask = records - 1;
    r->stage = stage;
    r->left = TRACE_TURN_MAX;
    return r;
}

void trace_put(struct trace_ring *r, const struct trace_record *record)
{
    if (r->left == 0) {
        r->skipped++;
        return;
    }
    r->left--;
    trace_write(r, record);
}

void trace_put_conn(struct trace_ring *r, enum trace_kind kind, struct trace_conn c)
{
    trace_put(r, &(struct trace_record){shared_u32_load(r->stage), (uint8_t)kind, c.service,
                                        c.generation, c.block});
}

static struct trace_open *find(struct trace_ring *r, struct trace_conn c)
{
    if (!trace_may_be_open(r, c.block))
        return NULL;
    for (uint32_t left = r->open_used; left != 0; left &= left - 1) {
        struct trace_open *o = &r->open[__builtin_ctz(left)];
        if (o->conn.block == c.block && o->conn.generation == c.generation)
            return o;
    }
    return NULL;
}

static void take_out(struct trace_ring *r, const struct trace_open *o)
{
    r->open_used &= ~(1u << (o - r->open));
    r->open_bits = 0;
    for (uint32_t left = r->open_used; left != 0; left &= left - 1)
        r->open_bits |= trace_bit_of(r->open[__builtin_ctz(left)].conn.block);
}

static uint32_t oldest(const struct trace_ring *r)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < TRACE_OPEN_MAX; i++)
        if ((int32_t)(r->open[i].number - r->open[found].number) < 0)
            found = i;
    return found;
}

// slot: a free entry, or else that of the oldest request, as the reader has it.
static uint32_t slot(struct trace_ring *r)
{
    const uint32_t free_ones = ~r->open_used & ((1u << TRACE_OPEN_MAX) - 1);
    if (free_ones != 0)
        return (uint32_t)__builtin_ctz(free_ones);
    const uint32_t i = oldest(r);
    take_out(r, &r->open[i]);
    return i;
}

// write_conn: a request or an answer. They are bounded by themselves, and what else happened in the
// turn must not part them.
static void write_conn(struct trace_ring *r, enum trace_kind kind, struct trace_conn c)
{
    trace_write(r, &(struct trace_record){shared_u32_load(r->stage), (uint8_t)kind, c.service,
                                          c.generation, c.block});
}

struct trace_open *trace_begin(struct trace_ring *r, struct trace_conn c)
{
    if (find(r, c) != NULL)
        return NULL;
    if (r->begun == TRACE_REQUESTS_MAX) {
        r->unfollowed++;
        return NULL;
    }
    const uint32_t i = slot(r);
    r->open[i] = (struct trace_open){.conn = c, .number = r->requests++};
    r->open_used |= 1u << i;
    r->open_bits |= trace_bit_of(c.block);
    r->begun++;
    write_conn(r, TRACE_request, c);
    return &r->open[i];
}

void trace_end(struct trace_ring *r, struct trace_conn c)
{
    const struct trace_open *o = find(r, c);
    if (o == NULL)
        return;
    take_out(r, o);
    write_conn(r, TRACE_answer, c);
}

void trace_datagram(struct trace_ring *r, uint8_t service, bool answered)
{
    if (r->begun == TRACE_REQUESTS_MAX) {
        r->unfollowed++;
        return;
    }
    const uint8_t end = answered ? service : service | TRACE_CLOSED;
    const uint16_t number = (uint16_t)r->requests++;
    r->begun++;
    write_conn(r, TRACE_request, (struct trace_conn){TRACE_DATAGRAM, number, service});
    write_conn(r, TRACE_answer, (struct trace_conn){TRACE_DATAGRAM, number, end});
}

void trace_ask(struct trace_ring *r)
{
    shared_u32_store(&r->asked, shared_u32_load(&r->asked) + 1);
}

void trace_release(struct trace_ring *r)
{
    CHECK(shared_u32_load(&r->asked) != 0);
    shared_u32_store(&r->asked, shared_u32_load(&r->asked) - 1);
}

// is_whole: record i is valid while this holds: the worker may be writing record n, which
// overwrites record n - (mask + 1).
static bool is_whole(const struct trace_ring *r, uint64_t i, uint64_t n)
{
    return n - i <= r->mask;
}

unsigned trace_take(const struct trace_ring *r, uint64_t *taken, struct trace_record *out,
                    unsigned max, uint64_t *lost)
{
    const uint64_t n = shared_u64_load_acquire(&r->n);
    const uint64_t first = is_whole(r, *taken, n) ? *taken : n - r->mask;
    unsigned got = 0, torn = 0;
    for (; got < max && first + got != n; got++)
        out[got] = r->at[(first + got) & r->mask];
    atomic_thread_fence(memory_order_acquire);
    const uint64_t now = shared_u64_load(&r->n);
    while (torn < got && !is_whole(r, first + torn, now))
        torn++;
    memmove(out, out + torn, (got - torn) * sizeof(out[0]));
    *lost += first + torn - *taken;
    *taken = first + got;
    return got - torn;
}
