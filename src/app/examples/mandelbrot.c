// SPDX-License-Identifier: BSD-3-Clause
// mandelbrot.c: pictures of the Mandelbrot set, as PNG.
//
//     GET /mandelbrot?mode=row&w=512&h=512&steps=128
//
// w, h: 1 to FRACTAL_SIDE_MAX, 256 by default; in the modes seq and px at most WHOLE_PIXELS_MAX
// pixels. steps: 1 to FRACTAL_STEPS_MAX. An application may not hold its worker. Therefore a thread
// cuts a picture into tasks and sends them to the workers as messages (mandelbrot.h), and packets
// are handled between them. The modes compare ways to do this:
//
//     seq       one task: the worker of the client computes everything at once, and holds all
//     others px        a task for each pixel, on the worker of the client row       a task for each
//     row, there, one at a time workers   a task for each row, over all workers, one at a time for
//     each buffered  the same, with the queues of the workers filled beforehand: up to
//               C10M_MESSAGES_TURN_MAX rows in a turn
//
// A worker has PICTURES_MAX pictures; further requests get status 503. A client that has not taken
// its picture DELIVERY_US after it was complete is reset, because it keeps others from theirs.
#include "mandelbrot.h"

#include <assert.h>
#include <c10m/socket.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "examples.h"

enum { DELIVERY_US = 20000000 };

struct client {
    struct ask_conn ask;
    struct picture *picture;  // NULL: no request is being handled
    bool complete;            // the thread has given the picture back
    bool begun;               // the head of the answer is sent
    uint32_t sent;            // bytes of the picture
    uint64_t complete_us;     // when it was complete
};

static_assert(sizeof(struct client) <= C10M_STATE_BYTES, "it lies in the connection's block");

static int mandelbrot_init(struct c10m_service *s, char *err, size_t err_bytes)
{
    struct mandelbrot *m = pictures_new(c10m_workers(s));
    c10m_service_set_data(s, m);
    if (m == NULL)
        snprintf(err, err_bytes, "no memory for the pictures");
    return m == NULL ? -1 : 0;
}

static void mandelbrot_fini(struct c10m_service *s)
{
    pictures_free(c10m_service_data(s));
}

static struct picture *take_picture(struct c10m_conn *c)
{
    const struct mandelbrot *m = c10m_service_data(c10m_service_of(c));
    struct picture *p = &m->pictures[c10m_worker(c) * PICTURES_MAX];
    for (unsigned i = 0; i < PICTURES_MAX; i++, p++)
        if (!p->used)
            return p;
    return NULL;
}

static const struct mode *find_mode(const struct ask *ask)
{
    char name[ASK_VALUE_BYTES_MAX + 1];
    if (ask_text(ask, "mode", name) < 0)
        strcpy(name, "row");
    for (const struct mode *m = modes; m->name != NULL; m++)
        if (strcmp(m->name, name) == 0)
            return m;
    return NULL;
}

// The reason why the arguments are refused, or NULL.
static const char *take_arguments(const struct ask *ask, struct picture *p)
{
    struct fractal *f = &p->fractal;
    f->width = f->height = 256;
    f->steps = 128;
    p->mode = find_mode(ask);
    if (p->mode == NULL)
        return "mode: expected seq, px, row, workers or buffered";
    if (!ask_number(ask, "w", 1, FRACTAL_SIDE_MAX, &f->width) ||
        !ask_number(ask, "h", 1, FRACTAL_SIDE_MAX, &f->height))
        return "w, h: expected a number from 1 to 1024";
    if (!ask_number(ask, "steps", 1, FRACTAL_STEPS_MAX, &f->steps))
        return "steps: expected a number from 1 to 256";
    if (p->mode->cut != CUT_ROWS && f->width * f->height > WHOLE_PIXELS_MAX)
        return "w, h: modes seq and px make pictures of at most 65536 pixels";
    return NULL;
}

static enum ask_handled begin(struct c10m_conn *c, const struct ask *ask, struct picture *p)
{
    struct client *me = c10m_state(c);
    p->handle = c10m_handle(c);
    p->home = c10m_worker(c);
    p->keep = ask->keep;
    if (!c10m_answer(c10m_core_of(c), c10m_service_of(c), p)) {
        ask_refuse(c, "503 Service Unavailable", "the thread is busy");
        return ASK_DONE;
    }
    p->used = true;
    *me = (struct client){.ask = me->ask, .picture = p};
    return ASK_BUSY;
}

static enum ask_handled handle(struct c10m_conn *c, const struct ask *ask)
{
    struct picture *p = take_picture(c);
    const char *why;
    if (!ask_room(c, 128))
        return ASK_WAIT;
    if (!ask_is(ask, "/mandelbrot"))
        ask_refuse(c, "404 Not Found", "try /mandelbrot?mode=row");
    else if (p == NULL)
        ask_refuse(c, "503 Service Unavailable", "all pictures are being drawn");
    else if ((why = take_arguments(ask, p)) != NULL)
        ask_refuse(c, "400 Bad Request", why);
    else
        return begin(c, ask, p);
    return ASK_DONE;
}

static size_t mandelbrot_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    return ask_serve(c, data, len, handle);
}

// Sends what there is room for; at the end the picture is free again.
static void send_more(struct c10m_conn *c)
{
    struct client *me = c10m_state(c);
    struct picture *p = me->picture;
    const size_t bytes = fractal_bytes(&p->fractal);
    me->sent += (uint32_t)c10m_send(c, p->fractal.png + me->sent, bytes - me->sent);
    if (me->sent < bytes)
        return;
    me->picture = NULL;
    p->used = false;
    ask_finish(c, p->keep);
}

static void begin_sending(struct c10m_conn *c)
{
    struct client *me = c10m_state(c);
    if (!ask_room(c, 0))
        return;
    me->begun = true;
    ask_head(c, me->picture->keep, "image/png", fractal_bytes(&me->picture->fractal));
    send_more(c);
}

static void mandelbrot_writable(struct c10m_conn *c)
{
    const struct client *me = c10m_state(c);
    if (me->picture == NULL)
        c10m_resume(c);
    else if (me->begun)
        send_more(c);
    else if (me->complete)
        begin_sending(c);
}

// A picture comes back. Its client may have gone in the meantime.
static void take_back(struct c10m_core *w, struct picture *p)
{
    struct c10m_conn *c = c10m_at(w, p->handle);
    if (c == NULL) {
        p->used = false;
        return;
    }
    struct client *me = c10m_state(c);
    me->complete = true;
    me->complete_us = c10m_now_us(c);
    begin_sending(c);
}

static void mandelbrot_message(struct c10m_core *w, struct c10m_service *s, void *msg)
{
    (void)s;
    const struct message *m = msg;
    if (m->kind == MESSAGE_TASK)
        picture_work(msg, c10m_core_id(w));
    else
        take_back(w, msg);
}

// A picture that the thread has is freed when it comes back.
static void mandelbrot_close(struct c10m_conn *c, enum c10m_close why)
{
    struct client *me = c10m_state(c);
    (void)why;
    if (me->picture != NULL && me->complete)
        me->picture->used = false;
    me->picture = NULL;
}

// A client waits for its picture as long as it takes.
static void mandelbrot_timer(struct c10m_conn *c)
{
    const struct client *me = c10m_state(c);
    if (me->picture != NULL && !me->complete)
        ask_open(c);
    else if (me->picture != NULL && c10m_now_us(c) - me->complete_us > DELIVERY_US)
        c10m_abort(c);
    else
        ask_idle(c);
}

const struct c10m_app app_mandelbrot = {
    .name = "mandelbrot",
    .init = mandelbrot_init,
    .fini = mandelbrot_fini,
    .marks_requests = true,
    .open = ask_open,
    .data = mandelbrot_data,
    .writable = mandelbrot_writable,
    .timer = mandelbrot_timer,
    .end = ask_end,
    .drain = ask_drain,
    .close = mandelbrot_close,
    .thread = mandelbrot_thread,
    .message = mandelbrot_message,
};
