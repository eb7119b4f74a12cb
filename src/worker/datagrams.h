// datagrams.h: the UDP of applications: the calls of c10m/socket.h about datagrams, and what
// arrives for them.
#pragma once
#include "server/server.h"

// worker_udp_footprint: bytes of one worker's table of open ports, 0: no application of p wants
// one.
uint64_t worker_udp_footprint(const struct server_params *p);

// worker_udp_take: u, of kind UDP_TO_OPEN or UDP_ERROR, to its application.
void worker_udp_take(struct worker *w, const struct udp_in *u);
