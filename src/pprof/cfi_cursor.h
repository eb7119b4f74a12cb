// SPDX-License-Identifier: BSD-3-Clause
// cfi_cursor.h: reads the numbers of .eh_frame.
#pragma once
#include <string.h>

#include "base/base.h"

// cursor: reads [at, limit); what lies behind is 0 and sets bad.
struct cursor {
    const uint8_t *at, *limit;
    bool bad;
};

static inline uint64_t cursor_fixed(struct cursor *c, unsigned bytes)
{
    uint64_t v = 0;
    if ((size_t)(c->limit - c->at) < bytes) {
        c->bad = true;
        c->at = c->limit;
        return 0;
    }
    memcpy(&v, c->at, bytes);
    c->at += bytes;
    return v;
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 64 && !c->bad; shift += 7) {
        const uint64_t byte = cursor_fixed(c, 1);
        v |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return v;
    }
    c->bad = true;
    return 0;
}

static inline int64_t cursor_sleb(struct cursor *c)
{
    uint64_t v = 0, byte = 0x80;
    unsigned shift = 0;
    for (; shift < 63 && (byte & 0x80) != 0 && !c->bad; shift += 7) {
        byte = cursor_fixed(c, 1);
        v |= (byte & 0x7f) << shift;
    }
    c->bad |= (byte & 0x80) != 0;
    return (int64_t)((byte & 0x40) != 0 ? v | ~0ull << shift : v);
}

static inline void cursor_skip(struct cursor *c, uint64_t bytes)
{
    c->bad |= bytes > (size_t)(c->limit - c->at);
    c->at = c->bad ? c->limit : c->at + bytes;
}
