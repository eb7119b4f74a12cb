// SPDX-License-Identifier: BSD-3-Clause
// Calls of c10m/socket.h, c10m/thread.h and c10m/app.h that only the worker can execute, such as
// active opens. The calls that any thread may make are in src/server/service_calls.c.
#include <errno.h>

#include "worker/egress.h"

enum { FORGET_MAX = 1024 };  // records for each call, which takes about 100 us

int c10m_open(struct c10m_core *core, struct c10m_service *s, const struct c10m_opening *o,
              struct c10m_conn **made)
{
    struct worker *w = worker_of_core(core);
    const struct ip_addr from = name_addr(&o->from), to = worker_peer_addr(&o->to);
    if (o->to.port == 0)
        return -EINVAL;
    const int local = worker_opening_from(w, &from, &to, o->device);
    if (local < 0)
        return local;
    const struct flow_key key = {to, (uint16_t)local, 0, o->to.port, o->from.port};
    return sock_open(&w->sock, s, &key, made);
}

unsigned c10m_worker(const struct c10m_conn *c)
{
    return worker_of_sock(c->k)->id;
}

unsigned c10m_core_id(const struct c10m_core *w)
{
    return worker_of_core(w)->id;
}

bool c10m_forget(struct c10m_core *core)
{
    struct worker *w = worker_of_core(core);
    for (unsigned i = 0; i < w->n_ports; i++)
        net_forget(w->ports[i].net);
    if (w->udp != NULL)
        udp_paths_forget(w->udp);
    return tcp_flush(&w->tcp, FORGET_MAX);
}
