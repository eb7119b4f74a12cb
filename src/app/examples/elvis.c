// SPDX-License-Identifier: BSD-3-Clause
// elvis.c: sends a stream back with each "elvis" replaced by "Elvis", also where the word lies
// across two segments.
//
//     printf 'elvis and elvis' | nc -N ADDRESS PORT     ->     Elvis and Elvis
//
// The application keeps one byte for each connection: how much of the word has been received. It
// consumes no more than it can send, so that a client that does not read fills its own window only.
#include <assert.h>
#include <c10m/socket.h>

#include "examples.h"
#include "replace.h"

enum { PIECE_BYTES = 1024, IDLE_MS = 60000 };

struct elvis {
    struct replace_stream stream;
    bool ended;      // the peer has sent FIN
    uint32_t taken;  // c10m_send_taken() when the timer was set
};

static_assert(sizeof(struct elvis) <= C10M_STATE_BYTES, "it lies in the connection's block");

static size_t min_size(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void arm(struct c10m_conn *c)
{
    struct elvis *e = c10m_state(c);
    e->taken = c10m_send_taken(c);
    c10m_set_timer(c, IDLE_MS);
}

static void wait_for_room(struct c10m_conn *c)
{
    c10m_want_writable(c);
    c10m_pause(c);
}

static size_t elvis_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    struct elvis *e = c10m_state(c);
    uint8_t out[PIECE_BYTES + REPLACE_HELD_MAX];
    size_t done = 0, room;
    while (done < len && (room = c10m_send_room(c)) > REPLACE_HELD_MAX) {
        const size_t n = min_size(min_size(len - done, PIECE_BYTES), room - REPLACE_HELD_MAX);
        c10m_send(c, out, replace_feed(&e->stream, data + done, n, out));
        done += n;
    }
    if (done < len)
        wait_for_room(c);
    arm(c);
    return done;
}

static void elvis_end(struct c10m_conn *c)
{
    struct elvis *e = c10m_state(c);
    uint8_t out[REPLACE_HELD_MAX];
    e->ended = true;
    if (c10m_send_room(c) < REPLACE_HELD_MAX) {
        c10m_want_writable(c);
        return;
    }
    c10m_send(c, out, replace_end(&e->stream, out));
    c10m_shutdown(c);
}

static void elvis_writable(struct c10m_conn *c)
{
    const struct elvis *e = c10m_state(c);
    if (e->ended)
        elvis_end(c);
    else
        c10m_resume(c);
}

// Neither received nor delivered a byte since the timer was set.
static void elvis_timer(struct c10m_conn *c)
{
    const struct elvis *e = c10m_state(c);
    if (e->taken == c10m_send_taken(c))
        c10m_abort(c);
    else
        arm(c);
}

const struct c10m_app app_elvis = {
    .name = "elvis",
    .open = arm,
    .data = elvis_data,
    .end = elvis_end,
    .writable = elvis_writable,
    .timer = elvis_timer,
};
