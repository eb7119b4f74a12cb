// SPDX-License-Identifier: BSD-3-Clause
// order.h: orders from the control thread to a running worker, and the answers, in one slot for
// each worker, so that neither waits for the other.
//
//     control thread                      worker
//     order, asked++ (release)  --------> checks `asked` every WORKER_HOUSE_TURNS turns, then
//                                         executes a slice of the order in each turn, in the
//                                         application's stage: its segments leave in that turn
//     reads it by a timer       <-------- answer, done = asked (release)
//
// While done == asked the slot belongs to the control thread, else to the worker. Nobody waits for
// a worker that hangs (server/orders.h).
#pragma once
#include "base/addr.h"
#include "base/shared.h"
#include "net/net.h"
#include "tcp/tcp.h"

enum {
    ORDER_LOOKS_TURN = 512,  // blocks that a walk visits in a turn, prefetched: about 10 us
    ORDER_RESETS_TURN = 64,  // of them, reset
    ORDER_FETCH_AHEAD = 16,
};

enum order_kind {
    ORDER_SETTINGS,  // apply order.settings
    ORDER_KILL,      // reset the connections that match order.kill
    ORDER_DRAIN,     // tell order.services to drain, for each connection
    ORDER_SHOWN,     // call `shown` (c10m/reload.h) of order.services, for each connection
    ORDER_TURN,      // end in a later turn, when no segment of this one waits any more
    ORDER_NEIGHBOR,  // change the neighbors by order.neighbor
    ORDER_PORT,      // change addresses, routes, neighbors and MTU of a port by order.port
};

// order_settings: everything that can change at run time; unchanged values are included.
struct order_settings {
    struct tcp_config cfg;  // except mss, mss6 and large, which depend on the ports
    struct {
        uint8_t state;  // enum tcp_service_state
        uint32_t connections_max, source_max;
        uint32_t keepalive_ms;  // of new connections
        uint32_t keepalive_interval_ms, keepalive_probes, user_timeout_ms;
    } services[TCP_SERVICES_MAX];
};

enum kill_by {
    KILL_LOCAL = 1 << 0,
    KILL_LOCAL_PORT = 1 << 1,
    KILL_REMOTE = 1 << 2,
    KILL_REMOTE_PORT = 1 << 3,
    KILL_STATE = 1 << 4,
    KILL_SERVICE = 1 << 5,
    KILL_IDLE = 1 << 6,
};

// kill_filter: a connection matches if it matches everything that `by` names; by 0: every
// connection. TIME-WAIT and CLOSED never match.
struct kill_filter {
    uint32_t by;  // enum kill_by
    struct ip_addr local, remote;
    unsigned remote_bits;  // prefix length
    uint16_t local_port, remote_port;
    uint8_t state, service;
    uint32_t idle_ms;
};

// kill_filter_matches: whether block b of t matches; locals: the addresses by local_ix. For its
// worker, or for any thread with a copy of the block and a view of t (tcp/tcp_view.h).
bool kill_filter_matches(const struct kill_filter *f, const struct tcp *t,
                         const struct ip_addr *locals, struct block *b);

enum neighbor_act { NEIGHBOR_ADD, NEIGHBOR_PERMANENT, NEIGHBOR_DEL, NEIGHBOR_FLUSH };

struct order_neighbor {
    enum neighbor_act act;
    unsigned port;  // index of the port; FLUSH: WORKER_PORTS_MAX means all
    struct ip_addr addr;
    struct mac_addr mac;
};

// order_port: net_change() of a port with net_config.changes.
struct order_port {
    unsigned port;
    struct net_settings settings;
};

struct order {
    enum order_kind kind;
    union {
        struct order_settings settings;
        struct kill_filter kill;
        uint32_t services;  // one bit for each service
        struct order_neighbor neighbor;
        struct order_port port;
    };
};

// order_box: the slot of a worker. While done == asked, the control thread writes everything but
// `done`, and begins an order by incrementing asked. Then the worker writes the rest, and ends by
// done = asked.
struct order_box {
    // Written by the control thread, read by the worker.
    struct shared_u32 asked CACHE_ALIGNED;
    struct order order;
    // Written by the worker, read by the control thread. The last three are zero at the beginning.
    struct shared_u32 done CACHE_ALIGNED;
    // Blocks that the walk has visited, turns of ORDER_TURN; also read while it runs.
    struct shared_u32 looked;
    int32_t error;   // 0, or -errno
    uint32_t count;  // connections reset or told, neighbors changed; ORDER_PORT: permanent
                     // neighbors without room
};

struct worker;

// worker_order: executes a slice of the order in w's slot, which belongs to the worker
// (w->ordered), in the application's stage of a turn. The last slice writes the answer.
void worker_order(struct worker *w);
