// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/tap_poll.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/base.h"

// told: net_tap's signal handler, which all its queues share. It only counts, and ignores its
// arguments.
static struct {
    void (*handler)(int signo);
    int signo;
} told;

static bool is_queue_of(int fd, const char *device)
{
    struct ifreq req = {0};
    return ioctl(fd, TUNGETIFF, &req) == 0 && strcmp(req.ifr_name, device) == 0;
}

// stop_signals: turns off the signals of queue fd and stores their handler in `told`. Returns 0 for
// a queue that sends none.
static int stop_signals(int fd, const char *device, struct err *err)
{
    const int flags = fcntl(fd, F_GETFL), signo = fcntl(fd, F_GETSIG);
    struct sigaction action;
    if (flags < 0 || (flags & O_ASYNC) == 0)
        return 0;
    if (sigaction(signo, NULL, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler == SIG_DFL || action.sa_handler == SIG_IGN)
        return err_set(err, "interface %s: net_tap has no handler for its signal %d", device,
                       signo);
    if (fcntl(fd, F_SETFL, flags & ~O_ASYNC) != 0)
        return err_set(err, "interface %s: its signals cannot be turned off: %s", device,
                       strerror(errno));
    told.handler = action.sa_handler;
    told.signo = signo;
    return 0;
}

int tap_poll_start(const char *device, struct err *err)
{
    DIR *d = opendir("/proc/self/fd");
    int rc = 0;
    if (d == NULL)
        return err_set(err, "interface %s: /proc/self/fd: %s", device, strerror(errno));
    for (const struct dirent *e; rc == 0 && (e = readdir(d)) != NULL;) {
        const int fd = atoi(e->d_name);
        if (e->d_name[0] != '.' && is_queue_of(fd, device))
            rc = stop_signals(fd, device, err);
    }
    closedir(d);
    return rc;
}

bool tap_poll_has_signal(void)
{
    return told.handler != NULL;
}

void tap_poll_look(void)
{
    if (likely(told.handler != NULL))
        told.handler(told.signo);
}
