// SPDX-License-Identifier: BSD-3-Clause
// bond_internal.h: the state of a bond. bond.c opens it, bond_burst.c is the workers' part,
// bond_look.c the control thread's.
#pragma once
#include "base/shared.h"
#include "drivers/bond.h"
#include "drivers/lacp.h"
#include "drivers/slow_frames.h"

enum { BOND_ALL = (1 << PORT_MEMBERS_MAX) - 1 };

// bond_counts: of a queue and a member. Written by the worker, read by any thread.
struct bond_counts {
    uint64_t idle_packets, idle_bytes;  // received and dropped: the member is not used
    uint64_t slow_packets, slow_bytes;  // of the slow protocols
    uint64_t slow_lost;                 // of them, because the ring was full
};

// bond_lane: one queue. `in` is from its worker to the control thread, the rest its worker's.
struct bond_lane {
    uint32_t first;         // member from which is received first
    uint64_t tx_no_member;  // to be sent while no member was used; as bond_counts
    uint64_t slow_sent, slow_sent_bytes;
    struct bond_counts counts[PORT_MEMBERS_MAX];
    struct slow_frames in[PORT_MEMBERS_MAX];
} CACHE_ALIGNED;

// bond_member: the control thread's.
struct bond_member {
    struct port *port;
    struct port_link link;  // as it was last
    bool up, usable;
    uint64_t changes;
    struct slow_frames out;  // to the worker of queue 0
};

struct bond {
    struct port port;
    // Members that receive (from bit PORT_MEMBERS_MAX on) and send. Written by the control thread.
    // Relaxed: a member exists as long as the bond.
    struct shared_u32 use;
    uint8_t hash;  // enum bond_hash
    bool is_lacp;
    unsigned n;
    struct bond_member members[PORT_MEMBERS_MAX];
    struct bond_lane *lanes;  // [queue]
    struct pkt_pool *pool;    // of the worker of queue 0
    // the control thread's
    int primary;      // -1: none
    unsigned active;  // active-backup; what it was last, if no member has a link
    bool looked;      // once at least
    uint32_t moves;
    struct lacp lacp;
};

static inline struct bond *bond_of(const struct port *p)
{
    return p->priv;
}

// The bursts of the workers.
uint16_t bond_rx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
uint16_t bond_backup_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);
uint16_t bond_lacp_tx_burst(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n);

// bond_fds: of port_wait: those of all members.
int bond_fds(struct port *p, uint16_t q, int *out, unsigned max);

// bond_say_farewell: LACP: tells the partners that the members leave. While no worker runs.
void bond_say_farewell(struct bond *b);

// bond_start: the first look, which writes no log.
void bond_start(struct bond *b);

extern const struct port_group bond_group;

// bond_link: the link of the bond, by its last look.
void bond_link(struct port *p, struct port_link *out);
