// SPDX-License-Identifier: BSD-3-Clause
// mandelbrot.h: what the worker's and the thread's side of the application mandelbrot share.
//
//     worker of the client        thread                         workers
//     c10m_answer(picture)  --->  cuts it into tasks  --- c10m_post(task) --->  pixels
//                                 counts them         <-- done, a word for each worker
//     sends the PNG         <---  c10m_post(picture)
//
// A picture belongs to the worker of its client until c10m_answer() succeeds, then to the thread,
// and again to that worker from the message on. Workers write only the pixels of their tasks and
// their own word `done`.
#pragma once
#include <assert.h>
#include <c10m/thread.h>
#include <stdatomic.h>

#include "fractal.h"

enum {
    PICTURES_MAX = 4,   // of the clients of one worker; another request gets status 503
    TASKS_MAX = 65536,  // of a picture
    // Pixels of a picture in the modes that hold a worker for all of it, or make a task of each.
    WHOLE_PIXELS_MAX = 65536,
};

static_assert(WHOLE_PIXELS_MAX <= TASKS_MAX, "a task for each pixel");
static_assert((int)FRACTAL_SIDE_MAX <= TASKS_MAX, "a task for each row");

// mode: how a picture is cut, and where its tasks run.
struct mode {
    const char *name;
    enum { CUT_WHOLE, CUT_PIXELS, CUT_ROWS } cut;
    bool spread;     // over all workers; otherwise on that of the client
    unsigned ahead;  // tasks that a worker has been given and has not done, at most
};

// modes: ends with a row without a name.
extern const struct mode modes[];

enum message_kind { MESSAGE_TASK, MESSAGE_PICTURE };

// message: the first member of what travels.
struct message {
    enum message_kind kind;
};

struct task {
    struct message message;
    uint32_t number;  // of the task in its picture
};

// lane: what one worker has done of a picture.
struct lane {
    _Alignas(64) _Atomic uint32_t done;  // written by the worker, read by the thread
};

struct picture {
    struct message message;
    struct fractal fractal;
    const struct mode *mode;
    uint64_t handle;  // the client's connection
    unsigned home;    // its worker
    bool used, keep;  // home's; keep: the connection stays open after the answer
    // The thread's.
    uint32_t n_tasks, posted, *posted_to;  // posted_to: for each worker
    // Written before c10m_post(), read by workers.
    struct task_of {
        struct task task;
        struct picture *picture;
    } * tasks;
    struct lane *lanes;  // for each worker
};

// mandelbrot: all pictures of a service: those of worker w from w * PICTURES_MAX on.
struct mandelbrot {
    unsigned workers;
    struct picture *pictures;
    struct picture **desk;  // those that the thread has; room for all
};

// pictures_new: NULL: no memory. On the control thread. pictures_free: also of NULL.
struct mandelbrot *pictures_new(unsigned workers);
void pictures_free(struct mandelbrot *m);

// picture_work: does one task, on worker number `worker`.
void picture_work(const struct task *t, unsigned worker);

// picture_cut: prepares a picture for picture_feed(). picture_feed: gives out what the mode
// permits: post() says whether a worker's ring took the task. Returns whether all tasks are done.
// The thread's.
void picture_cut(struct picture *p, unsigned workers);
bool picture_feed(struct picture *p, unsigned workers,
                  bool (*post)(void *to, unsigned worker, struct message *m), void *to);

// mandelbrot_thread: c10m_app.thread.
void mandelbrot_thread(struct c10m_service *s);
