// SPDX-License-Identifier: BSD-3-Clause
// sock_internal.h: the connection as a callback sees it is in sock.h; here is what the files of
// this folder share.
#pragma once
#include "sock/sock.h"

// What a connection is due when the present callback has returned.
enum sock_due {
    DUE_RESUME = 1 << 0,  // c10m_resume was called: offer the queue again
    DUE_OTHERS = 1 << 1,  // its callbacks reached other connections: they are settled after it
    DUE_SETTLE = 1 << 2,  // reached by a callback of another: what may follow is still to be done
};

// sock_pulls: the application reads by itself (c10m_read): it has no `data`.
static inline bool sock_pulls(const struct c10m_conn *c)
{
    return c->k->services[c->b->service].app->data == NULL;
}

// sock_consume: the first n unconsumed bytes are. sock_drop_unread: all of them.
void sock_consume(struct c10m_conn *c, uint32_t n);
void sock_drop_unread(struct c10m_conn *c);

// sock_note_readable: if the application pulls, it is told in this turn, once.
void sock_note_readable(struct c10m_conn *c);
