// SPDX-License-Identifier: BSD-3-Clause
// memif_rings.h: the shared memory of a memif link, and the bursts through it. The peer can write
// every byte of this memory at any time, so none of it is trusted. A word is read once, checked,
// and then used. Values that this side knows (its position in a ring, the places of its buffers)
// are never read from the shared memory. A peer that breaks a rule loses its link; nothing else
// fails.
//
//     as server  uses the client's memory: a buffer lies where its descriptor says, inside a region
//     as client  uses memory of its own: buffer i of a ring always belongs to slot i
#pragma once
#include "base/shared.h"
#include "drivers/memif_wire.h"
#include "pkt/pkt.h"

enum {
    MEMIF_REGIONS_MAX = 8,      // each takes one of our file descriptors; usual are one or two
    MEMIF_PARTS_MAX = 64,       // most buffers of one frame
    MEMIF_BUFFER_BYTES = 4096,  // allowed for each slot of a peer: twice what it needs
    MEMIF_PAGE_BYTES = 4096,
};

struct memif_region {
    uint8_t *addr;
    uint64_t bytes;
    int fd;  // our descriptor of the file, to find lost pages
};

// memif_end: this side's end of one ring.
struct memif_end {
    struct memif_ring *ring;  // NULL: not set up yet
    uint32_t slots;           // a power of two
    uint16_t at;              // next slot to receive from or to send in; wraps at 2^16
    uint8_t *buffers;         // client: buffer of slot 0
    uint32_t buffers_offset;  // client: their offset in region 0
};

struct memif_rings {
    bool client;
    struct memif_end rx, tx;
    struct memif_region regions[MEMIF_REGIONS_MAX];
    unsigned n_regions;
    bool begun;  // we have touched, and so allocated, pages of the regions
    bool whole;  // all pages were allocated when the link began
    // Written by the worker: the rule that the peer broke; NULL: none. A broken link carries
    // nothing.
    struct shared_ptr broken;
};

// memif_counts: counters of a port, written by its worker.
struct memif_counts {
    uint64_t rx_packets, rx_bytes, rx_errors;
    uint64_t rx_nombuf;  // bursts that found the pool empty; the frames stay in the ring
    uint64_t tx_packets, tx_bytes, tx_errors;
};

// memif_rings_bytes_max: the most bytes that all regions of a link may have together, if each ring
// has up to 2^log2_slots slots.
uint64_t memif_rings_bytes_max(unsigned log2_slots);

// memif_rings_map: maps the peer's file as the next region, if all regions together stay within
// bytes_max. The file must be sealed against shrinking (F_SEAL_SHRINK), because a load beyond its
// end would kill the process (SIGBUS). This call also fixes its size and its seals: another seal
// could keep memif_rings_unmap() from freeing the pages. Returns NULL, or the reason of a failure.
// fd stays the caller's.
const char *memif_rings_map(struct memif_rings *r, int fd, uint64_t bytes, uint64_t bytes_max);

// memif_rings_place: sets *end to the ring at that offset of a region; end is &r->rx or &r->tx.
// Returns NULL, or the reason of a failure.
const char *memif_rings_place(struct memif_rings *r, struct memif_end *end, unsigned region,
                              uint32_t offset, unsigned log2_slots);

// memif_rings_make: for a client: creates the memory with both rings and their buffers. Returns its
// file, which the caller closes, or -1 with errno.
int memif_rings_make(struct memif_rings *r, unsigned log2_slots);

// memif_rings_begin: allocates all pages of the memory, and locks them if the limit of locked
// memory permits it. Call it before the first burst. Returns NULL, or the reason why the peer's
// rings are not valid.
const char *memif_rings_begin(struct memif_rings *r);

// memif_rings_lost_pages: whether the peer has removed pages that were allocated when the link
// began (fallocate(2), FALLOC_FL_PUNCH_HOLE) and that the worker has not touched since.
bool memif_rings_lost_pages(const struct memif_rings *r);

// memif_rings_wants_waking: whether the peer's receiver sleeps until its eventfd is written.
bool memif_rings_wants_waking(const struct memif_rings *r);

// memif_rings_waiting: the number of packets that the worker has not received yet.
unsigned memif_rings_waiting(const struct memif_rings *r);

// memif_rings_unmap: unmaps all regions and frees their pages. Pages that this process touched
// first would otherwise count as its memory for as long as the peer keeps the file. No burst may
// run.
void memif_rings_unmap(struct memif_rings *r);

// Bursts, with the rules of struct port_ops. Owner worker only.
uint16_t memif_rings_rx(struct memif_rings *r, struct memif_counts *c, struct pkt_pool *pool,
                        struct pkt **pkts, uint16_t n);
uint16_t memif_rings_tx(struct memif_rings *r, struct memif_counts *c, struct pkt **pkts,
                        uint16_t n);
