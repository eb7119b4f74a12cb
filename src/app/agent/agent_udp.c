// SPDX-License-Identifier: BSD-3-Clause
// UDP sockets. The thread has their receive queues; a worker sends their datagrams.
#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "app/agent/agent.h"

enum {
    UDP_BYTES_MAX = 65535 - 8,
    ICMP_HEAD_BYTES = 8,
    ICMP_ECHO = 8,  // RFC 792
    ICMP6_ECHO_REQUEST = 128,
    DATAGRAM_COST = 576,  // Linux's overhead of a datagram in SO_RCVBUF, bytes
    SEND_TRIES = 64,      // attempts while the worker answers ENOBUFS
    ALL_BITS = POLLIN | POLLRDNORM,
};

// received: a datagram in a socket's queue.
struct received {
    struct received *next;
    struct c10m_name from;
    uint32_t bytes;
    uint8_t data[];
};

// udp_port: an address and port that are open on the workers, shared by all sockets with this name.
struct udp_port {
    struct udp_port *next;
    struct c10m_name at;
    bool v6only;
    unsigned device;
    bool icmp;
    unsigned users;
    bool closing, has_peer;
    struct c10m_name peer;  // the peer that was sent to the workers
    struct fanout *fanout;
};

// ---- ports on the workers

static bool is_same(const struct c10m_name *x, const struct c10m_name *y)
{
    return x->port == y->port && memcmp(x->addr, y->addr, 16) == 0;
}

static void fill_port(const struct fanout *f, unsigned worker, struct agent_msg *m)
{
    const struct udp_port *p = f->owner;
    m->udp.at = p->at;
    m->udp.v6only = p->v6only;
    m->udp.device = p->device;
    m->udp.icmp = p->icmp;
    m->udp.id = f->ids[worker];
    m->udp.peer = p->peer;
    m->udp.has_peer = p->has_peer;
}

static void port_closed(struct agent *a, struct fanout *f)
{
    struct call *c = f->call;
    if (c != NULL && --c->lent == 0)
        call_return(a, c, 0);
    free(f->owner);
    fanout_free(f);
}

static void update_port(struct agent *a, struct fanout *f);

// The last socket closes the port. c: the close() call that waits for it, or NULL.
static void unuse_port(struct agent *a, struct udp_port *p, struct call *c)
{
    if (--p->users != 0) {
        update_port(a, p->fanout);
        return;
    }
    struct udp_port **at = &a->udp_ports;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
    p->fanout->call = c;
    if (c != NULL)
        c->lent++;
    p->closing = true;
    if (p->fanout->left == 0)
        fanout_post(a, p->fanout, CMD_UDP_CLOSE, fill_port, port_closed);
}

// The socket of the port if it is the only one and connected; otherwise NULL.
static const struct socket *only_user(const struct agent *a, const struct udp_port *p)
{
    const struct socket *k = a->bound;
    if (p->users != 1)
        return NULL;
    while (k != NULL && k->port != p)
        k = k->next_bound;
    return k != NULL && k->is_connected && !k->icmp ? k : NULL;
}

// If a connected socket is the only one on the port, the workers accept datagrams of its peer only
// and answer those of other senders by ICMP port unreachable. This function runs again after the
// workers have answered, for changes that were made before.
static void update_port(struct agent *a, struct fanout *f)
{
    struct udp_port *p = f->owner;
    if (f->left != 0)
        return;
    if (p->closing) {
        fanout_post(a, f, CMD_UDP_CLOSE, fill_port, port_closed);
        return;
    }
    const struct socket *k = only_user(a, p);
    if ((k != NULL) == p->has_peer && (k == NULL || is_same(&k->peer, &p->peer)))
        return;
    p->has_peer = k != NULL;
    if (k != NULL)
        p->peer = k->peer;
    fanout_post(a, f, CMD_UDP_PEER, fill_port, update_port);
}

static struct udp_port *find_port(struct agent *a, const struct socket *k)
{
    struct udp_port *p = a->udp_ports;
    while (p != NULL &&
           (memcmp(p->at.addr, k->local.addr, 16) != 0 || p->at.port != k->local.port ||
            p->v6only != k->o.v6only || p->device != k->device || p->icmp != k->icmp))
        p = p->next;
    return p;
}

static struct udp_port *new_port(struct agent *a, const struct socket *k)
{
    struct udp_port *p = calloc(1, sizeof(*p));
    if (p == NULL)
        return NULL;
    p->fanout = fanout_new(a, p);
    if (p->fanout == NULL) {
        free(p);
        return NULL;
    }
    p->at = k->local;
    p->v6only = k->o.v6only;
    p->device = k->device;
    p->icmp = k->icmp;
    p->users = 1;
    p->next = a->udp_ports;
    a->udp_ports = p;
    return p;
}

static void port_opened(struct agent *a, struct fanout *f)
{
    struct udp_port *p = f->owner;
    struct call *c = f->call;
    struct socket *k = c->socket;
    const int error = f->error;
    f->call = NULL;
    c->lent--;
    k->f.busy = false;
    if (error != 0) {
        k->port = NULL;
        port_free(a, k);
        unuse_port(a, p, NULL);
    }
    file_wake(a, &k->f, EDGE_ALL);
    c->opened(a, c, -error);
}

void udp_open(struct agent *a, struct call *c,
              void (*then)(struct agent *a, struct call *c, int rc))
{
    struct socket *k = c->socket;
    k->port = find_port(a, k);
    if (k->port != NULL) {
        k->port->users++;
        update_port(a, k->port->fanout);
        then(a, c, 0);
        return;
    }
    k->port = new_port(a, k);
    if (k->port == NULL) {
        port_free(a, k);
        then(a, c, -ENOBUFS);
        return;
    }
    c->opened = then;
    c->lent++;
    k->f.busy = true;
    k->port->fanout->call = c;
    fanout_post(a, k->port->fanout, CMD_UDP_OPEN, fill_port, port_opened);
}

void udp_rebind(struct agent *a, struct call *c,
                void (*then)(struct agent *a, struct call *c, int rc))
{
    struct udp_port *old = c->socket->port;
    c->socket->port = NULL;
    unuse_port(a, old, NULL);
    udp_open(a, c, then);
}

// Binds a socket without a port before it sends or connects.
static void with_port(struct agent *a, struct call *c,
                      void (*then)(struct agent *a, struct call *c, int rc))
{
    struct socket *k = c->socket;
    const struct c10m_name any = k->local;
    const int rc = k->bound ? 0 : port_bind(a, k, &any);
    if (k->port != NULL || rc != 0)
        then(a, c, rc == 0 ? 0 : -EAGAIN);
    else
        udp_open(a, c, then);
}

// ---- receiving

// Linux's compute_score(): a socket that specifies more of address, peer, device and family has a
// higher score; the local address counts most, as in Linux's two look-ups. -1: the socket does not
// match.
static int score(const struct socket *k, const struct c10m_name *here, const struct c10m_name *peer,
                 const struct datagram *d)
{
    enum { FAMILY = 1, DEVICE = 2, PEER = 4, ADDRESS = 8 };
    int n = k->domain == AF_INET ? FAMILY : 0;
    if (k->icmp != d->icmp || (k->device != 0 && k->device != d->device))
        return -1;
    if (k->device != 0)
        n += DEVICE;
    if (k->f.kind != FILE_UDP || k->local.port != here->port ||
        (name_is_v4(here) ? k->domain == AF_INET6 && k->o.v6only : k->domain == AF_INET))
        return -1;
    if (!name_is_any(&k->local)) {
        if (memcmp(k->local.addr, here->addr, 16) != 0)
            return -1;
        n += ADDRESS;
    }
    if (k->is_connected && !k->icmp) {  // Linux's ping_lookup() ignores the peer
        if (!is_same(&k->peer, peer))
            return -1;
        n += PEER;
    }
    return n;
}

// The socket with the highest score. Among equal ones, a hash of the peer selects one if they have
// SO_REUSEPORT; otherwise the one that was bound last.
static struct socket *find_receiver(struct agent *a, const struct c10m_name *here,
                                    const struct c10m_name *peer, const struct datagram *d)
{
    struct socket *best = NULL;
    int most = -1;
    unsigned alike = 0;
    for (struct socket *k = a->bound; k != NULL; k = k->next_bound) {
        const int n = score(k, here, peer, d);
        if (n < 0 || n < most)
            continue;
        alike = n > most ? 1 : alike + 1;
        if (n > most || (k->o.reuse_port && name_hash(peer) % alike == 0))
            best = k;
        most = n;
    }
    return best;
}

static int queue(struct socket *k, const struct datagram *d)
{
    const uint32_t cost = d->bytes + DATAGRAM_COST;
    struct received *r = NULL;
    if (k->received_bytes + cost <= (uint32_t)k->o.rcvbuf)
        r = malloc(sizeof(*r) + d->bytes);
    if (r == NULL)
        return -ENOBUFS;
    r->next = NULL;
    r->from = d->from;
    r->bytes = d->bytes;
    memcpy(r->data, d->data, d->bytes);
    if (k->first_received == NULL)
        k->first_received = r;
    else
        k->last_received->next = r;
    k->last_received = r;
    k->received_bytes += cost;
    return 0;
}

static int deliver_one(struct agent *a, const struct datagram *d)
{
    struct socket *k = find_receiver(a, &d->to, &d->from, d);
    const int rc = k == NULL ? -ENOENT : queue(k, d);
    if (rc == 0)
        file_wake(a, &k->f, ALL_BITS);
    return rc;
}

static struct socket *first_to_wake(const struct agent *a)
{
    struct socket *k = a->bound;
    while (k != NULL && !k->to_wake)
        k = k->next_bound;
    return k;
}

// Delivers a broadcast or multicast datagram to each socket that matches.
static int deliver_all(struct agent *a, const struct datagram *d)
{
    const bool multicast = name_is_multicast(&d->to);
    int rc = -ENOENT;
    for (struct socket *k = a->bound; k != NULL; k = k->next_bound) {
        if (score(k, &d->to, &d->from, d) < 0 ||
            (multicast && !group_allowed(k, &d->to, d->device)))
            continue;
        const int one = queue(k, d);
        k->to_wake = one == 0;
        rc = rc == 0 ? 0 : one;
    }
    for (struct socket *k; (k = first_to_wake(a)) != NULL;) {
        k->to_wake = false;
        file_wake(a, &k->f, ALL_BITS);  // a woken call may close other sockets
    }
    return rc;
}

void udp_arrived(struct agent *a, struct agent_msg *m)
{
    const struct datagram *d = m->owner;
    struct socket *k = d->error != 0 ? find_receiver(a, &d->from, &d->to, d) : NULL;
    m->ret = 0;
    if (d->error == 0) {
        m->ret = name_is_bcast_mcast(a, &d->to) ? deliver_all(a, d) : deliver_one(a, d);
    } else if (k != NULL && k->is_connected) {
        k->error = d->error;
        file_wake(a, &k->f, EDGE_ALL);
    }
    post(a, m->worker, m, CMD_DATAGRAM_BACK, NULL, m->owner);
}

static void drop_first(struct socket *k)
{
    struct received *r = k->first_received;
    k->first_received = r->next;
    k->received_bytes -= r->bytes + DATAGRAM_COST;
    free(r);
}

static void return_datagram(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const struct received *r = k->first_received;
    const uint32_t all = r->bytes, n = all < c->want ? all : (uint32_t)c->want;
    memcpy(c->reply->data, r->data, n);
    name_write(c, k, &r->from);
    if (!(c->flags & MSG_PEEK))
        drop_first(k);
    call_return_data(a, c, (c->flags & MSG_TRUNC) && !k->icmp ? all : n, n);
}

// Linux's __skb_recv_udp(), with its order: error, datagram, would block, shutdown.
static void receive_step(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int error = socket_error(k);
    if (error != 0)
        call_return(a, c, -error);
    else if (k->first_received != NULL && !c->gone)
        return_datagram(a, c);
    else if (!c->fenced)
        call_fence(a, c, receive_step);
    else if (c->nonblock || c->timed_out)
        call_return(a, c, -EAGAIN);
    else if (k->shut_in)
        call_return(a, c, 0);
    else
        call_block(a, c, &k->f, receive_step);
}

void udp_receive(struct agent *a, struct call *c)
{
    receive_step(a, c);
}

// ---- sending

// corked: the data of several sends with MSG_MORE, which become one datagram to the address of the
// first one.
struct corked {
    struct c10m_name to;
    uint32_t bytes;
    uint8_t data[UDP_BYTES_MAX];
};

// Linux's ip_append_data(): if the data becomes longer than a datagram, all of it is discarded.
static int cork(struct call *c)
{
    struct socket *k = c->socket;
    struct corked *more = k->corked != NULL ? k->corked : calloc(1, sizeof(*more));
    if (more == NULL)
        return -ENOBUFS;
    if (k->corked == NULL)
        more->to = c->name;
    k->corked = more;
    if (more->bytes + c->r->data_bytes > UDP_BYTES_MAX) {
        udp_cork_free(k);
        return -EMSGSIZE;
    }
    memcpy(more->data + more->bytes, c->r->data, c->r->data_bytes);
    more->bytes += c->r->data_bytes;
    return 0;
}

void udp_cork_free(struct socket *k)
{
    free(k->corked);
    k->corked = NULL;
}

unsigned udp_worker(const struct agent *a, const struct socket *k, const struct c10m_name *peer)
{
    return c10m_home_by(a->s, &(struct c10m_opening){k->local, *peer, k->device});
}

// The device through which a datagram leaves: that of the socket, or else of sin6_scope_id, or for
// multicast of IP_MULTICAST_IF or IPV6_MULTICAST_IF. 0: the route decides.
static unsigned device_to(const struct call *c, const struct socket *k, const struct c10m_name *to)
{
    if (k->device != 0)
        return k->device;
    if (c->scope != 0)
        return c->scope;
    if (!name_is_multicast(to))
        return 0;
    return (unsigned)(name_is_v4(to) ? k->o.mc_device : k->o.mc6_device);
}

static void send_step(struct agent *a, struct call *c);

// Linux's ip_mc_output() and ip6_finish_output2(): whether a broadcast or multicast datagram is
// also delivered to sockets of this agent. For multicast, the group needs a member and
// IP_MULTICAST_LOOP.
static bool is_looped_back(const struct agent *a, const struct socket *k,
                           const struct c10m_name *to)
{
    static const uint8_t systems[16] = {[10] = 0xff, [11] = 0xff, [12] = 224, [15] = 1};
    static const uint8_t nodes[16] = {[0] = 0xff, [1] = 2, [15] = 1};
    if (!name_is_multicast(to))
        return name_is_bcast_mcast(a, to);
    const bool joined = memcmp(to->addr, systems, 16) == 0 || memcmp(to->addr, nodes, 16) == 0 ||
                        group_has_member(a, to->addr);
    return joined && (name_is_v4(to) ? k->o.mc_loop : k->o.mc6_loop);
}

static void loop_back(struct agent *a, const struct call *c)
{
    const struct c10m_packet *p = &c->msg.packet;
    const struct datagram d = {.from = p->from,
                               .device = c10m_device_of(a->s, p->from.addr),
                               .to = p->to,
                               .bytes = (uint32_t)p->len,
                               .data = (uint8_t *)(uintptr_t)p->data};
    if (is_looped_back(a, c->socket, &p->to))
        deliver_all(a, &d);
}

static void send_done(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    c->lent--;
    if (m->ret == -ENOBUFS && ++c->tries < SEND_TRIES) {
        send_step(a, c);
        return;
    }
    if (m->ret == 0)
        loop_back(a, c);
    free(c->corked);
    c->corked = NULL;
    call_return(a, c, m->ret == 0 ? c->want : m->ret);
}

// Sets the source address of a broadcast or multicast datagram: the socket's local address if it is
// a unicast address, or else that of IP_MULTICAST_IF, or else that of the device.
static void set_source(const struct agent *a, const struct socket *k, struct c10m_packet *p)
{
    static const uint8_t zeros[4];
    const bool v4 = name_is_v4(&p->to);
    if (!name_is_any(&k->local) && !name_is_bcast_mcast(a, &k->local))
        return;
    if (v4 && name_is_multicast(&p->to) && memcmp(k->o.mc_addr, zeros, 4) != 0) {
        memcpy(p->from.addr, p->to.addr, 12);
        memcpy(p->from.addr + 12, k->o.mc_addr, 4);
    } else {
        c10m_device_to(a->s, &p->to, p->device, &p->from);
    }
}

// The TTL or hop limit of a datagram to `to`. 0: the datagram is delivered on this host only.
static uint8_t ttl_of(const struct socket *k, const struct c10m_name *to, uint8_t usual)
{
    if (!name_is_multicast(to))
        return usual;
    return (uint8_t)(name_is_v4(to) ? k->o.mc_ttl : k->o.mc6_hops);
}

static void send_step(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    struct agent_options o;
    options_of(a, k, &o);
    c->msg.packet = (struct c10m_packet){
        .from = k->local,
        .to = c->name,
        .ttl = ttl_of(k, &c->name, o.ttl),
        .tos = o.tos,
        .df = o.df != 0,
        .device = device_to(c, k, &c->name),
        .whole = option_whole(k),
        .icmp = k->icmp,
        .data = c->corked != NULL ? c->corked->data : c->r->data,
        .len = c->corked != NULL ? c->corked->bytes : c->r->data_bytes,
    };
    name_source(a, &c->msg.packet.from);
    if (name_is_bcast_mcast(a, &c->name))
        set_source(a, k, &c->msg.packet);
    c->lent++;
    if (c->msg.packet.ttl == 0)  // TTL 0: deliver it on this host only
        post(a, 0, &c->msg, CMD_FENCE, send_done, c);
    else
        post(a, udp_worker(a, k, &c->name), &c->msg, CMD_UDP_SEND, send_done, c);
}

static bool may_not_send(const struct agent *a, const struct socket *k, const struct c10m_name *to)
{
    return !k->o.broadcast && c10m_is_broadcast(a->s, to->addr);
}

// The destination, with the checks of Linux's udp_sendmsg() and udpv6_sendmsg(). Returns 0 or
// -errno.
static int read_target(const struct call *c, const struct socket *k, struct c10m_name *to)
{
    const bool is_unspec = name_family(c) == AF_UNSPEC;
    *to = k->peer;
    if (c->r->op != AGENT_SENDTO || c->r->addr_bytes == 0 || (k->domain == AF_INET6 && is_unspec))
        return k->is_connected ? 0 : -EDESTADDRREQ;
    struct socket as = *k;
    if (k->domain == AF_INET6 && name_family(c) == AF_INET && !k->icmp)
        as.domain = AF_INET;
    int rc = name_read(c, &as, to);
    if (rc == -EAFNOSUPPORT && k->domain == AF_INET && is_unspec && !k->icmp)
        rc = 0;
    if (rc == -EAFNOSUPPORT && k->domain == AF_INET6 && !k->icmp)
        rc = -EINVAL;
    if (rc != 0)
        return rc;
    name_peer(to);
    if (k->domain == AF_INET6 && k->o.v6only && name_is_v4(to))
        return -ENETUNREACH;
    if (k->icmp && k->domain == AF_INET6 && name_is_v4(to))
        return -EINVAL;
    return to->port == 0 && !k->icmp ? -EINVAL : 0;
}

// Checks the destination of a datagram. Data held by MSG_MORE keeps the destination of its first
// part. Returns 0 or -errno.
static int check_target(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    if (k->corked != NULL) {
        c->name = k->corked->to;
        return 0;
    }
    int rc = read_target(c, k, &c->name);
    c->scope = rc == 0 && c->r->addr_bytes != 0 ? name_scope(c, k, &c->name) : 0;
    if (rc == 0 && c->scope != 0 && c10m_device_name(a->s, c->scope) == NULL)
        rc = -ENODEV;
    return rc == 0 && may_not_send(a, k, &c->name) ? -EACCES : rc;
}

// Linux's ping_common_sendmsg(): ping sockets send echo requests only. Returns 0 or -errno.
static int check_echo(const struct call *c, const struct socket *k)
{
    const uint8_t request = k->domain == AF_INET ? ICMP_ECHO : ICMP6_ECHO_REQUEST;
    if (c->want > UINT16_MAX)
        return -EMSGSIZE;
    if (c->want < ICMP_HEAD_BYTES)
        return -EINVAL;
    if (c->flags & MSG_OOB)
        return -EOPNOTSUPP;
    return c->r->data[0] != request || c->r->data[1] != 0 ? -EINVAL : 0;
}

static void send_bound(struct agent *a, struct call *c, int rc)
{
    struct socket *k = c->socket;
    const bool more = (c->flags & MSG_MORE) != 0 && !k->icmp;
    if (rc == 0 && k->icmp)
        rc = check_echo(c, k);
    else if (rc == 0 && c->want > UDP_BYTES_MAX)
        rc = -EMSGSIZE;
    if (rc == 0)
        rc = check_target(a, c);
    if (rc == 0 && (c->flags & MSG_OOB) && name_is_v4(&c->name))
        rc = -EOPNOTSUPP;
    if (rc == 0)
        rc = -socket_error(k);
    if (rc == 0 && k->shut_out)
        rc = -EPIPE;
    if (rc == 0 && (more || k->corked != NULL))
        rc = cork(c);
    if (rc != 0 || more) {
        call_return(a, c, rc != 0 ? rc : c->want);
        return;
    }
    c->tries = 0;
    c->corked = k->corked;
    k->corked = NULL;
    send_step(a, c);
}

void udp_send(struct agent *a, struct call *c)
{
    with_port(a, c, send_bound);
}

// ---- connect

static void connected(struct agent *a, struct call *c)
{
    call_return(a, c, 0);
}

// Sends the peer to the workers and waits for them before the call returns: afterwards other
// senders get ICMP port unreachable.
static void path_found(struct agent *a, struct agent_msg *m)
{
    struct call *c = m->owner;
    struct socket *k = c->socket;
    c->lent--;
    if (m->ret <= 0) {
        call_return(a, c, -ENETUNREACH);
        return;
    }
    k->is_connected = true;
    k->connect = CONNECTED;
    k->peer = c->name;
    if (name_is_any(&k->local)) {  // connect() sets the local address (Linux's inet_rcv_saddr)
        struct c10m_packet p = {
            .from = k->local, .to = k->peer, .device = device_to(c, k, &k->peer)};
        memcpy(p.from.addr, m->udp.peer.addr, sizeof(p.from.addr));
        if (name_is_bcast_mcast(a, &k->peer))
            set_source(a, k, &p);
        memcpy(k->local.addr, p.from.addr, sizeof(k->local.addr));
    }
    if (k->port != NULL)  // NULL: disconnected during the call
        update_port(a, k->port->fanout);
    call_fence(a, c, connected);
}

static void connect_bound(struct agent *a, struct call *c, int rc)
{
    struct socket *k = c->socket;
    if (rc == 0)
        rc = name_read(c, k, &c->name);
    if (rc == 0)
        name_peer(&c->name);
    if (rc == 0 && may_not_send(a, k, &c->name))
        rc = -EACCES;
    if (rc == 0 && k->domain == AF_INET6 && k->o.v6only && name_is_v4(&c->name))
        rc = -ENETUNREACH;
    if (rc == 0 && name_needs_scope(c, k, &c->name) &&
        !(name_is_multicast(&c->name) && k->o.mc6_device))
        rc = -EINVAL;
    if (rc == 0)
        rc = name_apply_scope(a, c, k, &c->name, false);
    if (rc != 0) {
        call_return(a, c, rc);
        return;
    }
    c->msg.udp.at = c->name;
    c->msg.udp.device = device_to(c, k, &c->name);
    c->lent++;
    post(a, udp_worker(a, k, &c->name), &c->msg, CMD_UDP_MTU, path_found, c);
}

static void unbound(struct agent *a, struct call *c, int rc)
{
    call_return(a, c, rc);
}

// Linux's __udp_disconnect(), which also removes the device.
static void disconnect(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const bool had_device = k->device != 0;
    device_assign(k, 0, "");
    k->is_connected = false;
    k->connect = UNCONNECTED;
    k->peer = (struct c10m_name){.port = 0};
    if (!k->addr_given)
        name_any_addr(k);
    if (!k->port_chosen && k->port != NULL) {
        udp_close_port(a, k, NULL);
    } else if (k->port != NULL && had_device) {
        udp_rebind(a, c, unbound);
        return;
    } else if (k->port != NULL) {
        update_port(a, k->port->fanout);
    }
    call_return(a, c, 0);
}

// Linux's inet_dgram_connect(): a second connect() replaces the peer.
void udp_connect(struct agent *a, struct call *c)
{
    if (c->r->addr_bytes < sizeof(sa_family_t))
        call_return(a, c, -EINVAL);
    else if (name_family(c) == AF_UNSPEC)
        disconnect(a, c);
    else
        with_port(a, c, connect_bound);
}

// ---- poll, shutdown, ioctl, close

uint32_t udp_mask(const struct socket *k)
{
    uint32_t mask = POLLOUT | POLLWRNORM | POLLWRBAND;
    if (k->error != 0)
        mask |= POLLERR;
    if (k->shut_in)
        mask |= POLLRDHUP | POLLIN | POLLRDNORM;
    if (k->shut_in && k->shut_out)
        mask |= POLLHUP;
    if (k->first_received != NULL)
        mask |= POLLIN | POLLRDNORM;
    return mask;
}

void udp_shutdown(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const int64_t how = c->r->a[0] + 1;
    k->shut_in |= (how & 1) != 0;
    k->shut_out |= (how & 2) != 0;
    file_wake(a, &k->f, EDGE_ALL);
    call_return(a, c, k->is_connected ? 0 : -ENOTCONN);
}

// SIOCINQ: the size of the next datagram.
void udp_ioctl(struct agent *a, struct call *c)
{
    const struct socket *k = c->socket;
    if (k->icmp) {
        call_return(a, c, -ENOTTY);
        return;
    }
    const bool in = c->r->a[0] == SIOCINQ && k->first_received != NULL;
    const int value = in ? (int)k->first_received->bytes : 0;
    memcpy(c->reply->data, &value, sizeof(value));
    call_return_data(a, c, 0, sizeof(value));
}

void udp_queue_free(struct socket *k)
{
    while (k->first_received != NULL)
        drop_first(k);
}

void udp_ports_free(struct agent *a)
{
    while (a->udp_ports != NULL) {
        struct udp_port *p = a->udp_ports;
        a->udp_ports = p->next;
        fanout_free(p->fanout);
        free(p);
    }
}

void udp_close_port(struct agent *a, struct socket *k, struct call *c)
{
    struct udp_port *p = k->port;
    k->port = NULL;
    port_free(a, k);
    if (p != NULL)
        unuse_port(a, p, c);
}

void udp_release(struct agent *a, struct socket *k, struct call *c)
{
    udp_queue_free(k);
    udp_cork_free(k);
    group_leave_all(a, k, c);
    a->n_listening--;
    udp_close_port(a, k, c);
}
