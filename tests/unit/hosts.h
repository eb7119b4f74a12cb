// SPDX-License-Identifier: BSD-3-Clause
// hosts.h: two servers of one worker each, placed by the server's own code, in virtual time: each
// worker_turn() sends its frames to the other over a wire without loss or delay. Wrong use aborts
// by CHECK. Wants pkt_env_start() before.
#pragma once
#include "server/server_internal.h"
#include "server/server_memory.h"

enum { HOSTS_QUEUE_MAX = 4096, HOSTS_PORT = 80, HOSTS_V4 = 0x0a000001, HOSTS_WIRES = 2 };

struct hosts_end;

// hosts_wire: one end of a wire.
struct hosts_wire {
    struct port port;
    struct hosts_end *end;
    struct hosts_wire *peer;
    struct pkt *queue[HOSTS_QUEUE_MAX];  // arrived and not yet received
    unsigned n_queue;
    unsigned slots;     // that it tells
    bool cannot_count;  // as the drivers of the kernel's ports
    uint16_t takes;     // packets that it takes of a burst, at most
    // Whether it refuses this packet, and with it those behind it; NULL: none.
    bool (*refuses)(const struct pkt *p);
};

struct hosts_end {
    struct server server;
    struct worker *w;
    struct hosts_wire wires[HOSTS_WIRES];
    bool deaf;         // what comes is lost
    uint64_t dropped;  // frames lost so
};

// hosts: end i has the addresses 10.0.0.(i + 1)/24 and fd00::(i + 1)/64, and on the second wire, if
// it has one, 10.0.1.(i + 1)/24.
struct hosts {
    struct hosts_end e[2];
    uint64_t now_us;
};

// hosts_new: end i's services are apps[i][0..], up to NULL; the first listens on HOSTS_PORT, the
// others on the ports after it. set, unless NULL, changes the parameters before anything is placed:
// a second port (n_ports = 2) without a driver is the second wire.
struct hosts *hosts_new(const struct c10m_app *const apps[2][3],
                        void (*set)(struct server_params *p, unsigned end));
void hosts_free(struct hosts *h);

// hosts_turn: one turn of end i, now. hosts_run: turns of both every 200 us for that long.
void hosts_turn(struct hosts *h, unsigned i);
void hosts_run(struct hosts *h, uint64_t ms);

// hosts_addr: end i's address.
struct ip_addr hosts_addr(unsigned i, bool v6);

// hosts_connect: active open from end i to the other's `port`, under service 0; _by: over `wire`.
uint32_t hosts_connect(struct hosts *h, unsigned i, uint16_t port);
uint32_t hosts_connect_by(struct hosts *h, unsigned i, unsigned wire, uint16_t port);
