// SPDX-License-Identifier: BSD-3-Clause
// neighbor_tables.h: the neighbors of all workers together, and the ports that have some. Each
// worker has caches of its own, which it goes on writing: entries are read by their sequence counts
// (net/net.h). Control thread.
#pragma once
#include "base/text.h"
#include "server/server.h"

enum neighbors_table { NEIGHBORS_ARP, NEIGHBORS_ND };

// server_neighbors_render: net/arp or net/ndisc; a line that several workers have stands there
// once. 0, or -ENOMEM, and out is as it was.
int server_neighbors_render(const struct server *s, enum neighbors_table table, struct text *out);

// server_has_neighbors: false of the port that is a host's way to itself: nobody is asked for
// there, and Linux shows nobody.
bool server_has_neighbors(const struct server_params *p, unsigned port);

// server_port_toward: the port with a prefix that holds the address; where none does, the only port
// with neighbors; -1: there are several.
int server_port_toward(const struct server_params *p, const struct ip_addr *a);
