// SPDX-License-Identifier: BSD-3-Clause
// sock_internal.h: what the files of src/sock share.
#pragma once
#include "sock/sock.h"

// What to do for a connection after the current callback has returned.
enum sock_due {
    DUE_RESUME = 1 << 0,  // c10m_resume() was called: offer the queue again
    DUE_OTHERS = 1 << 1,  // its callbacks used other connections: settle those after it
    DUE_SETTLE = 1 << 2,  // a callback of another connection used it: settle it
};

// sock_pulls: whether the application reads with c10m_read() and has no `data` callback.
static inline bool sock_pulls(const struct c10m_conn *c)
{
    return c->k->services[c->b->service].app->data == NULL;
}

// sock_consume: consumes the first n unconsumed bytes. sock_drop_unread: all of them.
void sock_consume(struct c10m_conn *c, uint32_t n);
void sock_drop_unread(struct c10m_conn *c);

// sock_note_readable: if the application pulls, it gets `readable` once in this turn.
void sock_note_readable(struct c10m_conn *c);
