// SPDX-License-Identifier: BSD-3-Clause
// port_places.h: which place of a port (net_config.locals) each address has that Linux gives it.
// Connections and listeners belong to a place.
//
//     free --> address --> gone --> address      the same address comes back to its place, and its
//                            |                   connections go on
//                            +--> other address  if no place is free; the connections end first
//
// Plain data: no thread, no clock.
#pragma once
#include "net/net.h"

enum { PORT_WANTED_MAX = 64, PORT_PLACES_V4 = NET_LOCALS_MAX / 2 };

// port_wanted: what Linux has. Routes of equal prefixes: the one with the lowest metric alone.
struct port_wanted {
    bool up;
    uint16_t mtu;
    unsigned n_addresses, n_routes, n_neighbors;
    struct net_local addresses[PORT_WANTED_MAX];
    struct net_route routes[PORT_WANTED_MAX];
    struct net_static neighbors[PORT_WANTED_MAX];
};

struct port_place {
    struct ip_addr addr;  // 0.0.0.0 or ::: free
    uint8_t prefix_bits;
    bool live;      // the port has it now
    bool bound;     // never another address: the configuration or a listener names this one
    uint64_t left;  // when it was lost: a count of changes
};

struct port_places {
    unsigned n;
    uint64_t changes;
    struct port_place at[NET_LOCALS_MAX];
};

// port_plan: what the workers are to get. ended: addresses whose connections are to end before,
// because their place gets another address. The last three: how many had no place.
struct port_plan {
    struct net_settings settings;
    unsigned n_ended;
    struct ip_addr ended[NET_LOCALS_MAX];
    unsigned addresses_over, routes_over, neighbors_over;
};

// port_places_fill: adds free places to c's addresses, so that both families have some. Those of
// IPv4 stay first. port_places_init: of a port whose configuration is c.
void port_places_fill(struct net_config *c);
void port_places_init(struct port_places *p, const struct net_config *c);

// port_places_plan: gives w's addresses places. A port that is down has no addresses and no routes.
void port_places_plan(struct port_places *p, const struct port_wanted *w, struct port_plan *out);
