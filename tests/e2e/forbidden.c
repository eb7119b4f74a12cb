// SPDX-License-Identifier: BSD-3-Clause
// forbidden.c: an application out of tree for tests/e2e/confinement.sh and privileges.sh, which
// does what the rights of a running server do not allow. The first line of a connection says what:
// CALL: in the worker; `thread CALL [FILE]`: in the thread of the application. CALL is one of
// calls[]. Any other line is answered `ok`.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "c10m/main.h"
#include "c10m/thread.h"

static const char *const calls[] = {"socket", "execve", "openat", "fork"};

enum { CALLS = sizeof(calls) / sizeof(calls[0]), LINE_BYTES = 256 };

// make: line is CALL, or CALL FILE.
static const char *make(const char *line)
{
    char *const none[] = {NULL};
    const char *file = strchr(line, ' ');
    if (strncmp(line, "socket", 6) == 0)
        return socket(AF_INET, SOCK_DGRAM, 0) >= 0 ? "made" : "refused";
    if (strncmp(line, "execve", 6) == 0)
        return execve("/bin/true", none, none) == 0 ? "made" : "refused";
    if (strncmp(line, "fork", 4) == 0)
        return fork() >= 0 ? "made" : "refused";
    return open(file == NULL ? "/etc/hostname" : file + 1, O_RDONLY) >= 0 ? "made" : "refused";
}

static bool is_call(const char *line)
{
    for (unsigned i = 0; i < CALLS; i++)
        if (strncmp(line, calls[i], strlen(calls[i])) == 0)
            return true;
    return false;
}

static char asked[LINE_BYTES];  // of the thread; a worker may not allocate

static const char *answer_to(struct c10m_conn *c, const char *line)
{
    if (is_call(line))
        return make(line);
    if (strncmp(line, "thread ", 7) != 0 || !is_call(line + 7))
        return "ok";
    snprintf(asked, sizeof(asked), "%s", line + 7);
    return c10m_answer(c10m_core_of(c), c10m_service_of(c), asked) ? "asked" : "full";
}

static size_t on_data(struct c10m_conn *c, const uint8_t *data, size_t len)
{
    char line[LINE_BYTES] = "";
    const uint8_t *end = memchr(data, '\n', len);
    if (end == NULL || end - data >= (long)sizeof(line))
        return 0;
    memcpy(line, data, (size_t)(end - data));
    const char *answer = answer_to(c, line);
    c10m_send(c, answer, strlen(answer));
    c10m_send(c, "\n", 1);
    return (size_t)(end + 1 - data);
}

static void say(const char *line)
{
    const char *how = make(line);
    fprintf(stderr, "forbidden: %.*s: %s\n", (int)strcspn(line, " "), line, how);
}

static void run_thread(struct c10m_service *s)
{
    void *message;
    while (!c10m_thread_stopping(s)) {
        if (c10m_take(s, 0, &message, 1) == 1)
            say(message);
        usleep(10000);
    }
}

static const struct c10m_app app_forbidden = {
    .name = "forbidden",
    .data = on_data,
    .end = c10m_shutdown,
    .thread = run_thread,
};

int main(int argc, char **argv)
{
    static const struct c10m_app *const own[] = {&app_forbidden, NULL};
    return c10m_main(argc, argv, own);
}
