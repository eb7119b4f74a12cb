// SPDX-License-Identifier: BSD-3-Clause
// Pictures, their tasks, and who does them.
#include <stdlib.h>

#include "mandelbrot.h"

const struct mode modes[] = {
    {"seq", CUT_WHOLE, false, 1},
    {"px", CUT_PIXELS, false, C10M_MESSAGES_MAX},
    {"row", CUT_ROWS, false, 1},
    {"workers", CUT_ROWS, true, 1},
    {"buffered", CUT_ROWS, true, C10M_MESSAGES_MAX},
    {.name = NULL},
};

static bool picture_alloc(struct picture *p, unsigned workers)
{
    p->fractal.png = malloc(FRACTAL_PNG_BYTES_MAX);
    p->tasks = malloc(TASKS_MAX * sizeof(p->tasks[0]));
    p->posted_to = malloc(workers * sizeof(p->posted_to[0]));
    p->lanes = aligned_alloc(_Alignof(struct lane), workers * sizeof(p->lanes[0]));
    p->message.kind = MESSAGE_PICTURE;
    return p->fractal.png != NULL && p->tasks != NULL && p->posted_to != NULL && p->lanes != NULL;
}

static void picture_free(struct picture *p)
{
    free(p->fractal.png);
    free(p->tasks);
    free(p->posted_to);
    free(p->lanes);
}

struct mandelbrot *pictures_new(unsigned workers)
{
    struct mandelbrot *m = calloc(1, sizeof(*m));
    if (m == NULL)
        return NULL;
    m->workers = workers;
    m->pictures = calloc((size_t)workers * PICTURES_MAX, sizeof(m->pictures[0]));
    m->desk = calloc((size_t)workers * PICTURES_MAX, sizeof(m->desk[0]));
    bool all = m->pictures != NULL && m->desk != NULL;
    for (unsigned i = 0; all && i < workers * PICTURES_MAX; i++)
        all = picture_alloc(&m->pictures[i], workers);
    if (all)
        return m;
    pictures_free(m);
    return NULL;
}

void pictures_free(struct mandelbrot *m)
{
    if (m == NULL)
        return;
    for (unsigned i = 0; m->pictures != NULL && i < m->workers * PICTURES_MAX; i++)
        picture_free(&m->pictures[i]);
    free(m->pictures);
    free(m->desk);
    free(m);
}

// Pixels of a task: a picture is a multiple of them.
static uint32_t task_pixels(const struct picture *p)
{
    const struct fractal *f = &p->fractal;
    if (p->mode->cut == CUT_PIXELS)
        return 1;
    return p->mode->cut == CUT_ROWS ? f->width : f->width * f->height;
}

void picture_work(const struct task *t, unsigned worker)
{
    struct picture *p = ((const struct task_of *)t)->picture;
    const uint32_t n = task_pixels(p), from = t->number * n;
    _Atomic uint32_t *done = &p->lanes[worker].done;
    fractal_pixels(&p->fractal, from, from + n);
    atomic_store_explicit(done, atomic_load_explicit(done, memory_order_relaxed) + 1,
                          memory_order_release);  // partner: all_done()
}

void picture_cut(struct picture *p, unsigned workers)
{
    p->n_tasks = p->fractal.width * p->fractal.height / task_pixels(p);
    p->posted = 0;
    for (unsigned w = 0; w < workers; w++) {
        p->posted_to[w] = 0;
        atomic_store_explicit(&p->lanes[w].done, 0, memory_order_relaxed);
    }
    for (uint32_t i = 0; i < p->n_tasks; i++)
        p->tasks[i] = (struct task_of){{{MESSAGE_TASK}, i}, p};
    fractal_begin(&p->fractal);
}

static uint32_t done_by(const struct picture *p, unsigned worker)
{
    return atomic_load_explicit(&p->lanes[worker].done, memory_order_acquire);
}

static bool all_done(const struct picture *p, unsigned workers)
{
    uint32_t done = 0;
    for (unsigned w = 0; w < workers; w++)
        done += done_by(p, w);
    return done == p->n_tasks;
}

// Gives one task to a worker that may have one more. Returns whether it did.
static bool give(struct picture *p, unsigned worker,
                 bool (*post)(void *to, unsigned worker, struct message *m), void *to)
{
    if (p->posted == p->n_tasks || p->posted_to[worker] - done_by(p, worker) >= p->mode->ahead)
        return false;
    if (!post(to, worker, &p->tasks[p->posted].task.message))
        return false;
    p->posted_to[worker]++;
    p->posted++;
    return true;
}

bool picture_feed(struct picture *p, unsigned workers,
                  bool (*post)(void *to, unsigned worker, struct message *m), void *to)
{
    bool gave;
    do {
        gave = false;
        for (unsigned w = 0; w < workers; w++)
            if (p->mode->spread || w == p->home)
                gave |= give(p, w, post, to);
    } while (gave);
    return all_done(p, workers);
}
