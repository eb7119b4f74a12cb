#include "worker/egress.h"

uint16_t worker_local(const struct worker *w, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->sock.n_locals; i++)
        if (ip_equal(&w->sock.locals[i], a))
            return (uint16_t)i;
    return UINT16_MAX;
}

struct worker_port *worker_way(struct worker *w, const struct ip_addr *to, struct ip_addr *from)
{
    struct worker_port *best = NULL;
    int most = -1;
    for (unsigned i = 0; i < w->n_ports; i++) {
        struct ip_addr source;
        const int bits = net_way(w->ports[i].net, to, &source);
        if (bits > most) {
            most = bits;
            best = &w->ports[i];
            *from = source;
        }
    }
    return best;
}

// has_local: is it an address of that port?
static bool has_local(const struct worker *w, unsigned port, const struct ip_addr *a)
{
    for (unsigned i = 0; i < w->sock.n_locals; i++)
        if (w->port_of_local[i] == port && ip_equal(&w->sock.locals[i], a))
            return true;
    return false;
}

struct worker_port *worker_way_by(struct worker *w, const struct ip_addr *to, unsigned device,
                                  struct ip_addr *from)
{
    if (device == 0 || (device <= w->n_ports && has_local(w, device - 1, to)))
        return worker_way(w, to, from);
    if (device > w->n_ports || net_way(w->ports[device - 1].net, to, from) < 0)
        return NULL;
    return &w->ports[device - 1];
}
