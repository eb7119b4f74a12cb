// SPDX-License-Identifier: BSD-3-Clause
// trace_wire.h: numbers and messages of protobuf, and the numbers of Go's traces, which are the
// same. A message is made in a small buffer and appended at once.
#pragma once
#include <string.h>

#include "base/base.h"

enum { TRACE_MESSAGE_BYTES = 512, TRACE_VARINT_BYTES = 10 };

// trace_message: what does not fit is left out, and `cut` says so.
struct trace_message {
    uint8_t at[TRACE_MESSAGE_BYTES];
    unsigned n;
    bool cut;
};

static inline void message_varint(struct trace_message *m, uint64_t v)
{
    if (m->n + TRACE_VARINT_BYTES > sizeof(m->at)) {
        m->cut = true;
        return;
    }
    for (; v >= 0x80; v >>= 7)
        m->at[m->n++] = (uint8_t)(v | 0x80);
    m->at[m->n++] = (uint8_t)v;
}

static inline void message_bytes(struct trace_message *m, const void *data, size_t n)
{
    if (m->n + n > sizeof(m->at)) {
        m->cut = true;
        return;
    }
    memcpy(m->at + m->n, data, n);
    m->n += (unsigned)n;
}

// Fields of a protobuf message: a number, a string, a message.
static inline void message_field(struct trace_message *m, unsigned field, uint64_t v)
{
    message_varint(m, (uint64_t)field << 3);
    message_varint(m, v);
}

static inline void message_data(struct trace_message *m, unsigned field, const void *data, size_t n)
{
    message_varint(m, (uint64_t)field << 3 | 2);
    message_varint(m, n);
    message_bytes(m, data, n);
}

static inline void message_string(struct trace_message *m, unsigned field, const char *text)
{
    message_data(m, field, text, strlen(text));
}

static inline void message_inner(struct trace_message *m, unsigned field,
                                 const struct trace_message *inner)
{
    message_data(m, field, inner->at, inner->n);
    m->cut |= inner->cut;
}
