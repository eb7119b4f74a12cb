// SPDX-License-Identifier: BSD-3-Clause
// Go's execution trace, version 1.22: batches of events, each of one thread. Source of the format:
// internal/trace/tracev2 and internal/trace/order.go of Go. A core is the thread and the processor
// of the same number. Each of its stages is a goroutine, which waits unless it runs.
#include <errno.h>
#include <stdlib.h>

#include "trace/trace_format.h"
#include "trace/trace_names.h"
#include "trace/trace_wire.h"

enum {  // types of events: tracev2/events.go
    EV_EVENT_BATCH = 1,
    EV_STACKS = 2,
    EV_STACK = 3,
    EV_STRINGS = 4,
    EV_STRING = 5,
    EV_FREQUENCY = 8,
    EV_PROCS_CHANGE = 9,
    EV_PROC_STATUS = 13,
    EV_GO_CREATE = 14,
    EV_GO_START = 16,
    EV_GO_BLOCK = 20,
    EV_GO_UNBLOCK = 21,
    EV_HEAP_ALLOC = 37,
    EV_HEAP_GOAL = 38,
    EV_USER_TASK_BEGIN = 40,
    EV_USER_TASK_END = 41,
    EV_USER_LOG = 44,
};

enum {
    GENERATION = 1,
    NO_THREAD_BATCH = 0,  // strings, stacks and frequency belong to no thread
    PROC_RUNNING = 1,
    BATCH_BYTES = 32768,  // the format permits 65,536
    NONE = -1,
};

// A string for each name that is used again; details are strings of their own.
struct strings {
    uint32_t n;  // so far; 0 is no string
    uint32_t stages[TRACE_STAGE_NAMES], services[TRACE_SERVICES_MAX], kinds[TRACE_KINDS + 1];
    uint32_t events[TRACE_SERVICES_MAX][TRACE_EVENTS_MAX];
    uint32_t file, waits;
};

struct go_batch {
    uint64_t begin, last;  // time of the batch and of its last event
    unsigned n;
    uint8_t at[BATCH_BYTES];
};

struct go_core {
    struct go_batch batch;
    int running;  // stage; NONE
    uint32_t seq[TRACE_STAGE_NAMES];
    bool waits[TRACE_STAGE_NAMES];
};

struct go_writer {
    const struct trace_about *a;
    struct text *out;
    uint64_t now;
    struct strings strings;
    struct go_batch texts;  // of strings
    uint64_t levels[TRACE_CORES_MAX][TRACE_POOLS];
    struct go_core cores[];
};

static void flush(struct go_writer *g, unsigned thread, struct go_batch *b)
{
    struct trace_message head = {.n = 0};
    if (b->n == 0)
        return;
    message_varint(&head, EV_EVENT_BATCH);
    message_varint(&head, GENERATION);
    message_varint(&head, thread);
    message_varint(&head, b->begin);
    message_varint(&head, b->n);
    text_put(g->out, head.at, head.n);
    text_put(g->out, b->at, b->n);
    b->n = 0;
}

static void append(struct go_batch *b, const struct trace_message *m)
{
    memcpy(b->at + b->n, m->at, m->n);
    b->n += m->n;
}

// event: args[0..n) of an event of this core, now.
static void event(struct go_writer *g, unsigned core, unsigned type, const uint64_t *args,
                  unsigned n)
{
    struct go_batch *b = &g->cores[core].batch;
    struct trace_message m = {.n = 0};
    if (b->n + TRACE_MESSAGE_BYTES > BATCH_BYTES)
        flush(g, core, b);
    if (b->n == 0)
        b->begin = b->last = g->now;
    message_varint(&m, type);
    message_varint(&m, g->now - b->last);
    for (unsigned i = 0; i < n; i++)
        message_varint(&m, args[i]);
    b->last = g->now;
    append(b, &m);
}

#define EVENT(g, core, type, ...)                                                                  \
    event(g, core, type, (const uint64_t[]){__VA_ARGS__},                                          \
          sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint32_t string(struct go_writer *g, const char *text)
{
    struct go_batch *b = &g->texts;
    struct trace_message m = {.n = 0};
    const size_t len = strlen(text);
    if (b->n + TRACE_MESSAGE_BYTES > BATCH_BYTES)
        flush(g, NO_THREAD_BATCH, b);
    if (b->n == 0)
        b->at[b->n++] = EV_STRINGS;
    b->begin = g->now;
    message_varint(&m, EV_STRING);
    message_varint(&m, ++g->strings.n);
    message_varint(&m, len);
    message_bytes(&m, text, len);
    append(b, &m);
    return g->strings.n;
}

static uint32_t once(struct go_writer *g, uint32_t *number, const char *text)
{
    if (*number == 0)
        *number = string(g, text);
    return *number;
}

static uint32_t key_string(struct go_writer *g, const struct trace_event *e)
{
    const char *key = trace_key(g->a, e);
    if (e->kind == TRACE_user && e->small < TRACE_SERVICES_MAX && e->mid < TRACE_EVENTS_MAX)
        return once(g, &g->strings.events[e->small][e->mid], key);
    if (e->kind == TRACE_LOST && e->end)
        return string(g, key);  // a few, at the end
    return once(g, &g->strings.kinds[MIN(e->kind, TRACE_LOST)], key);
}

static uint64_t goroutine(unsigned core, unsigned stage)
{
    return (uint64_t)core * TRACE_STAGE_NAMES + stage + 1;
}

static uint64_t stack_of(unsigned stage)
{
    return stage + 1;
}

static void run(struct go_writer *g, unsigned core, unsigned stage)
{
    struct go_core *c = &g->cores[core];
    const uint64_t id = goroutine(core, stage);
    if (c->waits[stage])
        EVENT(g, core, EV_GO_UNBLOCK, id, ++c->seq[stage], 0);
    EVENT(g, core, EV_GO_START, id, ++c->seq[stage]);
    c->waits[stage] = false;
    c->running = (int)stage;
}

static void wait(struct go_writer *g, unsigned core)
{
    struct go_core *c = &g->cores[core];
    EVENT(g, core, EV_GO_BLOCK, g->strings.waits, stack_of((unsigned)c->running));
    c->waits[c->running] = true;
    c->running = NONE;
}

static void begin_core(struct go_writer *g, unsigned core)
{
    g->cores[core].running = NONE;
    EVENT(g, core, EV_PROC_STATUS, core, PROC_RUNNING);
    for (unsigned s = 0; s < TRACE_STAGE_NAMES; s++) {
        EVENT(g, core, EV_GO_CREATE, goroutine(core, s), stack_of(s), 0);
        run(g, core, s);
        if (goroutine(core, s) == 1)  // only a goroutine can say it
            EVENT(g, core, EV_PROCS_CHANGE, g->a->n_cores, 0);
        wait(g, core);
    }
}

static uint64_t capacity(const struct trace_about *a)
{
    uint64_t bytes = 0;
    for (unsigned i = 0; i < TRACE_POOLS; i++)
        bytes += a->pools[i].entries * a->pools[i].entry_bytes;
    return bytes;
}

static void begin(struct go_writer *g)
{
    static const char head[16] = "go 1.22 trace\0\0";
    text_put(g->out, head, sizeof(head));
    g->strings.waits = string(g, "wait");
    for (unsigned i = 0; i < g->a->n_cores; i++)
        begin_core(g, i);
    if (g->a->n_cores != 0)
        EVENT(g, 0, EV_HEAP_GOAL, capacity(g->a));
}

static void put_stacks(struct go_writer *g)
{
    struct go_batch *b = &g->texts;  // empty again
    b->at[b->n++] = EV_STACKS;
    for (unsigned s = 0; s < TRACE_STAGE_NAMES; s++) {
        struct trace_message m = {.n = 0};
        message_varint(&m, EV_STACK);
        message_varint(&m, stack_of(s));
        message_varint(&m, 1);  // frames: pc, function, file, line
        message_varint(&m, s + 1);
        message_varint(&m, g->strings.stages[s]);
        message_varint(&m, g->strings.file);
        message_varint(&m, 0);
        append(b, &m);
    }
    flush(g, NO_THREAD_BATCH, b);
}

static void end(struct go_writer *g)
{
    for (unsigned i = 0; i < g->a->n_cores; i++)
        flush(g, i, &g->cores[i].batch);
    for (unsigned s = 0; s < TRACE_STAGE_NAMES; s++)
        once(g, &g->strings.stages[s], trace_stage_name(s));
    once(g, &g->strings.file, "src/worker/loop.c");
    flush(g, NO_THREAD_BATCH, &g->texts);
    put_stacks(g);
    struct trace_message m = {.n = 0};
    message_varint(&m, EV_FREQUENCY);
    message_varint(&m, 1000000000);  // a unit of time is a nanosecond
    append(&g->texts, &m);
    flush(g, NO_THREAD_BATCH, &g->texts);
}

static void put_level(struct go_writer *g, const struct trace_event *e)
{
    uint64_t bytes = 0;
    if (e->small >= TRACE_POOLS)
        return;
    g->levels[e->core][e->small] = e->id;
    for (unsigned c = 0; c < g->a->n_cores; c++)
        for (unsigned i = 0; i < TRACE_POOLS; i++)
            bytes += g->levels[c][i] * g->a->pools[i].entry_bytes;
    EVENT(g, e->core, EV_HEAP_ALLOC, bytes);
}

static void put_user(struct go_writer *g, const struct trace_event *e)
{
    char detail[TRACE_DETAIL_BYTES];
    if (e->kind == TRACE_request) {
        const uint32_t name = once(g, &g->strings.services[e->small % TRACE_SERVICES_MAX],
                                   trace_service_name(g->a, e->small));
        EVENT(g, e->core, EV_USER_TASK_BEGIN, e->request, 0, name, 0);
    } else if (e->kind == TRACE_answer) {
        if (trace_end_name(e) == NULL)  // else the task stays open: it has no latency
            EVENT(g, e->core, EV_USER_TASK_END, e->request, 0);
    } else {
        trace_detail(g->a, e, detail);
        const uint32_t key = key_string(g, e);
        EVENT(g, e->core, EV_USER_LOG, 0, key, string(g, detail), 0);
    }
}

static void put(struct go_writer *g, const struct trace_event *e)
{
    struct go_core *c = &g->cores[e->core];
    const bool runs = c->running != NONE;
    switch (e->kind) {
    case TRACE_turn:
        return;
    case TRACE_stage:
        if (e->end)
            wait(g, e->core);
        else
            run(g, e->core, MIN(e->small, TRACE_STAGE_NAMES - 1));
        return;
    case TRACE_pool:
        put_level(g, e);
        return;
    default:
        if (!runs)  // a goroutine has to say it, and that of no stage has done so
            run(g, e->core, STAGE_idle);
        put_user(g, e);
        if (!runs)
            wait(g, e->core);
    }
}

int go_trace_write(struct trace_reader *r, const struct trace_about *a, struct text *out)
{
    struct go_writer *g = calloc(1, sizeof(*g) + a->n_cores * sizeof(g->cores[0]));
    struct trace_event e;
    if (g == NULL)
        return -ENOMEM;
    g->a = a;
    g->out = out;
    // What end() writes: the batches of all cores, and the strings.
    const size_t rest = ((size_t)a->n_cores + 4) * BATCH_BYTES;
    bool more = trace_reader_next(r, &e);
    g->now = more ? (uint64_t)e.ns + 1 : 1;
    begin(g);
    for (; more; more = trace_next(r, out, TRACE_MESSAGE_BYTES, rest, &e)) {
        g->now = (uint64_t)e.ns + 1;
        put(g, &e);
    }
    end(g);
    free(g);
    return out->error;
}
