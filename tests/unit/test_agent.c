// SPDX-License-Identifier: BSD-3-Clause
// The agent on two workers that the test plays: requests, descriptors, names, options, who waits
// for what, and how calls end. What a connection does is in tests/agent, beside the kernel.
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "app/agent/agent_server.h"
#include "app/apps.h"
#include "check.h"
#include "unit/fake_socket.h"

enum { SOCKETS = 16, WORKERS = 2, CLIENTS = 3, TURNS = 50 };

// rig: an agent whose clients are the test; replies are looked at where they lie.
struct rig {
    struct agent *a;
    struct client *k[CLIENTS];
    uint32_t bytes;
    uint8_t data[256];
};

static void turn(struct rig *r)
{
    for (int i = 0; i < TURNS; i++) {
        flush_posts(r->a);
        fake_turn();
        if (!receive_messages(r->a) && fake_posted() == 0)
            break;
    }
    run_deadlines(r->a);
}

// request: client `who` asks; no worker has heard of it yet.
static void request(struct rig *r, int who, uint32_t op, int fd, int64_t a0, int64_t a1, int64_t a2,
                    const void *data, uint32_t bytes)
{
    struct client *k = r->k[who];
    assert_null(k->call.r);
    k->in->op = op;
    k->in->fd = fd;
    k->in->a[0] = a0;
    k->in->a[1] = a1;
    k->in->a[2] = a2;
    k->in->data_bytes = bytes;
    if (bytes != 0)
        memcpy(k->in->data, data, bytes);
    k->call.r = k->in;
    call_start(r->a, &k->call);
}

// begin: the same; it may be answered at once, later, or never.
static void begin(struct rig *r, int who, uint32_t op, int fd, int64_t a0, int64_t a1, int64_t a2,
                  const void *data, uint32_t bytes)
{
    request(r, who, op, fd, a0, a1, a2, data, bytes);
    turn(r);
}

static bool is_answered(const struct rig *r, int who)
{
    return r->k[who]->call.r == NULL;
}

// answered: the value, or -errno; what else the reply says is in r.
static int64_t answered(struct rig *r, int who)
{
    const struct agent_reply *back = r->k[who]->out;
    assert_true(is_answered(r, who));
    r->k[who]->in->addr_bytes = 0;
    r->bytes = back->data_bytes;
    memcpy(r->data, back->data, r->bytes < sizeof(r->data) ? r->bytes : sizeof(r->data));
    assert_true(back->ret >= 0 || back->ret == -1);
    assert_int_equal(back->error != 0, back->ret < 0);
    return back->ret < 0 ? -back->error : back->ret;
}

static int64_t ask(struct rig *r, uint32_t op, int fd, int64_t a0, int64_t a1, int64_t a2,
                   const void *data, uint32_t bytes)
{
    begin(r, 0, op, fd, a0, a1, a2, data, bytes);
    return answered(r, 0);
}

static int64_t open_socket(struct rig *r, int domain, int type)
{
    return ask(r, AGENT_SOCKET, -1, domain, type, 0, NULL, 0);
}

static int64_t bind_port(struct rig *r, int fd, uint16_t port)
{
    const struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(r->k[0]->in->addr, &sin, sizeof(sin));
    r->k[0]->in->addr_bytes = sizeof(sin);
    return ask(r, AGENT_BIND, fd, 0, 0, 0, NULL, 0);
}

static int64_t bind6_port(struct rig *r, int fd, uint16_t port)
{
    const struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(r->k[0]->in->addr, &sin6, sizeof(sin6));
    r->k[0]->in->addr_bytes = sizeof(sin6);
    return ask(r, AGENT_BIND, fd, 0, 0, 0, NULL, 0);
}

static int64_t set(struct rig *r, int fd, int level, int name, int value)
{
    return ask(r, AGENT_SETSOCKOPT, fd, level, name, 0, &value, sizeof(value));
}

static int get(struct rig *r, int fd, int level, int name)
{
    int value = -1;
    assert_int_equal(ask(r, AGENT_GETSOCKOPT, fd, level, name, sizeof(value), NULL, 0), 0);
    assert_int_equal(r->bytes, sizeof(value));
    memcpy(&value, r->data, sizeof(value));
    return value;
}

static void requests_of_wrong_lengths_are_no_requests(void **state)
{
    (void)state;
    struct agent_request r = {.op = AGENT_SOCKET};
    const size_t head = sizeof(r);
    assert_true(request_is_valid(&r, head));
    assert_false(request_is_valid(&r, 0));
    assert_false(request_is_valid(&r, head - 1));
    assert_false(request_is_valid(&r, head + 1));
    r.data_bytes = 1;
    assert_true(request_is_valid(&r, head + 1));
    assert_false(request_is_valid(&r, head));
    r.data_bytes = AGENT_DATA_BYTES_MAX;
    assert_true(request_is_valid(&r, head + AGENT_DATA_BYTES_MAX));
    r.data_bytes = AGENT_DATA_BYTES_MAX + 1;
    assert_false(request_is_valid(&r, head + AGENT_DATA_BYTES_MAX + 1));
    r.data_bytes = UINT32_MAX;
    assert_false(request_is_valid(&r, head - 1));
    r.data_bytes = 0;
    r.addr_bytes = AGENT_ADDR_BYTES + 1;
    assert_false(request_is_valid(&r, head));
}

static void what_is_no_call_and_no_descriptor_is_refused(void **state)
{
    struct rig *r = *state;
    const uint32_t bad_ops[] = {0, AGENT_OPS_END, 1000, UINT32_MAX};
    for (unsigned i = 0; i < sizeof(bad_ops) / sizeof(bad_ops[0]); i++)
        assert_int_equal(ask(r, bad_ops[i], 0, 0, 0, 0, NULL, 0), -EINVAL);
    const int bad_fds[] = {-1, 0, SOCKETS, 1 << 30, INT32_MIN};
    for (unsigned i = 0; i < sizeof(bad_fds) / sizeof(bad_fds[0]); i++) {
        assert_int_equal(ask(r, AGENT_CLOSE, bad_fds[i], 0, 0, 0, NULL, 0), -EBADF);
        assert_int_equal(ask(r, AGENT_READ, bad_fds[i], 1, 0, 0, NULL, 0), -EBADF);
        assert_int_equal(ask(r, AGENT_EPOLL_WAIT, bad_fds[i], 1, 0, 0, NULL, 0), -EBADF);
    }
    const int64_t e = ask(r, AGENT_EPOLL_CREATE, -1, 0, 0, 0, NULL, 0);
    assert_int_equal(ask(r, AGENT_LISTEN, (int)e, 1, 0, 0, NULL, 0), -ENOTSOCK);
    assert_int_equal(ask(r, AGENT_READ, (int)e, 1, 0, 0, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_IOCTL, (int)e, 0x541B, 0, 0, NULL, 0), -ENOTTY);
}

static void a_new_socket_has_a_name_and_no_peer(void **state)
{
    struct rig *r = *state;
    const struct sockaddr_in any = {.sin_family = AF_INET};
    const struct agent_reply *back = r->k[0]->out;
    const int64_t fd = open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(ask(r, AGENT_GETSOCKNAME, (int)fd, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(back->addr_bytes, sizeof(any));
    assert_memory_equal(back->addr, &any, sizeof(any));
    assert_int_equal(ask(r, AGENT_GETPEERNAME, (int)fd, 0, 0, 0, NULL, 0), -ENOTCONN);
    assert_int_equal(bind_port(r, (int)fd, 7), 0);
    assert_int_equal(ask(r, AGENT_GETSOCKNAME, (int)fd, 0, 0, 0, NULL, 0), 0);
    assert_memory_equal(back->addr, "\2\0\0\7\0\0\0\0", 8);
}

static void a_device_is_known_by_its_name(void **state)
{
    struct rig *r = *state;
    const int fd = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(ask(r, AGENT_GETSOCKOPT, fd, SOL_SOCKET, SO_BINDTODEVICE, 16, NULL, 0), 0);
    assert_int_equal(r->bytes, 0);
    assert_int_equal(ask(r, AGENT_SETSOCKOPT, fd, SOL_SOCKET, SO_BINDTODEVICE, 0, "eth0", 4),
                     -ENODEV);
    assert_int_equal(bind_port(r, fd, 53), 0);
    const unsigned ports = fake_udp_ports();
    assert_int_equal(ask(r, AGENT_SETSOCKOPT, fd, SOL_SOCKET, SO_BINDTODEVICE, 0, "p0", 2), 0);
    assert_int_equal(fake_udp_ports(), ports);
    assert_int_equal(ask(r, AGENT_GETSOCKOPT, fd, SOL_SOCKET, SO_BINDTODEVICE, 16, NULL, 0), 0);
    assert_int_equal(r->bytes, 3);
    assert_string_equal((const char *)r->data, "p0");
    assert_int_equal(get(r, fd, SOL_SOCKET, SO_BINDTOIFINDEX), 1);
    assert_int_equal(ask(r, AGENT_SETSOCKOPT, fd, SOL_SOCKET, SO_BINDTODEVICE, 0, "", 0), 0);
    assert_int_equal(get(r, fd, SOL_SOCKET, SO_BINDTOIFINDEX), 0);
}

static int64_t join(struct rig *r, int fd, uint8_t last)
{
    const uint8_t mreq[8] = {239, 1, 1, last};
    return ask(r, AGENT_SETSOCKOPT, fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, 0, mreq, sizeof(mreq));
}

static void groups_are_left_when_nobody_is_in_them(void **state)
{
    struct rig *r = *state;
    const int one = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    const int two = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(join(r, one, 1), 0);
    assert_int_equal(join(r, one, 1), -EADDRINUSE);
    assert_int_equal(join(r, two, 1), 0);
    assert_int_equal(fake_joined(), WORKERS);
    assert_int_equal(join(r, two, 66), -ENOBUFS);  // of the last worker
    assert_int_equal(fake_joined(), WORKERS);
    assert_int_equal(join(r, two, 66), -ENOBUFS);
    assert_int_equal(ask(r, AGENT_CLOSE, one, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_joined(), WORKERS);
    assert_int_equal(ask(r, AGENT_CLOSE, two, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_joined(), 0);
    const int many = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    for (uint8_t i = 0; i < AGENT_MEMBERSHIPS_MAX; i++)
        assert_int_equal(join(r, many, (uint8_t)(100 + i)), 0);
    assert_int_equal(join(r, many, 1), -ENOBUFS);
    assert_int_equal(fake_joined(), AGENT_MEMBERSHIPS_MAX * WORKERS);
    assert_int_equal(ask(r, AGENT_RESET, -1, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_joined(), 0);
}

// Two clients ask for the same group at once, and the last worker refuses it: neither is in it.
static void a_group_that_is_refused_is_nobodys(void **state)
{
    struct rig *r = *state;
    const uint8_t mreq[8] = {239, 1, 1, 66};
    const int one = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    const int two = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    request(r, 1, AGENT_SETSOCKOPT, one, IPPROTO_IP, IP_ADD_MEMBERSHIP, 0, mreq, sizeof(mreq));
    request(r, 2, AGENT_SETSOCKOPT, two, IPPROTO_IP, IP_ADD_MEMBERSHIP, 0, mreq, sizeof(mreq));
    turn(r);
    assert_int_equal(answered(r, 1), -ENOBUFS);
    r->a->now_us += 2000;
    turn(r);
    turn(r);
    assert_int_equal(answered(r, 2), -ENOBUFS);
    assert_int_equal(fake_joined(), 0);
}

static void sockets_are_of_families_types_and_protocols_that_exist(void **state)
{
    struct rig *r = *state;
    assert_int_equal(open_socket(r, AF_UNIX, SOCK_STREAM), -EAFNOSUPPORT);
    assert_int_equal(open_socket(r, 1000, SOCK_STREAM), -EAFNOSUPPORT);
    assert_int_equal(open_socket(r, AF_INET, SOCK_RAW), -ESOCKTNOSUPPORT);
    assert_int_equal(open_socket(r, AF_INET, 11), -EINVAL);
    assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM | 1 << 20), -EINVAL);
    assert_int_equal(ask(r, AGENT_SOCKET, -1, AF_INET, SOCK_STREAM, IPPROTO_UDP, NULL, 0),
                     -EPROTONOSUPPORT);
    assert_int_equal(ask(r, AGENT_SOCKET, -1, AF_INET, SOCK_STREAM, -1, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_SOCKET, -1, AF_INET6, SOCK_STREAM, IPPROTO_TCP, NULL, 0), 0);
}

static void descriptors_are_the_lowest_free_and_bounded(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < SOCKETS; i++)
        assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM), i);
    assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM), -EMFILE);
    assert_int_equal(ask(r, AGENT_EPOLL_CREATE, -1, 0, 0, 0, NULL, 0), -EMFILE);
    assert_int_equal(ask(r, AGENT_CLOSE, 3, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_CLOSE, 3, 0, 0, 0, NULL, 0), -EBADF);
    assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM | SOCK_NONBLOCK), 3);
    assert_int_equal(ask(r, AGENT_FCNTL, 3, F_GETFL, 0, 0, NULL, 0), O_RDWR | O_NONBLOCK);
    assert_int_equal(ask(r, AGENT_FCNTL, 3, F_SETFL, 0, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_FCNTL, 3, F_GETFL, 0, 0, NULL, 0), O_RDWR);
}

static void a_port_is_bound_twice_only_where_both_allow_it(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < 4; i++)
        open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(bind_port(r, 0, 80), 0);
    assert_int_equal(bind_port(r, 0, 81), -EINVAL);
    assert_int_equal(bind_port(r, 1, 80), -EADDRINUSE);
    set(r, 1, SOL_SOCKET, SO_REUSEADDR, 1);
    assert_int_equal(bind_port(r, 1, 80), -EADDRINUSE);
    set(r, 0, SOL_SOCKET, SO_REUSEADDR, 1);
    assert_int_equal(bind_port(r, 1, 80), 0);
    set(r, 2, SOL_SOCKET, SO_REUSEPORT, 1);
    assert_int_equal(bind_port(r, 2, 80), -EADDRINUSE);
    assert_int_equal(bind_port(r, 2, 0), 0);
    const uint16_t port = socket_of(r->a->fds[2])->local.port;
    assert_in_range(port, EPHEMERAL_FIRST, EPHEMERAL_LAST);
    assert_int_equal(bind_port(r, 3, port), -EADDRINUSE);
    assert_int_equal(ask(r, AGENT_CLOSE, 2, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(bind_port(r, 3, port), 0);
}

static void any_address_of_ipv6_is_ipv4s_too_unless_v6only(void **state)
{
    struct rig *r = *state;
    open_socket(r, AF_INET, SOCK_STREAM);
    open_socket(r, AF_INET6, SOCK_STREAM);
    assert_int_equal(bind_port(r, 0, 80), 0);
    assert_int_equal(bind6_port(r, 1, 80), -EADDRINUSE);
    assert_int_equal(set(r, 1, IPPROTO_IPV6, IPV6_V6ONLY, 1), 0);
    assert_int_equal(bind6_port(r, 1, 80), 0);
    assert_int_equal(set(r, 1, IPPROTO_IPV6, IPV6_V6ONLY, 0), -EINVAL);
}

static void names_too_short_or_of_another_family_are_refused(void **state)
{
    struct rig *r = *state;
    open_socket(r, AF_INET, SOCK_STREAM);
    open_socket(r, AF_INET6, SOCK_STREAM);
    assert_int_equal(ask(r, AGENT_BIND, 0, 0, 0, 0, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_CONNECT, 0, 0, 0, 0, NULL, 0), -EINVAL);
    assert_int_equal(bind6_port(r, 0, 80), -EAFNOSUPPORT);
    assert_int_equal(bind_port(r, 1, 80), -EINVAL);
}

static void options_have_linuxs_ranges_and_are_read_back(void **state)
{
    static const struct {
        int level, name, set, rc, get;
    } rows[] = {
        {SOL_SOCKET, SO_RCVBUF, 1, 0, 2304},
        {SOL_SOCKET, SO_RCVBUF, 10000, 0, 20000},
        {SOL_SOCKET, SO_RCVBUF, 1 << 30, 0, 8388608},
        {SOL_SOCKET, SO_SNDBUF, 0, 0, 4608},
        {SOL_SOCKET, SO_RCVLOWAT, 0, 0, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 7, 0, 1},
        {SOL_SOCKET, SO_TYPE, 1, -ENOPROTOOPT, SOCK_STREAM},
        {SOL_TCP, TCP_KEEPIDLE, 0, -EINVAL, 7200},
        {SOL_TCP, TCP_KEEPIDLE, 32767, 0, 32767},
        {SOL_TCP, TCP_KEEPIDLE, 32768, -EINVAL, 32767},
        {SOL_TCP, TCP_KEEPCNT, 128, -EINVAL, 9},
        {SOL_TCP, TCP_SYNCNT, 127, 0, 127},
        {SOL_TCP, TCP_MAXSEG, 87, -EINVAL, 536},
        {SOL_TCP, TCP_MAXSEG, 88, 0, 88},
        {SOL_TCP, TCP_DEFER_ACCEPT, 5, 0, 7},
        {SOL_TCP, TCP_LINGER2, -5, 0, -1},
        {SOL_TCP, TCP_LINGER2, 1000, 0, 120},
        {SOL_TCP, TCP_USER_TIMEOUT, -1, -EINVAL, 0},
        {SOL_TCP, TCP_WINDOW_CLAMP, 1, 0, 1152},
        {IPPROTO_IP, IP_TTL, 0, -EINVAL, 64},
        {IPPROTO_IP, IP_TTL, 256, -EINVAL, 64},
        {IPPROTO_IP, IP_TTL, 1, 0, 1},
        {IPPROTO_IP, IP_TOS, 0x2b, 0, 0x28},
        {IPPROTO_IP, IP_MTU_DISCOVER, 6, -EINVAL, 1},
    };
    struct rig *r = *state;
    open_socket(r, AF_INET, SOCK_STREAM);
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(set(r, 0, rows[i].level, rows[i].name, rows[i].set), rows[i].rc);
        assert_int_equal(get(r, 0, rows[i].level, rows[i].name), rows[i].get);
    }
    assert_int_equal(set(r, 0, SOL_TCP, 4711, 1), -ENOPROTOOPT);
    assert_int_equal(set(r, 0, IPPROTO_IPV6, IPV6_V6ONLY, 1), -ENOPROTOOPT);
    assert_int_equal(ask(r, AGENT_SETSOCKOPT, 0, SOL_TCP, TCP_NODELAY, 0, "\1", 1), -EINVAL);
    assert_int_equal(ask(r, AGENT_GETSOCKOPT, 0, SOL_TCP, TCP_NODELAY, -1, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_GETSOCKOPT, 0, SOL_TCP, TCP_INFO, 5, NULL, 0), 0);
    assert_int_equal(r->bytes, 5);
}

static void a_socket_without_a_connection_says_so(void **state)
{
    struct rig *r = *state;
    open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(ask(r, AGENT_READ, 0, 10, 0, 0, NULL, 0), -ENOTCONN);
    assert_int_equal(ask(r, AGENT_READ, 0, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_WRITE, 0, 0, 0, 0, "x", 1), -EPIPE);
    assert_int_equal(ask(r, AGENT_ACCEPT, 0, 0, 0, 0, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_SHUTDOWN, 0, 3, 0, 0, NULL, 0), -EINVAL);
    assert_int_equal(ask(r, AGENT_SHUTDOWN, 0, SHUT_RD, 0, 0, NULL, 0), -ENOTCONN);
    assert_int_equal(ask(r, AGENT_READ, 0, 10, 0, 0, NULL, 0), 0);
}

static int64_t control(struct rig *r, int64_t e, int op, int64_t fd, uint32_t events)
{
    const struct epoll_event event = {.events = events};
    return ask(r, AGENT_EPOLL_CTL, (int)e, op, fd, 0, &event, sizeof(event));
}

static void epoll_refuses_what_linux_refuses(void **state)
{
    struct rig *r = *state;
    const int64_t s = open_socket(r, AF_INET, SOCK_STREAM);
    const int64_t e = ask(r, AGENT_EPOLL_CREATE, -1, 0, 0, 0, NULL, 0);
    assert_int_equal(control(r, e, EPOLL_CTL_MOD, s, EPOLLIN), -ENOENT);
    assert_int_equal(control(r, e, EPOLL_CTL_ADD, s, EPOLLIN), 0);
    assert_int_equal(control(r, e, EPOLL_CTL_ADD, s, EPOLLIN), -EEXIST);
    assert_int_equal(control(r, e, EPOLL_CTL_MOD, s, EPOLLIN | EPOLLEXCLUSIVE), -EINVAL);
    assert_int_equal(control(r, e, 9, s, EPOLLIN), -EINVAL);
    assert_int_equal(control(r, e, EPOLL_CTL_ADD, e, EPOLLIN), -EINVAL);
    assert_int_equal(control(r, s, EPOLL_CTL_ADD, e, EPOLLIN), -EINVAL);
    assert_int_equal(control(r, e, EPOLL_CTL_ADD, 7, EPOLLIN), -EBADF);
    assert_int_equal(ask(r, AGENT_EPOLL_CTL, (int)e, EPOLL_CTL_ADD, s, 0, NULL, 0), -EFAULT);
    assert_int_equal(ask(r, AGENT_CLOSE, (int)s, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM), s);
    assert_int_equal(control(r, e, EPOLL_CTL_DEL, s, 0), -ENOENT);
}

static void epolls_do_not_watch_each_other_in_a_circle(void **state)
{
    struct rig *r = *state;
    int64_t e[7];
    for (int i = 0; i < 7; i++)
        e[i] = ask(r, AGENT_EPOLL_CREATE, -1, 0, 0, 0, NULL, 0);
    assert_int_equal(control(r, e[0], EPOLL_CTL_ADD, e[1], EPOLLIN), 0);
    assert_int_equal(control(r, e[1], EPOLL_CTL_ADD, e[0], EPOLLIN), -ELOOP);
    for (int i = 1; i < 4; i++)
        assert_int_equal(control(r, e[i], EPOLL_CTL_ADD, e[i + 1], EPOLLIN), 0);
    assert_int_equal(control(r, e[4], EPOLL_CTL_ADD, e[5], EPOLLIN), -ELOOP);
    assert_int_equal(control(r, e[5], EPOLL_CTL_ADD, e[6], EPOLLIN), 0);
}

// ---- calls that wait

static int64_t listener(struct rig *r, uint16_t port)
{
    const int64_t fd = open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(bind_port(r, (int)fd, port), 0);
    assert_int_equal(ask(r, AGENT_LISTEN, (int)fd, 5, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_listeners(), WORKERS);
    return fd;
}

static int64_t sharing_listener(struct rig *r)
{
    const int64_t fd = open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(set(r, (int)fd, SOL_SOCKET, SO_REUSEPORT, 1), 0);
    assert_int_equal(bind_port(r, (int)fd, 80), 0);
    assert_int_equal(ask(r, AGENT_LISTEN, (int)fd, 5, 0, 0, NULL, 0), 0);
    return fd;
}

static void who_is_reset_in_a_queue_makes_room_in_it(void **state)
{
    struct rig *r = *state;
    const int fd[2] = {(int)sharing_listener(r), (int)sharing_listener(r)};
    for (int i = 0; i < 8; i++)
        assert_non_null(fake_arrive(0, 80));
    turn(r);
    assert_int_equal(fake_waiting(), 8);
    assert_int_equal(ask(r, AGENT_CLOSE, fd[0], 0, 0, 0, NULL, 0), 0);
    unsigned left = 0;
    assert_int_equal(ask(r, AGENT_FCNTL, fd[1], F_SETFL, O_NONBLOCK, 0, NULL, 0), 0);
    const unsigned waiting = fake_waiting();
    while (ask(r, AGENT_ACCEPT, fd[1], 0, 0, 0, NULL, 0) >= 0)
        left++;
    assert_true(left > 0 && left < 8);
    assert_int_equal(waiting, left);
    assert_int_equal(fake_waiting(), 0);
}

static void a_socket_that_shared_a_port_takes_its_backlog_along(void **state)
{
    struct rig *r = *state;
    const int fd[3] = {(int)sharing_listener(r), (int)sharing_listener(r),
                       (int)sharing_listener(r)};
    assert_int_equal(fake_backlog(), 15);
    assert_int_equal(ask(r, AGENT_CLOSE, fd[1], 0, 0, 0, NULL, 0), 0);
    turn(r);
    assert_int_equal(fake_backlog(), 10);
    // The next call comes before the workers know, and so does the last close.
    request(r, 0, AGENT_CLOSE, fd[0], 0, 0, 0, NULL, 0);
    assert_int_equal(answered(r, 0), 0);
    assert_int_equal(ask(r, AGENT_LISTEN, fd[2], 7, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_backlog(), 7);
    const int more = (int)sharing_listener(r);
    request(r, 0, AGENT_CLOSE, fd[2], 0, 0, 0, NULL, 0);
    request(r, 1, AGENT_CLOSE, more, 0, 0, 0, NULL, 0);
    turn(r);
    assert_int_equal(fake_listeners(), 0);
    assert_int_equal(answered(r, 0), 0);
    assert_int_equal(answered(r, 1), 0);
}

static void who_finds_no_room_at_the_worker_waits_in_no_queue(void **state)
{
    struct rig *r = *state;
    listener(r, 80);
    for (int i = 0; i < 2 * SOCKETS; i++)
        assert_non_null(fake_arrive(0, 80));
    assert_null(fake_arrive(0, 80));
    assert_int_equal(fake_waiting(), 2 * SOCKETS);
}

static int accepted(struct rig *r, struct c10m_conn **conn, unsigned worker)
{
    const int64_t l = listener(r, 80);
    *conn = fake_arrive(worker, 80);
    const int64_t fd = ask(r, AGENT_ACCEPT, (int)l, 0, 0, 0, NULL, 0);
    assert_int_equal(fd, l + 1);
    return (int)fd;
}

static void accept_waits_for_a_connection_at_any_worker(void **state)
{
    struct rig *r = *state;
    const int l = (int)listener(r, 80);
    for (unsigned w = 0; w < WORKERS; w++) {
        begin(r, 1, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0);
        assert_false(is_answered(r, 1));
        fake_arrive(w, 80);
        turn(r);
        assert_int_equal(answered(r, 1), l + 1 + (int)w);
        assert_int_equal(r->k[1]->out->addr_bytes, sizeof(struct sockaddr_in));
    }
}

static void what_arrives_at_several_workers_has_the_order_in_which_it_did(void **state)
{
    struct rig *r = *state;
    const unsigned order[] = {1, 1, 0, 1, 0};
    const int l = (int)listener(r, 80), udp = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    uint16_t ports[5];
    assert_int_equal(bind_port(r, udp, 53), 0);
    for (unsigned i = 0; i < 5; i++) {
        ports[i] = htons(fake_arrive(order[i], 80)->peer.port);
        assert_true(fake_datagram(order[i], 53, &i, 1));
    }
    for (unsigned i = 0; i < 5; i++) {
        struct sockaddr_in sin;
        assert_true(ask(r, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0) > 0);
        memcpy(&sin, r->k[0]->out->addr, sizeof(sin));
        assert_int_equal(sin.sin_port, ports[i]);
        assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), 1);
        assert_int_equal(r->data[0], i);
    }
}

static void a_port_that_one_worker_refuses_is_listened_on_by_none(void **state)
{
    struct rig *r = *state;
    const int fd = (int)open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(bind_port(r, fd, 666), 0);
    assert_int_equal(ask(r, AGENT_LISTEN, fd, 5, 0, 0, NULL, 0), -EADDRINUSE);
    assert_int_equal(fake_listeners(), 0);
    assert_int_equal(ask(r, AGENT_ACCEPT, fd, 0, 0, 0, NULL, 0), -EINVAL);
    const int udp = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(bind_port(r, udp, 666), -EADDRINUSE);
    turn(r);
    assert_int_equal(fake_udp_ports(), 0);
}

static void a_blocked_read_returns_what_comes(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    begin(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    turn(r);
    assert_false(is_answered(r, 1));
    fake_data(conn, "abc", 3);
    turn(r);
    assert_int_equal(answered(r, 1), 3);
    assert_memory_equal(r->data, "abc", 3);
    assert_int_equal(ask(r, AGENT_RECV, fd, 10, MSG_DONTWAIT, 0, NULL, 0), -EAGAIN);
    begin(r, 1, AGENT_RECV, fd, 5, MSG_WAITALL, 0, NULL, 0);
    fake_data(conn, "12", 2);
    turn(r);
    assert_false(is_answered(r, 1));
    fake_data(conn, "34567", 5);
    turn(r);
    assert_int_equal(answered(r, 1), 5);
    assert_memory_equal(r->data, "12345", 5);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), 2);
}

static void a_record_ends_behind_the_last_byte_of_its_send(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    conn->room_max = 4;
    begin(r, 1, AGENT_SEND, fd, 0, MSG_EOR, 0, "abcdef", 6);
    assert_false(is_answered(r, 1));
    assert_int_equal(conn->record, 0);  // two bytes are missing
    fake_ack(conn);
    turn(r);
    assert_int_equal(answered(r, 1), 6);
    assert_int_equal(conn->record, 6);
    fake_ack(conn);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, 0, 0, "g", 1), 1);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_EOR, 0, NULL, 0), 0);
    assert_int_equal(conn->record, 6);  // of nothing there is no end
}

static void a_connection_without_a_record_for_it_is_not_shut(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 0);
    conn->no_record = true;
    assert_int_equal(ask(r, AGENT_SHUTDOWN, fd, SHUT_RDWR, 0, 0, NULL, 0), -ENOBUFS);
    assert_false(conn->shut);
    assert_int_equal(ask(r, AGENT_RECV, fd, 1, MSG_DONTWAIT, 0, NULL, 0), -EAGAIN);
    conn->no_record = false;
    assert_int_equal(ask(r, AGENT_SHUTDOWN, fd, SHUT_RD, 0, 0, NULL, 0), 0);
    conn->no_record = true;  // it has one now
    assert_int_equal(ask(r, AGENT_SHUTDOWN, fd, SHUT_RDWR, 0, 0, NULL, 0), 0);
    assert_true(conn->shut);
}

static void a_port_is_taken_as_long_as_its_connection_is_in_time_wait(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 0), l = fd - 1;
    r->a->now_us = 1000000;
    assert_int_equal(ask(r, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0), 0);
    turn(r);
    assert_int_equal(ask(r, AGENT_CLOSE, l, 0, 0, 0, NULL, 0), 0);
    const int again = (int)open_socket(r, AF_INET, SOCK_STREAM);
    r->a->now_us += FAKE_TIME_WAIT_MS * 1000 - 1;
    assert_int_equal(bind_port(r, again, 80), -EADDRINUSE);
    r->a->now_us++;
    assert_int_equal(bind_port(r, again, 80), 0);
}

static void a_reset_is_told_once_behind_what_came(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 0);
    fake_data(conn, "abc", 3);
    fake_lost_by(conn, ECONNRESET);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), 3);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), -ECONNRESET);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_WRITE, fd, 0, 0, 0, "x", 1), -EPIPE);
}

static void a_client_that_vanishes_takes_its_call_along(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 0);
    begin(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    call_cancel(r->a, &r->k[1]->call);
    turn(r);
    assert_true(call_over(&r->k[1]->call));
    fake_data(conn, "abc", 3);
    turn(r);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), 3);
}

static void a_descriptor_closed_under_a_blocked_call_ends_behind_it(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 0);
    begin(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    assert_int_equal(ask(r, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), -EBADF);
    assert_false(is_answered(r, 1));
    assert_true(conn->used);
    fake_data(conn, "abc", 3);
    turn(r);
    assert_int_equal(answered(r, 1), 3);
    assert_false(conn->used);
}

static void what_comes_as_a_client_vanishes_is_left_to_the_next_reader(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    begin(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    fake_data(conn, "late", 4);
    call_cancel(r->a, &r->k[1]->call);
    turn(r);
    assert_true(call_over(&r->k[1]->call));
    assert_int_equal(ask(r, AGENT_READ, fd, 10, 0, 0, NULL, 0), 4);
    assert_memory_equal(r->data, "late", 4);
}

// What came to a worker before a call that may not wait began is found by it.
static void who_may_not_wait_misses_nothing_that_was_there(void **state)
{
    struct rig *r = *state;
    const int l = (int)listener(r, 80), udp = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(bind_port(r, udp, 53), 0);
    for (int fd = l; fd <= udp; fd++)
        assert_int_equal(ask(r, AGENT_FCNTL, fd, F_SETFL, O_NONBLOCK, 0, NULL, 0), 0);
    assert_int_equal(ask(r, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0), -EAGAIN);
    assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), -EAGAIN);
    assert_non_null(fake_arrive(1, 80));
    assert_true(fake_datagram(1, 53, "d", 1));
    assert_int_equal(ask(r, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0), udp + 1);
    assert_non_null(fake_arrive(0, 80));
    assert_true(fake_datagram(0, 53, "e", 1));
    assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), 1);
    assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), 1);
    assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), -EAGAIN);
    assert_true(fake_datagram(1, 53, "f", 1));
    assert_int_equal(ask(r, AGENT_READ, udp, 1, 0, 0, NULL, 0), 1);
}

static void what_comes_before_the_watch_wakes_as_well(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    request(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    flush_posts(r->a);
    fake_turn();  // there is nothing
    fake_data(conn, "now", 3);
    turn(r);
    assert_int_equal(answered(r, 1), 3);
}

static void connect_to(struct rig *r, int who, int fd, sa_family_t family, uint16_t port)
{
    const struct sockaddr_in sin = {
        .sin_family = family, .sin_port = htons(port), .sin_addr.s_addr = htonl(0x0a000002)};
    memcpy(r->k[who]->in->addr, &sin, sizeof(sin));
    r->k[who]->in->addr_bytes = sizeof(sin);
    request(r, who, AGENT_CONNECT, fd, 0, 0, 0, NULL, 0);
}

// The answer to the read and the end of its connection cross.
static void a_read_ends_as_its_connection_is_given_up(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    request(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    connect_to(r, 2, fd, AF_UNSPEC, 0);
    turn(r);
    assert_int_equal(answered(r, 2), 0);
    assert_int_equal(answered(r, 1), -EPIPE);
    assert_int_equal(get(r, fd, SOL_SOCKET, SO_ERROR), ECONNRESET);
}

static void two_connects_of_a_datagram_socket_leave_it_with_one_peer(void **state)
{
    struct rig *r = *state;
    const int fd = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    assert_int_equal(bind_port(r, fd, 53), 0);
    connect_to(r, 1, fd, AF_INET, 5353);
    connect_to(r, 2, fd, AF_INET, 5354);
    turn(r);
    assert_int_equal(answered(r, 1), 0);
    assert_int_equal(answered(r, 2), 0);
    assert_int_equal(ask(r, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(fake_udp_ports(), 0);
    assert_int_equal(r->a->n_lent, 0);
}

static void a_connect_whose_client_vanishes_ends_though_nobody_answers(void **state)
{
    struct rig *r = *state;
    const int fd = (int)open_socket(r, AF_INET, SOCK_STREAM);
    connect_to(r, 1, fd, AF_INET, 80);
    call_cancel(r->a, &r->k[1]->call);
    turn(r);
    assert_true(call_over(&r->k[1]->call));
}

// MSG_MORE: what is held back goes with the socket, or with the call that sends it.
static void a_datagram_that_is_held_back_is_sent_or_goes(void **state)
{
    struct rig *r = *state;
    static const uint8_t half[800];
    const int fd = (int)open_socket(r, AF_INET, SOCK_DGRAM);
    connect_to(r, 0, fd, AF_INET, 53);
    turn(r);
    assert_int_equal(answered(r, 0), 0);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_MORE, 0, half, 100), 100);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, 0, 0, half, 100), 100);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_MORE, 0, half, 800), 800);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, 0, 0, half, 800), -EMSGSIZE);  // both are one
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, 0, 0, half, 800), 800);
    for (unsigned i = 0; i < 81; i++)
        assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_MORE, 0, half, 800), 800);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_MORE, 0, half, 800), -EMSGSIZE);
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, 0, 0, half, 800), 800);  // that of before has gone
    assert_int_equal(ask(r, AGENT_SEND, fd, 0, MSG_MORE, 0, half, 100), 100);
    assert_int_equal(ask(r, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0), 0);
}

// Nobody posts anything after it.
static void what_a_full_ring_refused_comes_without_another_message(void **state)
{
    struct rig *r = *state;
    const int l = (int)listener(r, 80);
    for (unsigned i = 0; i < 20; i++)
        assert_non_null(fake_arrive(1, 80));
    turn(r);
    assert_int_equal(socket_of(fd_get(r->a, l))->n_arrived, 20);
}

static void what_a_client_accepts_as_it_vanishes_is_closed(void **state)
{
    struct rig *r = *state;
    const int l = (int)listener(r, 80);
    struct c10m_conn *conn = fake_arrive(0, 80);
    turn(r);
    request(r, 1, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0);
    assert_false(is_answered(r, 1));
    call_cancel(r->a, &r->k[1]->call);
    turn(r);
    assert_true(call_over(&r->k[1]->call));
    assert_null(fd_get(r->a, l + 1));
    assert_true(conn->closed || !conn->used);
}

static void a_descriptor_closed_twice_while_its_socket_is_busy_is_closed_once(void **state)
{
    struct rig *r = *state;
    const int fd = (int)open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(bind_port(r, fd, 80), 0);
    request(r, 0, AGENT_LISTEN, fd, 5, 0, 0, NULL, 0);
    request(r, 1, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0);
    request(r, 2, AGENT_CLOSE, fd, 0, 0, 0, NULL, 0);
    turn(r);
    assert_int_equal(answered(r, 0), 0);
    const int64_t one = answered(r, 1), other = answered(r, 2);
    assert_int_equal(one + other, -EBADF);
    assert_null(r->a->all);
    assert_int_equal(fake_listeners(), 0);
}

static void a_lingering_close_ends_with_the_last_ack_or_its_time(void **state)
{
    struct rig *r = *state;
    const struct linger two_s = {.l_onoff = 1, .l_linger = 2};
    struct c10m_conn *conn[2];
    int fd[2] = {accepted(r, &conn[0], 0)};
    conn[1] = fake_arrive(1, 80);
    fd[1] = (int)ask(r, AGENT_ACCEPT, 0, 0, 0, 0, NULL, 0);
    for (int i = 0; i < 2; i++) {
        ask(r, AGENT_SETSOCKOPT, fd[i], SOL_SOCKET, SO_LINGER, 0, &two_s, sizeof(two_s));
        assert_int_equal(ask(r, AGENT_WRITE, fd[i], 0, 0, 0, "bye", 3), 3);
        begin(r, 1 + i, AGENT_CLOSE, fd[i], 0, 0, 0, NULL, 0);
        assert_false(is_answered(r, 1 + i));
    }
    fake_ack(conn[0]);
    turn(r);
    assert_int_equal(answered(r, 1), 0);
    r->a->now_us += 1999999;
    turn(r);
    assert_false(is_answered(r, 2));
    r->a->now_us += 1;
    turn(r);
    turn(r);
    assert_int_equal(answered(r, 2), 0);
}

static void poll_waits_for_any_and_ends_at_its_time(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    const struct pollfd all[] = {{.fd = 0, .events = POLLIN},
                                 {.fd = fd, .events = POLLIN},
                                 {.fd = -1, .events = POLLIN},
                                 {.fd = 9, .events = POLLIN}};
    struct pollfd got[4];
    assert_int_equal(ask(r, AGENT_POLL, -1, 4, -1, 0, all, sizeof(all)), 1);
    memcpy(got, r->data, sizeof(got));
    assert_int_equal(got[3].revents, POLLNVAL);
    begin(r, 1, AGENT_POLL, -1, 3, 500, 0, all, 3 * sizeof(all[0]));
    assert_false(is_answered(r, 1));
    fake_data(conn, "x", 1);
    turn(r);
    assert_int_equal(answered(r, 1), 1);
    memcpy(got, r->data, sizeof(got));
    assert_int_equal(got[1].revents, POLLIN);
    begin(r, 1, AGENT_POLL, -1, 1, 500, 0, all, sizeof(all[0]));
    r->a->now_us += 499999;
    turn(r);
    assert_false(is_answered(r, 1));
    r->a->now_us++;
    turn(r);
    assert_int_equal(answered(r, 1), 0);
}

static void a_reset_ends_every_call_and_every_worker_forgets(void **state)
{
    struct rig *r = *state;
    struct c10m_conn *conn;
    const int fd = accepted(r, &conn, 1);
    fake_arrive(0, 80);  // accepted by nobody
    begin(r, 1, AGENT_READ, fd, 10, 0, 0, NULL, 0);
    begin(r, 2, AGENT_ACCEPT, 0, 0, 0, 0, NULL, 0);
    assert_int_equal(answered(r, 2), fd + 1);
    begin(r, 2, AGENT_ACCEPT, 0, 0, 0, 0, NULL, 0);
    assert_int_equal(ask(r, AGENT_RESET, -1, 0, 0, 0, NULL, 0), 0);
    assert_int_equal(answered(r, 1), -EBADF);
    assert_int_equal(answered(r, 2), -EBADF);
    assert_int_equal(fake_listeners(), 0);
    assert_int_equal(fake_forgotten(), WORKERS);
    for (unsigned i = 0; i < FAKE_CONNS_MAX; i++)
        assert_null(fake_conn(i));
    assert_null(r->a->all);
    assert_int_equal(open_socket(r, AF_INET, SOCK_STREAM), 0);
}

static void a_reset_ends_a_port_that_another_socket_was_about_to_share(void **state)
{
    struct rig *r = *state;
    const int one = (int)sharing_listener(r), other = (int)open_socket(r, AF_INET, SOCK_STREAM);
    assert_int_equal(set(r, other, SOL_SOCKET, SO_REUSEPORT, 1), 0);
    assert_int_equal(bind_port(r, other, 80), 0);
    request(r, 0, AGENT_LISTEN, one, 9, 0, 0, NULL, 0);
    request(r, 1, AGENT_LISTEN, other, 9, 0, 0, NULL, 0);
    request(r, 2, AGENT_RESET, -1, 0, 0, 0, NULL, 0);
    turn(r);
    assert_int_equal(answered(r, 2), 0);
    assert_int_equal(answered(r, 1), -EBADF);
    assert_null(r->a->tcp_ports);
    assert_int_equal(fake_listeners(), 0);
    listener(r, 80);
}

static void rings_that_are_full_hold_nobody_up(void **state)
{
    struct rig *r = *state;
    const int l = (int)listener(r, 80);
    struct c10m_conn *conn[10];
    for (int i = 0; i < 10; i++)  // more than a ring takes
        assert_non_null(conn[i] = fake_arrive(0, 80));
    for (int i = 0; i < 10; i++)
        assert_int_equal(ask(r, AGENT_ACCEPT, l, 0, 0, 0, NULL, 0), l + 1 + i);
    const int64_t e = ask(r, AGENT_EPOLL_CREATE, -1, 0, 0, 0, NULL, 0);
    for (int i = 0; i < 10; i++)
        assert_int_equal(control(r, e, EPOLL_CTL_ADD, l + 1 + i, EPOLLIN), 0);
    begin(r, 1, AGENT_EPOLL_WAIT, (int)e, 16, -1, 0, NULL, 0);
    assert_false(is_answered(r, 1));
    for (int i = 0; i < 10; i++)
        fake_data(conn[i], "x", 1);
    turn(r);
    assert_true(answered(r, 1) >= 1);
    assert_int_equal(ask(r, AGENT_EPOLL_WAIT, (int)e, 16, 0, 0, NULL, 0), 10);
}

static int setup(void **state)
{
    char err[128];
    struct rig *r = calloc(1, sizeof(*r));
    struct c10m_service *s = fake_start(&app_agent, WORKERS, 8);
    r->a = agent_new(s, err, sizeof(err));
    assert_non_null(r->a);
    c10m_service_set_data(s, r->a);
    for (int i = 0; i < CLIENTS; i++)
        assert_non_null(r->k[i] = client_new(r->a, -1));
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    struct rig *r = *state;
    for (int i = 0; i < CLIENTS; i++)
        client_free(r->k[i]);
    agent_free(r->a);
    fake_end();
    free(r);
    return 0;
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_wrong_lengths_are_no_requests),
        RIGGED(what_is_no_call_and_no_descriptor_is_refused),
        RIGGED(a_new_socket_has_a_name_and_no_peer),
        RIGGED(groups_are_left_when_nobody_is_in_them),
        RIGGED(a_device_is_known_by_its_name),
        RIGGED(a_group_that_is_refused_is_nobodys),
        RIGGED(sockets_are_of_families_types_and_protocols_that_exist),
        RIGGED(descriptors_are_the_lowest_free_and_bounded),
        RIGGED(a_port_is_bound_twice_only_where_both_allow_it),
        RIGGED(any_address_of_ipv6_is_ipv4s_too_unless_v6only),
        RIGGED(names_too_short_or_of_another_family_are_refused),
        RIGGED(options_have_linuxs_ranges_and_are_read_back),
        RIGGED(a_socket_without_a_connection_says_so),
        RIGGED(epoll_refuses_what_linux_refuses),
        RIGGED(epolls_do_not_watch_each_other_in_a_circle),
        RIGGED(accept_waits_for_a_connection_at_any_worker),
        RIGGED(what_arrives_at_several_workers_has_the_order_in_which_it_did),
        RIGGED(a_port_that_one_worker_refuses_is_listened_on_by_none),
        RIGGED(a_blocked_read_returns_what_comes),
        RIGGED(a_record_ends_behind_the_last_byte_of_its_send),
        RIGGED(a_socket_that_shared_a_port_takes_its_backlog_along),
        RIGGED(a_connection_without_a_record_for_it_is_not_shut),
        RIGGED(a_port_is_taken_as_long_as_its_connection_is_in_time_wait),
        RIGGED(a_reset_is_told_once_behind_what_came),
        RIGGED(a_client_that_vanishes_takes_its_call_along),
        RIGGED(a_descriptor_closed_under_a_blocked_call_ends_behind_it),
        RIGGED(who_is_reset_in_a_queue_makes_room_in_it),
        RIGGED(who_finds_no_room_at_the_worker_waits_in_no_queue),
        RIGGED(what_comes_as_a_client_vanishes_is_left_to_the_next_reader),
        RIGGED(who_may_not_wait_misses_nothing_that_was_there),
        RIGGED(what_comes_before_the_watch_wakes_as_well),
        RIGGED(a_read_ends_as_its_connection_is_given_up),
        RIGGED(two_connects_of_a_datagram_socket_leave_it_with_one_peer),
        RIGGED(a_connect_whose_client_vanishes_ends_though_nobody_answers),
        RIGGED(a_datagram_that_is_held_back_is_sent_or_goes),
        RIGGED(what_a_full_ring_refused_comes_without_another_message),
        RIGGED(what_a_client_accepts_as_it_vanishes_is_closed),
        RIGGED(a_reset_ends_a_port_that_another_socket_was_about_to_share),
        RIGGED(a_descriptor_closed_twice_while_its_socket_is_busy_is_closed_once),
        RIGGED(a_lingering_close_ends_with_the_last_ack_or_its_time),
        RIGGED(poll_waits_for_any_and_ends_at_its_time),
        RIGGED(a_reset_ends_every_call_and_every_worker_forgets),
        RIGGED(rings_that_are_full_hold_nobody_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
