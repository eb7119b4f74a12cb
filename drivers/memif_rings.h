// SPDX-License-Identifier: BSD-3-Clause
// memif_rings.h: the shared memory of a memif link, and the bursts through it. The peer can write
// every byte of it at any time, so nothing in it is believed: a word is read once, checked, and
// then used; what this side knows by itself (its place in a ring, its own buffers) is never read
// from there. A peer that breaks the rules loses its link and harms nobody else.
//
//     server  the client's memory: its buffers lie where its descriptors say, inside its regions
//     client  memory of ours: buffer i of a ring belongs to slot i forever
#pragma once
#include "base/shared.h"
#include "drivers/memif_wire.h"
#include "pkt/pkt.h"

enum {
    MEMIF_REGIONS_MAX = 8,      // a descriptor of ours each; peers make one or two
    MEMIF_PARTS_MAX = 64,       // buffers of one frame
    MEMIF_BUFFER_BYTES = 4096,  // that a peer may have for each slot: twice what it needs
    MEMIF_PAGE_BYTES = 4096,
};

struct memif_region {
    uint8_t *addr;
    uint64_t bytes;
    int fd;  // our own of the file, by which lost pages are found
};

// memif_end: this side's end of one ring.
struct memif_end {
    struct memif_ring *ring;  // NULL: none yet
    uint32_t slots;           // a power of two
    uint16_t at;              // the next slot to receive from or to send by; runs freely
    uint8_t *buffers;         // client: of slot 0
    uint32_t buffers_offset;  // in region 0
};

struct memif_rings {
    bool client;
    struct memif_end rx, tx;
    struct memif_region regions[MEMIF_REGIONS_MAX];
    unsigned n_regions;
    bool begun;  // our accesses have made pages of the regions
    bool whole;  // every page was there when the link began
    // Written by the worker: the rule that the peer broke; NULL: none. The link carries no more.
    struct shared_ptr broken;
};

// memif_counts: of a port, written by its worker.
struct memif_counts {
    uint64_t rx_packets, rx_bytes, rx_errors;
    uint64_t rx_nombuf;  // bursts that found the pool empty; their frames wait in the ring
    uint64_t tx_packets, tx_bytes, tx_errors;
};

// memif_rings_bytes_max: bytes that all regions of a link may have together, if its rings have at
// most so many slots.
uint64_t memif_rings_bytes_max(unsigned log2_slots);

// memif_rings_map: maps the peer's file as the next region, if all of them stay within bytes_max.
// It has to be memory that cannot shrink (F_SEAL_SHRINK), else a load of the worker could end the
// process (SIGBUS). Its size and its seals are fixed here: a later seal could keep us from freeing
// its pages (memif_rings_unmap). NULL, or the reason why not; fd stays the caller's.
const char *memif_rings_map(struct memif_rings *r, int fd, uint64_t bytes, uint64_t bytes_max);

// memif_rings_place: the ring at that offset of a region becomes our end for rx or tx. NULL, or the
// reason why not.
const char *memif_rings_place(struct memif_rings *r, struct memif_end *end, unsigned region,
                              uint32_t offset, unsigned log2_slots);

// memif_rings_make: as client: makes the memory with both rings and their buffers. Returns its
// file, which the caller closes, or -1 with errno.
int memif_rings_make(struct memif_rings *r, unsigned log2_slots);

// memif_rings_begin: before the first burst: populates the memory, and locks it if the limit of
// locked memory allows it. NULL, or why the peer's rings are none.
const char *memif_rings_begin(struct memif_rings *r);

// memif_rings_lost_pages: whether the peer has taken away pages that were there when the link began
// (fallocate(2), FALLOC_FL_PUNCH_HOLE) and that the worker has not touched since.
bool memif_rings_lost_pages(const struct memif_rings *r);

// memif_rings_wants_waking: whether the peer sleeps until its file is written.
bool memif_rings_wants_waking(const struct memif_rings *r);

// memif_rings_waiting: packets that the worker has not taken yet.
unsigned memif_rings_waiting(const struct memif_rings *r);

// memif_rings_unmap: no burst runs. Frees the pages, too: those that we touched first count as our
// memory as long as the peer keeps the file.
void memif_rings_unmap(struct memif_rings *r);

// Bursts, as struct port_ops has them. Owner worker.
uint16_t memif_rings_rx(struct memif_rings *r, struct memif_counts *c, struct pkt_pool *pool,
                        struct pkt **pkts, uint16_t n);
uint16_t memif_rings_tx(struct memif_rings *r, struct memif_counts *c, struct pkt **pkts,
                        uint16_t n);
