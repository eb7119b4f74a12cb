// SPDX-License-Identifier: BSD-3-Clause
// timer_trap.c: preloaded: a timer of 373 ms, as of the watchdog with WATCHDOG_USEC=1492000, cannot
// be had.
#include <errno.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

int timerfd_settime(int fd, int flags, const struct itimerspec *to, struct itimerspec *from)
{
    if (to->it_interval.tv_sec != 0 || to->it_interval.tv_nsec != 373000000)
        return (int)syscall(SYS_timerfd_settime, fd, flags, to, from);
    errno = ENOMEM;
    return -1;
}
