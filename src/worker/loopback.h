// SPDX-License-Identifier: BSD-3-Clause
// loopback.h: a host's way to itself: one more port, `lo`, with the addresses of all others,
// 127.0.0.1 and, with IPv6, ::1, whose packets come back. Connections between two sockets of one
// host are ordinary ones over it. Only servers with a service that has a thread have it
// (server/loopback_port.h): others do not open connections to themselves, and poll no further port.
//
// A local_ix is an address on a port: ours are there twice. Listeners and services know an address
// by its first.
#pragma once
#include "worker/worker.h"

// worker_loopback_local: the local_ix of an address of ours on that port, -1: there is none. Any
// thread: reads what is written before the worker runs.
int worker_loopback_local(const struct worker *w, const struct ip_addr *a);

// server_loopback: 127.0.0.1, ::1.
struct ip_addr server_loopback(bool v6);
