// SPDX-License-Identifier: BSD-3-Clause
// Chrome's trace events as JSON ("Trace Event Format"): chrome://tracing and Perfetto open it.
// Times are microseconds. Names come from tables, or are printed by json_string().
#include <inttypes.h>
#include <stdio.h>

#include "trace/trace_format.h"
#include "trace/trace_names.h"

enum { PID = 1, EVENT_BYTES_MAX = 1024 };  // each character of a name may become six

static void json_string(struct text *out, const char *text)
{
    text_put(out, "\"", 1);
    for (; *text != '\0'; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            text_printf(out, "\\%c", c);
        else if (c < 0x20 || c >= 0x7f)
            text_printf(out, "\\u%04x", c);
        else
            text_put(out, text, 1);
    }
    text_put(out, "\"", 1);
}

static void begin(struct text *out, const char *ph, unsigned core, const char *name)
{
    text_printf(out, ",\n{\"ph\":\"%s\",\"pid\":%d,\"tid\":%u,\"name\":", ph, PID, core);
    json_string(out, name);
}

static void put_ns(struct text *out, const char *what, int64_t ns)
{
    text_printf(out, ",\"%s\":%" PRId64 ".%03u", what, ns / 1000, (unsigned)(ns % 1000));
}

static void put_head(struct text *out, const struct trace_about *a)
{
    char name[48];
    text_printf(out,
                "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":",
                PID);
    snprintf(name, sizeof(name), "c10m %s", a->version);
    json_string(out, name);
    text_printf(out, "}}");
    for (unsigned c = 0; c < a->n_cores; c++) {
        begin(out, "M", c, "thread_name");
        text_printf(out, ",\"args\":{\"name\":\"core %u (cpu %u)\"}}", c, a->cpus[c]);
    }
}

// begin_slice: with its length, so that it is whole wherever the file is cut off.
static void begin_slice(struct text *out, const struct trace_event *e, const char *name)
{
    begin(out, "X", e->core, name);
    put_ns(out, "ts", e->ns);
    put_ns(out, "dur", e->until_ns - e->ns);
}

static void put_turn(struct text *out, const struct trace_event *e)
{
    const struct trace_turn_id id = trace_turn_unpack(e->id);
    begin_slice(out, e, "turn");
    text_printf(out, ",\"args\":{\"packets\":%u,\"segments\":%u,\"events\":%u,\"timers\":%u",
                e->small, e->mid, id.events, id.timers);
    if (id.skipped != 0)
        text_printf(out, ",\"not_recorded\":%u", id.skipped);
    text_printf(out, "}}");
}

static void put_stage(struct text *out, const struct trace_event *e)
{
    if (e->small == STAGE_COUNT)  // the turn says it
        return;
    begin_slice(out, e, trace_stage_name(e->small));
    text_printf(out, "}");
}

static void put_request(struct text *out, const struct trace_about *a, const struct trace_event *e)
{
    const char *how = trace_end_name(e);
    begin(out, e->kind == TRACE_request ? "b" : "e", e->core, trace_service_name(a, e->small));
    put_ns(out, "ts", e->ns);
    text_printf(out, ",\"cat\":\"request\",\"id\":%" PRIu64, e->request);
    if (how != NULL)
        text_printf(out, ",\"args\":{\"end\":\"%s\"}", how);
    text_printf(out, "}");
}

static void put_pool(struct text *out, const struct trace_event *e)
{
    char name[48];
    snprintf(name, sizeof(name), "%s of core %u", trace_pool_name(e->small), e->core);
    begin(out, "C", e->core, name);
    put_ns(out, "ts", e->ns);
    text_printf(out, ",\"args\":{\"used\":%u}}", e->id);
}

static void put_instant(struct text *out, const struct trace_about *a, const struct trace_event *e)
{
    char detail[TRACE_DETAIL_BYTES];
    trace_detail(a, e, detail);
    begin(out, "i", e->core, trace_key(a, e));
    put_ns(out, "ts", e->ns);
    text_printf(out, ",\"s\":\"t\",\"args\":{\"what\":");
    json_string(out, detail);
    text_printf(out, "}}");
}

static void put(struct text *out, const struct trace_about *a, const struct trace_event *e)
{
    switch (e->kind) {
    case TRACE_turn:
        if (!e->end)
            put_turn(out, e);
        return;
    case TRACE_stage:
        if (!e->end)
            put_stage(out, e);
        return;
    case TRACE_request:
    case TRACE_answer:
        put_request(out, a, e);
        return;
    case TRACE_pool:
        put_pool(out, e);
        return;
    default:
        put_instant(out, a, e);
    }
}

int chrome_write(struct trace_reader *r, const struct trace_about *a, struct text *out)
{
    static const char tail[] = "\n]}\n";
    struct trace_event e;
    put_head(out, a);
    while (trace_next(r, out, EVENT_BYTES_MAX, sizeof(tail), &e))
        put(out, a, &e);
    text_put(out, tail, sizeof(tail) - 1);
    return out->error;
}
