// SPDX-License-Identifier: BSD-3-Clause
// Perfetto's trace: packets of protobuf. The numbers of fields are those of protos/perfetto/trace.
// Each core has a track for its stages and instants, TRACE_SLOTS tracks for requests, of which one
// shows one request at a time, and a counter for each pool.
#include <errno.h>
#include <stdio.h>

#include "trace/trace_format.h"
#include "trace/trace_names.h"
#include "trace/trace_wire.h"

enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_SEQUENCE_FLAGS = 13,
    PACKET_TRACK_DESCRIPTOR = 60,
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_TRACK = 11,
    EVENT_NAME = 23,
    EVENT_COUNTER = 30,
    ANNOTATION_NUMBER = 3,
    ANNOTATION_TEXT = 6,
    ANNOTATION_NAME = 10,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    THREAD_PID = 1,
    THREAD_TID = 2,
    THREAD_NAME = 5,
};

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };
enum { SEQUENCE = 1, STATE_CLEARED = 1, PID = 1, PROCESS_TRACK = 1 };

// Tracks are numbered: the process, then for each core its thread, its slots, its pools.
enum { TRACKS = 1 + TRACE_SLOTS + TRACE_POOLS };

static uint64_t thread_track(unsigned core)
{
    return PROCESS_TRACK + 1 + (uint64_t)core * TRACKS;
}

static uint64_t slot_track(unsigned core, unsigned slot)
{
    return thread_track(core) + 1 + slot;
}

static uint64_t pool_track(unsigned core, unsigned pool)
{
    return thread_track(core) + 1 + TRACE_SLOTS + pool;
}

static void put_packet(struct text *out, const struct trace_message *packet)
{
    struct trace_message head = {.n = 0};
    message_varint(&head, TRACE_PACKET << 3 | 2);
    message_varint(&head, packet->n);
    text_put(out, head.at, head.n);
    text_put(out, packet->at, packet->n);
}

static void put_track(struct text *out, const struct trace_message *track, bool first)
{
    struct trace_message packet = {.n = 0};
    message_field(&packet, PACKET_SEQUENCE, SEQUENCE);
    if (first)
        message_field(&packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED);
    message_inner(&packet, PACKET_TRACK_DESCRIPTOR, track);
    put_packet(out, &packet);
}

static void put_process(struct text *out, const struct trace_about *a)
{
    struct trace_message process = {.n = 0}, track = {.n = 0};
    char name[TRACE_NAME_BYTES + 8];
    snprintf(name, sizeof(name), "c10m %s", a->version);
    message_field(&process, PROCESS_PID, PID);
    message_string(&process, PROCESS_NAME, name);
    message_field(&track, TRACK_UUID, PROCESS_TRACK);
    message_inner(&track, TRACK_PROCESS, &process);
    put_track(out, &track, true);
}

static void put_thread(struct text *out, const struct trace_about *a, unsigned core)
{
    struct trace_message thread = {.n = 0}, track = {.n = 0};
    char name[48];
    snprintf(name, sizeof(name), "core %u (cpu %u)", core, a->cpus[core]);
    message_field(&thread, THREAD_PID, PID);
    message_field(&thread, THREAD_TID, PID + 1 + core);
    message_string(&thread, THREAD_NAME, name);
    message_field(&track, TRACK_UUID, thread_track(core));
    message_field(&track, TRACK_PARENT, PROCESS_TRACK);
    message_inner(&track, TRACK_THREAD, &thread);
    put_track(out, &track, false);
}

// put_child: a track below the process; counter: of a number.
static void put_child(struct text *out, uint64_t uuid, const char *name, bool counter)
{
    struct trace_message track = {.n = 0};
    message_field(&track, TRACK_UUID, uuid);
    message_field(&track, TRACK_PARENT, PROCESS_TRACK);
    message_string(&track, TRACK_NAME, name);
    if (counter)
        message_data(&track, TRACK_COUNTER, "", 0);
    put_track(out, &track, false);
}

static void put_tracks(struct text *out, const struct trace_about *a)
{
    char name[48];
    put_process(out, a);
    for (unsigned c = 0; c < a->n_cores; c++) {
        put_thread(out, a, c);
        snprintf(name, sizeof(name), "requests of core %u", c);
        for (unsigned i = 0; i < TRACE_SLOTS; i++)
            put_child(out, slot_track(c, i), name, false);
        for (unsigned i = 0; i < TRACE_POOLS; i++) {
            snprintf(name, sizeof(name), "%s of core %u", trace_pool_name(i), c);
            put_child(out, pool_track(c, i), name, true);
        }
    }
}

static void annotate(struct trace_message *event, const char *name, uint64_t number)
{
    struct trace_message annotation = {.n = 0};
    message_string(&annotation, ANNOTATION_NAME, name);
    message_field(&annotation, ANNOTATION_NUMBER, number);
    message_inner(event, EVENT_ANNOTATION, &annotation);
}

static void annotate_text(struct trace_message *event, const char *name, const char *text)
{
    struct trace_message annotation = {.n = 0};
    message_string(&annotation, ANNOTATION_NAME, name);
    message_string(&annotation, ANNOTATION_TEXT, text);
    message_inner(event, EVENT_ANNOTATION, &annotation);
}

static void fill_turn(struct trace_message *m, const struct trace_event *e)
{
    const struct trace_turn_id id = trace_turn_unpack(e->id);
    message_string(m, EVENT_NAME, "turn");
    annotate(m, "packets", e->small);
    annotate(m, "segments", e->mid);
    annotate(m, "events", id.events);
    annotate(m, "timers", id.timers);
    if (id.skipped != 0)
        annotate(m, "not_recorded", id.skipped);
}

static void fill_instant(struct trace_message *m, const struct trace_about *a,
                         const struct trace_event *e)
{
    char detail[TRACE_DETAIL_BYTES];
    trace_detail(a, e, detail);
    message_field(m, EVENT_TYPE, INSTANT);
    message_field(m, EVENT_TRACK, thread_track(e->core));
    message_string(m, EVENT_NAME, trace_key(a, e));
    annotate_text(m, "what", detail);
}

static void fill(struct trace_message *m, const struct trace_about *a, const struct trace_event *e)
{
    switch (e->kind) {
    case TRACE_turn:
    case TRACE_stage:
        message_field(m, EVENT_TYPE, e->end ? SLICE_END : SLICE_BEGIN);
        message_field(m, EVENT_TRACK, thread_track(e->core));
        if (e->kind == TRACE_turn && !e->end)
            fill_turn(m, e);
        else if (!e->end)
            message_string(m, EVENT_NAME, trace_stage_name(e->small));
        return;
    case TRACE_request:
    case TRACE_answer:
        message_field(m, EVENT_TYPE, e->kind == TRACE_request ? SLICE_BEGIN : SLICE_END);
        message_field(m, EVENT_TRACK, slot_track(e->core, e->slot));
        if (e->kind == TRACE_request) {
            message_string(m, EVENT_NAME, trace_service_name(a, e->small));
            if (e->id != TRACE_DATAGRAM)
                annotate(m, "block", e->id);
        } else if (trace_end_name(e) != NULL) {
            annotate_text(m, "end", trace_end_name(e));
        }
        return;
    case TRACE_pool:
        message_field(m, EVENT_TYPE, COUNTER);
        message_field(m, EVENT_TRACK, pool_track(e->core, e->small % TRACE_POOLS));
        message_field(m, EVENT_COUNTER, e->id);
        return;
    default:
        fill_instant(m, a, e);
    }
}

static void put_event(struct text *out, const struct trace_about *a, const struct trace_event *e)
{
    struct trace_message packet = {.n = 0}, event = {.n = 0};
    if (e->kind == TRACE_stage && e->small == STAGE_COUNT)
        return;  // the turn says it
    fill(&event, a, e);
    message_field(&packet, PACKET_TIMESTAMP, (uint64_t)e->ns);
    message_field(&packet, PACKET_SEQUENCE, SEQUENCE);
    message_inner(&packet, PACKET_TRACK_EVENT, &event);
    put_packet(out, &packet);
}

int perfetto_write(struct trace_reader *r, const struct trace_about *a, struct text *out)
{
    struct trace_event e;
    put_tracks(out, a);
    while (trace_next(r, out, 2 * TRACE_MESSAGE_BYTES, 0, &e))
        put_event(out, a, &e);
    return out->error;
}
