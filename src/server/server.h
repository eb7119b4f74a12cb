// SPDX-License-Identifier: BSD-3-Clause
// server.h: start-up and end of the data plane: parameters to ledger to memory to ports to workers.
// Each step that fails undoes the earlier ones and says what to do. Control thread only.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "c10m/app.h"
#include "drivers/eal.h"
#include "mem/arena.h"
#include "mem/ledger.h"
#include "pkt/port.h"
#include "tables/driver_table.h"
#include "worker/worker.h"

enum { SERVER_WORKERS_MAX = 64, SERVER_PREFIX_BYTES = 32 };

// server_port_params: a port and the addresses on it.
struct server_port_params {
    struct port_params port;   // pools are filled in by the server; queues 0: one for each worker
    struct port_params inner;  // of the port inside, if port.driver wraps another port
    struct net_config net;     // mac, caps, local_ix_first and secret are filled in by the server
};

// server_inner_port: the parameters of the port that has the device: those of the port inside, if
// the driver wraps another port.
static inline const struct port_params *server_inner_port(const struct server_port_params *pp)
{
    return driver_wraps(pp->port.driver) ? &pp->inner : &pp->port;
}

struct server_service_params {
    const char *name;
    const struct c10m_app *app;
    struct tcp_service tcp;
    const char *(*param)(const void *conf, const char *key);  // may be NULL
    const void *conf;
};

// server_params: all that start-up needs; plain values. Strings stay the caller's and outlive the
// server.
struct server_params {
    const char *prefix;  // names hugetlbfs and DPDK files; servers of different names live together
    const char *huge_dir;  // where hugetlbfs is mounted for blocks and tables
    enum pages_kind pages;
    bool telemetry;  // DPDK telemetry socket
    unsigned linux_cpu;
    unsigned n_linux_cpus;  // of the threads of applications; 0: linux_cpu
    unsigned linux_cpus[SERVER_WORKERS_MAX];
    unsigned n_workers;
    unsigned worker_cpu[SERVER_WORKERS_MAX];
    bool cpus_shared;             // several workers on a core, or one beside the control thread:
                                  // each turn yields
    uint32_t connections;         // of all workers
    uint32_t time_wait;           // records, of all workers
    uint32_t time_wait6;          // over IPv6; 0: as many if a port has such an address, else none
    uint32_t syn_received;        // half-open connections, of all workers
    uint32_t extensions;          // extension records, of all workers
    uint32_t reassembly;          // datagrams in parts, of each worker; 0: none are put together
    uint32_t flight_logs;         // logs of what is in flight, of all workers
    uint32_t packets;             // a worker
    uint32_t buffers;             // 2 KiB data buffers, a worker
    uint64_t extra_packet_bytes;  // DPDK memory for pools that the caller makes
    uint64_t image_bytes_max;     // a service; 0: no limit but memory
    struct tcp_config tcp;
    bool large_if_cut;  // tcp.large where a port cuts large segments
    unsigned n_ports;
    struct server_port_params ports[WORKER_PORTS_MAX];
    unsigned n_services;
    struct server_service_params services[TCP_SERVICES_MAX];
};

struct server;
struct handoff;

#define SERVER_ASKED_TO_END "asked to end while it started"

// server_params_default: the values of config/default.conf, no port, no service, one worker.
void server_params_default(struct server_params *p);

// server_ledger: adds what a server of these parameters would reserve. Needs no privilege and
// reserves nothing.
void server_ledger(const struct server_params *p, struct ledger *out);

// server_eal_params: DPDK's part of them.
void server_eal_params(const struct server_params *p, struct eal_params *e);

// server_start: runs the applications' init, reserves everything, opens the ports, makes the
// workers. NULL: *err says why and what to do; SERVER_ASKED_TO_END: a signal came (base/signals.h).
struct server *server_start(const struct server_params *p, struct err *err);

// server_run: lets the workers begin. A server of ring ports is given its far ends between the two.
int server_run(struct server *s, struct err *err);

// server_stop_workers: stops the workers (open connections are reset); for those who hold a far end
// of a port and close it before the server. server_stop does it too.
void server_stop_workers(struct server *s);

// server_stop: stops the workers (open connections are reset), closes ports, gives all memory back.
void server_stop(struct server *s);

// server_abandon: removes what would outlive the process, which is to end at once: its workers, or
// an application's thread, do not end. Any thread.
void server_abandon(struct server *s);

// What the tree, the load generator and the benchmarks look at.
const struct server_params *server_params_of(const struct server *s);
unsigned server_workers(const struct server *s);

// server_rss_key: TOEPLITZ_KEY_BYTES_MAX bytes: by it connections have their homes.
const uint8_t *server_rss_key(const struct server *s);
struct worker *server_worker(const struct server *s, unsigned i);
struct port *server_port(const struct server *s, unsigned i);
const struct handoff *server_handoff(const struct server *s, unsigned port);  // NULL: one worker
const struct c10m_service *server_service(const struct server *s, unsigned i);

// server_arenas: `name value` lines of mem/arenas: bytes carved by name, bytes reserved, bytes per
// connection of capacity.
void server_arenas(const struct server *s, struct text *out);
