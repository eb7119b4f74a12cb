// SPDX-License-Identifier: BSD-3-Clause
#include "unit/web_client.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "unit/check.h"

struct ctl_loop loop;
struct ctl_http *http;
void (*between_turns)(void);
char got[ANSWER_BYTES];
size_t got_bytes;

uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

int client_from(unsigned last, int *fd)
{
    int pair[2];
    const struct sockaddr_in from = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(0x7f000000 + last)};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    *fd = pair[0];
    return ctl_http_adopt(http, pair[1], (const struct sockaddr *)&from, sizeof(from));
}

int client(void)
{
    int fd;
    assert_int_equal(client_from(1, &fd), 0);
    return fd;
}

void turn(void)
{
    assert_true(ctl_loop_turn(&loop, 5) >= 0);
    if (between_turns != NULL)
        between_turns();
}

void send_all(int fd, const char *bytes, size_t n)
{
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    while (n > 0) {
        const ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return;  // the server has said enough
        bytes += MAX(sent, 0);
        n -= (size_t)MAX(sent, 0);
        turn();
        assert_true(now_ms() < end_ms);
    }
}

// receive: adds what the server sends; false at the end.
static bool receive(int fd)
{
    const ssize_t n = recv(fd, got + got_bytes, ANSWER_BYTES - 1 - got_bytes, 0);
    got_bytes += (size_t)MAX(n, 0);
    got[got_bytes] = '\0';
    return n > 0 || (n < 0 && errno == EAGAIN);
}

void receive_all(int fd)
{
    const uint64_t end_ms = now_ms() + WAIT_MS_MAX;
    got_bytes = 0;
    while (receive(fd)) {
        turn();
        assert_true(now_ms() < end_ms);
    }
    close(fd);
    turn();
}

void ask_bytes(const char *request, size_t n)
{
    const int fd = client();
    send_all(fd, request, n);
    receive_all(fd);
}

void ask(const char *request)
{
    ask_bytes(request, strlen(request));
}

void get(const char *path)
{
    char request[8192];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\n" CLOSE "\r\n", path);
    ask(request);
}

int status(void)
{
    return strncmp(got, "HTTP/1.1 ", 9) == 0 ? atoi(got + 9) : -1;
}

const char *content(void)
{
    const char *at = strstr(got, "\r\n\r\n");
    return at == NULL ? "" : at + 4;
}

bool has(const char *header)
{
    const char *end = strstr(got, "\r\n\r\n"), *at = strstr(got, header);
    return at != NULL && at < end;
}

void expect_status(const char *path, int want)
{
    get(path);
    if (status() != want)
        fail_msg("%s: %.60s, expected %d", path, got, want);
}

int dechunk(void)
{
    char *from = strstr(got, "\r\n\r\n") + 4, *to = from;
    for (;;) {
        char *end;
        const size_t n = strtoul(from, &end, 16);
        if (end == from || strncmp(end, "\r\n", 2) != 0)
            return -1;
        if (n == 0)
            break;
        memmove(to, end + 2, n);
        to += n;
        from = end + 2 + n + 2;
    }
    *to = '\0';
    return 0;
}
