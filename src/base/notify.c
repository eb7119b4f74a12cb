// SPDX-License-Identifier: BSD-3-Clause
#include "base/notify.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

static int notify_fd = -1;  // connected; -1: no manager
static uint64_t watchdog_us;

// number_of: the variable as a number; 0: it is not set, or no number.
static uint64_t number_of(const char *variable)
{
    const char *text = getenv(variable);
    char *end;
    if (text == NULL || *text < '0' || *text > '9')
        return 0;
    errno = 0;
    const uint64_t n = strtoull(text, &end, 10);
    return errno != 0 || *end != '\0' ? 0 : n;
}

// address_of: the address of a path, or of an abstract name behind @. Returns its length; 0: it is
// neither, or too long.
static socklen_t address_of(const char *path, struct sockaddr_un *at)
{
    const size_t n = strlen(path);
    *at = (struct sockaddr_un){.sun_family = AF_UNIX};
    if ((path[0] != '/' && path[0] != '@') || n < 2 || n >= sizeof(at->sun_path))
        return 0;
    memcpy(at->sun_path, path, n);
    if (path[0] == '@')
        at->sun_path[0] = '\0';
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
}

static int connect_to(const char *path)
{
    const struct timeval wait = {.tv_sec = NOTIFY_WAIT_MS / 1000};
    struct sockaddr_un at;
    const socklen_t n = address_of(path, &at);
    if (n == 0) {
        errno = EINVAL;
        return -1;
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&at, n) == 0 &&
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait)) == 0)
        return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

void notify_open(void)
{
    const char *path = getenv("NOTIFY_SOCKET");
    const bool for_us =
        getenv("WATCHDOG_PID") == NULL || number_of("WATCHDOG_PID") == (uint64_t)getpid();
    notify_close();
    if (path != NULL && path[0] != '\0')
        notify_fd = connect_to(path);
    if (path != NULL && path[0] != '\0' && notify_fd < 0)
        log_line(LOG_WARN,
                 "the service manager at NOTIFY_SOCKET=%.108s cannot be told anything: %s", path,
                 strerror(errno));
    watchdog_us = for_us && notify_fd >= 0 ? number_of("WATCHDOG_USEC") : 0;
    unsetenv("NOTIFY_SOCKET");
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
}

void notify_close(void)
{
    if (notify_fd >= 0)
        close(notify_fd);
    notify_fd = -1;
    watchdog_us = 0;
}

uint64_t notify_watchdog_us(void)
{
    return watchdog_us;
}

bool notify_say(const char *state, const char *format, ...)
{
    char text[NOTIFY_BYTES_MAX];
    if (notify_fd < 0)
        return true;
    const int n = snprintf(text, sizeof(text), "%s%sSTATUS=", state, state[0] == '\0' ? "" : "\n");
    if (n < 0 || (size_t)n >= sizeof(text))
        return false;
    va_list ap;
    va_start(ap, format);
    vsnprintf(text + n, sizeof(text) - (size_t)n, format, ap);
    va_end(ap);
    for (char *c = text + n; (c = strchr(c, '\n')) != NULL;)
        *c = ' ';  // a second line would be a second assignment
    if (send(notify_fd, text, strlen(text), MSG_NOSIGNAL) >= 0)
        return true;
    log_line(LOG_WARN, "the service manager was not told %s: %s",
             state[0] == '\0' ? "the status" : state, strerror(errno));
    return false;
}

void notify_watchdog(void)
{
    static const char text[] = "WATCHDOG=1";
    if (notify_fd >= 0 && send(notify_fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        log_line(LOG_DEBUG, "the watchdog was not fed: %s", strerror(errno));
}
