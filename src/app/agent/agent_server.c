// SPDX-License-Identifier: BSD-3-Clause
#include "app/agent/agent_server.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
    EVENTS_MAX = 64,
    IDLE_US = 100000,  // no socket is open: only checks whether the server stops
    OPEN_US = 1000,    // connections or datagrams may arrive, and no call waits for them
    BLOCKED_US = 100,  // a call waits
};

static uint64_t clock_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

bool request_is_valid(const struct agent_request *r, size_t n)
{
    return n >= sizeof(*r) && r->addr_bytes <= AGENT_ADDR_BYTES &&
           r->data_bytes <= AGENT_DATA_BYTES_MAX && n == sizeof(*r) + r->data_bytes;
}

// ---- the socket for clients

// Whether no process listens on the socket: a server that was killed has left it behind.
static bool is_stale(const struct sockaddr_un *at)
{
    const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const bool refused =
        fd >= 0 && connect(fd, (const void *)at, sizeof(*at)) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return refused;
}

static bool bind_listen_fd(int fd, const struct sockaddr_un *at)
{
    if (bind(fd, (const void *)at, sizeof(*at)) == 0)
        return true;
    return errno == EADDRINUSE && is_stale(at) && unlink(at->sun_path) == 0 &&
           bind(fd, (const void *)at, sizeof(*at)) == 0;
}

const char *agent_socket_open(struct agent *a)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", a->path);
    a->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    a->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (a->listen_fd < 0 || a->epoll < 0 || !bind_listen_fd(a->listen_fd, &at))
        return strerror(errno);
    a->path_made = true;
    struct epoll_event e = {.events = EPOLLIN};
    if (chmod(a->path, 0600) != 0 || listen(a->listen_fd, 64) != 0 ||
        epoll_ctl(a->epoll, EPOLL_CTL_ADD, a->listen_fd, &e) != 0)
        return strerror(errno);
    return NULL;
}

void agent_socket_close(struct agent *a)
{
    if (a->path_made)
        unlink(a->path);
    a->path_made = false;
    if (a->listen_fd >= 0)
        close(a->listen_fd);
    if (a->epoll >= 0)
        close(a->epoll);
    a->listen_fd = a->epoll = -1;
}

// ---- clients

static void listen_for(struct agent *a, struct client *k, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = k};
    if (k->events == events)
        return;
    k->events = events;
    epoll_ctl(a->epoll, EPOLL_CTL_MOD, k->fd, &e);
}

void client_free(struct client *k)
{
    free(k->call.fences);
    free(k->call.polled);
    free(k->call.corked);
    free(k->in);
    free(k->out);
    free(k);
}

struct client *client_new(const struct agent *a, int fd)
{
    struct client *k = calloc(1, sizeof(*k));
    if (k == NULL)
        return NULL;
    k->fd = fd;
    k->in = malloc(REQUEST_BYTES_MAX + 1);
    k->out = malloc(REPLY_BYTES_MAX);
    k->call.fences = calloc(a->n_workers, sizeof(*k->call.fences));
    k->call.client = k;
    k->call.reply = k->out;
    if (k->in != NULL && k->out != NULL && k->call.fences != NULL)
        return k;
    client_free(k);
    return NULL;
}

static void accept_one(struct agent *a, int fd)
{
    struct client *k = client_new(a, fd);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = k};
    const int room = 2 * REPLY_BYTES_MAX;
    if (k == NULL || epoll_ctl(a->epoll, EPOLL_CTL_ADD, fd, &e) != 0) {
        if (k != NULL)
            client_free(k);
        close(fd);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    k->events = EPOLLIN;
    k->next = a->clients;
    a->clients = k;
    a->n_clients++;
}

// Clients above clients_max wait in the listen backlog.
static void accept_clients(struct agent *a)
{
    while (a->n_clients < a->clients_max) {
        const int fd = accept4(a->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            return;
        accept_one(a, fd);
    }
}

static void disconnect_client(struct agent *a, struct client *k)
{
    epoll_ctl(a->epoll, EPOLL_CTL_DEL, k->fd, NULL);
    close(k->fd);
    k->fd = -1;
    k->replying = false;
    call_cancel(a, &k->call);
}

static void free_disconnected(struct agent *a)
{
    for (struct client **at = &a->clients; *at != NULL;) {
        struct client *k = *at;
        if (k->fd >= 0 || !call_over(&k->call)) {
            at = &k->next;
            continue;
        }
        *at = k->next;
        a->n_clients--;
        client_free(k);
    }
}

static void send_reply(struct agent *a, struct client *k)
{
    const ssize_t n = send(k->fd, k->out, k->reply_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    k->replying = n < 0 && (errno == EAGAIN || errno == ENOBUFS);
    if (n < 0 && !k->replying) {
        disconnect_client(a, k);
        return;
    }
    listen_for(a, k, k->replying ? EPOLLOUT : EPOLLIN);
}

void client_reply(struct agent *a, struct client *k)
{
    if (k->fd < 0)
        return;
    k->reply_bytes = sizeof(*k->out) + k->out->data_bytes;
    send_reply(a, k);
}

// During a call, the epoll instance reports only that the client disconnects.
static void read_request(struct agent *a, struct client *k)
{
    const ssize_t n = recv(k->fd, k->in, REQUEST_BYTES_MAX + 1, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n <= 0 || !request_is_valid(k->in, (size_t)n)) {
        disconnect_client(a, k);
        return;
    }
    listen_for(a, k, EPOLLRDHUP);
    k->call.r = k->in;
    call_start(a, &k->call);
}

static void client_event(struct agent *a, struct client *k, uint32_t events)
{
    if (k->fd < 0)
        return;
    if (k->replying && (events & EPOLLOUT))
        send_reply(a, k);
    else if (!k->replying && k->call.r == NULL && (events & EPOLLIN) && a->resetter == NULL)
        read_request(a, k);
    else if (events & (EPOLLHUP | EPOLLERR | EPOLLRDHUP))
        disconnect_client(a, k);
}

void agent_clients_free(struct agent *a)
{
    while (a->clients != NULL) {
        struct client *k = a->clients;
        a->clients = k->next;
        if (k->fd >= 0)
            close(k->fd);
        client_free(k);
    }
}

// ---- the loop

static uint64_t wait_us(const struct agent *a, uint64_t deadline_us)
{
    uint64_t us = a->n_listening != 0 ? OPEN_US : IDLE_US;
    if (a->n_lent != 0)
        return 0;
    if (a->first_blocked != NULL)
        us = BLOCKED_US;
    if (deadline_us == NEVER)
        return us;
    const uint64_t left = deadline_us > a->now_us ? deadline_us - a->now_us : 0;
    return left < us ? left : us;
}

static bool serve_clients(struct agent *a, uint64_t us)
{
    struct epoll_event e[EVENTS_MAX];
    const struct timespec t = {.tv_sec = 0, .tv_nsec = (long)us * 1000};
    const int n = epoll_pwait2(a->epoll, e, EVENTS_MAX, &t, NULL);
    a->now_us = clock_us();
    for (int i = 0; i < n; i++) {
        if (e[i].data.ptr == NULL)
            accept_clients(a);
        else
            client_event(a, e[i].data.ptr, e[i].events);
    }
    return n > 0;
}

void agent_thread(struct c10m_service *s)
{
    struct agent *a = agent_of(s);
    a->now_us = clock_us();
    while (!c10m_thread_stopping(s)) {
        bool any = receive_messages(a);
        const uint64_t us = wait_us(a, run_deadlines(a));
        any |= serve_clients(a, us);
        flush_posts(a);
        free_disconnected(a);
        if (!any && us == 0)
            sched_yield();
    }
    agent_socket_close(a);
}
