// The agent's thread without workers: requests, descriptors, names, options. What needs a worker is
// in tests/agent, beside the kernel.
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/agent/agent_server.h"
#include "check.h"

enum { SOCKETS = 8 };

// rig: an agent whose only client is the test.
struct rig {
    struct agent a;
    struct file *fds[SOCKETS];
    struct client k;
    int theirs;
    int64_t ret;
    int error;
    uint32_t bytes;
    uint8_t data[256];
};

static void rig_open(struct rig *r)
{
    int pair[2];
    memset(r, 0, sizeof(*r));
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
    r->theirs = pair[1];
    r->a.fds = r->fds;
    r->a.sockets_max = SOCKETS;
    r->a.epoll = epoll_create1(0);
    r->a.chance = 12345;
    r->a.rcvbuf = r->a.sndbuf = 131072;
    r->k.fd = pair[0];
    r->k.in = calloc(1, REQUEST_BYTES_MAX);
    r->k.out = calloc(1, REPLY_BYTES_MAX);
    r->k.call.client = &r->k;
    r->k.call.reply = r->k.out;
    r->k.call.r = r->k.in;
}

static void rig_close(struct rig *r)
{
    while (r->a.all != NULL)
        file_drop(&r->a, r->a.all);
    close(r->k.fd);
    close(r->theirs);
    close(r->a.epoll);
    free(r->k.in);
    free(r->k.out);
}

// ask: the call's value, or -errno; what else the reply says is in r.
static int64_t ask(struct rig *r, uint32_t op, int fd, int64_t a0, int64_t a1, int64_t a2,
                   const void *data, uint32_t bytes)
{
    struct agent_request *q = r->k.in;
    q->op = op;
    q->fd = fd;
    q->a[0] = a0;
    q->a[1] = a1;
    q->a[2] = a2;
    q->data_bytes = bytes;
    if (bytes != 0)
        memcpy(q->data, data, bytes);
    r->k.call.r = q;
    call_start(&r->a, &r->k.call);
    struct {
        struct agent_reply reply;
        uint8_t data[sizeof(r->data)];
    } back;
    const ssize_t n = recv(r->theirs, &back, sizeof(back), 0);
    assert_true(n >= (ssize_t)sizeof(struct agent_reply));
    r->bytes = back.reply.data_bytes;
    assert_int_equal(n, sizeof(struct agent_reply) + r->bytes);
    memcpy(r->data, back.data, r->bytes);
    assert_true(back.reply.ret >= 0 || back.reply.ret == -1);
    assert_int_equal(back.reply.error != 0, back.reply.ret < 0);
    assert_true(call_over(&r->k.call));
    q->addr_bytes = 0;
    return back.reply.ret < 0 ? -back.reply.error : back.reply.ret;
}

static int64_t open_socket(struct rig *r, int domain, int type)
{
    return ask(r, AGENT_SOCKET, -1, domain, type, 0, NULL, 0);
}

static int64_t bind_port(struct rig *r, int fd, uint16_t port)
{
    const struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};
    memcpy(r->k.in->addr, &sin, sizeof(sin));
    r->k.in->addr_bytes = sizeof(sin);
    return ask(r, AGENT_BIND, fd, 0, 0, 0, NULL, 0);
}

static int64_t bind6_port(struct rig *r, int fd, uint16_t port)
{
    const struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    memcpy(r->k.in->addr, &sin6, sizeof(sin6));
    r->k.in->addr_bytes = sizeof(sin6);
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
    assert_true(request_good(&r, head));
    assert_false(request_good(&r, 0));
    assert_false(request_good(&r, head - 1));
    assert_false(request_good(&r, head + 1));
    r.data_bytes = 1;
    assert_true(request_good(&r, head + 1));
    assert_false(request_good(&r, head));
    r.data_bytes = AGENT_DATA_BYTES_MAX;
    assert_true(request_good(&r, head + AGENT_DATA_BYTES_MAX));
    r.data_bytes = AGENT_DATA_BYTES_MAX + 1;
    assert_false(request_good(&r, head + AGENT_DATA_BYTES_MAX + 1));
    r.data_bytes = UINT32_MAX;
    assert_false(request_good(&r, head - 1));
    r.data_bytes = 0;
    r.addr_bytes = AGENT_ADDR_BYTES + 1;
    assert_false(request_good(&r, head));
}

static void what_is_no_call_and_no_descriptor_is_refused(void **state)
{
    struct rig *r = *state;
    const uint32_t bad_ops[] = {0, AGENT_RESET + 1, 1000, UINT32_MAX};
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
    const uint16_t port = socket_of(r->fds[2])->local.port;
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

static int setup(void **state)
{
    struct rig *r = malloc(sizeof(*r));
    rig_open(r);
    *state = r;
    return 0;
}

static int teardown(void **state)
{
    rig_close(*state);
    free(*state);
    return 0;
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_of_wrong_lengths_are_no_requests),
        RIGGED(what_is_no_call_and_no_descriptor_is_refused),
        RIGGED(sockets_are_of_families_types_and_protocols_that_exist),
        RIGGED(descriptors_are_the_lowest_free_and_bounded),
        RIGGED(a_port_is_bound_twice_only_where_both_allow_it),
        RIGGED(any_address_of_ipv6_is_ipv4s_too_unless_v6only),
        RIGGED(names_too_short_or_of_another_family_are_refused),
        RIGGED(options_have_linuxs_ranges_and_are_read_back),
        RIGGED(a_socket_without_a_connection_says_so),
        RIGGED(epoll_refuses_what_linux_refuses),
        RIGGED(epolls_do_not_watch_each_other_in_a_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
