// SPDX-License-Identifier: BSD-3-Clause
// The thread of mandelbrot: takes pictures from workers, gives out their tasks, returns them.
#include <time.h>

#include "mandelbrot.h"

// How long the thread sleeps: while it waits for tasks to be done, and without pictures.
enum { WAIT_NS = 20000, IDLE_NS = 1000000 };

// The pictures that the thread has.
struct desk {
    struct c10m_service *s;
    const struct mandelbrot *m;
    unsigned n;
    struct picture **has;
};

static bool post(void *to, unsigned worker, struct message *m)
{
    return c10m_post(to, worker, m);
}

static void take_new(struct desk *d)
{
    for (unsigned w = 0; w < d->m->workers; w++) {
        void *msgs[PICTURES_MAX];
        const unsigned n = c10m_take(d->s, w, msgs, PICTURES_MAX);
        for (unsigned i = 0; i < n; i++) {
            picture_cut(msgs[i], d->m->workers);
            d->has[d->n++] = msgs[i];
        }
    }
}

// Returns whether the picture is complete and on its way back. If the ring is full, the next call
// tries again: the checksums are then computed anew.
static bool serve(struct desk *d, struct picture *p)
{
    if (!picture_feed(p, d->m->workers, post, d->s))
        return false;
    fractal_end(&p->fractal);
    return c10m_post(d->s, p->home, &p->message);
}

static void serve_all(struct desk *d)
{
    unsigned left = 0;
    for (unsigned i = 0; i < d->n; i++)
        if (!serve(d, d->has[i]))
            d->has[left++] = d->has[i];
    d->n = left;
}

void mandelbrot_thread(struct c10m_service *s)
{
    const struct mandelbrot *m = c10m_service_data(s);
    struct desk d = {.s = s, .m = m, .has = m->desk};
    while (!c10m_thread_stopping(s)) {
        take_new(&d);
        serve_all(&d);
        const struct timespec pause = {.tv_nsec = d.n != 0 ? WAIT_NS : IDLE_NS};
        nanosleep(&pause, NULL);
    }
}
