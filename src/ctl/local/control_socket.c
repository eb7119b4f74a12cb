// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/local/control_socket.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

// client: one connection. events: the epoll events for which the loop waits.
struct client {
    LIST_ENTRY(client) link;
    struct ctl_sock *sock;
    int fd;
    uint32_t events;
    uint64_t active_ms;  // time of the last byte sent or received
    bool resting;        // its stream is idle: on_rest() continues it
    struct ctl_who who;
    struct talk talk;
};

struct ctl_sock {
    struct ctl_loop *loop;
    struct tree *tree;
    int fd, timer, rest;  // rest: timer while a client is resting; -1: none
    dev_t dev;            // of the socket file that was created
    ino_t ino;
    uint64_t idle_ms;
    bool deaf;  // no descriptor is free: on_check() enables the listener again
    struct sock_counts counts;
    LIST_HEAD(client_list, client) clients;
    struct sockaddr_un at;
};

static uint64_t clock_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// ---- clients

static void client_drop(struct client *c)
{
    ctl_loop_remove(c->sock->loop, c->fd);
    close(c->fd);
    LIST_REMOVE(c, link);
    c->sock->counts.clients--;
    talk_fini(&c->talk);
    free(c->who.groups);
    free(c);
}

// client_send: sends as much as the socket accepts. False: the client has disconnected.
static bool client_send(struct client *c)
{
    struct talk *k = &c->talk;
    while (k->out_at < k->out_n) {
        const ssize_t n =
            send(c->fd, k->out + k->out_at, k->out_n - k->out_at, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR || errno == ENOBUFS;
        k->out_at += (size_t)n;
        c->active_ms = clock_ms();
    }
    return true;
}

// client_receive: receives once. False: the client has disconnected or shut down its side.
static bool client_receive(struct client *c)
{
    size_t room;
    uint8_t *at = talk_room(&c->talk, &room);
    const ssize_t n = room == 0 ? 0 : recv(c->fd, at, room, MSG_DONTWAIT);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    talk_received(&c->talk, (size_t)n);
    c->active_ms = clock_ms();
    return n > 0;
}

static void client_ready(void *arg, uint32_t events);

// client_listen: sets the events for which the loop waits.
static void client_listen(struct client *c, uint32_t events)
{
    if (c->events == events)
        return;
    if (ctl_loop_change(c->sock->loop, c->fd, events) != 0)
        client_drop(c);
    else
        c->events = events;
}

// on_rest: continues the streams of resting clients.
static void on_rest(void *arg, uint64_t periods)
{
    struct ctl_sock *s = arg;
    (void)periods;
    ctl_loop_remove(s->loop, s->rest);
    s->rest = -1;
    for (struct client *c = LIST_FIRST(&s->clients), *next; c != NULL; c = next) {
        next = LIST_NEXT(c, link);
        if (c->resting)
            client_ready(c, 0);
    }
}

// client_rest: lets a client wait for on_rest(). If no timer can be created, it continues at once.
static void client_rest(struct client *c)
{
    struct ctl_sock *s = c->sock;
    if (s->rest < 0)
        s->rest = ctl_loop_timer(s->loop, TREE_IDLE_MS, on_rest, s, NULL);
    c->resting = s->rest >= 0;
    client_listen(c, c->resting ? 0 : EPOLLOUT);
}

// client_ready: does one piece of work. A client that has shut down its side gets the rest of its
// answer and is then removed.
static void client_ready(void *arg, uint32_t events)
{
    struct client *c = arg;
    struct talk *k = &c->talk;
    bool later = false;
    if ((events & (EPOLLHUP | EPOLLERR)) != 0 ||
        (!talk_busy(k) && (events & EPOLLIN) != 0 && !client_receive(c))) {
        client_drop(c);
        return;
    }
    const bool more = talk_work(k, &later);
    if (!client_send(c) || (k->state == TALK_OVER && k->out_at == k->out_n)) {
        client_drop(c);
        return;
    }
    if (later)
        c->active_ms = clock_ms();  // it waits for the server
    c->resting = false;
    if (later && talk_idle(k))
        client_rest(c);
    else
        client_listen(c, more || talk_busy(k) ? EPOLLOUT : EPOLLIN);
}

// ---- credentials

// groups_get: the supplementary groups of the peer, at most WALK_GROUPS_MAX.
static int groups_get(int fd, struct ctl_who *who)
{
    socklen_t bytes = WALK_GROUPS_MAX * sizeof(gid_t);
    who->groups = malloc(bytes);
    if (who->groups == NULL)
        return -1;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, who->groups, &bytes) == 0)
        who->n_groups = (uint32_t)(bytes / sizeof(gid_t));
    return 0;
}

static int who_get(int fd, struct ctl_who *who)
{
    struct ucred cred;
    socklen_t bytes = sizeof(cred);
    *who = (struct ctl_who){0};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &bytes) != 0)
        return -1;
    who->uid = cred.uid;
    who->gid = cred.gid;
    return groups_get(fd, who);
}

static unsigned clients_of(const struct ctl_sock *s, uid_t uid)
{
    const struct client *c;
    unsigned n = 0;
    LIST_FOREACH(c, &s->clients, link)
    n += c->who.uid == uid;
    return n;
}

// refuse: sends the reason if the socket accepts it without waiting, and closes.
static void refuse(int fd, int code, const char *why)
{
    uint8_t frame[WIRE_HEAD_BYTES + WIRE_ERROR_BYTES_MAX];
    send(fd, frame, wire_error_put(frame, code, why), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// refused: whether a limit of connections is reached for uid.
static bool refused(struct ctl_sock *s, int fd, uid_t uid)
{
    const unsigned places = SOCK_CLIENTS_MAX - (uid == 0 ? 0 : SOCK_CLIENTS_ROOT);
    const bool greedy = uid != 0 && clients_of(s, uid) >= SOCK_CLIENTS_USER_MAX;
    const bool full = s->counts.clients >= places;
    s->counts.refused_user += greedy;
    s->counts.refused_full += full && !greedy;
    if (greedy)
        refuse(fd, EMFILE, "this user has reached the limit of connections for each user");
    else if (full)
        refuse(fd, EMFILE, "the server has reached its limit of connections");
    return greedy || full;
}

static int client_add(struct ctl_sock *s, int fd, struct ctl_who *who)
{
    struct err e;
    struct client *c = malloc(sizeof(*c));
    if (c == NULL)
        return -1;
    c->sock = s;
    c->fd = fd;
    c->events = EPOLLIN;
    c->active_ms = clock_ms();
    c->resting = false;
    c->who = *who;
    talk_init(&c->talk, s->tree, &c->who, &s->counts.talk);
    if (ctl_loop_add(s->loop, fd, c->events, client_ready, c, &e) != 0) {
        free(c);
        return -1;
    }
    LIST_INSERT_HEAD(&s->clients, c, link);
    s->counts.clients++;
    s->counts.accepted++;
    return 0;
}

static void client_new(struct ctl_sock *s, int fd)
{
    struct ctl_who who;
    const bool known = who_get(fd, &who) == 0;
    if (known && !refused(s, fd, who.uid)) {
        if (client_add(s, fd, &who) == 0)
            return;
        refuse(fd, ENOMEM, "the server cannot serve another connection");
        s->counts.failed++;
    }
    s->counts.failed += !known;
    free(who.groups);
    close(fd);
}

// listener_shut: disables the listener; otherwise waiting connections would keep the loop busy.
static void listener_shut(struct ctl_sock *s)
{
    s->counts.failed++;
    s->deaf = ctl_loop_change(s->loop, s->fd, 0) == 0;
}

static void listener_ready(void *arg, uint32_t events)
{
    struct ctl_sock *s = arg;
    (void)events;
    for (int i = 0; i < SOCK_ACCEPTS_A_WAKE; i++) {
        const int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                listener_shut(s);
            return;
        }
        client_new(s, fd);
    }
}

static void on_check(void *arg, uint64_t periods)
{
    struct ctl_sock *s = arg;
    const uint64_t now = clock_ms();
    (void)periods;
    if (s->deaf)
        s->deaf = ctl_loop_change(s->loop, s->fd, EPOLLIN) != 0;
    for (struct client *c = LIST_FIRST(&s->clients), *next; c != NULL; c = next) {
        next = LIST_NEXT(c, link);
        const bool lives = c->talk.handle != NULL && tree_lives(c->talk.handle);
        if (lives || now - c->active_ms < s->idle_ms)
            continue;
        s->counts.timed_out++;
        client_drop(c);
    }
}

// ---- the socket file

// is_stale: whether the path is a socket on which no process listens. *taken: a process listens.
static bool is_stale(const struct sockaddr_un *at, bool *taken)
{
    struct stat st;
    if (lstat(at->sun_path, &st) != 0 || !S_ISSOCK(st.st_mode)) {
        errno = EEXIST;
        return false;
    }
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int code = fd < 0 || connect(fd, (const void *)at, sizeof(*at)) == 0 ? 0 : errno;
    if (fd >= 0)
        close(fd);
    *taken = fd >= 0 && (code == 0 || code == EAGAIN);
    errno = EADDRINUSE;
    return code == ECONNREFUSED;
}

static int bind_at(struct ctl_sock *s, bool *taken)
{
    if (bind(s->fd, (const void *)&s->at, sizeof(s->at)) == 0)
        return 0;
    if (errno == EADDRINUSE && is_stale(&s->at, taken) && unlink(s->at.sun_path) == 0)
        return bind(s->fd, (const void *)&s->at, sizeof(s->at));
    return -1;
}

static int file_make(struct ctl_sock *s, bool *taken, struct err *e)
{
    struct stat st;
    if (bind_at(s, taken) != 0)
        return err_set(e, "%s: %s", s->at.sun_path,
                       *taken            ? "another server uses this socket: each server needs its "
                                           "own [control] socket or run_dir"
                       : errno == EEXIST ? "exists and is not a socket"
                                         : strerror(errno));
    if (chmod(s->at.sun_path, 0666) == 0 && stat(s->at.sun_path, &st) == 0 &&
        listen(s->fd, SOCK_BACKLOG) == 0) {
        s->dev = st.st_dev;
        s->ino = st.st_ino;
        return 0;
    }
    err_set(e, "%s: %s", s->at.sun_path, strerror(errno));
    unlink(s->at.sun_path);
    return -1;
}

static void file_remove(const struct ctl_sock *s)
{
    struct stat st;
    if (lstat(s->at.sun_path, &st) == 0 && st.st_dev == s->dev && st.st_ino == s->ino)
        unlink(s->at.sun_path);
}

// ---- start and stop

struct ctl_sock *ctl_sock_start(struct ctl_loop *loop, struct tree *t, const char *path,
                                bool *taken, struct err *e)
{
    *taken = false;
    if (strlen(path) >= SOCK_PATH_BYTES) {
        err_set(e, "%s: the path of a socket may have at most %d characters", path,
                SOCK_PATH_BYTES - 1);
        return NULL;
    }
    struct ctl_sock *s = calloc(1, sizeof(*s));
    if (s == NULL) {
        err_set(e, "%s: no memory", path);
        return NULL;
    }
    s->loop = loop;
    s->tree = t;
    s->idle_ms = SOCK_IDLE_MS;
    s->rest = -1;
    s->at.sun_family = AF_UNIX;
    snprintf(s->at.sun_path, sizeof(s->at.sun_path), "%s", path);
    LIST_INIT(&s->clients);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0) {
        err_set(e, "%s: socket: %s", path, strerror(errno));
        goto fail_free;
    }
    if (file_make(s, taken, e) != 0)
        goto fail_close;
    if (ctl_loop_add(loop, s->fd, EPOLLIN, listener_ready, s, e) != 0)
        goto fail_file;
    s->timer = ctl_loop_timer(loop, SOCK_CHECK_MS, on_check, s, e);
    if (s->timer >= 0)
        return s;

    ctl_loop_remove(loop, s->fd);
fail_file:
    file_remove(s);
fail_close:
    close(s->fd);
fail_free:
    free(s);
    return NULL;
}

void ctl_sock_stop(struct ctl_sock *s)
{
    if (s == NULL)
        return;
    while (!LIST_EMPTY(&s->clients))
        client_drop(LIST_FIRST(&s->clients));
    ctl_loop_remove(s->loop, s->timer);
    ctl_loop_remove(s->loop, s->rest);
    ctl_loop_remove(s->loop, s->fd);
    file_remove(s);
    close(s->fd);
    free(s);
}

struct sock_counts ctl_sock_counts(const struct ctl_sock *s)
{
    return s == NULL ? (struct sock_counts){0} : s->counts;
}

void ctl_sock_idle_ms(struct ctl_sock *s, uint64_t ms)
{
    s->idle_ms = ms;
}
