#include "worker/way.h"

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
