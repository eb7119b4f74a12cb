// SPDX-License-Identifier: BSD-3-Clause
// Multicast groups of UDP sockets (IP_ADD_MEMBERSHIP, IPV6_JOIN_GROUP), and the interface for
// datagrams to groups (IP_MULTICAST_IF).
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "app/agent/agent.h"

enum { RETRY_US = 1000 };

// membership: a group on a device that a socket has joined.
struct membership {
    uint8_t addr[16];
    unsigned device;
};

// group: a membership of the workers, shared by all sockets with the same membership.
struct group {
    struct group *next;
    struct membership at;
    unsigned users;
    int error;  // errno of the worker that failed to join; the group is then left
    struct fanout *fanout;
};

static bool is_same(const struct membership *x, const struct membership *y)
{
    return x->device == y->device && memcmp(x->addr, y->addr, 16) == 0;
}

static void fill(const struct fanout *f, unsigned worker, struct agent_msg *m)
{
    const struct group *g = f->owner;
    memcpy(m->group.addr, g->at.addr, 16);
    m->group.device = g->at.device;
    m->group.id = f->ids[worker];
}

static void free_group(struct group *g)
{
    fanout_free(g->fanout);
    free(g);
}

void groups_free(struct agent *a)
{
    while (a->groups != NULL) {
        struct group *g = a->groups;
        a->groups = g->next;
        free_group(g);
    }
}

static void left(struct agent *a, struct fanout *f)
{
    struct group *g = f->owner;
    struct call *c = f->call;
    const int error = g->error;
    free_group(g);
    if (c != NULL && --c->lent == 0)
        call_return(a, c, -error);
}

// All workers leave the group. c: the call that waits for it, or NULL.
static void end_group(struct agent *a, struct group *g, struct call *c)
{
    struct group **at = &a->groups;
    while (*at != g)
        at = &(*at)->next;
    *at = g->next;
    g->fanout->call = c;
    if (c != NULL)
        c->lent++;
    fanout_post(a, g->fanout, CMD_LEAVE, fill, left);
}

static struct group *find_group(const struct agent *a, const struct membership *m)
{
    struct group *g = a->groups;
    while (g != NULL && !is_same(&g->at, m))
        g = g->next;
    return g;
}

static struct group *new_group(struct agent *a, const struct membership *m)
{
    struct group *g = calloc(1, sizeof(*g));
    if (g == NULL)
        return NULL;
    g->at = *m;
    g->fanout = fanout_new(a, g);
    if (g->fanout == NULL) {
        free_group(g);
        return NULL;
    }
    g->next = a->groups;
    a->groups = g;
    return g;
}

bool group_has_member(const struct agent *a, const uint8_t addr[16])
{
    const struct group *g = a->groups;
    while (g != NULL && memcmp(g->at.addr, addr, 16) != 0)
        g = g->next;
    return g != NULL;
}

// ---- memberships of a socket

static struct membership *find_member(const struct socket *k, const struct membership *m)
{
    for (unsigned i = 0; i < k->n_members; i++)
        if (memcmp(k->members[i].addr, m->addr, 16) == 0 &&
            (m->device == 0 || m->device == k->members[i].device))
            return &k->members[i];
    return NULL;
}

// Linux's ip_mc_sf_allow() and inet6_mc_check().
bool group_allowed(const struct socket *k, const struct c10m_name *group, unsigned device)
{
    struct membership m = {.device = device};
    memcpy(m.addr, group->addr, 16);
    if (name_is_v4(group) ? k->o.mc_all : k->o.mc6_all)
        return true;
    return find_member(k, &m) != NULL;
}

static bool is_v4(const struct membership *m)
{
    struct c10m_name n;
    memcpy(n.addr, m->addr, 16);
    return name_is_v4(&n);
}

// Linux's igmp_max_memberships, applied to each family.
static bool is_full(const struct socket *k, const struct membership *m)
{
    unsigned n = 0;
    for (unsigned i = 0; i < k->n_members; i++)
        n += is_v4(&k->members[i]) == is_v4(m);
    return n == AGENT_MEMBERSHIPS_MAX;
}

static bool add_member(struct socket *k, const struct membership *m)
{
    if (k->members == NULL)
        k->members = calloc(2 * (size_t)AGENT_MEMBERSHIPS_MAX, sizeof(*k->members));
    if (k->members == NULL)
        return false;
    k->members[k->n_members++] = *m;
    return true;
}

static void drop_member(struct socket *k, struct membership *m)
{
    *m = k->members[--k->n_members];
}

static void unuse(struct agent *a, const struct membership *m, struct call *c)
{
    struct group *g = find_group(a, m);
    if (g != NULL && --g->users == 0)
        end_group(a, g, c);
}

void group_leave_all(struct agent *a, struct socket *k, struct call *c)
{
    while (k->n_members != 0)
        unuse(a, &k->members[--k->n_members], c);
    free(k->members);
    k->members = NULL;
}

// ---- join

// Runs after all workers have answered. If one worker failed, the others leave the group.
static void joined(struct agent *a, struct fanout *f)
{
    struct group *g = f->owner;
    struct call *c = f->call;
    struct socket *k = c->socket;
    struct membership *m = find_member(k, &g->at);
    f->call = NULL;
    c->lent--;
    k->f.busy = false;
    g->error = f->error;
    if (f->error != 0) {
        if (m != NULL)
            drop_member(k, m);
        end_group(a, g, c);
    }
    file_wake(a, &k->f, EDGE_ALL);
    if (c->lent == 0)
        call_return(a, c, 0);
}

// The device with the given index, or with the given local address, or else the one of the route to
// the group. 0: there is none.
static unsigned find_device(const struct agent *a, const struct group_request *r)
{
    if (r->device != 0)
        return c10m_device_name(a->s, (unsigned)r->device) != NULL ? (unsigned)r->device : 0;
    if (!name_is_any(&r->interface))
        return c10m_device_of(a->s, r->interface.addr);
    return c10m_device_to(a->s, &r->group, 0, NULL);
}

static void join_group(struct agent *a, struct call *c, const struct membership *m)
{
    struct group *g = find_group(a, m);
    if (g != NULL) {
        g->users++;
        call_return(a, c, 0);
        return;
    }
    g = new_group(a, m);
    if (g == NULL) {
        drop_member(c->socket, find_member(c->socket, m));
        call_return(a, c, -ENOBUFS);
        return;
    }
    g->users = 1;
    g->fanout->call = c;
    c->socket->f.busy = true;
    c->lent++;
    fanout_post(a, g->fanout, CMD_JOIN, fill, joined);
}

static void retry(struct agent *a, struct call *c)
{
    group_option(a, c);
}

static void join(struct agent *a, struct call *c, const struct group_request *r)
{
    struct socket *k = c->socket;
    struct membership m = {.device = find_device(a, r)};
    int rc = 0;
    memcpy(m.addr, r->group.addr, 16);
    if (!name_is_multicast(&r->group) || (r->is_v6 && name_is_v4(&r->group)))
        rc = -EINVAL;
    else if (m.device == 0)
        rc = -ENODEV;
    else if (find_member(k, &m) != NULL)
        rc = -EADDRINUSE;
    else if (is_full(k, &m))
        rc = -ENOBUFS;
    const struct group *g = rc == 0 ? find_group(a, &m) : NULL;
    if (g != NULL && g->fanout->left != 0) {  // another call is joining the group on the workers
        c->deadline_us = a->now_us + RETRY_US;
        call_block(a, c, NULL, retry);
        return;
    }
    if (rc == 0 && !add_member(k, &m))
        rc = -ENOBUFS;
    if (rc == 0)
        join_group(a, c, &m);
    else
        call_return(a, c, rc);
}

static void leave(struct agent *a, struct call *c, const struct group_request *r)
{
    struct socket *k = c->socket;
    struct membership m = {.device = 0};
    if (r->device != 0 || !name_is_any(&r->interface))
        m.device = find_device(a, r);
    memcpy(m.addr, r->group.addr, 16);
    struct membership *found = find_member(k, &m);
    if (r->is_v6 && !name_is_multicast(&r->group)) {
        call_return(a, c, -EINVAL);
    } else if (found == NULL) {
        call_return(a, c, -EADDRNOTAVAIL);
    } else {
        m = *found;
        drop_member(k, found);
        c->lent++;
        unuse(a, &m, c);
        if (--c->lent == 0)
            call_return(a, c, 0);
    }
}

// ---- options

static void set_v4(struct c10m_name *n, const uint8_t addr[4])
{
    *n = (struct c10m_name){.addr = {[10] = 0xff, [11] = 0xff}};
    memcpy(n->addr + 12, addr, 4);
}

// Parses struct ip_mreq, ip_mreqn or ipv6_mreq. Returns 0 or -errno.
static int read_request(const struct call *c, struct group_request *r)
{
    const uint32_t n = c->r->data_bytes;
    const uint8_t *d = c->r->data;
    *r = (struct group_request){.is_v6 = c->r->a[0] == IPPROTO_IPV6};
    if (r->is_v6) {
        if (n < sizeof(struct ipv6_mreq))
            return -EINVAL;
        memcpy(r->group.addr, d, 16);
        memcpy(&r->device, d + 16, sizeof(r->device));
        return 0;
    }
    if (n < sizeof(struct ip_mreq))
        return -EINVAL;
    set_v4(&r->group, d);
    set_v4(&r->interface, d + 4);
    if (n >= sizeof(struct ip_mreqn))
        memcpy(&r->device, d + 8, sizeof(r->device));
    return 0;
}

static void membership_option(struct agent *a, struct call *c, bool joins)
{
    struct group_request r;
    const bool tcp = c->socket->f.kind == FILE_TCP;
    const int rc = tcp && c->r->a[0] == IPPROTO_IP ? -EPROTO : read_request(c, &r);
    if (rc != 0 || tcp)
        call_return(a, c, rc != 0 ? rc : -EPROTO);
    else if (joins)
        join(a, c, &r);
    else
        leave(a, c, &r);
}

// IP_MULTICAST_IF: the value is a struct in_addr, ip_mreq or ip_mreqn. Returns 0 or -errno.
static int set_interface(struct agent *a, struct call *c)
{
    struct socket *k = c->socket;
    const uint32_t n = c->r->data_bytes;
    const uint8_t *d = c->r->data;
    struct c10m_name addr;
    int device = 0;
    if (k->f.kind == FILE_TCP || n < sizeof(struct in_addr))
        return -EINVAL;
    set_v4(&addr, n >= sizeof(struct ip_mreq) ? d + 4 : d);
    if (n >= sizeof(struct ip_mreqn))
        memcpy(&device, d + 8, sizeof(device));
    if (device == 0 && !name_is_any(&addr)) {
        device = (int)c10m_device_of(a->s, addr.addr);
        if (device == 0)
            return -EADDRNOTAVAIL;
    } else if (device != 0 && c10m_device_name(a->s, (unsigned)device) == NULL) {
        return -EADDRNOTAVAIL;
    }
    if (k->device != 0 && device != 0 && k->device != (unsigned)device)
        return -EINVAL;
    k->o.mc_device = device;
    memcpy(k->o.mc_addr, addr.addr + 12, sizeof(k->o.mc_addr));
    return 0;
}

bool group_option(struct agent *a, struct call *c)
{
    const bool v4 = c->r->a[0] == IPPROTO_IP, v6 = c->r->a[0] == IPPROTO_IPV6;
    const int64_t name = c->r->a[1];
    if ((v4 && name == IP_ADD_MEMBERSHIP) || (v6 && name == IPV6_JOIN_GROUP))
        membership_option(a, c, true);
    else if ((v4 && name == IP_DROP_MEMBERSHIP) || (v6 && name == IPV6_LEAVE_GROUP))
        membership_option(a, c, false);
    else if (v4 && name == IP_MULTICAST_IF)
        call_return(a, c, set_interface(a, c));
    else
        return false;
    return true;
}
