// SPDX-License-Identifier: BSD-3-Clause
// egress.h: c10m_name conversions, and the routes from a worker.
//
// The functions with a const worker may be called by any thread while the worker runs. They read
// port numbers, which the control thread writes before the worker starts and nobody writes later
// (sock.n_locals, n_ports, port_of_local, loopback_port), and addresses and routes: sock.locals,
// and those of ports[].net. ORDER_PORT changes these: another thread looks at worker.locals_changes
// and asks again. They are the same in all workers, soon after an order; other threads use the
// first worker's.
#pragma once
#include <string.h>

#include "c10m/socket.h"
#include "worker/worker.h"

static inline struct worker *worker_of_sock(const struct sock *k)
{
    return (struct worker *)((char *)(uintptr_t)k - offsetof(struct worker, sock));
}

static inline struct worker *worker_of_core(const struct c10m_core *core)
{
    return worker_of_sock(sock_of(core));
}

static inline struct ip_addr name_addr(const struct c10m_name *n)
{
    struct ip_addr a;
    memcpy(a.b, n->addr, sizeof(a.b));
    return a;
}

static inline void name_set(struct c10m_name *n, const struct ip_addr *a, uint16_t port)
{
    memcpy(n->addr, a->b, sizeof(n->addr));
    n->port = port;
}

// name_is_any: whether a is :: or 0.0.0.0.
static inline bool name_is_any(const struct ip_addr *a)
{
    return ip_is_any(a);
}

// worker_peer_addr: the address of a peer. As on Linux, :: and 0.0.0.0 mean this host.
struct ip_addr worker_peer_addr(const struct c10m_name *n);

// worker_local: the flow_key.local_ix of a local address; UINT16_MAX: it is not local.
uint16_t worker_local(const struct worker *w, const struct ip_addr *a);

// worker_is_group: whether a is multicast, or a broadcast address of any port.
bool worker_is_group(const struct worker *w, const struct ip_addr *a);

// worker_egress: the index of the port with the longest matching route to `to`; *from: the source
// address there (net_egress()). -1: there is no route.
int worker_egress(const struct worker *w, const struct ip_addr *to, struct ip_addr *from);

// worker_egress_by: the same for one device, port index plus one; 0: as worker_egress(). A local
// address is reached by each device that has it.
int worker_egress_by(const struct worker *w, const struct ip_addr *to, unsigned device,
                     struct ip_addr *from);

// worker_opening_from: the local_ix to open a connection from, or -errno (c10m_open()).
int worker_opening_from(const struct worker *w, const struct ip_addr *from,
                        const struct ip_addr *to, unsigned device);
