// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/sample_trigger.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event_open(struct perf_event_attr *attr, uint32_t tid, int group)
{
    attr->size = sizeof(*attr);
    return (int)syscall(SYS_perf_event_open, attr, tid, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static int signal_thread(int fd, uint32_t tid)
{
    const struct f_owner_ex owner = {F_OWNER_TID, (pid_t)tid};
    if (fcntl(fd, F_SETOWN_EX, &owner) != 0 || fcntl(fd, F_SETSIG, SIGPROF) != 0 ||
        fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) != 0)
        return -errno;
    return ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0 ? 0 : -errno;
}

static int perf_start(struct sample_trigger *t, uint32_t tid, unsigned hz)
{
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .config = PERF_COUNT_SW_TASK_CLOCK,
                                   .sample_period = SAMPLE_NS_A_SECOND / hz,
                                   .disabled = 1,
                                   .exclude_kernel = t->kind == TRIGGER_PERF_USER};
    t->fd = event_open(&attr, tid, -1);
    if (t->fd < 0)
        return -errno;
    const int rc = signal_thread(t->fd, tid);
    if (rc != 0)
        close(t->fd);
    return rc;
}

// thread_clock: the CPU clock of a thread: the inverted id, and what it measures in the lowest bits
// (include/linux/posix-timers.h).
static clockid_t thread_clock(uint32_t tid)
{
    enum { SCHEDULED_TIME = 2, OF_A_THREAD = 4 };
    return (clockid_t)(~tid << 3 | OF_A_THREAD | SCHEDULED_TIME);
}

static int timer_start(struct sample_trigger *t, uint32_t tid, unsigned hz)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    const struct timespec period = {.tv_sec = hz == 1,
                                    .tv_nsec = SAMPLE_NS_A_SECOND / hz % SAMPLE_NS_A_SECOND};
    const struct itimerspec when = {period, period};
    event._sigev_un._tid = (pid_t)tid;
    if (timer_create(thread_clock(tid), &event, &t->timer) != 0)
        return -errno;
    if (timer_settime(t->timer, 0, &when, NULL) == 0)
        return 0;
    const int rc = -errno;
    timer_delete(t->timer);
    return rc;
}

int sample_trigger_start(struct sample_trigger *t, enum sample_trigger_kind kind, uint32_t tid,
                         unsigned hz)
{
    t->kind = kind;
    const int rc = kind == TRIGGER_TIMER ? timer_start(t, tid, hz) : perf_start(t, tid, hz);
    if (rc != 0)
        t->kind = TRIGGER_NONE;
    return rc;
}

bool sample_trigger_refused(int rc)
{
    return rc == -EACCES || rc == -EPERM || rc == -ENOENT || rc == -ENOSYS || rc == -EOPNOTSUPP;
}

void sample_trigger_stop(struct sample_trigger *t)
{
    if (t->kind == TRIGGER_TIMER)
        timer_delete(t->timer);
    else if (t->kind != TRIGGER_NONE)
        close(t->fd);
    t->kind = TRIGGER_NONE;
}
