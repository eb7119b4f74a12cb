// SPDX-License-Identifier: BSD-3-Clause
// loopback.h: the port `lo`, which returns what is sent to it. It has the addresses of all other
// ports, 127.0.0.1 and, with IPv6, ::1. Two sockets of this host connect over it as over any port.
// Only servers with a service that has a thread have it (server/loopback_port.h): others never
// connect to themselves.
//
// A local_ix is an address on a port, so local addresses exist twice. Listeners and services use
// the first.
#pragma once
#include "worker/worker.h"

// worker_loopback_local: the local_ix of a local address on that port; -1: none. Any thread: it
// reads fields that are constant while the worker runs.
int worker_loopback_local(const struct worker *w, const struct ip_addr *a);

// server_loopback: 127.0.0.1, or ::1.
struct ip_addr server_loopback(bool v6);
