// SPDX-License-Identifier: BSD-3-Clause
// server.h: start-up and end of the data plane: parameters to ledger to memory to ports to workers.
// Each step that fails undoes the earlier ones and says what to do. Control thread only.
#pragma once
#include "base/err.h"
#include "base/text.h"
#include "c10m/app.h"
#include "confine/call_filter.h"
#include "drivers/eal.h"
#include "mem/arena.h"
#include "mem/ledger.h"
#include "pkt/port.h"
#include "tables/driver_table.h"
#include "tcp/tcp_adopt.h"
#include "worker/worker.h"

enum {
    SERVER_WORKERS_MAX = 64,
    SERVER_PREFIX_BYTES = 32,
    SERVER_DEVICES_MAX = PORTS_MAX,  // of all ports; each has a section of its own
};

// server_port_params: a port and the addresses on it.
struct server_port_params {
    struct port_params port;   // pools are filled in by the server; queues 0: one for each worker
    struct port_params inner;  // of the port inside, if port.driver wraps another port
    unsigned n_members;        // of a bond
    struct port_params members[PORT_MEMBERS_MAX];
    unsigned parent;         // of a port of a VLAN: index of its parent, which is smaller
    const char *linux_name;  // of the TAP interface by which Linux shares the port; NULL: none
    uint32_t linux_rate;     // packets per second for Linux, and of Linux, of each worker
    const char *follow;      // the Linux interface whose addresses it has; NULL: none
    struct net_config net;   // mac, caps, local_ix_first and secret are filled in by the server
};

// server_inner_port: the parameters of the port that has the device: those of the port inside, if
// the driver wraps another port.
static inline const struct port_params *server_inner_port(const struct server_port_params *pp)
{
    return driver_wraps(pp->port.driver) ? &pp->inner : &pp->port;
}

// server_device: the parameters of the k-th port that has a device: of a bond the members, of any
// other port server_inner_port() alone. NULL: there is none.
static inline const struct port_params *server_device(const struct server_port_params *pp,
                                                      unsigned k)
{
    if (pp->n_members != 0)
        return k < pp->n_members ? &pp->members[k] : NULL;
    return k == 0 ? server_inner_port(pp) : NULL;
}

// server_parent: the index of the port on whose link port i is; -1: it has its own.
struct server_params;
int server_parent(const struct server_params *p, unsigned i);

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
    uint8_t adopt;         // enum server_adopt (adoption.h)
    bool telemetry;        // DPDK telemetry socket
    enum call_mode calls;  // filters of system calls, of workers and of all other threads
    unsigned linux_cpu;
    unsigned n_linux_cpus;  // of the threads of applications; 0: linux_cpu
    unsigned linux_cpus[SERVER_WORKERS_MAX];
    unsigned n_workers;
    unsigned worker_cpu[SERVER_WORKERS_MAX];
    bool cpus_shared;             // several workers on a core, or one beside the control thread:
                                  // each turn yields
    uint8_t idle;                 // enum idle_mode, as it was asked for (idle_mode.h)
    uint32_t idle_after_us;       // without work before a worker waits
    uint32_t connections;         // of all workers
    uint32_t time_wait;           // records, of all workers
    uint32_t time_wait6;          // over IPv6; 0: as many if a port has such an address, else none
    uint32_t syn_received;        // half-open connections, of all workers
    uint32_t extensions;          // extension records, of all workers
    uint32_t reassembly;          // datagrams in parts, of each worker; 0: none are put together
    uint32_t flight_logs;         // logs of what is in flight, of all workers
    uint32_t packets;             // a worker
    uint32_t jumbo_packets;       // a worker, if a port has jumbo frames
    uint32_t buffers;             // 2 KiB data buffers, a worker
    uint32_t trace_ring;          // records of a trace, a worker; a power of two; 0: none
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

// server_give: its files outside run_dir that it still needs become that user's. For a process that
// gives up root.
int server_give(const struct server *s, unsigned uid, unsigned gid, struct err *err);

// server_can_keep: whether connections can outlive the end of this server. False: [control] adopt
// is never, or there are no hugepages, or the server does not run yet.
//
// server_keep: they do, if they can: the server ends at once, and the next one adopts them
// (adoption.h). Those of applications that cannot go on are reset. Call it last before
// server_stop_workers(): the server serves no longer.
bool server_can_keep(const struct server *s);
void server_keep(struct server *s);

// server_stays: whether connections stay for the next process when this one ends now.
bool server_stays(const struct server *s);

// server_serves: the start is complete. One that fails before, even after server_run(), leaves the
// connections that it has adopted to the next start.
void server_serves(struct server *s);

// server_adoption: the start of a server whose connections outlive it: how many processes have had
// them, for how long there was no worker, and what was adopted and refused. False: [control] adopt
// is never. image_spans_now: spans of mem/image_store.h in use.
struct server_adoption {
    uint32_t starts;
    uint64_t silent_us;
    struct tcp_adopted of;
    unsigned image_spans_now;
};
bool server_adoption(const struct server *s, struct server_adoption *out);

// server_stop_workers: stops the workers (open connections are reset, but for what stays:
// server_keep(), server_serves()); for those who hold a far end of a port and close it before the
// server. server_stop does it too.
void server_stop_workers(struct server *s);

// server_stop: stops the workers as server_stop_workers(), closes ports, gives all memory back, but
// for what it keeps.
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
struct c10m_service *server_service_to_change(const struct server *s, unsigned i);

// server_shown_local: the address at place local_ix of the first worker, also if it is gone.
struct ip_addr server_shown_local(const struct server *s, unsigned local_ix);

// server_port_local: the local_ix of a port's first place.
unsigned server_port_local(const struct server *s, unsigned port);

// server_port_set: notes what a port is to have from now on, for those who ask for addresses of the
// parameters. The caller orders the workers to change.
void server_port_set(struct server *s, unsigned port, const struct net_settings *to);

// server_control_thread, server_app_thread: the thread that called server_run(); the thread of
// service i's application. For CPU profiles. One that does not run has the tid 0.
struct own_thread *server_control_thread(const struct server *s);
struct own_thread *server_app_thread(const struct server *s, unsigned i);

// server_arenas: `name value` lines of mem/arenas: bytes carved by name, bytes reserved, bytes per
// connection of capacity.
void server_arenas(const struct server *s, struct text *out);
