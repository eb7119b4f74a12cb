// SPDX-License-Identifier: BSD-3-Clause
// The calls of c10m/app.h and c10m/socket.h that any thread makes: callbacks on the workers and
// threads of services. They read what the control thread writes before the first of those runs: the
// server's parameters, and addresses and routes of the first worker. A port that follows Linux
// changes these while they run: each answer is then from before the change, or from after it.
#include "c10m/socket.h"
#include "server/server_internal.h"
#include "worker/egress.h"

unsigned c10m_workers(const struct c10m_service *s)
{
    return server_of(s)->params.n_workers;
}

// As init_local() of net.c has it: prefixes of 31 and 32 bits have none (RFC 3021).
static bool is_broadcast_of(const struct net_local *l, const struct ip_addr *a)
{
    return ip_is_v4(&l->addr) && l->prefix_bits <= 30 &&
           ip_in_prefix(a, &l->addr, l->prefix_bits) &&
           (ip_to_v4(a) | ~(UINT32_MAX >> l->prefix_bits)) == UINT32_MAX;
}

static bool is_broadcast_in(const struct server_params *p, const uint8_t addr[16])
{
    struct ip_addr a;
    memcpy(a.b, addr, sizeof(a.b));
    bool is = ip_is_v4(&a) && ip_to_v4(&a) == UINT32_MAX;
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            is |= is_broadcast_of(&p->ports[i].net.locals[k], &a);
    return is;
}

bool c10m_is_broadcast(const struct c10m_service *s, const uint8_t addr[16])
{
    const struct server *server = server_of(s);
    bool is = false;
    for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
        n = seq_count_read(&server->locals_changes);
        is = is_broadcast_in(&server->params, addr);
        if (seq_count_same(&server->locals_changes, n))
            break;
    }
    return is;
}

unsigned c10m_device_find(const struct c10m_service *s, const char *name)
{
    const struct server_params *p = &server_of(s)->params;
    for (unsigned i = 0; i < p->n_ports; i++)
        if (strcmp(p->ports[i].port.name, name) == 0)
            return i + 1;
    for (unsigned i = 0; i < p->n_ports; i++) {
        const char *device = p->ports[i].port.device;
        if (device != NULL && device[0] != '\0' && strcmp(device, name) == 0)
            return i + 1;
    }
    return 0;
}

const char *c10m_device_name(const struct c10m_service *s, unsigned device)
{
    const struct server_params *p = &server_of(s)->params;
    return device == 0 || device > p->n_ports ? NULL : p->ports[device - 1].port.name;
}

// device_in: the device with this address; 0: none, also for a place without an address.
static unsigned device_in(const struct server_params *p, const uint8_t addr[16])
{
    struct ip_addr a;
    memcpy(a.b, addr, sizeof(a.b));
    for (unsigned i = 0; i < p->n_ports; i++)
        for (unsigned k = 0; k < p->ports[i].net.n_locals; k++)
            if (memcmp(p->ports[i].net.locals[k].addr.b, addr, 16) == 0)
                return ip_is_any(&a) ? 0 : i + 1;
    return 0;
}

unsigned c10m_device_of(const struct c10m_service *s, const uint8_t addr[16])
{
    const struct server *server = server_of(s);
    unsigned device = 0;
    for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
        n = seq_count_read(&server->locals_changes);
        device = device_in(&server->params, addr);
        if (seq_count_same(&server->locals_changes, n))
            break;
    }
    return device;
}

uint32_t c10m_time_wait_ms(const struct c10m_service *s)
{
    // The first worker writes it, when ORDER_SETTINGS gives it another value.
    return peek_u32(&server_of(s)->workers[0]->tcp.cfg.time_wait_ms);
}

bool c10m_is_local(const struct c10m_service *s, const uint8_t addr[16])
{
    return c10m_device_of(s, addr) != 0;
}

// Any thread: worker/egress.h says why it may read a worker's addresses and routes.
static unsigned home_by(const struct worker *w, const struct c10m_opening *o)
{
    const struct ip_addr here = name_addr(&o->from), there = worker_peer_addr(&o->to);
    const int local = worker_opening_from(w, &here, &there, o->device);
    if (local < 0)
        return 0;
    const struct flow_key key = {there, (uint16_t)local, 0, o->to.port, o->from.port};
    return tcp_home(w->tcp.homes, &key);
}

unsigned c10m_home_by(const struct c10m_service *s, const struct c10m_opening *o)
{
    const struct worker *w = server_of(s)->workers[0];
    unsigned home = 0;
    for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
        n = seq_count_read(&w->locals_changes);
        home = home_by(w, o);
        if (seq_count_same(&w->locals_changes, n))
            break;
    }
    return home;
}

unsigned c10m_home(const struct c10m_service *s, const struct c10m_name *from,
                   const struct c10m_name *to)
{
    return c10m_home_by(s, &(struct c10m_opening){.from = *from, .to = *to});
}

unsigned c10m_device_to(const struct c10m_service *s, const struct c10m_name *to, unsigned device,
                        struct c10m_name *from)
{
    const struct worker *w = server_of(s)->workers[0];
    const struct ip_addr there = name_addr(to);
    struct ip_addr source;
    int port = -1;
    for (unsigned i = 0, n; i < SEQ_COUNT_TRIES; i++) {
        n = seq_count_read(&w->locals_changes);
        port = worker_egress_by(w, &there, device, &source);
        if (seq_count_same(&w->locals_changes, n))
            break;
    }
    if (port < 0)
        return 0;
    if (from != NULL)
        name_set(from, &source, from->port);
    return (unsigned)port + 1;
}
