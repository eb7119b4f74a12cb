// loopback.h: a host's way to itself: one more port, `lo`, with the addresses of all others,
// 127.0.0.1 and, with IPv6, ::1, whose packets come back. Connections between two sockets of one
// host are ordinary ones over it. Only servers with a service that has a thread have it: others do
// not open connections to themselves, and poll no further port.
//
// A local_ix is an address on a port: ours are there twice. Listeners and services know an address
// by its first.
#pragma once
#include "server/server.h"

// server_loop_add: the port behind the others of p, if a service has a thread and there is a place.
void server_loop_add(struct server_params *p);

// server_loop_same: same[ix] = the first local_ix with the address of ix, for all of w. NULL: w has
// no such port.
const uint16_t *server_loop_same(const struct server_params *p, struct worker *w);

// worker_loop_local: the local_ix of an address of ours on that port, -1: there is none.
int worker_loop_local(const struct worker *w, const struct ip_addr *a);

// server_loopback: 127.0.0.1, ::1.
struct ip_addr server_loopback(bool v6);
