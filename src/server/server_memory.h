// SPDX-License-Identifier: BSD-3-Clause
// server_memory.h: what one worker reserves: one list that makes the ledger, the arenas and the
// pointers. Control thread.
#pragma once
#include "server/server.h"

enum region_id {
    REGION_BLOCKS,
    REGION_FREE_BLOCKS,
    REGION_FLOW_TABLE,
    REGION_FLOW_TABLE_EXTRA,  // right behind: the two are one table
    REGION_WHEEL,
    REGION_XMIT_DEADLINES,
    REGION_ROUNDS,
    REGION_SYN_RECORDS,
    REGION_TIME_WAIT,
    REGION_TIME_WAIT6,  // no bytes: no port has an IPv6 address
    REGION_EXTENSIONS,
    REGION_FLIGHTS,
    REGION_SOURCES,  // no bytes: no service limits them
    REGION_PREFIXES,
    REGION_BUFFERS,
    REGION_NET,
    REGION_HANDOFF,     // no bytes: one worker
    REGION_REASSEMBLY,  // no bytes: nothing is put together
    REGION_LOG,         // no bytes: there is no log
    REGION_MESSAGES,    // no bytes: no service has a thread
    REGION_LISTENERS,   // the same
    REGION_UDP,         // no bytes: no application opens UDP ports
    REGION_LINUX,       // no bytes: no port is shared with Linux
    REGION_TRACE,       // no bytes: [control] trace_ring is 0
    REGION_WORKER,
    REGION_COUNT,
};

// region: `bytes` of one worker for `count` things. per_connection: part of the 288 bytes promised.
struct region {
    const char *name;
    const char *purpose;
    uint64_t count;
    uint64_t bytes;
    bool per_connection;
};

enum {
    REFS_PER_BUFFER = 4,  // references to images for each data buffer
    // A block's entries of the wheel: WAKE_XMIT, WAKE_SLOW, WAKE_MOVABLE, one of each at most (the
    // proof is in tcp/tcp_internal.h); a half-open record's: one. There are no others.
    WHEEL_PER_CONNECTION = 3,
    WHEEL_PER_SYN = 1,
};

// server_timers: entries of the wheel, at most, of n connections and half-open ones.
static inline uint64_t server_timers(uint32_t n, uint32_t syn)
{
    return (uint64_t)n * WHEEL_PER_CONNECTION + (uint64_t)syn * WHEEL_PER_SYN;
}

// server_share: worker's part of a number that all workers share, rounded up, at least 1.
uint32_t server_share(const struct server_params *p, uint32_t total);

// server_part: worker w's part of a limit: those of all workers add up to it exactly.
uint32_t server_part(const struct server_params *p, uint32_t limit, unsigned w);

// server_time_wait6: TIME-WAIT records over IPv6 of one worker.
uint32_t server_time_wait6(const struct server_params *p);

// server_udp_footprint: bytes of one worker's table of open UDP ports and of path MTUs. 0: no
// application of p opens ports, and no service has one.
uint64_t server_udp_footprint(const struct server_params *p);

// server_within: -1 and *err (NULL: nobody wants it): more records than a worker's tables can have,
// whatever the memory. server_regions() and all that calls it want 0.
int server_within(const struct server_params *p, struct err *err);

// server_regions: fills regions[REGION_COUNT] for one worker.
void server_regions(const struct server_params *p, struct region *regions);

// server_port_net_bytes: the part of REGION_NET of one port, whose net has configuration c; the
// parts lie in the order of the ports.
uint64_t server_port_net_bytes(const struct net_config *c);

// server_arena_bytes: of the regions of all workers, each at a line of its own.
uint64_t server_arena_bytes(const struct server_params *p);

// server_port_queues: how many queues port `port` is asked to have.
unsigned server_port_queues(const struct server_params *p, unsigned port);

// server_is_jumbo: whether port i has jumbo frames, and so packets of the jumbo pools.
// server_has_jumbo: whether any port has.
bool server_is_jumbo(const struct server_params *p, unsigned i);
bool server_has_jumbo(const struct server_params *p);

// server_handoff_out_max: packets of a worker that others may have at once, for port i.
uint32_t server_handoff_out_max(const struct server_params *p, unsigned i);

// server_packet_bytes: bytes of DPDK memory: the packet pools of all workers, and the drivers.
// server_jumbo_bytes: of them those of the pools of jumbo packets.
uint64_t server_packet_bytes(const struct server_params *p);
uint64_t server_jumbo_bytes(const struct server_params *p);
