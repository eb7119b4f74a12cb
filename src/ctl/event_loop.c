// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/event_loop.h"

#include <errno.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/signals.h"

int ctl_loop_init(struct ctl_loop *loop, struct err *e)
{
    memset(loop, 0, sizeof(*loop));
    for (unsigned i = 0; i < CTL_SOURCES_MAX; i++)
        loop->sources[i].fd = -1;
    loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll_fd >= 0)
        return 0;
    int code = errno;
    memset(loop, 0, sizeof(*loop));
    return err_set(e, "control loop: epoll_create1: %s", strerror(code));
}

static void source_drop(struct ctl_loop *loop, struct ctl_source *s)
{
    epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, s->fd, NULL);
    if (s->owned)
        close(s->fd);
    s->fd = -1;
    s->generation++;
}

void ctl_loop_fini(struct ctl_loop *loop)
{
    if (loop->epoll_fd == 0)
        return;
    for (unsigned i = 0; i < CTL_SOURCES_MAX; i++)
        if (loop->sources[i].fd >= 0)
            source_drop(loop, &loop->sources[i]);
    if (loop->signals_on)
        pthread_sigmask(SIG_SETMASK, &loop->signals_before, NULL);
    close(loop->epoll_fd);
    memset(loop, 0, sizeof(*loop));
}

static struct ctl_source *source_of(struct ctl_loop *loop, int fd)
{
    for (unsigned i = 0; i < CTL_SOURCES_MAX; i++)
        if (loop->sources[i].fd == fd)
            return &loop->sources[i];
    return NULL;
}

// source_add: adds a source for fd. The caller sets its callback. Returns NULL with *e on failure.
static struct ctl_source *source_add(struct ctl_loop *loop, int fd, uint32_t events,
                                     void (*ready)(struct ctl_loop *, struct ctl_source *,
                                                   uint32_t),
                                     void *arg, struct err *e)
{
    if (fd < 0 || source_of(loop, fd) != NULL) {
        err_set(e, "control loop: fd %d: %s", fd, fd < 0 ? "is invalid" : "is registered already");
        return NULL;
    }
    struct ctl_source *s = source_of(loop, -1);
    if (s == NULL) {
        err_set(e, "control loop: all %d slots for fds and timers are used", CTL_SOURCES_MAX);
        return NULL;
    }
    uint64_t slot = (uint64_t)(s - loop->sources);
    struct epoll_event ev = {.events = events, .data.u64 = (uint64_t)s->generation << 32 | slot};
    if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
        err_set(e, "control loop: fd %d: epoll_ctl: %s", fd, strerror(errno));
        return NULL;
    }
    s->fd = fd;
    s->ready = ready;
    s->arg = arg;
    s->owned = false;
    return s;
}

static void fd_ready(struct ctl_loop *loop, struct ctl_source *s, uint32_t events)
{
    s->on.fd(s->arg, events);
}

int ctl_loop_add(struct ctl_loop *loop, int fd, uint32_t events, ctl_on_fd *on, void *arg,
                 struct err *e)
{
    struct ctl_source *s = source_add(loop, fd, events, fd_ready, arg, e);
    if (s == NULL)
        return -1;
    s->on.fd = on;
    return 0;
}

int ctl_loop_change(struct ctl_loop *loop, int fd, uint32_t events)
{
    const struct ctl_source *s = fd < 0 ? NULL : source_of(loop, fd);
    if (s == NULL) {
        errno = EBADF;
        return -1;
    }
    const uint64_t slot = (uint64_t)(s - loop->sources);
    struct epoll_event ev = {.events = events, .data.u64 = (uint64_t)s->generation << 32 | slot};
    return epoll_ctl(loop->epoll_fd, EPOLL_CTL_MOD, fd, &ev);
}

static void timer_ready(struct ctl_loop *loop, struct ctl_source *s, uint32_t events)
{
    uint64_t periods;
    if (read(s->fd, &periods, sizeof(periods)) == (ssize_t)sizeof(periods))
        s->on.timer(s->arg, periods);
}

int ctl_loop_timer(struct ctl_loop *loop, uint32_t period_ms, ctl_on_timer *on, void *arg,
                   struct err *e)
{
    if (period_ms == 0)
        return err_set(e, "control loop: a timer needs a period of 1 ms or more");
    struct timespec period = {period_ms / 1000, (long)(period_ms % 1000) * 1000000};
    struct itimerspec spec = {.it_interval = period, .it_value = period};
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    if (fd < 0 || timerfd_settime(fd, 0, &spec, NULL) != 0) {
        err_set(e, "control loop: timerfd: %s", strerror(errno));
    } else {
        struct ctl_source *s = source_add(loop, fd, EPOLLIN, timer_ready, arg, e);
        if (s != NULL) {
            s->on.timer = on;
            s->owned = true;
            return fd;
        }
    }
    if (fd >= 0)
        close(fd);
    return -1;
}

static void signal_ready(struct ctl_loop *loop, struct ctl_source *s, uint32_t events)
{
    uint32_t generation = s->generation;
    struct signalfd_siginfo info;
    for (int i = 0; i < CTL_SIGNALS_A_WAKE && s->generation == generation; i++) {
        if (read(s->fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
            return;
        s->on.signal(s->arg, (int)info.ssi_signo);
    }
}

int ctl_loop_signals(struct ctl_loop *loop, ctl_on_signal *on, void *arg, struct err *e)
{
    sigset_t set;
    signals_held(&set);
    if (loop->signals_on)
        return err_set(e, "control loop: signals are registered already");
    int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
    if (fd < 0)
        return err_set(e, "control loop: signalfd: %s", strerror(errno));
    struct ctl_source *s = source_add(loop, fd, EPOLLIN, signal_ready, arg, e);
    if (s == NULL) {
        close(fd);
        return -1;
    }
    s->on.signal = on;
    s->owned = true;
    pthread_sigmask(SIG_BLOCK, &set, &loop->signals_before);
    loop->signals_on = true;
    return 0;
}

void ctl_loop_remove(struct ctl_loop *loop, int fd)
{
    struct ctl_source *s = fd < 0 ? NULL : source_of(loop, fd);
    if (s != NULL)
        source_drop(loop, s);
}

int ctl_loop_turn(struct ctl_loop *loop, int timeout_ms)
{
    struct epoll_event events[CTL_EVENTS_A_WAKE];
    int ran = 0, n = epoll_wait(loop->epoll_fd, events, CTL_EVENTS_A_WAKE, timeout_ms);
    if (n < 0)
        return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < n && !loop->stop; i++) {
        struct ctl_source *s = &loop->sources[(uint32_t)events[i].data.u64];
        if (s->fd < 0 || s->generation != events[i].data.u64 >> 32)
            continue;  // removed by a callback in this turn
        s->ready(loop, s, events[i].events);
        ran++;
    }
    return ran;
}

int ctl_loop_run(struct ctl_loop *loop)
{
    int rc = 0;
    while (!loop->stop && rc >= 0)
        rc = ctl_loop_turn(loop, -1);
    loop->stop = false;
    return MIN(rc, 0);
}

void ctl_loop_stop(struct ctl_loop *loop)
{
    loop->stop = true;
}
