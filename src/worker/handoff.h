// SPDX-License-Identifier: BSD-3-Clause
// handoff.h: a port that several workers share. Each worker receives its own flows on the queue
// with its number and sends there, however many queues the device has. It wraps a port if there is
// more than one worker; a single worker uses the port itself.
//
//   device queue q --> worker q: whose flow? --> its own: stage_rx
//                                            --> worker j's: [ go q->j ] --> j copies: stage_rx
//                                                            [ back q<-j ] <-- j returns it
//   Fragments are distributed by their addresses, so that one worker gets all of a datagram. The
//   reassembled packet is fragmented again and sent to the worker of its ports (handoff_hand()).
//   ARP goes to every worker; an ICMP error to the worker of the connection that it quotes.
//
//   worker w >= queues: tx_burst --> [ go w->t ] --> worker t = w % queues copies and sends
//                                    [ back w<-t ] <-- t returns it
//
// go and back are DPDK rings in SP/SC mode, one pair for each ordered pair of workers. The receiver
// copies a packet into one of its own and returns the original. Each pool and packet is thus
// written by its owner only; the rings are the only lines that two threads write. Nothing waits: if
// a worker's ring to another is full, further packets for that worker are dropped
// (DROP_handoff_full), and no more packets are accepted for sending.
#pragma once
#include "base/toeplitz.h"
#include "pkt/port.h"
#include "stat/counters.h"
#include "worker/wake.h"

enum {
    HANDOFF_SLOTS_MIN = 64,    // of a ring: packets of one worker that another one holds
    HANDOFF_SLOTS_MAX = 2048,  // more than a receive ring holds by default
    HANDOFF_SHARE = 4,
    HANDOFF_COPY_MAX = 32,  // packets copied at a time
};

// handoff_out_max: packets of a worker that all others may hold, for each port: over all ports half
// of its packets.
uint32_t handoff_out_max(uint32_t packets, unsigned ports);

// handoff_slots: slots of each ring, a power of two. One ring may be long, for a burst that is all
// for one worker: the rings of a worker share out_max, and none takes more than HANDOFF_SHARE times
// what is left of it. The ring of a stalled worker thus leaves a part to the others.
uint32_t handoff_slots(uint32_t out_max);

// handoff_footprint: bytes for one worker's part of one port, a multiple of CACHE_LINE.
size_t handoff_footprint(uint32_t slots, unsigned workers);

struct handoff;

// handoff_open: wraps `inner`, whose queue w belongs to worker w (0 <= w < workers, inner->queues
// <= workers). NULL: no memory. Control thread, as all functions but the bursts.
struct handoff *handoff_open(struct port *inner, uint32_t slots, uint32_t out_max, unsigned workers,
                             const uint8_t *key);

// handoff_join: adds worker w: mem has handoff_footprint() bytes on its NUMA node; pool and stats
// are its own. Every worker joins, in order, before the first one runs.
void handoff_join(struct handoff *s, unsigned w, void *mem, struct pkt_pool *pool,
                  struct core_stats *stats);

// handoff_wake: worker w may sleep: whoever has something for it wakes it by `wake`, which outlives
// the handoff. After every worker has joined.
void handoff_wake(struct handoff *s, unsigned w, const struct wake *wake);

// handoff_port: the port that the workers use.
struct port *handoff_port(struct handoff *s);

// handoff_counts: totals of worker w on this port, and current waiting packets. Over all workers:
// wrong_core + copies = taken_over + lost + waiting.
struct handoff_counts {
    uint64_t wrong_core;  // received on its queue for another worker
    uint64_t lost;        // of those and of the copies, dropped because the ring was full
    uint64_t copies;      // copies made for other workers of packets for all
    uint64_t taken_over;  // received by other workers for it
    uint64_t tx_handed;   // passed to the worker that transmits for it
    uint64_t tx_refused;  // of those that it transmits for others, dropped (pkt/refusal.h)
    // Of wrong_core, by kind; a port with PORT_RSS. Only those of its rss_kinds are its fault, and
    // in the worker's counter rss_wrong.
    uint64_t rss_wrong[PORT_RSS_ALL_KINDS];
    uint32_t waiting;     // packets for it in the rings of all others
    uint32_t tx_waiting;  // packets that it has to send for others
    uint32_t room;        // slots of each ring
};

// handoff_read: reads the counts of worker w; any thread, while workers run. handoff_queues: the
// queues of the device.
void handoff_read(const struct handoff *s, unsigned w, struct handoff_counts *out);
unsigned handoff_queues(const struct handoff *s);

// handoff_trust: whether the port is believed to spread packets to their workers; at first, if it
// has PORT_RSS and a queue for each worker. If not, packets at the wrong worker are no fault of the
// port (rss_wrong). They are handed over in either case. handoff_trusted: reads it; false for a
// port that never was believed. Control thread.
void handoff_trust(struct handoff *s, bool trust);
bool handoff_trusted(const struct handoff *s);

// handoff_flush: sends the remaining packets of stopped workers, as long as the port accepts them.
void handoff_flush(struct handoff *s);

// handoff_close: frees all packets in the rings; the inner port stays open. NULL: does nothing.
void handoff_close(struct handoff *s);

// handoff_whole: the worker of a frame of len bytes that worker w of this port reassembled;
// HANDOFF_HERE: w. handoff_hand: passes n packets of worker w to worker `to`, or drops and counts
// all of them if its ring has no room.
int handoff_whole(const struct port *p, unsigned w, const uint8_t *frame, uint32_t len);
void handoff_hand(struct port *p, unsigned w, unsigned to, struct pkt **pkts, uint32_t n);

// handoff_kind: of a received frame of len bytes that belongs to another worker. A packet that a
// sender can build so that devices hash less of it, or more, than software is PORT_RSS_OTHER: IPv4
// options, extension headers, datagrams to the ports of tunnels, parts of headers.
enum port_rss_kind handoff_kind(const uint8_t *frame, uint32_t len);

// handoff_home: the worker of a received frame of len bytes; HANDOFF_HERE: the one that received
// it; HANDOFF_ALL: every worker.
enum { HANDOFF_HERE = -1, HANDOFF_ALL = -2 };
int handoff_home(const struct toeplitz *t, unsigned entries, unsigned workers, const uint8_t *frame,
                 uint32_t len);
