// SPDX-License-Identifier: BSD-3-Clause
// worker.h: one worker: one core, one queue of each port, one TCP, one loop. Workers share nothing.
#pragma once
#include "base/shared.h"
#include "flow/flow_table.h"
#include "flow/wheel.h"
#include "net/net.h"
#include "pkt/port.h"
#include "sock/sock.h"
#include "stat/counters.h"
#include "stat/latency.h"
#include "stat/stall.h"
#include "tcp/tcp.h"
#include "worker/messages.h"
#include "worker/order.h"

enum {
    WORKER_PORTS_MAX = 8,
    WORKER_TX_MAX = 1024,       // packets built and not yet taken by a port
    WORKER_TX_BURST = 64,       // given to a port at once
    WORKER_HOUSE_TURNS = 32,    // housekeeping every so many turns
    WORKER_TIMED_TURNS = 8,     // busy turns, of which one has its stages timed; a power of two
    WORKER_TW_EXPIRE_MAX = 64,  // TIME-WAIT records ended in a turn
    WORKER_STOP_MAX =
        128,  // connections reset in a turn while stopping; each may take another along
    WORKER_STOP_TRIES = 100,  // to send what that made, if the port does not take it at once
    WORKER_STALL_US = 100,    // a turn that is longer is a stall
    WORKER_DEAD_MS = 1000,    // a port that took nothing for so long, while packets wait, is dead
};

enum worker_order { WORKER_RUN, WORKER_STOP };                      // control thread to worker
enum worker_state { WORKER_IDLE, WORKER_RUNNING, WORKER_STOPPED };  // worker to control thread

struct rte_ring;
struct capture_list;

static_assert(WORKER_PORTS_MAX * NET_LOCALS_MAX <= TCP_LOCALS_MAX, "local_ix names an address");
static_assert((int)WORKER_PORTS_MAX <= (int)TCP_LANES_MAX, "a port is a lane");
static_assert((int)NET_LOST_MAX <= (int)SOCK_ERRORS_MAX, "each may end a connection that is told");

// worker_port: a port as this worker sees it: its queue and its net.
struct worker_port {
    struct port *port;
    struct net *net;
    uint16_t queue;
    bool stuck;         // while stopping: took nothing when it was last waited for
    uint32_t waits_ms;  // since when it takes nothing of what waits, | 1; 0: it does
    uint32_t tapped;    // the first so many of tx are copied already
    struct net_tx tx;   // replies, then segments: what the port has not taken yet
};

// worker_clock: TSC to microseconds: us = ticks * mul >> 32.
struct worker_clock {
    uint64_t start_tsc;
    uint64_t us_per_tick_q32;
};

// worker_highest: the most that was there, of what keeps no such mark itself; looked at every
// WORKER_HOUSE_TURNS turns. tx: of any one port.
struct worker_highest {
    uint32_t time_wait, time_wait6, timers, flow_entries, references, dirty, tx;
};

// worker: written by its own thread alone, but for the sections at the end. What is written before
// worker_run() and never again can be read by every thread.
struct worker {
    struct tcp tcp;
    struct sock sock;
    struct core_stats *stats;
    struct worker_clock clock;
    const struct shared_u64 *wall_us;  // of the server (wall_clock.h)
    unsigned n_ports;
    unsigned rx_port;                     // whose turn it is to be polled
    const struct capture_list *captures;  // who gets copies of frames (capture.h); NULL: nobody
    struct worker_port ports[WORKER_PORTS_MAX];
    uint8_t port_of_local[WORKER_PORTS_MAX * NET_LOCALS_MAX];  // local_ix to port
    unsigned id, cpu;
    int node;
    uint32_t block_count;
    struct rte_ring *log;  // to the control thread, NULL: no service keeps a log
    uint32_t stop_cursor;
    uint64_t turn;

    // One turn's arrays.
    uint32_t n_rx, n_expired;
    uint32_t n_boxed;  // services with a thread
    uint32_t ordered;  // 1: the order in the slot is the worker's
    struct pkt *pkts[BURST_MAX];
    struct net_rx rx;
    uint64_t hashes[BURST_MAX];
    uint32_t found[BURST_MAX];
    struct tcp_verdict verdicts[BURST_MAX];
    struct icmp_event lost[NET_LOST_MAX];  // of a port's net, told in the next turn
    uint32_t n_lost;
    uint32_t n_events;
    uint8_t events[BURST_MAX];  // the segments with something for the application
    uint32_t expired[TCP_EXPIRE_MAX];
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct tcp_place places[TCP_SEEK_PLACES];
    uint64_t marks[STAGE_COUNT + 1];
    bool timed;               // the stages of this turn are timed
    uint64_t unsplit_cycles;  // of busy turns that were not, since the last one that was
    uint64_t tsc_end;         // of this turn
    uint64_t stall_cycles;    // WORKER_STALL_US
    struct latency busy;      // lengths of turns, by the packets that they received
    struct latency idle;      // of turns without work, each once
    struct stall_ring stalls;
    uint32_t timed_mask;  // busy turns are timed whose number has none of these bits
    struct worker_highest highest;

    struct tcp_homes homes;         // for active opens
    struct reasm *reasm;            // datagrams in parts, of all ports; NULL: none are put together
    struct udp_table *udp;          // ports opened while running; NULL: no application opens any
    unsigned loopback_port;         // WORKER_PORTS_MAX: there is none
    uint16_t same[TCP_LOCALS_MAX];  // the first local_ix with the same address
    uint8_t boxed[TCP_SERVICES_MAX];
    struct worker_box boxes[TCP_SERVICES_MAX];  // by service

    // ---- What two threads touch

    // Written by the control thread, read by the worker every WORKER_HOUSE_TURNS turns, `order` in
    // each turn.
    struct shared_u32 order CACHE_ALIGNED;  // enum worker_order; relaxed: it comes with nothing
    struct shared_u32 watched;              // every busy turn is timed: a stall looks for its stage
    struct shared_ptr
        captures_ordered;  // struct capture_list: what `captures` is to be; NULL: none was
                           // ever. Release in publish(), acquire in tick(): the list's contents

    // Written by the worker, read by the control thread.
    struct shared_u32 state CACHE_ALIGNED;  // enum worker_state. Release in begin() and end(), so
                                            // that what the worker did before is seen
    struct shared_u32 at;                   // enum stage: where the turn is
    struct shared_u32 tid;                  // of its thread; 0: it does not run yet
    struct shared_ptr
        captures_seen;  // captures_ordered: no other list is looked at any more. Release in
                        // change_taps(), acquire in acked(): the old one may be freed

    // Written by both, in turn.
    struct order_box box;  // of orders while it runs (worker/order.h says who writes when)

    // Above, written plainly by the worker and read by the control thread with peek_u32() and
    // stat_load(), each word by itself: stats, busy, idle, highest, stop_cursor, ports[].tx.n,
    // sock.counters; of tcp the fill levels, services[].state, connections and limits, and
    // cfg.time_wait_ms, which threads of services read, too. sock.serving and stalls have types of
    // shared words. Connections are read as tcp/tcp_view.h says; neighbours and open UDP ports by
    // sequence counts (net/net.h). boxes, log and the rings of captures are SPSC rings of
    // DPDK.
};

// worker_turn: one pass through every stage of the loop, in order, at `now`; whether there was
// work. The protocol knows no other clock: in virtual time a turn is repeated exactly. tsc is the
// cycle at which the turn begins, for the stages' counters alone. worker_turn_now: the same at the
// real time.
bool worker_turn(struct worker *w, struct clock_now now, uint64_t tsc);
bool worker_turn_now(struct worker *w);

// worker_port_is_dead: port p has packets to send and has taken none for WORKER_DEAD_MS.
static inline bool worker_port_is_dead(const struct worker *w, unsigned p)
{
    const uint32_t since = w->ports[p].waits_ms;
    return since != 0 && w->tcp.now.ms - since >= WORKER_DEAD_MS;
}

// worker_tsc_hz: cycles a second, of worker_clock.
uint64_t worker_tsc_hz(const struct worker *w);

// worker_run: turns until ordered to stop; then resets what is open, and returns 0. The function
// that runs on the worker's core. A turn begins where the one before ended, so that no time is
// nobody's.
int worker_run(void *worker);

// worker_run_shared: the same on a core that it shares: each turn yields (a system call), so that
// those for whom it received something come to it before the rings are full.
int worker_run_shared(void *worker);

// worker_now: the protocol clock.
struct clock_now worker_now(const struct worker_clock *c, uint64_t tsc);
