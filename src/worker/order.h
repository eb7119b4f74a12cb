// SPDX-License-Identifier: BSD-3-Clause
// order.h: what the control thread orders of a worker that runs, and what it answers: one slot each
// way, so that neither waits for the other.
//
//     control thread                      worker
//     order, asked++ (release)  --------> every WORKER_HOUSE_TURNS turns, idle ones too: asked?
//                                         a slice of it a turn, in the application's stage: what it
//                                         makes leaves in that turn, within the turn's room
//     answer, by a timer       <--------  answer, done = asked (release)
//
// The slot is the control thread's while done == asked, else the worker's. A worker that hangs does
// not answer: nobody waits for it (server/orders.h).
#pragma once
#include "base/addr.h"
#include "base/shared.h"
#include "tcp/tcp.h"

enum {
    ORDER_LOOKS_TURN = 512,  // blocks that a walk looks at in a turn, fetched ahead: some 10 us
    ORDER_RESETS_TURN = 64,  // of them ended
    ORDER_FETCH_AHEAD = 16,
};

enum order_kind {
    ORDER_SETTINGS,  // order.settings: from now on
    ORDER_KILL,      // order.kill: connections that match are reset
    ORDER_DRAIN,     // order.services: their applications are told, connection by connection
    ORDER_NEIGHBOR,  // order.neighbor
};

// order_settings: all that can change while running; what has not changed is as it was.
struct order_settings {
    struct tcp_config cfg;  // but for mss, mss6 and large, which are the ports'
    struct {
        uint8_t state;  // enum tcp_service_state
        uint32_t connections_max, source_max;
        uint32_t keepalive_ms;  // of connections to come
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

// kill_filter: all that `by` names has to be true of a connection; by 0: every one. What is over
// (TIME-WAIT, CLOSED) never matches.
struct kill_filter {
    uint32_t by;  // enum kill_by
    struct ip_addr local, remote;
    unsigned remote_bits;  // of the prefix
    uint16_t local_port, remote_port;
    uint8_t state, service;
    uint32_t idle_ms;
};

enum neighbor_act { NEIGHBOR_ADD, NEIGHBOR_PERMANENT, NEIGHBOR_DEL, NEIGHBOR_FLUSH };

struct order_neighbor {
    enum neighbor_act act;
    unsigned port;  // of the worker's ports; FLUSH: WORKER_PORTS_MAX: all
    struct ip_addr addr;
    struct mac_addr mac;
};

struct order {
    enum order_kind kind;
    union {
        struct order_settings settings;
        struct kill_filter kill;
        uint32_t services;  // a bit each
        struct order_neighbor neighbor;
    };
};

// order_box: a worker's slot. The control thread writes all of it but `done` while done == asked,
// and begins an order by asked + 1. The worker writes the rest until it ends by done = asked.
struct order_box {
    // Written by the control thread, read by the worker.
    struct shared_u32 asked CACHE_ALIGNED;
    struct order order;
    // Written by the worker, read by the control thread. The last three are zero at the beginning.
    struct shared_u32 done CACHE_ALIGNED;
    struct shared_u32 looked;  // blocks that the walk has looked at; read while it works, too
    int32_t error;             // 0, or -errno
    uint32_t count;            // connections reset or told, neighbours changed
};

struct worker;

// worker_order: a slice of the order in w's slot, which is the worker's (w->ordered): in the
// application's stage of a turn. Ends by answering.
void worker_order(struct worker *w);
