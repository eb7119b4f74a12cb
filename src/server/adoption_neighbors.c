// SPDX-License-Identifier: BSD-3-Clause
#include "server/adoption_neighbors.h"

#include <stdlib.h>

#include "server/server_memory.h"
#include "worker/worker.h"

void adoption_neighbors_look(struct adoption_neighbors *left, const struct server_params *p,
                             const uint8_t *net_region)
{
    for (unsigned i = 0; i < p->n_ports; i++) {
        const struct net_config *c = &p->ports[i].net;
        left->of[i] = calloc(net_neighbors_left_max(c), sizeof(left->of[i][0]));
        if (left->of[i] != NULL)
            left->n[i] = net_neighbors_left(net_region, c, left->of[i]);
        net_region += server_port_net_bytes(c);
    }
}

void adoption_neighbors_give(struct adoption_neighbors *left, struct worker *w)
{
    for (unsigned i = 0; i < w->n_ports; i++) {
        if (left->of[i] != NULL && w->ports[i].net != NULL)
            net_neighbors_take(w->ports[i].net, w->tcp.now, left->of[i], left->n[i]);
        free(left->of[i]);
    }
    *left = (struct adoption_neighbors){.n = {0}};
}
