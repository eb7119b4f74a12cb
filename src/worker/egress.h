// egress.h: names of the application's, and the ways from this worker to them.
#pragma once
#include "c10m/socket.h"
#include "worker/worker.h"

static inline struct worker *worker_of_core(const struct c10m_core *core)
{
    return (struct worker *)((char *)sock_of(core) - offsetof(struct worker, sock));
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

// worker_local: the flow_key.local_ix of an address of ours; UINT16_MAX: it is none.
uint16_t worker_local(const struct worker *w, const struct ip_addr *a);

// worker_way: the port whose routes lead to `to` by the longest prefix, and the address there to
// send from (net_way); NULL: none does.
struct worker_port *worker_way(struct worker *w, const struct ip_addr *to, struct ip_addr *from);

// worker_way_by: by that device alone, a port's number from 1; 0: as worker_way(). Our own
// addresses are behind no port, but are reached by each device that has them.
struct worker_port *worker_way_by(struct worker *w, const struct ip_addr *to, unsigned device,
                                  struct ip_addr *from);
