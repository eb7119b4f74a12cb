// SPDX-License-Identifier: BSD-3-Clause
// linux_box.h: the worker's end of a port that it shares with Linux ([port] linux). Packets that no
// service owns go to a TAP interface. What Linux sends there leaves by the port.
//
//   net_input, tcp_input --> class, rate --> [ to ] ----> thread (server/linux_port.h) --> TAP
//   port <-- rate, source MAC <-------------- [ from ] <-- thread <---------------------- TAP
//
// Each worker has a ring `to`; only the worker of queue 0 has a ring `from`. The worker makes no
// system call and never waits.
//
// Rates. [port] linux_rate limits each worker in each direction. To Linux, NET_LINUX_FLOW gets half
// of the rate and each other class an eighth (base/limit.h). One source gets a quarter of its
// class. So a host with one address cannot displace others, a host that forges addresses displaces
// one class only, and nobody displaces existing connections. Half of the ring is reserved for
// NET_LINUX_FLOW and NET_LINUX_LINK. What Linux sends above its rate waits in the ring, and then in
// the queue of the interface.
//
// A segment that hits a connection of ours but is not from its peer takes the token that it would
// take if the port were Linux's, and so does a datagram to a port that an application opened
// (linux_box_claim()). So the remaining tokens do not tell which ports are open here.
#pragma once
#include "worker/frame_ring.h"
#include "worker/linux_flows.h"
#include "worker/worker.h"

enum {
    LINUX_TO_UNITS = 8192,    // 512 KiB: 340 packets of 1,500 bytes, 17 ms at 20,000/s
    LINUX_FROM_UNITS = 2048,  // 128 KiB: 85 of them
    LINUX_FROM_TURN = 32,     // packets of Linux that are sent every WORKER_HOUSE_TURNS turns
    LINUX_FROM_BURST = 64,    // packets that Linux may send at once
    LINUX_FLOW_SHARE = 2,     // divisor of the rate: of NET_LINUX_FLOW
    LINUX_OTHER_SHARE = 8,    // of each other class
};

// linux_box_counts: of one worker and port, written by the worker.
struct linux_box_counts {
    uint64_t given[NET_LINUX_CLASSES];  // put into the ring, copies included
    uint64_t rate[NET_LINUX_CLASSES];   // not given: over the rate
    uint64_t full;                      // not given: no room in the ring
    uint64_t sent, sent_bytes;          // of Linux, passed to the port
    uint64_t waits;                     // times that packets of Linux waited for their rate
    uint64_t bad_source, bad_length;    // of Linux, dropped
};

// linux_box: of one worker and port. Constant but counts, limits and from_at_ns.
struct linux_box {
    struct rte_ring *to, *from;
    const struct linux_flows *flows;
    uint32_t rate;
    struct mac_addr mac;
    uint64_t from_at_ns;  // when the next packet of Linux may be sent
    struct linux_box_counts counts CACHE_ALIGNED;
    struct limit limits[NET_LINUX_CLASSES];
};

// linux_box_footprint: bytes of a box with its rings. linux_box_init: places it in mem. key: of the
// limits. flows outlives it.
uint64_t linux_box_footprint(void);
struct linux_box *linux_box_init(void *mem, uint32_t rate, const struct mac_addr *mac,
                                 struct siphash_key key, const struct linux_flows *flows);

// linux_box_give: hands packet p, received on port `port`, to Linux. Counts it as delivered, or
// dropped. linux_box_net: the packets of w->rx.linux_pkts. linux_box_claim: only takes the token.
void linux_box_give(struct worker *w, unsigned port, const struct pkt *p, uint8_t cls);
void linux_box_net(struct worker *w);
void linux_box_claim(struct worker *w, unsigned port, const struct pkt *p, uint8_t cls);

// linux_box_segment: hands the TCP segment in p to Linux. linux_box_stranger: takes its token if,
// without the connection that it hit, Linux would have got it.
void linux_box_segment(struct worker *w, const struct pkt *p);
void linux_box_stranger(struct worker *w, const struct seg_in *s, const struct pkt *p);

// linux_box_send: passes packets of Linux on, to the array of packets to send of each port.
void linux_box_send(struct worker *w);
