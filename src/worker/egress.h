// SPDX-License-Identifier: BSD-3-Clause
// egress.h: names of the application's, and the ways from a worker to them.
//
// The functions that take a const worker may be called by any thread while it runs: they read
// addresses, routes and the numbers of ports, which the control thread writes before the worker
// runs and nobody writes later: sock.locals, sock.n_locals, n_ports, port_of_local, loopback_port,
// and of ports[].net addresses and routes. Those of the first worker are everybody's.
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

// name_is_any: of both families, or of IPv4.
static inline bool name_is_any(const struct ip_addr *a)
{
    return ip_is_zero(a) || (ip_is_v4(a) && ip_to_v4(a) == 0);
}

// worker_peer_addr: the address of a peer: any address is, as a peer, ourselves (Linux).
struct ip_addr worker_peer_addr(const struct c10m_name *n);

// worker_local: the flow_key.local_ix of an address of ours; UINT16_MAX: it is none.
uint16_t worker_local(const struct worker *w, const struct ip_addr *a);

// worker_is_group: a multicast or broadcast address, of any port.
bool worker_is_group(const struct worker *w, const struct ip_addr *a);

// worker_egress: the number of the port whose routes lead to `to` by the longest prefix, and the
// address there to send from (net_egress); -1: none does.
int worker_egress(const struct worker *w, const struct ip_addr *to, struct ip_addr *from);

// worker_egress_by: by that device alone, a port's number from 1; 0: as worker_egress(). Our own
// addresses are behind no port, but are reached by each device that has them.
int worker_egress_by(const struct worker *w, const struct ip_addr *to, unsigned device,
                     struct ip_addr *from);

// worker_opening_from: the local_ix of the address to open a connection from, or a negative errno
// (c10m_open).
int worker_opening_from(const struct worker *w, const struct ip_addr *from,
                        const struct ip_addr *to, unsigned device);
