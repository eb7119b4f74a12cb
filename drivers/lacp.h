// SPDX-License-Identifier: BSD-3-Clause
// lacp.h: the Link Aggregation Control Protocol (IEEE 802.1AX-2014 6.4) for one aggregator and the
// links of its members. Plain data: no thread, no clock, no packet; time and frames are arguments.
//
//     receive machine (6.4.12)                               mux machine, coupled (6.4.15)
//
//     DISABLED --link up--> EXPIRED --3 s--> DEFAULTED       DETACHED --selected--> ATTACHED
//                             |  ^               |           ATTACHED --partner in sync--> PASSING
//                        PDU  v  | no PDU        | PDU       PASSING --partner not in sync-->
//                           CURRENT <------------+                                     ATTACHED
//     from any, when the link goes: DISABLED                 from any: not selected --> DETACHED
//
// Selection (6.4.14): there is one aggregator. It takes the members that have the same speed and
// the same partner (system and key). If members are cabled to several partners, it stays with the
// present one while a member hears it. Then it changes to the one that most members hear. While no
// member hears a partner that aggregates, one member is used alone, as without LACP.
//
// Aggregate_Wait_Time is 0: a member joins at once and does not wait for others.
#pragma once
#include "pkt/port.h"

enum {
    LACP_FRAME_BYTES = 124,  // without the FCS
    LACP_FAST_MS = 1000,     // Fast_Periodic_Time
    LACP_SLOW_MS = 30000,    // Slow_Periodic_Time
    LACP_TIMEOUTS = 3,       // Short_Timeout_Time and Long_Timeout_Time are three times those
    LACP_SENDS_MAX = 3,      // LACPDUs of a member in LACP_FAST_MS (6.4.16)
};

// The bits of a state (6.4.2.3).
enum lacp_bit {
    LACP_ACTIVITY = 1 << 0,
    LACP_SHORT = 1 << 1,  // LACP_Timeout: wants to hear a LACPDU each second
    LACP_AGGREGATION = 1 << 2,
    LACP_SYNC = 1 << 3,
    LACP_COLLECTING = 1 << 4,
    LACP_DISTRIBUTING = 1 << 5,
    LACP_DEFAULTED = 1 << 6,
    LACP_EXPIRED = 1 << 7,
};

enum lacp_rx { LACP_RX_DISABLED, LACP_RX_EXPIRED, LACP_RX_DEFAULTED, LACP_RX_CURRENT };
enum lacp_mux { LACP_MUX_DETACHED, LACP_MUX_ATTACHED, LACP_MUX_PASSING };

// lacp_party: one end of a link, as LACPDUs name it. All zero: nobody was heard.
struct lacp_party {
    uint16_t system_priority;
    struct mac_addr system;
    uint16_t key, port_priority, port;
    uint8_t state;  // enum lacp_bit
};

struct lacp_member {
    struct lacp_party actor, partner;
    enum lacp_rx rx;
    enum lacp_mux mux;
    bool selected, ntt;    // ntt (need to transmit): the partner does not know the present state
    uint64_t rx_ends_ms;   // current_while_timer
    uint64_t periodic_ms;  // when the next LACPDU is due
    uint64_t window_ms;    // of LACP_SENDS_MAX
    uint32_t window_sent;
    uint64_t received, sent, bad;  // LACPDUs; bad: not of the form that is expected
};

struct lacp {
    unsigned n;
    int leader;  // a member of the group that is used, -1: none
    bool alone;  // the leader is used alone
    struct lacp_member members[PORT_MEMBERS_MAX];
};

// lacp_init: n members of the system with that address, without a link. fast: partners are asked
// for a LACPDU each second, and are given up after three without; else 30 and 90 s.
void lacp_init(struct lacp *l, unsigned n, const struct mac_addr *system, bool fast);

// lacp_link: the link of member m as of now; speed_mbps 0: unknown. Members of different speeds are
// not used together.
void lacp_link(struct lacp *l, unsigned m, bool up, uint32_t speed_mbps, uint64_t now_ms);

// lacp_receive: a frame of the slow protocols that member m received. What is no LACPDU is counted.
void lacp_receive(struct lacp *l, unsigned m, const uint8_t *frame, uint32_t len, uint64_t now_ms);

// lacp_run: the timers, the selection and the mux machines of all members.
void lacp_run(struct lacp *l, uint64_t now_ms);

// lacp_to_send: whether member m has a LACPDU to send now; writes it, with the source `mac`.
bool lacp_to_send(struct lacp *l, unsigned m, uint64_t now_ms, const struct mac_addr *mac,
                  uint8_t frame[LACP_FRAME_BYTES]);

// lacp_farewell: the LACPDU of a member that leaves: its partner takes it out at once.
void lacp_farewell(struct lacp *l, unsigned m, const struct mac_addr *mac,
                   uint8_t frame[LACP_FRAME_BYTES]);

// lacp_is_marker: whether the frame is a marker that has to be answered (6.5.4.2); makes it the
// answer.
bool lacp_is_marker(uint8_t *frame, uint32_t len, const struct mac_addr *mac);

// lacp_collecting, lacp_distributing: a bit for each member from which frames are taken, and to
// which frames are given.
uint32_t lacp_collecting(const struct lacp *l);
uint32_t lacp_distributing(const struct lacp *l);
