// SPDX-License-Identifier: BSD-3-Clause
// puller.h: an application that reads by itself (c10m/socket.h), on one stack with a peer played by
// hand; what it does in a turn is a function of the test.
#pragma once
#include <errno.h>
#include <string.h>

#include "c10m/socket.h"
#include "check.h"
#include "sock/sock_internal.h"
#include "tcp_pair.h"

#define OUT(r, i)        ((r)->e.out[i])
#define COUNTED(r, name) ((r)->e.stats.c.name)

// What the application does, and what it was told.
static struct {
    void (*readable)(struct c10m_conn *c);
    void (*timer)(struct c10m_conn *c);
    unsigned readables, ends, closes, writables, drained, timers, pushed;
    uint32_t unread;  // when `readable` came last
    int error;        // ... and in `close`
    enum c10m_close why;
    bool peer_closed;
} app;

static inline void on_readable(struct c10m_conn *c)
{
    app.readables++;
    app.unread = c10m_receive_queued(c);
    app.error = c10m_error(c);
    app.peer_closed = c10m_peer_closed(c);
    if (app.readable != NULL)
        app.readable(c);
}

static inline void on_end(struct c10m_conn *c)
{
    (void)c;
    app.ends++;
}

static inline void on_close(struct c10m_conn *c, enum c10m_close why)
{
    app.closes++;
    app.why = why;
    app.error = c10m_error(c);
}

static inline void on_writable(struct c10m_conn *c)
{
    (void)c;
    app.writables++;
}

static inline void on_drained(struct c10m_conn *c)
{
    (void)c;
    app.drained++;
}

static inline void on_timer(struct c10m_conn *c)
{
    app.timers++;
    if (app.timer != NULL)
        app.timer(c);
}

static const struct c10m_app puller = {.name = "puller",
                                       .readable = on_readable,
                                       .drained = on_drained,
                                       .end = on_end,
                                       .writable = on_writable,
                                       .timer = on_timer,
                                       .close = on_close};

static inline struct raw *not_pulling_yet(void)
{
    memset(&app, 0, sizeof(app));
    struct raw *r = raw_new(NULL);
    r->e.services[0].app = &puller;
    r->e.tcp.services[0].pulls = true;
    return r;
}

static inline struct raw *pulling(void)
{
    struct raw *r = not_pulling_yet();
    raw_open(r);
    return r;
}

// The application acts in a turn of its own.
static inline void in_turn(void *arg)
{
    struct raw *r = arg;
    const struct block *b = raw_block(r);
    const struct tcp_verdict v = {
        .block = (uint32_t)(b - r->e.tcp.blocks), .chain = BUF_NONE, .events = TCP_EV_APP_TIMER};
    r->e.calls = NULL;
    sock_event(&r->e.sock, &v, NULL);
}

static inline void act(struct raw *r, void (*what)(struct c10m_conn *c))
{
    app.timer = what;
    r->e.calls = in_turn;
    r->e.calls_arg = r;
    raw_turn(r, 1);
}

// Nothing may be left: no block, buffer or count.
static inline void gone(struct raw *r)
{
    assert_null(raw_block(r));
    assert_int_equal(COUNTED(r, orphans_now), 0);
    for (int i = 0; i < 3000 && end_leaks(&r->e) != NULL; i++)
        raw_turn(r, 50);
    raw_free(r, true);
}

static inline void reset_and_free(struct raw *r)
{
    const struct block *b = raw_block(r);
    raw_seg(r, SEG_RST, b->rcv_nxt, 0, 0, 0);
    app.readable = NULL;
    raw_turn(r, 0);
    if (raw_block(r) != NULL)
        act(r, c10m_close);
    gone(r);
}

static uint8_t taken[65536];
static size_t n_taken;

static inline void read_all(struct c10m_conn *c)
{
    n_taken = c10m_read(c, taken, sizeof(taken));
}

static inline void read_100(struct c10m_conn *c)
{
    n_taken = c10m_read(c, taken, 100);
}

static inline void check_bytes(uint64_t from, size_t n)
{
    assert_int_equal(n_taken, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(taken[i], role_byte(from + i));
}
