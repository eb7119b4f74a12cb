// SPDX-License-Identifier: BSD-3-Clause
// echo_epoll.c: an echo server on the kernel in one thread: what is there is read, and sent back;
// who does not take it is not read from until he does.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "echo_socket.h"

enum { EVENTS = 512, BYTES = 16384 };

// conn: what was read and has not been taken yet: data[at .. len).
struct conn {
    int fd;
    size_t at, len;
    char *data;  // NULL: nothing
};

static int epoll_fd;

static void watch(struct conn *c, int op, uint32_t what)
{
    struct epoll_event e = {.events = what, .data.ptr = c};
    if (epoll_ctl(epoll_fd, op, c->fd, &e) != 0)
        die("epoll_ctl");
}

static void forget(struct conn *c)
{
    close(c->fd);
    free(c->data);
    free(c);
}

static void accept_all(int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        struct conn *c = calloc(1, sizeof(*c));
        if (c == NULL)
            die("a connection");
        c->fd = fd;
        watch(c, EPOLL_CTL_ADD, EPOLLIN);
    }
    if (errno != EAGAIN && errno != ECONNABORTED)
        die("accept");
}

// put: 0: all was taken; 1: not all; -1: the peer is gone.
static int put(int fd, const char *data, size_t len, size_t *at)
{
    while (*at < len) {
        const ssize_t n = send(fd, data + *at, len - *at, MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN ? 1 : -1;
        *at += (size_t)n;
    }
    return 0;
}

static void keep(struct conn *c, const char *data, size_t at, size_t len)
{
    c->data = malloc(len - at);
    if (c->data == NULL)
        die("what was not taken");
    memcpy(c->data, data + at, len - at);
    c->at = 0;
    c->len = len - at;
    watch(c, EPOLL_CTL_MOD, EPOLLOUT);
}

static void readable(struct conn *c)
{
    static char data[BYTES];
    size_t at = 0;
    const ssize_t n = recv(c->fd, data, sizeof(data), 0);
    if (n < 0 && errno == EAGAIN)
        return;
    const int left = n <= 0 ? -1 : put(c->fd, data, (size_t)n, &at);
    if (left < 0)
        forget(c);
    else if (left > 0)
        keep(c, data, at, (size_t)n);
}

static void writable(struct conn *c)
{
    const int left = put(c->fd, c->data, c->len, &c->at);
    if (left < 0) {
        forget(c);
    } else if (left == 0) {
        free(c->data);
        c->data = NULL;
        watch(c, EPOLL_CTL_MOD, EPOLLIN);
    }
}

int main(void)
{
    struct epoll_event got[EVENTS];
    struct conn listener = {.fd = echo_socket(SOCK_STREAM | SOCK_NONBLOCK)};
    epoll_fd = epoll_create1(0);
    watch(&listener, EPOLL_CTL_ADD, EPOLLIN);
    for (;;) {
        const int n = epoll_wait(epoll_fd, got, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            struct conn *c = got[i].data.ptr;
            if (c == &listener)
                accept_all(c->fd);
            else if (c->data != NULL)
                writable(c);
            else
                readable(c);
        }
    }
}
