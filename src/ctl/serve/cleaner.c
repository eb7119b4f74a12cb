// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/serve/cleaner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "ctl/cli/cmd_clean.h"
#include "server/device_locks.h"

// What the server writes: ARMED when it gives up root, IN_ORDER or KEEPS at its end. One that was
// killed does not write the second.
static const char ARMED = 'a', IN_ORDER = 'e', KEEPS = 'k';

// remove_locks: the lock files of the server's devices, unless another server has them now.
static void remove_locks(const struct server_params *p)
{
    struct device_locks locks;
    struct err err;
    device_locks_take(&locks, p, &err);
    device_locks_release(&locks);
}

// clean: end: the last byte, IN_ORDER or KEEPS; 0: the server was killed.
static void clean(const struct conf *c, const struct server_params *p, char end, long server)
{
    struct text said;
    struct err err;
    text_init(&said, 1 << 16);
    const int rc = ctl_clean(c, end == IN_ORDER ? CLEAN_ALL : CLEAN_KEEP, &said, &err);
    remove_locks(p);
    if (end == 0)
        log_line(LOG_WARN, "the server (process %ld) was killed: what it left behind is removed",
                 server);
    if (rc != 0)
        log_line(LOG_WARN, "not all of what the server left behind is removed: %s", err.text);
    text_free(&said);
}

_Noreturn static void run(int fd, const struct conf *c, const struct server_params *p, long server)
{
    char byte = 0, end = 0;
    bool armed = false;
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "c10m-cleaner");
    if (dup2(fd, STDIN_FILENO) >= 0)
        close_range(STDERR_FILENO + 1, ~0u, 0);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    ssize_t n;
    while ((n = read(STDIN_FILENO, &byte, 1)) > 0 || (n < 0 && errno == EINTR)) {
        armed |= n > 0 && byte == ARMED;
        if (n > 0 && byte != ARMED)
            end = byte;
    }
    if (armed)
        clean(c, p, end, server);
    _exit(0);
}

int cleaner_start(struct cleaner *k, const struct conf *c, const struct server_params *p,
                  struct err *err)
{
    int fds[2];
    const long server = getpid();
    if (pipe2(fds, O_CLOEXEC) != 0)
        return err_set(err, "cleaner: pipe: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0)
        run(fds[0], c, p, server);
    const int why = errno;
    close(fds[0]);
    if (pid > 0) {
        *k = (struct cleaner){fds[1], pid};
        return 0;
    }
    close(fds[1]);
    return err_set(err, "cleaner: fork: %s", strerror(why));
}

static void tell(const struct cleaner *k, char byte)
{
    if (k->fd >= 0 && write(k->fd, &byte, 1) != 1)
        log_line(LOG_WARN, "the cleaner has ended: c10m clean removes what is left");
}

void cleaner_arm(struct cleaner *k)
{
    tell(k, ARMED);
}

void cleaner_finish(struct cleaner *k, bool keeps)
{
    if (k->fd < 0)
        return;
    tell(k, keeps ? KEEPS : IN_ORDER);
    close(k->fd);
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    k->fd = -1;
}
