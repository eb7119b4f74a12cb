// SPDX-License-Identifier: BSD-3-Clause
// Addresses in requests and replies, and the table of local ports.
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "app/agent/agent.h"

// Linux also accepts the sockaddr_in6 of RFC 2133, without sin6_scope_id.
enum { SIN6_BYTES_MIN = 24 };

static const uint8_t v4_prefix[12] = {[10] = 0xff, [11] = 0xff};
static const uint8_t zeros[16];

bool name_is_v4(const struct c10m_name *n)
{
    return memcmp(n->addr, v4_prefix, sizeof(v4_prefix)) == 0;
}

bool name_is_any(const struct c10m_name *n)
{
    return memcmp(n->addr, zeros, 16) == 0 ||
           (name_is_v4(n) && memcmp(n->addr + 12, zeros, 4) == 0);
}

static void from_sin(struct c10m_name *name, const struct sockaddr_in *sin)
{
    memcpy(name->addr, v4_prefix, sizeof(v4_prefix));
    memcpy(name->addr + 12, &sin->sin_addr, 4);
    name->port = ntohs(sin->sin_port);
}

sa_family_t name_family(const struct call *c)
{
    sa_family_t family = AF_UNSPEC;
    if (c->r->addr_bytes >= sizeof(family))
        memcpy(&family, c->r->addr, sizeof(family));
    return family;
}

static int read4(const struct call *c, struct c10m_name *name)
{
    struct sockaddr_in sin;
    if (c->r->addr_bytes < sizeof(sin))
        return -EINVAL;
    memcpy(&sin, c->r->addr, sizeof(sin));
    from_sin(name, &sin);
    return sin.sin_family == AF_INET ? 0 : -EAFNOSUPPORT;
}

static int read6(const struct call *c, struct c10m_name *name)
{
    struct sockaddr_in6 sin6 = {0};
    const uint32_t n = c->r->addr_bytes;
    if (n < SIN6_BYTES_MIN)
        return -EINVAL;
    memcpy(&sin6, c->r->addr, n < sizeof(sin6) ? n : sizeof(sin6));
    memcpy(name->addr, &sin6.sin6_addr, 16);
    name->port = ntohs(sin6.sin6_port);
    return sin6.sin6_family == AF_INET6 ? 0 : -EAFNOSUPPORT;
}

uint32_t name_hash(const struct c10m_name *n)
{
    uint32_t h = n->port;
    for (int i = 0; i < 16; i++)
        h = h * 31 + n->addr[i];
    return h ^ h >> 15;
}

static bool is_of_link(const struct c10m_name *n)
{
    const bool link_local = n->addr[0] == 0xfe && (n->addr[1] & 0xc0) == 0x80;
    const unsigned scope =
        n->addr[0] == 0xff ? n->addr[1] & 15 : 0;  // 1: interface-local, 2: link-local (RFC 4291)
    return link_local || scope == 1 || scope == 2;
}

unsigned name_scope(const struct call *c, const struct socket *k, const struct c10m_name *n)
{
    struct sockaddr_in6 sin6 = {0};
    if (k->domain != AF_INET6 || !is_of_link(n))
        return 0;
    memcpy(&sin6, c->r->addr, c->r->addr_bytes < sizeof(sin6) ? c->r->addr_bytes : sizeof(sin6));
    return sin6.sin6_scope_id;
}

bool name_needs_scope(const struct call *c, const struct socket *k, const struct c10m_name *n)
{
    return k->domain == AF_INET6 && is_of_link(n) && k->device == 0 && name_scope(c, k, n) == 0;
}

int name_apply_scope(const struct agent *a, const struct call *c, struct socket *k,
                     const struct c10m_name *n, bool may_change)
{
    const unsigned device = name_scope(c, k, n);
    const char *name = c10m_device_name(a->s, device);
    if (device == 0 || device == k->device)
        return 0;
    if (k->device != 0 && !may_change)
        return -EINVAL;
    if (name == NULL)
        return -ENODEV;
    device_assign(k, device, name);
    return 0;
}

int name_read(const struct call *c, const struct socket *k, struct c10m_name *name)
{
    return k->domain == AF_INET ? read4(c, name) : read6(c, name);
}

void name_write(struct call *c, const struct socket *k, const struct c10m_name *name)
{
    struct agent_reply *r = c->reply;
    if (k->domain == AF_INET) {
        struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(name->port)};
        memcpy(&sin.sin_addr, name->addr + 12, 4);
        memcpy(r->addr, &sin, sizeof(sin));
        r->addr_bytes = sizeof(sin);
        return;
    }
    struct sockaddr_in6 sin6 = {.sin6_family = AF_INET6, .sin6_port = htons(name->port)};
    memcpy(&sin6.sin6_addr, name->addr, 16);
    memcpy(r->addr, &sin6, sizeof(sin6));
    r->addr_bytes = sizeof(sin6);
}

// ---- ports

// Whether a packet to the local address of one socket can match the other socket.
static bool overlap(const struct socket *a, const struct socket *b)
{
    const struct c10m_name *x = &a->local, *y = &b->local;
    const bool x6_any = memcmp(x->addr, zeros, 16) == 0, y6_any = memcmp(y->addr, zeros, 16) == 0;
    const bool same_family = name_is_v4(x) == name_is_v4(y);
    if (x6_any || y6_any)
        return same_family || (x6_any && !a->o.v6only) || (y6_any && !b->o.v6only);
    return same_family && (name_is_any(x) || name_is_any(y) || memcmp(x->addr, y->addr, 16) == 0);
}

// A connection that has ended releases its port, unless bind() set the port.
static bool has_port(const struct socket *k)
{
    return k->state != TCP_ATTACHED || k->conn_state != CONN_OVER || k->port_chosen;
}

// Linux's inet_bind_conflict() and its UDP version. Two sockets may share a port if both have
// SO_REUSEADDR and the other one does not listen, or if both have SO_REUSEPORT.
static bool conflict(const struct socket *k, const struct socket *other)
{
    if (k->icmp || other->icmp)  // Linux's ping_get_port(): address and family do not matter
        return other != k && k->icmp == other->icmp && k->f.kind == other->f.kind &&
               k->local.port == other->local.port && !(k->o.reuse_addr && other->o.reuse_addr);
    if (other == k || other->f.kind != k->f.kind || other->local.port != k->local.port ||
        !overlap(k, other) || !has_port(other))
        return false;
    if (k->device != 0 && other->device != 0 && k->device != other->device)
        return false;
    if (k->o.reuse_addr && other->o.reuse_addr && other->state != TCP_LISTENING)
        return false;
    return !(k->o.reuse_port && other->o.reuse_port);
}

// A connection in TIME-WAIT has no socket, but keeps its port in use until the time ends. Above
// AGENT_TIME_WAIT_MAX, the oldest entry is removed.
struct time_wait_name {
    struct time_wait_name *next;
    struct c10m_name local;
    bool reuse_addr, reuse_port, v6only;
    unsigned device;
    uint64_t until_us;
};

static void time_wait_expire(struct agent *a)
{
    for (struct time_wait_name **at = &a->time_wait; *at != NULL;) {
        struct time_wait_name *g = *at;
        if (g->until_us > a->now_us && (g->next != NULL || a->n_time_wait <= AGENT_TIME_WAIT_MAX)) {
            at = &g->next;
            continue;
        }
        *at = g->next;
        a->n_time_wait--;
        free(g);
    }
}

void time_wait_add(struct agent *a, const struct socket *k)
{
    struct time_wait_name *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return;
    *g = (struct time_wait_name){.next = a->time_wait,
                                 .local = k->closed_name,
                                 .reuse_addr = k->o.reuse_addr,
                                 .reuse_port = k->o.reuse_port,
                                 .v6only = k->o.v6only,
                                 .device = k->device,
                                 .until_us = a->now_us + (uint64_t)c10m_time_wait_ms(a->s) * 1000};
    a->time_wait = g;
    a->n_time_wait++;
    time_wait_expire(a);
}

void time_wait_free(struct agent *a)
{
    while (a->time_wait != NULL) {
        struct time_wait_name *g = a->time_wait;
        a->time_wait = g->next;
        free(g);
    }
    a->n_time_wait = 0;
}

static bool time_wait_conflict(struct agent *a, const struct socket *k)
{
    time_wait_expire(a);
    for (const struct time_wait_name *g = a->time_wait; g != NULL; g = g->next) {
        const struct socket as = {
            .f.kind = FILE_TCP,
            .local = g->local,
            .device = g->device,
            .o = {.reuse_addr = g->reuse_addr, .reuse_port = g->reuse_port, .v6only = g->v6only}};
        if (conflict(k, &as))
            return true;
    }
    return false;
}

bool port_conflicts(const struct agent *a, const struct socket *k)
{
    for (const struct socket *o = a->bound; o != NULL; o = o->next_bound)
        if (conflict(k, o))
            return true;
    return false;
}

static bool is_used(const struct agent *a, const struct socket *k)
{
    for (const struct socket *o = a->bound; o != NULL; o = o->next_bound)
        if (o != k && o->f.kind == k->f.kind && o->icmp == k->icmp &&
            o->local.port == k->local.port && (k->icmp || overlap(k, o)))
            return true;
    return false;
}

// A random number of the kernel: an ephemeral port must not allow a peer to predict the next one
// (RFC 6056). The system call is allowed, because this is not a worker.
static uint32_t random_u32(struct agent *a)
{
    uint32_t drawn = 0;
    if (a->fixed_random != 0)
        return a->fixed_random++;
    while (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
        ;
    return drawn;
}

static bool choose_port(struct agent *a, struct socket *k)
{
    enum { PORTS = EPHEMERAL_LAST - EPHEMERAL_FIRST + 1 };
    const unsigned start = (unsigned)(random_u32(a) % PORTS);
    for (unsigned i = 0; i < PORTS; i++) {
        k->local.port = (uint16_t)(EPHEMERAL_FIRST + (start + i) % PORTS);
        if (!is_used(a, k))
            return true;
    }
    return false;
}

int port_bind(struct agent *a, struct socket *k, const struct c10m_name *name)
{
    const struct c10m_name before = k->local;
    k->local = *name;
    if (name->port == 0 ? !choose_port(a, k) : port_conflicts(a, k) || time_wait_conflict(a, k)) {
        k->local = before;
        return -EADDRINUSE;
    }
    k->addr_given = !name_is_any(name);
    k->port_chosen = name->port != 0;
    port_register(a, k);
    return 0;
}

void port_register(struct agent *a, struct socket *k)
{
    k->bound = true;
    k->next_bound = a->bound;
    a->bound = k;
}

void port_free(struct agent *a, struct socket *k)
{
    if (!k->bound)
        return;
    struct socket **at = &a->bound;
    while (*at != k)
        at = &(*at)->next_bound;
    *at = k->next_bound;
    k->bound = false;
    if (k->f.kind == FILE_TCP)
        k->port_reported = k->local.port;
    k->local.port = 0;
}

void name_peer(struct c10m_name *name)
{
    if (!name_is_any(name))
        return;
    const bool v4 = name_is_v4(name);
    if (v4)
        name->addr[12] = 127;
    name->addr[15] = 1;
}

void name_any(const struct socket *k, struct c10m_name *name)
{
    *name = (struct c10m_name){.port = 0};
    if (k->domain == AF_INET)
        memcpy(name->addr, v4_prefix, sizeof(v4_prefix));
}

void name_any_addr(struct socket *k)
{
    const uint16_t port = k->local.port;
    name_any(k, &k->local);
    k->local.port = port;
}

// ---- bind

bool name_is_multicast(const struct c10m_name *n)
{
    return name_is_v4(n) ? (n->addr[12] & 0xf0) == 0xe0 : n->addr[0] == 0xff;
}

bool name_is_group(const struct c10m_name *n)
{
    static const uint8_t everybody[4] = {0xff, 0xff, 0xff, 0xff};
    return name_is_multicast(n) || (name_is_v4(n) && memcmp(n->addr + 12, everybody, 4) == 0);
}

bool name_is_bcast_mcast(const struct agent *a, const struct c10m_name *n)
{
    return name_is_group(n) || c10m_is_broadcast(a->s, n->addr);
}

void name_source(const struct agent *a, struct c10m_name *n)
{
    if (!name_is_bcast_mcast(a, n))
        return;
    if (name_is_v4(n))
        memset(n->addr + 12, 0, 4);
    else
        memset(n->addr, 0, 16);
}

static bool may_bind(const struct agent *a, const struct c10m_name *n)
{
    return name_is_any(n) || name_is_bcast_mcast(a, n) || c10m_is_local(a->s, n->addr);
}

// Whether bind() must fail: the socket has a port. A connection that has ended has none, unless
// bind() had set it.
static bool has_name(const struct socket *k)
{
    return k->bound ? has_port(k) : k->state != TCP_IDLE;
}

// The checks of Linux's inet_bind() and inet6_bind(). Returns 0 or -errno.
static int read_local(const struct agent *a, const struct call *c, struct socket *k,
                      struct c10m_name *n)
{
    const bool v6 = k->domain == AF_INET6;
    int rc = name_read(c, k, n);
    // Linux accepts AF_UNSPEC with 0.0.0.0 as AF_INET, for old programs.
    if (rc == -EAFNOSUPPORT && !v6 && name_family(c) == AF_UNSPEC && name_is_any(n))
        rc = 0;
    if (rc != 0)
        return rc;
    if (v6 && name_is_group(n) && !name_is_v4(n) && k->f.kind == FILE_TCP)
        return -EINVAL;
    if (v6 && has_name(k))
        return -EINVAL;
    if (v6 && ((name_is_v4(n) && k->o.v6only) || name_needs_scope(c, k, n)))
        return -EINVAL;
    if (v6 && k->icmp && (name_is_multicast(n) || name_is_v4(n)))  // Linux's ping_check_bind_addr()
        return -EINVAL;
    if (!may_bind(a, n) || (k->icmp && name_is_bcast_mcast(a, n)))
        return -EADDRNOTAVAIL;
    return has_name(k) ? -EINVAL : name_apply_scope(a, c, k, n, true);
}

static void call_return_int(struct agent *a, struct call *c, int rc)
{
    call_return(a, c, rc);
}

// Asks the workers for the state of the connections that use the port or the socket: if they have
// ended, a second attempt of op_bind() succeeds.
static void ask_owners(struct agent *a, struct call *c, uint16_t port)
{
    for (struct socket *o = a->bound; o != NULL; o = o->next_bound)
        if (o->state == TCP_ATTACHED && (o->local.port == port || o == c->socket))
            file_watch(a, &o->f);
    call_fence(a, c, op_bind);
}

void op_bind(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    struct c10m_name n = {.port = 0};
    int rc = read_local(a, c, k, &n);
    if (rc == 0)
        port_free(a, k);
    if (rc == 0)
        rc = port_bind(a, k, &n);
    if ((rc == -EADDRINUSE || (rc == -EINVAL && k->state == TCP_ATTACHED)) && !c->fenced)
        ask_owners(a, c, n.port);
    else if (rc == 0 && k->f.kind == FILE_UDP)
        udp_open(a, c, call_return_int);
    else
        call_return(a, c, rc);
}

// ---- getsockname, getpeername

// Linux's inet_getname(): after TCP has released the port, the old number is reported until the
// socket gets another one (inet_sport).
void op_getsockname(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    struct c10m_name name = k->local;
    if (name.port == 0)
        name.port = k->port_reported;
    name_write(c, k, &name);
    call_return(a, c, 0);
}

// Runs after the worker has reported the state of the connection.
static void peer_step(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    const bool has_peer = k->f.kind == FILE_UDP
                              ? k->is_connected && k->peer.port != 0
                              : k->state == TCP_ATTACHED && k->conn_state == CONN_UP;
    if (has_peer)
        name_write(c, k, &k->peer);
    call_return(a, c, has_peer ? 0 : -ENOTCONN);
}

void op_getpeername(struct agent *a, struct call *c)
{
    if (c->socket->state == TCP_ATTACHED)
        file_watch(a, c->file);
    call_fence(a, c, peer_step);
}
