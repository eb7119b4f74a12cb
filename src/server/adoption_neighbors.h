// SPDX-License-Identifier: BSD-3-Clause
// adoption_neighbors.h: what a worker that was killed knew of its neighbors, for the worker that
// takes its place: the first answers of ten million connections do not wait for ARP. Control
// thread, before the workers run.
#pragma once
#include "net/net.h"
#include "server/server.h"

// adoption_neighbors: one worker's, by port. A port without memory for them has none.
struct adoption_neighbors {
    struct net_neighbor_left *of[WORKER_PORTS_MAX];
    uint32_t n[WORKER_PORTS_MAX];
};

// adoption_neighbors_look: copies what the worker before knew from its REGION_NET, which nobody has
// cleared yet. The layout of both processes is the same.
void adoption_neighbors_look(struct adoption_neighbors *left, const struct server_params *p,
                             const uint8_t *net_region);

// adoption_neighbors_give: the nets of w know them. Frees the copies.
void adoption_neighbors_give(struct adoption_neighbors *left, struct worker *w);
