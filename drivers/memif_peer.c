// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/memif_peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

// copy_clean: a peer's text, without what could make more lines of it or move a terminal's cursor.
static void copy_clean(char *to, size_t room, const char *from, size_t bytes_max)
{
    size_t n = 0;
    for (; n < room - 1 && n < bytes_max && from[n] != '\0'; n++)
        to[n] = (uint8_t)from[n] < ' ' || (uint8_t)from[n] > '~' ? '?' : from[n];
    to[n] = '\0';
}

static enum memif_verdict over(struct memif_peer *p, const char *reason)
{
    copy_clean(p->reason, sizeof(p->reason), reason, SIZE_MAX);
    return MEMIF_IS_OVER;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void copy_name(char *to, const char *from)
{
    snprintf(to, MEMIF_NAME_BYTES, "%s", from);
}

// ---- messages

// say: with a file if file >= 0. A peer that does not read is not waited for.
static enum memif_verdict say(struct memif_peer *p, const struct memif_msg *msg, int file)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {.bytes = {0}};
    struct iovec io = {(void *)(uintptr_t)msg, sizeof(*msg)};
    struct msghdr h = {.msg_iov = &io, .msg_iovlen = 1};
    if (file >= 0) {
        h.msg_control = control.bytes;
        h.msg_controllen = sizeof(control.bytes);
        struct cmsghdr *c = CMSG_FIRSTHDR(&h);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &file, sizeof(int));
    }
    if (sendmsg(p->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(*msg))
        return MEMIF_GOES_ON;
    return over(p, "the peer left, or does not read");
}

static enum memif_verdict ack(struct memif_peer *p)
{
    return say(p, &(struct memif_msg){.kind = MEMIF_ACK}, -1);
}

// The files that came with a message, which may be empty: of several the last one is kept and the
// others are closed.
static void keep_file(const struct cmsghdr *c, int *file)
{
    for (size_t at = CMSG_LEN(0); at + sizeof(int) <= c->cmsg_len; at += sizeof(int)) {
        close_fd(file);
        memcpy(file, (const uint8_t *)c + at, sizeof(int));
    }
}

// hear: one message, and in *file the file that came with it or -1. The kernel installs as many
// files as the buffer has room for, which alignment makes more than one.
static enum memif_verdict hear(struct memif_peer *p, struct memif_msg *msg, int *file)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec io = {msg, sizeof(*msg)};
    struct msghdr h = {.msg_iov = &io,
                       .msg_iovlen = 1,
                       .msg_control = control.bytes,
                       .msg_controllen = sizeof(control.bytes)};
    *file = -1;
    const ssize_t n = recvmsg(p->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return MEMIF_GOES_ON;
    for (struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&h) : NULL; c != NULL; c = CMSG_NXTHDR(&h, c))
        if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
            keep_file(c, file);
    if (n <= 0)
        return over(p, "the peer left");
    if (n != (ssize_t)sizeof(*msg) || (h.msg_flags & MSG_TRUNC) != 0)
        return over(p, "a message of another length");
    if (msg->kind == MEMIF_DISCONNECT) {
        msg->disconnect.reason[MEMIF_REASON_BYTES - 1] = '\0';
        return over(p, msg->disconnect.reason[0] != '\0' ? msg->disconnect.reason
                                                         : "the peer disconnected");
    }
    return MEMIF_IS_UP;
}

// ---- server

static const char another[] = "another peer is connected, or was a moment ago";

static enum memif_verdict say_hello(struct memif_peer *p, const struct memif_self *self)
{
    struct memif_msg m = {.kind = MEMIF_HELLO};
    copy_name(m.hello.name, "c10m");
    m.hello.version_min = m.hello.version_max = MEMIF_VERSION;
    m.hello.region_max = MEMIF_REGIONS_MAX - 1;
    m.hello.log2_slots_max = (uint8_t)self->log2_slots;
    return say(p, &m, -1);
}

static enum memif_verdict hear_init(struct memif_peer *p, const struct memif_self *self,
                                    const struct memif_msg *m)
{
    if (p->knows_us)
        return over(p, "a second INIT");
    if (m->init.version != MEMIF_VERSION)
        return over(p, "another version of memif");
    if (m->init.id != self->id)
        return over(p, "no link of this number (id)");
    if (m->init.mode != MEMIF_MODE_ETHERNET)
        return over(p, "frames of Ethernet only (mode)");
    if (self->taken)
        return over(p, another);
    p->knows_us = true;
    copy_clean(p->name, sizeof(p->name), m->init.name, MEMIF_NAME_BYTES);
    return ack(p);
}

static enum memif_verdict hear_region(struct memif_peer *p, const struct memif_self *self,
                                      const struct memif_msg *m, int file)
{
    const uint64_t bytes_max = memif_rings_bytes_max(self->log2_slots);
    if (m->region.index != p->rings.n_regions)
        return over(p, "regions are numbered from 0");
    const char *wrong = file < 0 ? "a region without its file"
                                 : memif_rings_map(&p->rings, file, m->region.bytes, bytes_max);
    return wrong != NULL ? over(p, wrong) : ack(p);
}

static bool is_eventfd(int fd)
{
    static const char is[] = "anon_inode:[eventfd]";
    char link[32], to[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    const ssize_t n = readlink(link, to, sizeof(to));
    return n == (ssize_t)sizeof(is) - 1 && memcmp(to, is, sizeof(is) - 1) == 0;
}

// The peer's own way to be woken is kept. Ours is not: this side polls. A read or write of what a
// peer handed over could block a worker.
static enum memif_verdict hear_ring(struct memif_peer *p, const struct memif_self *self,
                                    const struct memif_msg *m, int *file)
{
    const bool to_us = (m->ring.flags & MEMIF_RING_TO_SERVER) != 0;
    if (m->ring.index != 0)
        return over(p, "one ring in each direction");
    if (m->ring.log2_slots > self->log2_slots)
        return over(p, "a ring is larger than HELLO allows (rx_ring)");
    const char *wrong = memif_rings_place(&p->rings, to_us ? &p->rings.rx : &p->rings.tx,
                                          m->ring.region, m->ring.offset, m->ring.log2_slots);
    if (wrong != NULL)
        return over(p, wrong);
    if (!to_us && *file >= 0) {
        if (!is_eventfd(*file))
            return over(p, "a ring's file must be an eventfd");
        p->wake_fd = *file;
        *file = -1;
    }
    return ack(p);
}

static enum memif_verdict hear_connect(struct memif_peer *p, const struct memif_self *self)
{
    if (self->taken)
        return over(p, another);
    const char *wrong = memif_rings_begin(&p->rings);
    if (wrong != NULL)
        return over(p, wrong);
    struct memif_msg m = {.kind = MEMIF_CONNECTED};
    copy_name(m.name, self->name);
    return say(p, &m, -1) == MEMIF_GOES_ON ? MEMIF_IS_UP : MEMIF_IS_OVER;
}

static enum memif_verdict as_server(struct memif_peer *p, const struct memif_self *self,
                                    const struct memif_msg *m, int *file)
{
    if (m->kind == MEMIF_INIT)
        return hear_init(p, self, m);
    if (!p->knows_us)
        return over(p, "INIT was expected");
    switch (m->kind) {
    case MEMIF_ADD_REGION:
        return hear_region(p, self, m, *file);
    case MEMIF_ADD_RING:
        return hear_ring(p, self, m, file);
    case MEMIF_CONNECT:
        return hear_connect(p, self);
    default:
        return over(p, "an unexpected message");
    }
}

// ---- client

enum step { STEP_HELLO, STEP_INIT, STEP_REGION, STEP_RING_TO_SERVER, STEP_RING_BACK, STEP_CONNECT };

static enum memif_verdict make_memory(struct memif_peer *p, unsigned log2_slots)
{
    p->rings.client = true;
    p->memory_fd = memif_rings_make(&p->rings, log2_slots);
    p->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    p->rx_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (p->memory_fd < 0 || p->wake_fd < 0 || p->rx_fd < 0)
        return over(p, strerror(errno));
    return MEMIF_GOES_ON;
}

static enum memif_verdict say_init(struct memif_peer *p, const struct memif_self *self)
{
    struct memif_msg m = {.kind = MEMIF_INIT};
    m.init.version = MEMIF_VERSION;
    m.init.id = self->id;
    m.init.mode = MEMIF_MODE_ETHERNET;
    copy_name(m.init.name, "c10m");
    return say(p, &m, -1);
}

static enum memif_verdict hear_hello(struct memif_peer *p, const struct memif_self *self,
                                     const struct memif_msg *m)
{
    if (m->kind != MEMIF_HELLO)
        return over(p, "HELLO was expected");
    if (m->hello.version_min > MEMIF_VERSION || m->hello.version_max < MEMIF_VERSION)
        return over(p, "another version of memif");
    copy_clean(p->name, sizeof(p->name), m->hello.name, MEMIF_NAME_BYTES);
    if (make_memory(p, MIN(self->log2_slots, m->hello.log2_slots_max)) != MEMIF_GOES_ON)
        return MEMIF_IS_OVER;
    return say_init(p, self);
}

static enum memif_verdict say_region(struct memif_peer *p)
{
    struct memif_msg m = {.kind = MEMIF_ADD_REGION};
    m.region.bytes = p->rings.regions[0].bytes;
    const enum memif_verdict v = say(p, &m, p->memory_fd);
    close_fd(&p->memory_fd);
    return v;
}

static enum memif_verdict say_ring(struct memif_peer *p, const struct memif_end *end,
                                   uint16_t flags, int file)
{
    struct memif_msg m = {.kind = MEMIF_ADD_RING};
    m.ring.flags = flags;
    m.ring.offset = (uint32_t)((const uint8_t *)end->ring - p->rings.regions[0].addr);
    m.ring.log2_slots = (uint8_t)__builtin_ctz(end->slots);
    return say(p, &m, file);
}

static enum memif_verdict say_connect(struct memif_peer *p, const struct memif_self *self)
{
    struct memif_msg m = {.kind = MEMIF_CONNECT};
    copy_name(m.name, self->name);
    return say(p, &m, -1);
}

static enum memif_verdict as_client(struct memif_peer *p, const struct memif_self *self,
                                    const struct memif_msg *m)
{
    const unsigned step = p->step++;
    if (step == STEP_HELLO)
        return hear_hello(p, self, m);
    if (m->kind != (step == STEP_CONNECT ? MEMIF_CONNECTED : MEMIF_ACK))
        return over(p, "an unexpected message");
    switch ((enum step)step) {
    case STEP_INIT:
        return say_region(p);
    case STEP_REGION:
        return say_ring(p, &p->rings.tx, MEMIF_RING_TO_SERVER, p->wake_fd);
    case STEP_RING_TO_SERVER: {
        const enum memif_verdict v = say_ring(p, &p->rings.rx, 0, p->rx_fd);
        close_fd(&p->rx_fd);
        return v;
    }
    case STEP_RING_BACK:
        return say_connect(p, self);
    default: {
        const char *wrong = memif_rings_begin(&p->rings);
        return wrong != NULL ? over(p, wrong) : MEMIF_IS_UP;
    }
    }
}

// ---- both

void memif_peer_init(struct memif_peer *p)
{
    *p = (struct memif_peer){.fd = -1, .wake_fd = -1, .memory_fd = -1, .rx_fd = -1};
}

enum memif_verdict memif_peer_begin(struct memif_peer *p, const struct memif_self *self, int fd,
                                    bool client)
{
    memif_peer_init(p);
    p->fd = fd;
    p->client = client;
    return client ? MEMIF_GOES_ON : say_hello(p, self);
}

enum memif_verdict memif_peer_read(struct memif_peer *p, const struct memif_self *self)
{
    struct memif_msg m;
    int file;
    enum memif_verdict v = hear(p, &m, &file);
    if (v == MEMIF_IS_UP && p->up)
        v = over(p, "a message after the link was up");
    else if (v == MEMIF_IS_UP)
        v = p->client ? as_client(p, self, &m) : as_server(p, self, &m, &file);
    close_fd(&file);
    return v;
}

void memif_peer_bye(struct memif_peer *p, const char *reason)
{
    struct memif_msg m = {.kind = MEMIF_DISCONNECT};
    snprintf(m.disconnect.reason, sizeof(m.disconnect.reason), "%s", reason);
    if (p->fd >= 0 && say(p, &m, -1) == MEMIF_GOES_ON && p->rings.begun)
        poll(&(struct pollfd){.fd = p->fd, .events = POLLRDHUP}, 1, MEMIF_BYE_MS);
}

void memif_peer_end(struct memif_peer *p, const char *reason)
{
    if (reason != NULL)
        memif_peer_bye(p, reason);
    close_fd(&p->fd);
    close_fd(&p->wake_fd);
    close_fd(&p->memory_fd);
    close_fd(&p->rx_fd);
    memif_rings_unmap(&p->rings);
}

// A peer can fill its eventfd, and make it block, at the wrong moment.
void memif_peer_wake(const struct memif_peer *p)
{
    struct pollfd f = {.fd = p->wake_fd, .events = POLLOUT};
    const uint64_t one = 1;
    if (p->wake_fd >= 0 && fcntl(p->wake_fd, F_SETFL, O_NONBLOCK) == 0 && poll(&f, 1, 0) == 1 &&
        write(p->wake_fd, &one, sizeof(one)) < 0)
        return;
}
