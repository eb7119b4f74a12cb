// SPDX-License-Identifier: BSD-3-Clause
// The thread of the ports that are shared with Linux.
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "confine/identity.h"
#include "server/app_threads.h"
#include "server/linux_internal.h"
#include "server/server_internal.h"

static void add(struct shared_u64 *count, uint64_t n)
{
    shared_u64_store(count, shared_u64_load(count) + n);
}

static uint64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

// is_gone: whether the error of a read or write means that the interface was removed.
static bool is_gone(int why)
{
    return why == EBADFD || why == ENODEV;
}

// write_frames: passes frames of one worker to Linux. Returns how many.
static unsigned write_frames(struct linux_ports *l, struct shared_port *p, struct rte_ring *to)
{
    unsigned n = 0;
    for (uint32_t len; n < LINUX_ROUND && (len = frame_ring_next(to)) != 0; n++) {
        frame_ring_take(to, l->frame);
        if (write(p->fd, l->frame, len) == (ssize_t)len) {
            add(&p->written, 1);
            add(&p->written_bytes, len);
            continue;
        }
        if (is_gone(errno))
            shared_bool_store(&p->gone, true);
        add(&p->refused, 1);
    }
    return n;
}

// read_frames: passes frames of Linux to worker 0. Returns how many.
static unsigned read_frames(struct linux_ports *l, struct shared_port *p, struct rte_ring *from,
                            uint32_t now_s)
{
    unsigned n = 0;
    for (; n < LINUX_ROUND && frame_ring_room(from) >= frame_ring_units(PKT_ROOM); n++) {
        const ssize_t len = read(p->fd, l->frame, PKT_ROOM);
        if (len <= 0) {
            if (len < 0 && is_gone(errno))
                shared_bool_store(&p->gone, true);
            break;
        }
        const struct linux_flow f = linux_flow_of(&l->flows, l->frame, (uint32_t)len, true);
        linux_flow_sent(&l->flows, &f, now_s);
        frame_ring_put(from, l->frame, (uint32_t)len);
        add(&p->read, 1);
        add(&p->read_bytes, (uint64_t)len);
    }
    return n;
}

static unsigned serve_port(struct linux_ports *l, unsigned i, uint32_t now_s)
{
    struct shared_port *p = &l->ports[i];
    unsigned n = 0;
    if (p->name == NULL)
        return 0;
    for (unsigned w = 0; w < l->server->params.n_workers; w++)
        n += write_frames(l, p, l->server->workers[w]->linux_boxes[i]->to);
    if (shared_bool_load(&p->gone))
        return n;
    const unsigned got = read_frames(l, p, l->server->workers[0]->linux_boxes[i]->from, now_s);
    if (got != 0)
        worker_wake(l->server->workers[0]);
    return n + got;
}

// rest: until a frame comes from Linux, or it is time to look at the rings.
static void rest(const struct linux_ports *l, uint32_t us)
{
    struct pollfd fds[WORKER_PORTS_MAX];
    nfds_t n = 0;
    for (unsigned i = 0; i < l->n; i++)
        if (l->ports[i].name != NULL && !shared_bool_load(&l->ports[i].gone) &&
            frame_ring_room(l->server->workers[0]->linux_boxes[i]->from) >=
                frame_ring_units(PKT_ROOM))
            fds[n++] = (struct pollfd){.fd = l->ports[i].fd, .events = POLLIN};
    const struct timespec t = {.tv_nsec = us * 1000L};
    ppoll(fds, n, &t, NULL);
}

static void *run(void *arg)
{
    struct linux_ports *l = arg;
    identity_no_capabilities();
    prctl(PR_SET_TIMERSLACK, 1000UL);  // ns; the default doubles LINUX_BUSY_US
    uint64_t moved_us = 0;
    while (!shared_bool_load(&l->stop)) {
        const uint64_t now = now_us();
        unsigned n = 0;
        for (unsigned i = 0; i < l->n; i++)
            n += serve_port(l, i, (uint32_t)(now / 1000000));
        if (n != 0)
            moved_us = now;
        else
            rest(l, now - moved_us < LINUX_BUSY_MS * 1000 ? LINUX_BUSY_US : LINUX_IDLE_US);
    }
    return NULL;
}

// linux_ports_start: the thread gets no signals, which are for the control thread.
int linux_ports_start(struct server *s, struct err *err)
{
    struct linux_ports *l = s->linux_ports;
    sigset_t all, before;
    if (l == NULL)
        return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int rc = pthread_create(&l->thread, NULL, run, l);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return err_set(err, "no thread for Linux's packets: %s", strerror(rc));
    l->started = true;
    pthread_setname_np(l->thread, "c10m-linux");
    server_thread_cpus(&s->params, l->thread);
    return 0;
}

void linux_ports_stop(struct server *s)
{
    struct linux_ports *l = s->linux_ports;
    if (l == NULL || !l->started)
        return;
    shared_bool_store(&l->stop, true);
    pthread_join(l->thread, NULL);
    l->started = false;
}
