// SPDX-License-Identifier: BSD-3-Clause
#include "ctl/cli/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { FRAME_BYTES = WIRE_HEAD_BYTES + WIRE_REQUEST_BYTES_MAX };

static_assert((int)FRAME_BYTES >= WIRE_HEAD_BYTES + WIRE_DATA_BYTES_MAX,
              "replies fit into the buffer too");

// answer: one frame of the server. The payload is in the client's buffer.
struct answer {
    struct wire_head head;
    const uint8_t *payload;
};

static unsigned slice_ms(const struct ctl_client *c)
{
    const bool whole =
        c->ended == NULL || (c->timeout_ms != 0 && c->timeout_ms < (unsigned)CLIENT_ASK_MS);
    return whole ? c->timeout_ms : (unsigned)CLIENT_ASK_MS;
}

void ctl_client_timeout(struct ctl_client *c, unsigned timeout_ms)
{
    c->timeout_ms = timeout_ms;
    const unsigned ms = slice_ms(c);
    const struct timeval t = {.tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t));
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof(t));
}

void ctl_client_close(struct ctl_client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    free(c->frame);
    *c = (struct ctl_client){.fd = -1};
}

// ---- frames

// not_yet: decides after a failed call on the socket. Returns 0: call again; or -errno. *waited_ms:
// the time waited so far.
static int not_yet(const struct ctl_client *c, unsigned *waited_ms)
{
    if (errno != EINTR && errno != EAGAIN)
        return -EPIPE;
    const bool waited = errno == EAGAIN;
    *waited_ms += waited ? slice_ms(c) : 0;
    if (c->ended != NULL && c->ended())
        return -EINTR;
    return waited && c->timeout_ms != 0 && *waited_ms >= c->timeout_ms ? -ETIMEDOUT : 0;
}

static int send_all(struct ctl_client *c, const uint8_t *data, size_t n)
{
    unsigned waited_ms = 0;
    while (n > 0) {
        const ssize_t sent = send(c->fd, data, n, MSG_NOSIGNAL);
        const int over = sent < 0 ? not_yet(c, &waited_ms) : 0;
        if (over != 0)
            return over;
        if (sent < 0)
            continue;
        waited_ms = 0;
        data += sent;
        n -= (size_t)sent;
    }
    return 0;
}

static int receive_all(struct ctl_client *c, uint8_t *to, size_t n)
{
    unsigned waited_ms = 0;
    while (n > 0) {
        const ssize_t got = recv(c->fd, to, n, 0);
        const int over = got == 0 ? -EPIPE : got < 0 ? not_yet(c, &waited_ms) : 0;
        if (over != 0)
            return over;
        if (got < 0)
            continue;
        waited_ms = 0;
        to += got;
        n -= (size_t)got;
    }
    return 0;
}

static int receive_frame(struct ctl_client *c, struct answer *a)
{
    int rc = receive_all(c, c->frame, WIRE_HEAD_BYTES);
    if (rc != 0)
        return rc;
    if (!wire_head_get(c->frame, &a->head) || a->head.payload_bytes > FRAME_BYTES - WIRE_HEAD_BYTES)
        return -EPROTO;
    a->payload = c->frame + WIRE_HEAD_BYTES;
    return receive_all(c, c->frame + WIRE_HEAD_BYTES, a->head.payload_bytes);
}

// failed: sets *e to the message for rc and `path`.
static int failed(const char *path, int rc, const char *words, int words_bytes, struct err *e)
{
    const char *what = rc == -EPIPE       ? "the server has cut the connection"
                       : rc == -ETIMEDOUT ? "the server does not answer"
                                          : strerror(-rc);
    err_set(e, "%s: %s%s%.*s", path, what, words_bytes > 0 ? ": " : "", words_bytes, words);
    return rc;
}

static int error_of(const struct answer *a, const char *path, struct err *e)
{
    int code;
    const char *words;
    size_t n;
    if (!wire_error_get(a->payload, a->head.payload_bytes, &code, &words, &n))
        return failed(path, -EPROTO, "", 0, e);
    return failed(path, -code, words, (int)n, e);
}

// ask: sends a request. If the connection was closed, an answer with the reason may already have
// been received.
static int ask(struct ctl_client *c, const struct wire_request *r)
{
    const size_t n = wire_request_put(c->frame, FRAME_BYTES, r);
    if (n == 0)
        return r->path_bytes > WIRE_PATH_BYTES_MAX ? -ENAMETOOLONG : -EFBIG;
    const int rc = send_all(c, c->frame, n);
    return rc == -EPIPE ? 0 : rc;
}

// next_data: receives the next DATA frame of an answer. Returns 1: it is *a; 0: the answer has
// ended; or -errno.
static int next_data(struct ctl_client *c, const char *path, uint64_t *total, struct answer *a,
                     struct err *e)
{
    uint64_t told;
    const int rc = receive_frame(c, a);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    if (a->head.type == WIRE_ERROR)
        return error_of(a, path, e);
    if (a->head.type == WIRE_DATA) {
        *total += a->head.payload_bytes;
        return 1;
    }
    if (a->head.type != WIRE_END || !wire_end_get(a->payload, a->head.payload_bytes, &told) ||
        told != *total)
        return failed(path, -EPROTO, "", 0, e);
    return 0;
}

// ---- open

static int say_hello(struct ctl_client *c, const char *path, struct err *e)
{
    uint8_t hello[WIRE_HELLO_BYTES];
    struct answer a;
    wire_hello_put(hello);
    int rc = send_all(c, hello, sizeof(hello));
    if (rc == 0 || rc == -EPIPE)
        rc = receive_frame(c, &a);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    if (a.head.type == WIRE_ERROR)
        return error_of(&a, path, e);
    if (a.head.type == WIRE_HELLO && wire_hello_good(a.payload, a.head.payload_bytes))
        return 0;
    return failed(path, -EPROTO, "has another protocol version", 28, e);
}

static int connect_to(struct ctl_client *c, const char *path, unsigned timeout_ms, struct err *e)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(at.sun_path))
        return failed(path, -ENAMETOOLONG, "", 0, e);
    snprintf(at.sun_path, sizeof(at.sun_path), "%s", path);
    c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->frame = malloc(FRAME_BYTES);
    if (c->fd < 0 || c->frame == NULL)
        return failed(path, c->frame == NULL ? -ENOMEM : -errno, "", 0, e);
    ctl_client_timeout(c, timeout_ms);
    if (connect(c->fd, (const void *)&at, sizeof(at)) != 0)
        return failed(path, errno == EAGAIN ? -ETIMEDOUT : -errno, "", 0, e);
    return say_hello(c, path, e);
}

int ctl_client_open(struct ctl_client *c, const char *path, unsigned timeout_ms, struct err *e)
{
    return ctl_client_open_until(c, path, timeout_ms, NULL, e);
}

int ctl_client_open_until(struct ctl_client *c, const char *path, unsigned timeout_ms,
                          bool (*ended)(void), struct err *e)
{
    struct err why;
    *c = (struct ctl_client){.fd = -1, .ended = ended};
    const int rc = connect_to(c, path, timeout_ms, &why);
    if (rc == 0)
        return 0;
    err_set(e, "no server answers at %s", why.text);
    ctl_client_close(c);
    return rc;
}

// ---- calls

static struct wire_request about(enum wire_type type, const char *path)
{
    return (struct wire_request){.type = type, .path = path, .path_bytes = strlen(path)};
}

int ctl_client_read(struct ctl_client *c, const char *path, uint64_t offset, uint64_t limit,
                    int (*sink)(void *arg, const char *data, size_t n), void *arg, struct err *e)
{
    struct wire_request r = about(WIRE_READ, path);
    struct answer a;
    uint64_t total = 0;
    r.offset = offset;
    r.limit = limit;
    int rc = ask(c, &r);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    while ((rc = next_data(c, path, &total, &a, e)) == 1) {
        rc = sink(arg, (const char *)a.payload, a.head.payload_bytes);
        if (rc != 0)
            return failed(path, rc, "", 0, e);
    }
    return rc;
}

static int text_sink(void *arg, const char *data, size_t n)
{
    return text_put(arg, data, n);
}

int ctl_client_get(struct ctl_client *c, const char *path, struct text *text, struct err *e)
{
    return ctl_client_read(c, path, 0, 0, text_sink, text, e);
}

int ctl_client_list(struct ctl_client *c, const char *path,
                    void (*each)(void *arg, const struct wire_entry *entry), void *arg,
                    struct err *e)
{
    const struct wire_request r = about(WIRE_LIST, path);
    struct answer a;
    uint64_t total = 0;
    int rc = ask(c, &r);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    while ((rc = next_data(c, path, &total, &a, e)) == 1) {
        struct wire_entry entry;
        for (size_t at = 0, n; at < a.head.payload_bytes; at += n) {
            n = wire_entry_get(&entry, a.payload + at, a.head.payload_bytes - at);
            if (n == 0)
                return failed(path, -EPROTO, "", 0, e);
            each(arg, &entry);
        }
    }
    return rc;
}

int ctl_client_stat(struct ctl_client *c, const char *path, bool nofollow, struct wire_entry *entry,
                    struct err *e)
{
    struct wire_request r = about(WIRE_STAT, path);
    uint8_t end[WIRE_HEAD_BYTES + 8];
    struct answer a;
    uint64_t total = 0;
    r.flags = nofollow ? WIRE_NOFOLLOW : 0;
    int rc = ask(c, &r);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    rc = next_data(c, path, &total, &a, e);
    if (rc < 0)
        return rc;
    // END is received into another part of the buffer, so the entry stays valid.
    if (rc == 0 || wire_entry_get(entry, a.payload, a.head.payload_bytes) != a.head.payload_bytes)
        return failed(path, -EPROTO, "", 0, e);
    rc = receive_all(c, end, sizeof(end));
    return rc == 0 ? 0 : failed(path, rc, "", 0, e);
}

int ctl_client_write(struct ctl_client *c, const char *path, const char *data, size_t n,
                     struct err *e)
{
    struct wire_request r = about(WIRE_WRITE, path);
    struct answer a;
    uint64_t total = n;  // END has the number of bytes that were accepted
    r.data = data;
    r.data_bytes = n;
    int rc = ask(c, &r);
    if (rc != 0)
        return failed(path, rc, "", 0, e);
    rc = next_data(c, path, &total, &a, e);
    return rc == 1 ? failed(path, -EPROTO, "", 0, e) : rc;
}
