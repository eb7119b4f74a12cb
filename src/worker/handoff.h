// SPDX-License-Identifier: BSD-3-Clause
// handoff.h: a port of several workers: each one receives its own flows on the queue of its number
// and sends there, whatever queues the device has. Made around a port where there is more than one
// worker; one alone uses the port itself, and nothing of this is in its way.
//
//   device queue q --> worker q: whose is it? --> its own: stage_rx
//                                             --> worker j's: [ go q->j ] --> j copies: stage_rx
//                                                             [ back q<-j ] <-- j is done with it
//   Fragments go by their addresses, so that all of a datagram meet; the whole one goes on to the
//   worker of its ports, cut into parts again, by the same rings (handoff_hand).
//   ARP goes to every worker; an ICMP error to the worker of the connection that it quotes.
//
//   worker w >= queues: tx_burst --> [ go w->t ] --> worker t = w % queues copies and sends
//                                    [ back w<-t ] <-- t is done with it
//
// go and back are DPDK's rings in SP/SC mode, one pair for each ordered pair of workers. The taker
// copies a packet into one of its own and gives the original back: so each pool, and each packet's
// memory, is written by its owner alone; the lines that two threads write are those of the rings.
// Nothing waits: a worker that has as many packets out with another as the ring holds drops what
// comes for it (DROP_handoff_full), and takes no more to send than the transmitter takes.
#pragma once
#include "base/toeplitz.h"
#include "pkt/port.h"
#include "stat/counters.h"

enum {
    HANDOFF_SLOTS_MIN = 64,  // of a ring: packets that one worker has out with another
    HANDOFF_SLOTS_MAX = 1024,
    HANDOFF_TAKE = 32,  // packets copied at once
};

// handoff_slots: of each ring, so that at most a quarter of a worker's packets are with others.
uint32_t handoff_slots(uint32_t packets, unsigned workers);

// handoff_footprint: bytes for one worker's part of one port, a multiple of CACHE_LINE.
size_t handoff_footprint(uint32_t slots, unsigned workers);

struct handoff;

// handoff_open: a port around `inner`, whose queue w is worker w's (0 <= w < workers, inner->queues
// <= workers). NULL: no memory. Control thread, as the others but the bursts.
struct handoff *handoff_open(struct port *inner, uint32_t slots, unsigned workers,
                             const uint8_t *key);

// handoff_join: worker w's part, in mem of handoff_footprint() bytes on its own node; its packets
// and counters. Every worker joins, in the order of their numbers, before the first one runs.
void handoff_join(struct handoff *s, unsigned w, void *mem, struct pkt_pool *pool,
                  struct core_stats *stats);

// handoff_port: what the workers use.
struct port *handoff_port(struct handoff *s);

// handoff_counts: what worker w did with this port's packets of others, since the start, and what
// waits now. The balance over all workers: wrong_core + copies = taken_over + lost + waiting.
struct handoff_counts {
    uint64_t wrong_core;  // received on its queue, another worker's
    uint64_t lost;        // of those and of the copies, dropped: their worker's ring was full
    uint64_t copies;      // of what all workers have to see, made for another
    uint64_t taken_over;  // of its own, received by others
    uint64_t tx_handed;   // given to the worker that transmits for it
    uint32_t waiting;     // for it, with all others
    uint32_t tx_waiting;  // given to it to be sent
    uint32_t room;        // of each ring
};

// handoff_read: any thread that joined the workers up to now, while they run. handoff_queues: those
// of the device.
void handoff_read(const struct handoff *s, unsigned w, struct handoff_counts *out);
unsigned handoff_queues(const struct handoff *s);

// handoff_flush: sends what workers that have stopped still had to send, as far as the port takes
// it.
void handoff_flush(struct handoff *s);

// handoff_close: frees what is under way; the inner port stays open. NULL: nothing.
void handoff_close(struct handoff *s);

// handoff_whole: where the frame of len bytes, put together of fragments by worker w of this port,
// which may be any, belongs: another worker, or HANDOFF_HERE. handoff_hand: gives n packets of w's
// to worker `to`, all or, for want of room in the ring, none: then they are dropped and counted.
int handoff_whole(const struct port *p, unsigned w, const uint8_t *frame, uint32_t len);
void handoff_hand(struct port *p, unsigned w, unsigned to, struct pkt **pkts, uint32_t n);

// handoff_home: the worker of a frame of len bytes among `workers`: HANDOFF_HERE: any (the one that
// has it), HANDOFF_ALL: each.
enum { HANDOFF_HERE = -1, HANDOFF_ALL = -2 };
int handoff_home(const struct toeplitz *t, unsigned entries, unsigned workers, const uint8_t *frame,
                 uint32_t len);
