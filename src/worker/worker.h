// SPDX-License-Identifier: BSD-3-Clause
// worker.h: one worker: one core, one queue of each port, one TCP, one loop. Workers share nothing.
#pragma once
#include "base/own_thread.h"
#include "base/seq_count.h"
#include "flow/flow_table.h"
#include "flow/wheel.h"
#include "net/net.h"
#include "pkt/port.h"
#include "pkt/refusal.h"
#include "sock/sock.h"
#include "stat/counters.h"
#include "stat/latency.h"
#include "stat/stall.h"
#include "stat/trace_ring.h"
#include "tcp/tcp.h"
#include "worker/backlog.h"
#include "worker/idle.h"
#include "worker/messages.h"
#include "worker/order.h"

enum {
    WORKER_PORTS_MAX = 8,
    WORKER_TX_MAX = 1024,       // packets built and not yet accepted by a port
    WORKER_TX_BURST = 64,       // packets of one tx_burst()
    WORKER_HOUSE_TURNS = 32,    // turns between two housekeepings
    WORKER_TIMED_TURNS = 8,     // one of so many busy turns has timed stages; a power of two
    WORKER_TW_EXPIRE_MAX = 64,  // TIME-WAIT records ended in a turn
    WORKER_STOP_MAX = 128,      // connections reset in a turn while stopping; each may end another
    WORKER_STOP_TRIES = 100,    // tries to send those segments to a full port
    WORKER_STALL_US = 100,      // a longer turn is a stall
    WORKER_DEAD_MS = 1000,      // a port that accepts no packet for this time is dead
};

// Control thread to worker. WORKER_KEEP: stops, and keeps the connections of applications that go
// on in another process (c10m_app.adopts).
enum worker_order { WORKER_RUN, WORKER_STOP, WORKER_KEEP };
enum worker_state { WORKER_IDLE, WORKER_RUNNING, WORKER_STOPPED };  // worker to control thread

struct rte_ring;
struct capture_list;
struct linux_box;

static_assert(WORKER_PORTS_MAX * NET_LOCALS_MAX <= TCP_LOCALS_MAX, "local_ix names an address");
static_assert((int)WORKER_PORTS_MAX <= (int)TCP_LANES_MAX, "a port is a lane");
static_assert((int)NET_LOST_MAX <= (int)SOCK_ERRORS_MAX, "each may end a connection that is told");

// worker_port: a port of this worker: its queue and its net.
struct worker_port {
    struct port *port;
    struct net *net;
    uint16_t queue;
    bool stuck;          // while stopping: the last wait for it timed out
    uint32_t waits_ms;   // since when it accepts no packet, | 1; 0: it accepts them
    uint32_t looked_ms;  // when others were last offered past the first packet of tx
    struct refusal refusal;
    uint64_t refused;    // packets dropped because it took others and never these
    uint32_t captured;   // packets of tx, from the first, that were captured already
    uint32_t announced;  // the announce_asked that was done last
    struct backlog backlog;
    struct net_tx tx;  // replies, then segments, that the port has not accepted yet
};

// worker_clock: TSC to microseconds: us = ticks * mul >> 32.
struct worker_clock {
    uint64_t start_tsc;
    uint64_t us_per_tick_q32;
};

// worker_highest: high-water marks of structures that keep none themselves, sampled every
// WORKER_HOUSE_TURNS turns. tx: of any one port.
struct worker_highest {
    uint32_t time_wait, time_wait6, timers, flow_entries, references, dirty, tx;
    uint32_t behind_us;  // exact
};

// worker: written by its own thread only, except the sections at the end. Every thread may read the
// fields that are constant after worker_run() begins.
struct worker {
    struct tcp tcp;
    struct sock sock;
    struct core_stats *stats;
    struct worker_clock clock;
    const struct shared_u64 *wall_us;  // of the server (wall_clock.h)
    unsigned n_ports;
    unsigned rx_port;                     // the port to poll next
    const struct capture_list *captures;  // sinks (capture.h); NULL: none
    struct worker_port ports[WORKER_PORTS_MAX];
    uint8_t port_of_local[WORKER_PORTS_MAX * NET_LOCALS_MAX];  // local_ix to port
    unsigned id, cpu;
    int node;
    uint32_t block_count;
    struct rte_ring *log;  // to the control thread; NULL: no service writes a log
    uint32_t stop_cursor;
    uint64_t turn;

    // One turn's arrays.
    uint32_t n_rx, n_expired;
    uint32_t n_boxed;     // number of services with a thread
    uint32_t n_messages;  // of the turn, from threads of services
    uint8_t told;         // the service of the last one
    bool told_several;    // they were for several services
    uint32_t ordered;     // 1: an order is being executed
    struct pkt *pkts[BURST_MAX];
    struct net_rx rx;
    uint64_t hashes[BURST_MAX];
    uint32_t found[BURST_MAX];
    struct tcp_verdict verdicts[BURST_MAX];
    struct icmp_event lost[NET_LOST_MAX];  // from net_lost(), processed in the next turn
    uint32_t n_lost;
    uint32_t n_events;
    uint8_t events[BURST_MAX];  // segments with events for the application
    uint32_t expired[TCP_EXPIRE_MAX];
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct seg_piece pieces_out[TCP_OUT_MAX][SEG_PIECES_MAX];
    struct tcp_place places[TCP_SEEK_PLACES];
    uint64_t marks[STAGE_COUNT + 1];
    bool timed;               // the stages of this turn are timed
    bool traced;              // records are written to `trace`
    uint64_t unsplit_cycles;  // of busy turns not timed, since the last timed one
    uint64_t tsc_end;         // end of this turn
    uint64_t stall_cycles;    // WORKER_STALL_US
    struct latency busy;      // lengths of turns, weighted by received packets
    struct latency idle;      // lengths of idle turns
    struct stall_ring stalls;
    struct trace_ring *trace;  // stat/trace_ring.h; NULL: none
    uint32_t timed_mask;       // a busy turn is timed if its number has none of these bits
    struct worker_highest highest;

    struct tcp_homes homes;  // for active opens
    struct reasm *reasm;     // reassembly for all ports; NULL: off
    struct udp_table *udp;   // ports opened at run time; NULL: no application opens any
    unsigned loopback_port;  // WORKER_PORTS_MAX: none
    struct linux_box *linux_boxes[WORKER_PORTS_MAX];  // linux_box.h; NULL: not shared with Linux
    struct pkt_pool *linux_pool;    // the worker's, for packets of Linux; NULL: no port is shared
    uint16_t same[TCP_LOCALS_MAX];  // the first local_ix with the same address
    struct ip_addr locals[TCP_LOCALS_MAX];  // sock.locals; homes.local is sock.shown
    uint8_t boxed[TCP_SERVICES_MAX];
    struct worker_box boxes[TCP_SERVICES_MAX];  // by service

    // ---- What two threads touch

    // Written by the control thread, read by the worker every WORKER_HOUSE_TURNS turns, `order` in
    // every turn.
    struct shared_u32 order
        CACHE_ALIGNED;          // enum worker_order; relaxed: it publishes no other data
    struct shared_u32 watched;  // time every busy turn, to find the stage of a stall
    struct shared_ptr
        captures_ordered;  // struct capture_list: what `captures` is to be; NULL: none was
                           // ever. Release in publish(), acquire in tick(): the list's contents
    struct shared_u32 announce_asked[WORKER_PORTS_MAX];  // how often this port's addresses were to
                                                         // be announced since the start

    // Written by the worker, read by the control thread.
    struct shared_u32 state CACHE_ALIGNED;  // enum worker_state. Release in begin() and end(), so
                                            // that what the worker did before is seen
    struct shared_u32 at;                   // enum stage: where the turn is
    struct shared_u32 tid;                  // thread id; 0: not running yet
    struct shared_ptr
        captures_seen;  // captures_ordered: no other list is looked at any more. Release in
                        // change_captures(), acquire in acked(): the old one may be freed

    // Its `wake` has a line of its own: written by the worker, read by every thread that has
    // something for it.
    struct idle idle_wait CACHE_ALIGNED;

    // Written by both, in turn.
    struct order_box box;  // of orders while it runs (worker/order.h says who writes when)

    struct seq_count locals_changes;  // of addresses and routes. Written by the worker, read by any
                                      // thread (server/service_calls.c)

    struct own_thread thread;  // for CPU profiles (base/own_thread.h says who writes what)

    // Fields above that the worker writes plainly and the control thread reads with peek_u32() and
    // stat_load(), each word independently: stats, busy, idle, highest, stop_cursor, ports[].tx.n,
    // sock.counters; of tcp the fill levels, services[].state, connections and limits, and
    // cfg.time_wait_ms (which service threads read too). sock.serving and stalls have shared types.
    // tcp/tcp_view.h says how connections are read; neighbors and open UDP ports have sequence
    // counts (net/net.h). boxes, log and capture rings are SPSC rings of DPDK.
};

// worker_turn: runs every stage of the loop once, in order, at time `now`. Returns whether there
// was work. The protocol uses no other clock, so that in virtual time a turn is repeated exactly.
// tsc: the cycle at which the turn begins, only for stage counters. worker_turn_now: the same at
// the current time.
bool worker_turn(struct worker *w, struct clock_now now, uint64_t tsc);
bool worker_turn_now(struct worker *w);

// worker_port_is_dead: whether port p has packets to send and has accepted none for WORKER_DEAD_MS.
static inline bool worker_port_is_dead(const struct worker *w, unsigned p)
{
    const uint32_t since = w->ports[p].waits_ms;  // | 1: it may be one after now
    return since != 0 && (int32_t)(w->tcp.now.ms - since) >= (int32_t)WORKER_DEAD_MS;
}

// worker_tsc_hz: TSC cycles per second.
uint64_t worker_tsc_hz(const struct worker *w);

// worker_wake: wakes w if it sleeps (wake.h). Any thread.
static inline void worker_wake(const struct worker *w)
{
    wake_worker(&w->idle_wait.wake);
}

// worker_run: the function of the worker's core: runs turns until it is ordered to stop, then
// resets all connections, or those that it is not to keep, and returns 0. A turn begins where the
// one before ended, so that all time is accounted for.
int worker_run(void *worker);

// worker_run_shared: the same on a core that workers share: it yields after each turn (a system
// call), so that other workers run before their rings are full.
int worker_run_shared(void *worker);

// worker_now: the protocol clock at a TSC value.
struct clock_now worker_now(const struct worker_clock *c, uint64_t tsc);
