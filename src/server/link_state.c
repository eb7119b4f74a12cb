// SPDX-License-Identifier: BSD-3-Clause
#include "server/link_state.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "server/link_messages.h"

enum { BUFFER_BYTES = 32768, SOCKET_BYTES = 1 << 20 };

// steps: the dumps, in order.
enum step { STEP_LINK, STEP_ADDRESSES, STEP_ROUTES4, STEP_ROUTES6, STEP_NEIGHBORS, STEP_IDLE };

struct link_state {
    struct mnl_socket *events, *dumps;
    enum step step;
    uint32_t seq;
    bool dirty, torn, begun;
    uint64_t begun_ms;
    struct link_read reading, last;
    struct link_counts counts;
    char buffer[BUFFER_BYTES] __attribute__((aligned(8)));
};

static struct mnl_socket *open_socket(unsigned groups)
{
    const int bytes = SOCKET_BYTES, on = 1;
    struct mnl_socket *s = mnl_socket_open2(NETLINK_ROUTE, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (s == NULL)
        return NULL;
    // Both may fail: a smaller buffer loses earlier, and other interfaces' are skipped here.
    setsockopt(mnl_socket_get_fd(s), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    setsockopt(mnl_socket_get_fd(s), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &on, sizeof(on));
    if (mnl_socket_bind(s, groups, MNL_SOCKET_AUTOPID) == 0)
        return s;
    mnl_socket_close(s);
    return NULL;
}

struct link_state *link_state_new(const char *name, struct err *err)
{
    struct link_state *l = calloc(1, sizeof(*l));
    if (l != NULL) {
        link_read_begin(&l->reading, name);
        l->step = STEP_IDLE;
        l->dirty = true;
        l->events = open_socket(RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR |
                                RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE | RTMGRP_NEIGH);
        l->dumps = open_socket(0);
    }
    if (l != NULL && l->events != NULL && l->dumps != NULL)
        return l;
    err_set(err, "interface %s cannot be followed: netlink: %s", name, strerror(errno));
    link_state_free(l);
    return NULL;
}

void link_state_free(struct link_state *l)
{
    if (l == NULL)
        return;
    if (l->events != NULL)
        mnl_socket_close(l->events);
    if (l->dumps != NULL)
        mnl_socket_close(l->dumps);
    free(l);
}

static void ask(struct link_state *l)
{
    static const uint16_t types[] = {[STEP_LINK] = RTM_GETLINK,
                                     [STEP_ADDRESSES] = RTM_GETADDR,
                                     [STEP_ROUTES4] = RTM_GETROUTE,
                                     [STEP_ROUTES6] = RTM_GETROUTE,
                                     [STEP_NEIGHBORS] = RTM_GETNEIGH};
    const uint8_t family = l->step == STEP_ROUTES4   ? AF_INET
                           : l->step == STEP_ROUTES6 ? AF_INET6
                                                     : AF_UNSPEC;
    struct nlmsghdr *h = mnl_nlmsg_put_header(l->buffer);
    h->nlmsg_seq = ++l->seq;
    link_ask(h, types[l->step], family, &l->reading);
    if (mnl_socket_sendto(l->dumps, h, h->nlmsg_len) < 0) {
        l->counts.errors++;
        l->step = STEP_IDLE;
        l->dirty = true;
    }
}

static void begin(struct link_state *l, uint64_t now_ms)
{
    l->begun = true;
    l->begun_ms = now_ms;
    l->dirty = l->torn = false;
    l->step = STEP_LINK;
    link_read_begin(&l->reading, l->reading.name);
    ask(l);
}

// next: a dump is complete. Without the interface there is nothing else to read.
static void next(struct link_state *l)
{
    l->step = l->step == STEP_NEIGHBORS || l->reading.index == 0 ? STEP_IDLE : l->step + 1;
    if (l->step != STEP_IDLE)
        ask(l);
}

// answer: one message of a dump. Returns whether the dump is complete.
static bool answer(struct link_state *l, const struct nlmsghdr *h)
{
    if (h->nlmsg_seq != l->seq || l->step == STEP_IDLE)
        return false;  // of a dump that was given up
    if (h->nlmsg_flags & NLM_F_DUMP_INTR)
        l->torn = true;
    if (h->nlmsg_type == NLMSG_DONE)
        return true;
    if (h->nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *e = mnl_nlmsg_get_payload(h);
        // ENODEV: no such interface, which is no error: it may come.
        l->counts.errors += e->error != 0 && e->error != -ENODEV;
        return true;
    }
    link_read_message(&l->reading, h);
    return (h->nlmsg_flags & NLM_F_MULTI) == 0;
}

static int receive(struct link_state *l, const struct mnl_socket *s)
{
    const ssize_t n = mnl_socket_recvfrom(s, l->buffer, sizeof(l->buffer));
    return n >= 0 ? (int)n : -errno;
}

// read_dumps: true: the last dump is complete.
static bool read_dumps(struct link_state *l)
{
    for (unsigned i = 0; i < LINK_STATE_READS && l->step != STEP_IDLE; i++) {
        int n = receive(l, l->dumps);
        if (n == -EAGAIN || n == -EINTR)
            return false;
        if (n < 0) {
            l->counts.errors++;
            l->step = STEP_IDLE;
            l->dirty = true;
            return false;
        }
        bool done = false;
        for (const struct nlmsghdr *h = (void *)l->buffer; mnl_nlmsg_ok(h, n) && !done;
             h = mnl_nlmsg_next(h, &n))
            done = answer(l, h);
        if (done)
            next(l);
        if (done && l->step == STEP_IDLE)
            return true;
    }
    return false;
}

static void read_events(struct link_state *l)
{
    for (unsigned i = 0; i < LINK_STATE_READS; i++) {
        int n = receive(l, l->events);
        if (n == -EAGAIN || n == -EINTR)
            return;
        if (n < 0) {
            l->dirty = true;
            l->counts.lost += n == -ENOBUFS;
            l->counts.errors += n != -ENOBUFS;
            continue;
        }
        for (const struct nlmsghdr *h = (void *)l->buffer; mnl_nlmsg_ok(h, n);
             h = mnl_nlmsg_next(h, &n))
            if (link_concerns(&l->last, h)) {
                l->counts.notified++;
                l->dirty = true;
            }
    }
}

static void finish(struct link_state *l)
{
    link_read_end(&l->reading);
    l->last = l->reading;
    l->counts.dumps++;
    if (!l->torn)
        return;
    l->counts.torn++;
    l->dirty = true;
}

bool link_state_poll(struct link_state *l, uint64_t now_ms)
{
    read_events(l);
    const uint64_t since_ms = now_ms - l->begun_ms;
    if (l->step != STEP_IDLE && since_ms >= LINK_STATE_LATE_MS) {
        l->counts.late++;
        l->step = STEP_IDLE;
        l->dirty = true;
    }
    const uint64_t gap_ms = l->dirty ? LINK_STATE_GAP_MS : LINK_STATE_AGAIN_MS;
    if (l->step == STEP_IDLE && (!l->begun || since_ms >= gap_ms))
        begin(l, now_ms);
    if (!read_dumps(l))
        return false;
    finish(l);
    return true;
}

void link_state_again(struct link_state *l)
{
    l->dirty = true;
}

const struct port_wanted *link_state_now(const struct link_state *l)
{
    return l->last.index != 0 ? &l->last.is : NULL;
}

const struct link_refused *link_state_refused(const struct link_state *l)
{
    return &l->last.refused;
}

const struct link_counts *link_state_counts(const struct link_state *l)
{
    return &l->counts;
}
