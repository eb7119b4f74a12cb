// SPDX-License-Identifier: BSD-3-Clause
// getsockopt() and setsockopt(). Options that are plain numbers have a row in a table, with Linux's
// range. agent_optval.c has the other options and converts all of them for the stack. Unknown
// options fail with ENOPROTOOPT.
#include "app/agent/agent_opt.h"

#include <errno.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

// ---- rows of plain numbers

enum row_type { ROW_BOOL, ROW_INT };

// row: an option that is one number. A value outside min..max fails with EINVAL.
struct row {
    int level, name;
    enum row_type type;
    size_t offset;
    int min, max;
    bool apply;  // send the option to the worker of the connection
};

#define AT(field) offsetof(struct socket, o.field)

static const struct row rows[] = {
    {SOL_SOCKET, SO_KEEPALIVE, ROW_BOOL, AT(keepalive), 0, 0, true},
    {SOL_SOCKET, SO_REUSEADDR, ROW_BOOL, AT(reuse_addr), 0, 0, false},
    {SOL_SOCKET, SO_REUSEPORT, ROW_BOOL, AT(reuse_port), 0, 0, false},
    {SOL_SOCKET, SO_BROADCAST, ROW_BOOL, AT(broadcast), 0, 0, false},
    // Has no effect: urgent data is always in line.
    {SOL_SOCKET, SO_OOBINLINE, ROW_BOOL, AT(oob_inline), 0, 0, false},
    {SOL_TCP, TCP_NODELAY, ROW_BOOL, AT(nodelay), 0, 0, true},
    {SOL_TCP, TCP_CORK, ROW_BOOL, AT(cork), 0, 0, true},
    {SOL_TCP, TCP_KEEPIDLE, ROW_INT, AT(keep_idle_s), 1, 32767, true},
    {SOL_TCP, TCP_KEEPINTVL, ROW_INT, AT(keep_interval_s), 1, 32767, true},
    {SOL_TCP, TCP_KEEPCNT, ROW_INT, AT(keep_count), 1, 127, true},
    {SOL_TCP, TCP_SYNCNT, ROW_INT, AT(syn_count), 1, 127, false},
    {SOL_TCP, TCP_USER_TIMEOUT, ROW_INT, AT(user_timeout_ms), 0, INT_MAX, true},
    {SOL_TCP, TCP_NOTSENT_LOWAT, ROW_INT, AT(notsent_lowat), INT_MIN, INT_MAX, true},
    {IPPROTO_IP, IP_MULTICAST_LOOP, ROW_BOOL, AT(mc_loop), 0, 0, false},
    {IPPROTO_IP, IP_MULTICAST_ALL, ROW_INT, AT(mc_all), 0, 1, false},
    {IPPROTO_IPV6, IPV6_MULTICAST_LOOP, ROW_INT, AT(mc6_loop), 0, 1, false},
    {IPPROTO_IPV6, IPV6_MULTICAST_ALL, ROW_BOOL, AT(mc6_all), 0, 0, false},
    {IPPROTO_IP, IP_MTU_DISCOVER, ROW_INT, AT(mtu_discover), IP_PMTUDISC_DONT, IP_PMTUDISC_OMIT,
     true},
    {IPPROTO_IPV6, IPV6_MTU_DISCOVER, ROW_INT, AT(mtu_discover6), IPV6_PMTUDISC_DONT,
     IPV6_PMTUDISC_OMIT, true},
};

static const struct row *row_find(const struct call *c)
{
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].level == c->r->a[0] && rows[i].name == c->r->a[1])
            return &rows[i];
    return NULL;
}

// Whether the socket has options of this level: SOL_TCP only TCP sockets, IPPROTO_IPV6 only
// AF_INET6.
static bool level_is_valid(const struct call *c)
{
    const struct socket *k = c->socket;
    switch (c->r->a[0]) {
    case SOL_SOCKET:
    case IPPROTO_IP:
        return true;
    case SOL_TCP:
        return k->f.kind == FILE_TCP;
    case IPPROTO_IPV6:
        return k->domain == AF_INET6;
    default:
        return false;
    }
}

// ---- setsockopt

static void applied(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    call_return(a, c, m->ret);
}

// Ends a setsockopt() whose value was stored: sends the options to the workers if `apply`.
static void finish_set(struct agent *a, struct call *c, int rc, bool apply)
{
    struct socket *k = c->socket;
    if (rc == 0 && apply && k->state == TCP_ATTACHED) {
        options_of(a, k, &c->msg.options);
        call_post(a, c, CMD_OPTIONS, applied);
    } else if (rc == 0 && apply && k->state == TCP_LISTENING) {
        listener_renew(a, c);
    } else {
        call_return(a, c, rc);
    }
}

static int set_row(const struct row *row, struct socket *k, int value)
{
    char *field = (char *)k + row->offset;
    if (row->type == ROW_BOOL) {
        *(bool *)field = value != 0;
        k->o.nodelay_turn += row->level == SOL_TCP && row->name == TCP_NODELAY;
        return 0;
    }
    if (value < row->min || value > row->max)
        return -EINVAL;
    *(int *)field = value;
    return 0;
}

static int row_value(const struct row *row, const struct socket *k)
{
    const char *field = (const char *)k + row->offset;
    return row->type == ROW_BOOL ? *(const bool *)field : *(const int *)field;
}

// The IPPROTO_IP options for which a value of zero bytes fails.
static bool needs_bytes(int64_t name)
{
    return name == IP_TTL || name == IP_MULTICAST_TTL || name == IP_MULTICAST_LOOP ||
           name == IP_MULTICAST_ALL;
}

// Reads an int. As on Linux, IPPROTO_IP options also accept one byte, and most of them zero bytes,
// which mean 0.
static int read_int(const struct call *c, int *value)
{
    if (c->r->data_bytes >= sizeof(*value)) {
        memcpy(value, c->r->data, sizeof(*value));
        return 0;
    }
    if (c->r->a[0] != IPPROTO_IP || (c->r->data_bytes == 0 && needs_bytes(c->r->a[1])))
        return -EINVAL;
    *value = c->r->data_bytes == 0 ? 0 : c->r->data[0];
    return 0;
}

void op_setsockopt(struct agent *a, struct call *c)
{
    const struct row *row = row_find(c);
    int value, rc;
    bool apply = false;
    if (!level_is_valid(c)) {
        call_return(a, c, -ENOPROTOOPT);
        return;
    }
    if (c->r->a[0] == SOL_TCP && c->r->a[1] == TCP_CONGESTION) {
        rc = set_congestion(c);
        finish_set(a, c, rc, true);
        return;
    }
    if (group_option(a, c) || device_set(a, c))
        return;
    rc = read_int(c, &value);
    if (rc == 0 && row != NULL) {
        rc = set_row(row, c->socket, value);
        apply = row->apply;
    } else if (rc == 0) {
        rc = set_special(a, c, value, &apply);
    }
    finish_set(a, c, rc, apply);
}

// ---- getsockopt

// Truncates the value to the client's buffer, as Linux does.
void option_return(struct agent *a, struct call *c, const void *value, uint32_t bytes)
{
    const uint32_t n = c->r->a[2] < bytes ? (uint32_t)c->r->a[2] : bytes;
    memcpy(c->reply->data, value, n);
    call_return_data(a, c, 0, n);
}

// As on Linux, an IPPROTO_IP option of 0 to 255 is returned as one byte if the buffer is shorter
// than an int.
void option_return_int(struct agent *a, struct call *c, int value)
{
    const uint8_t small = (uint8_t)value;
    const bool narrow = c->r->a[0] == IPPROTO_IP && c->r->a[2] > 0 && c->r->a[2] < 4 &&
                        value >= 0 && value <= UINT8_MAX;
    if (narrow)
        option_return(a, c, &small, sizeof(small));
    else
        option_return(a, c, &value, sizeof(value));
}

static void error_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    socket_update(c->socket, m);
    option_return_int(a, c, (int)m->ret);
}

static void get_error(struct agent *a, struct call *c)
{
    if (c->socket->state == TCP_ATTACHED)
        call_post(a, c, CMD_ERROR, error_done);
    else
        option_return_int(a, c, socket_error(c->socket));
}

// The errno of getsockopt() for an unknown level: Linux's ip_getsockopt() differs from setsockopt()
// and from other families.
static int no_such_level(const struct call *c)
{
    const struct socket *k = c->socket;
    const bool own = k->f.kind == FILE_UDP && c->r->a[0] == IPPROTO_UDP;
    return k->domain == AF_INET && !own ? -EOPNOTSUPP : -ENOPROTOOPT;
}

void op_getsockopt(struct agent *a, struct call *c)
{
    const struct row *row = row_find(c);
    if (!level_is_valid(c))
        call_return(a, c, no_such_level(c));
    else if (c->r->a[2] < 0)
        call_return(a, c, -EINVAL);
    else if (c->r->a[0] == SOL_SOCKET && c->r->a[1] == SO_ERROR)
        get_error(a, c);
    else if (device_get(a, c))
        return;
    else if (row != NULL)
        option_return_int(a, c, row_value(row, c->socket));
    else
        get_special(a, c);
}
