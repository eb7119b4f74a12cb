// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/http/control_http.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "c10m/tree.h"
#include "ctl/http/control_http_conn.h"
#include "ctl/http/peer_uid.h"
#include "ctl/http/web_pprof.h"

uint64_t http_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

// ---- one run: ready connections, and the next piece of a stream

void http_soon(struct ctl_http *h)
{
    eventfd_write(h->wake_fd, 1);
}

static void on_later(void *arg, uint64_t periods);

static void wait_later(struct http_request *r)
{
    struct ctl_http *h = r->http;
    if (h->later_fd < 0)
        h->later_fd = ctl_loop_timer(h->loop, HTTP_IDLE_MS, on_later, h, NULL);
    if (h->later_fd < 0)
        http_soon(h);  // no timer: continue in the next turn of the loop
}

void http_wait(struct http_request *r, enum http_wait when)
{
    struct ctl_http *h = r->http;
    MHD_suspend_connection(r->mhd);
    r->waits = when;
    if (when == HTTP_SOON) {
        TAILQ_INSERT_TAIL(&h->soon, r, link);
        http_soon(h);
        return;
    }
    TAILQ_INSERT_TAIL(&h->later, r, link);
    wait_later(r);
}

static void resume_one(struct ctl_http *h)
{
    struct http_request *r = TAILQ_FIRST(&h->soon);
    if (r == NULL)
        return;
    TAILQ_REMOVE(&h->soon, r, link);
    r->waits = HTTP_NOT;
    MHD_resume_connection(r->mhd);
}

static void run(struct ctl_http *h)
{
    MHD_UNSIGNED_LONG_LONG ms;
    h->streams_left = 1;
    resume_one(h);
    MHD_run(h->daemon);
    if (!TAILQ_EMPTY(&h->soon) || (MHD_get_timeout(h->daemon, &ms) == MHD_YES && ms == 0))
        http_soon(h);
}

static void on_mhd(void *arg, uint32_t events)
{
    run(arg);
}

static void on_wake(void *arg, uint32_t events)
{
    struct ctl_http *h = arg;
    eventfd_t ignored;
    eventfd_read(h->wake_fd, &ignored);
    run(h);
}

// Whether the client has disconnected. For an idle stream, which sends nothing, this must be
// checked.
static bool is_gone(const struct http_request *r)
{
    struct pollfd p = {.fd = r->conn->fd, .events = POLLRDHUP};
    return poll(&p, 1, 0) == 1;
}

static void on_later(void *arg, uint64_t periods)
{
    struct ctl_http *h = arg;
    struct http_request *r, *next;
    for (r = TAILQ_FIRST(&h->later); r != NULL; r = next) {
        next = TAILQ_NEXT(r, link);
        r->gone = is_gone(r);
        if (!r->gone && web_pprof_waits(&r->answer))
            continue;
        TAILQ_REMOVE(&h->later, r, link);
        TAILQ_INSERT_TAIL(&h->soon, r, link);
        r->waits = HTTP_SOON;
    }
    if (TAILQ_EMPTY(&h->later)) {
        ctl_loop_remove(h->loop, h->later_fd);
        h->later_fd = -1;
    }
    if (!TAILQ_EMPTY(&h->soon))
        http_soon(h);
}

// ---- connections

static struct ip_addr address_of(const struct sockaddr *a)
{
    struct ip_addr addr = {{0}};
    if (a->sa_family == AF_INET)
        return ip_from_v4(ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr));
    if (a->sa_family == AF_INET6)
        memcpy(addr.b, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, sizeof(addr.b));
    return addr;
}

// refuse: sends the reason if the socket accepts it at once, and closes.
static int refuse(uint64_t *counter, int fd)
{
    static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
                               "Content-Type: text/plain\r\nContent-Length: 21\r\n\r\n"
                               "too many connections\n";
    ++*counter;
    if (send(fd, busy, sizeof(busy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        shutdown(fd, SHUT_WR);
    close(fd);
    return -1;
}

static struct http_conn *free_slot(struct ctl_http *h, const struct ip_addr *from, unsigned *same,
                                   unsigned *n_free)
{
    struct http_conn *slot = NULL;
    *same = *n_free = 0;
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        struct http_conn *c = &h->conns[i];
        if (c->fd < 0) {
            slot = c;
            ++*n_free;
        } else
            *same += ip_equal(&c->from, from);
    }
    return slot;
}

static bool is_root(int fd, const struct sockaddr *from)
{
    uid_t uid;
    return peer_uid(fd, from, &uid) && uid == 0;
}

bool http_peer(const struct http_request *r, char client[HTTP_CLIENT_BYTES])
{
    char at[IP_TEXT_BYTES];
    uid_t uid;
    const struct sockaddr *from =
        MHD_get_connection_info(r->mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr;
    if (!peer_uid(r->conn->fd, from, &uid)) {
        snprintf(client, HTTP_CLIENT_BYTES, "%s", ip_text(&r->conn->from, at));
        return false;
    }
    snprintf(client, HTTP_CLIENT_BYTES, "uid:%u", uid);
    return uid == 0;
}

int ctl_http_adopt(struct ctl_http *h, int fd, const struct sockaddr *from, socklen_t n)
{
    const struct ip_addr addr = address_of(from);
    unsigned same, n_free;
    struct http_conn *c = free_slot(h, &addr, &same, &n_free);
    const bool greedy = same >= HTTP_ADDRESS_CONNECTIONS_MAX,
               full = n_free <= HTTP_CONNECTIONS_ROOT;
    if (c == NULL || ((greedy || full) && !is_root(fd, from)))
        return refuse(greedy ? &h->limits.refused_address : &h->limits.refused_connections, fd);
    *c = (struct http_conn){h, fd, addr, http_now_ms() + HTTP_TIMEOUT_S * 1000};
    if (MHD_add_connection(h->daemon, fd, from, n) != MHD_YES) {
        h->limits.accept_failed++;
        c->fd = -1;
        return -1;
    }
    h->limits.accepted++;
    http_soon(h);
    return 0;
}

static void on_listener(void *arg, uint32_t events)
{
    struct ctl_http *h = arg;
    struct sockaddr_storage from;
    for (int i = 0; i < HTTP_ACCEPTS_A_WAKE; i++) {
        socklen_t n = sizeof(from);
        const int fd =
            accept4(h->listen_fd, (struct sockaddr *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            ctl_http_adopt(h, fd, (struct sockaddr *)&from, n);
        else if (errno == EAGAIN || errno == EWOULDBLOCK)
            return;
        else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            h->limits.accept_failed++;
            ctl_loop_remove(h->loop, h->listen_fd);  // on_second() enables the listener again
            h->listening = false;
            return;
        }
    }
}

// on_connection: called by libmicrohttpd at the start and end of each connection.
static void on_connection(void *cls, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode what)
{
    struct ctl_http *h = cls;
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) {
        struct http_conn *c = *socket_context;
        if (c != NULL)
            c->fd = -1;
        return;
    }
    const int fd = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        if (h->conns[i].fd == fd)
            *socket_context = &h->conns[i];
}

// has_ended: whether the client has shut down its side. libmicrohttpd uses edge-triggered epoll and
// misses an end that arrives together with a request.
static bool has_ended(const struct http_conn *c)
{
    char byte;
    return recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void on_second(void *arg, uint64_t periods)
{
    struct ctl_http *h = arg;
    const uint64_t now = http_now_ms();
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++) {
        struct http_conn *c = &h->conns[i];
        const bool is_late = c->fd >= 0 && now >= c->due_ms;
        if (!is_late && (c->fd < 0 || c->due_ms == UINT64_MAX || !has_ended(c)))
            continue;
        h->limits.timeouts += is_late;
        c->due_ms = UINT64_MAX;
        shutdown(c->fd, SHUT_RDWR);
    }
    if (!h->listening && h->listen_fd >= 0)
        h->listening = ctl_loop_add(h->loop, h->listen_fd, EPOLLIN, on_listener, h, NULL) == 0;
    run(h);
}

// ---- the entry control/http

static unsigned open_now(const struct ctl_http *h)
{
    unsigned n = 0;
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        n += h->conns[i].fd >= 0;
    return n;
}

static int entry_read(struct tree_out *out, void *data)
{
    const struct ctl_http *h = data;
    const struct web_counts *w = &h->web.counts;
    const struct http_limits *l = &h->limits;
    const struct {
        const char *name;
        uint64_t value;
    } lines[] = {
        {"connections_now", open_now(h)},
        {"connections_max", HTTP_CONNECTIONS_MAX},
        {"connections_address_max", HTTP_ADDRESS_CONNECTIONS_MAX},
        {"connections_root", HTTP_CONNECTIONS_ROOT},
        {"timeout_s", HTTP_TIMEOUT_S},
        {"write_bytes_max", TREE_WRITE_BYTES_MAX},
        {"accepted", l->accepted},
        {"refused_connections", l->refused_connections},
        {"refused_address_connections", l->refused_address},
        {"accept_failed", l->accept_failed},
        {"timeouts", l->timeouts},
        {"malformed_requests", l->malformed},
        {"answers_broken_off", l->broken_off},
        {"requests", w->requests},
        {"writes", w->writes},
        {"refused_token", w->refused_token},
        {"refused_host", w->refused_host},
        {"refused_unconfirmed", w->refused_unconfirmed},
        {"refused_mode", w->refused_mode},
        {"bad_requests", w->bad_requests},
        {"bad_paths", w->bad_paths},
        {"not_found", w->not_found},
        {"too_large", w->too_large},
        {"failed", w->failed},
    };
    tree_printf(out, "address %s\ntoken %s\n", h->where,
                h->web.token[0] == '\0' ? "none" : "required");
    for (unsigned i = 0; i < ARRAY_LEN(lines); i++)
        tree_printf(out, "%s %" PRIu64 "\n", lines[i].name, lines[i].value);
    return 0;
}

// ---- start and stop

// Replaces the decoding of libmicrohttpd: web_path_decode() decodes a path, so that an escaped zero
// byte does not end it.
static size_t keep_escapes(void *cls, struct MHD_Connection *mhd, char *text)
{
    return strlen(text);
}

// The log of libmicrohttpd, which reports requests that it answers itself: malformed ones and those
// over its limits.
static void said(void *cls, const char *format, va_list ap)
{
    struct ctl_http *h = cls;
    h->limits.malformed += strncmp(format, "Error processing request", 24) == 0;
}

static int daemon_start(struct ctl_http *h, struct err *e)
{
    h->daemon = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, http_handle, h, MHD_OPTION_EXTERNAL_LOGGER, said, h,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS_MAX,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_MEMORY_BYTES,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_TIMEOUT_S, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, keep_escapes, h, MHD_OPTION_NOTIFY_COMPLETED, http_completed,
        h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (h->daemon == NULL)
        return err_set(e, "HTTP: libmicrohttpd could not be started");
    h->mhd_fd = MHD_get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return ctl_loop_add(h->loop, h->mhd_fd, EPOLLIN, on_mhd, h, e);
}

static socklen_t sockaddr_of(const struct conf_endpoint *at, struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    if (ip_is_v4(&at->addr)) {
        struct sockaddr_in *v4 = (void *)out;
        v4->sin_family = AF_INET;
        v4->sin_port = htons(at->port);
        v4->sin_addr.s_addr = htonl(ip_to_v4(&at->addr));
        return sizeof(*v4);
    }
    struct sockaddr_in6 *v6 = (void *)out;
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(at->port);
    memcpy(&v6->sin6_addr, at->addr.b, sizeof(at->addr.b));
    return sizeof(*v6);
}

static int listen_start(struct ctl_http *h, const struct conf_endpoint *at, struct err *e)
{
    char addr[IP_TEXT_BYTES];
    struct sockaddr_storage to;
    const int one = 1;
    const socklen_t n = sockaddr_of(at, &to);
    snprintf(h->where, sizeof(h->where), ip_is_v4(&at->addr) ? "%s:%u" : "[%s]:%u",
             ip_text(&at->addr, addr), at->port);
    h->listen_fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (h->listen_fd < 0 ||
        setsockopt(h->listen_fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) != 0 ||
        (to.ss_family == AF_INET6 &&
         setsockopt(h->listen_fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)) != 0) ||
        bind(h->listen_fd, (struct sockaddr *)&to, n) != 0 ||
        listen(h->listen_fd, HTTP_CONNECTIONS_MAX) != 0)
        return err_set(e, "%s: %s", h->where, strerror(errno));
    h->listening = true;
    return ctl_loop_add(h->loop, h->listen_fd, EPOLLIN, on_listener, h, e);
}

static int start(struct ctl_http *h, const struct ctl_http_params *p, struct err *e)
{
    h->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->wake_fd < 0)
        return err_set(e, "HTTP: eventfd: %s", strerror(errno));
    if (ctl_loop_add(h->loop, h->wake_fd, EPOLLIN, on_wake, h, e) != 0 || daemon_start(h, e) != 0)
        return -1;
    h->second_fd = ctl_loop_timer(h->loop, 1000, on_second, h, e);
    if (h->second_fd < 0 || (p->at.port != 0 && listen_start(h, &p->at, e) != 0))
        return -1;
    h->entry = tree_file_ro(tree_root(h->tree), "control/http", entry_read, h);
    return h->entry != NULL ? 0
                            : err_set(e, "HTTP: control/http: %s", tree_error(tree_root(h->tree)));
}

struct ctl_http *ctl_http_start(struct ctl_loop *loop, struct tree *t,
                                const struct ctl_http_params *p, struct err *e)
{
    struct ctl_http *h = calloc(1, sizeof(*h));
    if (h == NULL) {
        err_set(e, "HTTP: no memory");
        return NULL;
    }
    h->loop = loop;
    h->tree = t;
    h->listen_fd = h->mhd_fd = h->wake_fd = h->second_fd = h->later_fd = -1;
    TAILQ_INIT(&h->soon);
    TAILQ_INIT(&h->later);
    for (unsigned i = 0; i < HTTP_CONNECTIONS_MAX; i++)
        h->conns[i].fd = -1;
    h->web = (struct web){.name = p->name,
                          .statics = p->statics,
                          .n_statics = p->n_statics,
                          .metrics = p->metrics,
                          .history = p->history,
                          .metrics_arg = p->metrics_arg,
                          .prof = p->prof};
    tree_session_init(&h->web.session, t);
    snprintf(h->web.token, sizeof(h->web.token), "%s", p->token);
    if (start(h, p, e) == 0)
        return h;
    ctl_http_stop(h);
    return NULL;
}

static void fd_end(struct ctl_http *h, int fd, bool owned)
{
    if (fd < 0)
        return;
    ctl_loop_remove(h->loop, fd);
    if (owned)
        close(fd);
}

void ctl_http_stop(struct ctl_http *h)
{
    if (h == NULL)
        return;
    fd_end(h, h->mhd_fd, false);
    fd_end(h, h->second_fd, false);
    while (!TAILQ_EMPTY(&h->later)) {
        struct http_request *r = TAILQ_FIRST(&h->later);
        TAILQ_REMOVE(&h->later, r, link);
        TAILQ_INSERT_TAIL(&h->soon, r, link);
        r->waits = HTTP_SOON;
    }
    while (!TAILQ_EMPTY(&h->soon))  // libmicrohttpd cannot stop while connections are suspended
        resume_one(h);
    if (h->daemon != NULL)
        MHD_stop_daemon(h->daemon);
    fd_end(h, h->later_fd, false);
    fd_end(h, h->listen_fd, true);
    fd_end(h, h->wake_fd, true);
    if (h->entry != NULL)
        tree_remove_node(h->entry);
    tree_session_close(&h->web.session);
    explicit_bzero(h->web.token, sizeof(h->web.token));
    free(h);
}
