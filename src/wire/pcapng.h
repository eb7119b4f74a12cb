// SPDX-License-Identifier: BSD-3-Clause
// pcapng.h: the blocks of a capture file (draft-ietf-opsawg-pcapng), in the byte order of this
// machine. A file has one section, and Ethernet interfaces with times in nanoseconds.
//
//     section, interface ..., packet ..., statistics of each interface
//
// Writers put one whole block and return its bytes. 0: `room` is too small. Readers read these
// blocks and any other block of a section of the same byte order.
#pragma once
#include "base/addr.h"

enum {
    PCAPNG_TEXT_BYTES_MAX = 4096,  // of one option; a longer text is truncated
    PCAPNG_PACKET_BYTES = 64,      // of a packet block without its data, at most
    PCAPNG_BLOCK_BYTES_MAX = 256 * 1024,
};

enum pcapng_type {
    PCAPNG_SECTION = 0x0a0d0d0a,
    PCAPNG_INTERFACE = 1,
    PCAPNG_STATISTICS = 5,
    PCAPNG_PACKET = 6,
};

size_t pcapng_section_put(uint8_t *out, size_t room, const char *hardware, const char *os,
                          const char *application);

struct pcapng_interface {
    const char *name, *filter;  // filter: NULL or empty: none
    uint32_t snap_bytes;
    struct mac_addr mac;
};
size_t pcapng_interface_put(uint8_t *out, size_t room, const struct pcapng_interface *i);

struct pcapng_packet {
    uint64_t ns;  // since 1970
    uint32_t interface;
    uint32_t bytes, orig_bytes;
    uint32_t queue;  // index of the worker
    bool out;        // sent; else received
};

// pcapng_packet_begin: writes a packet block up to the data and returns where the data goes.
// pcapng_packet_end: writes the rest after p->bytes of data and returns the bytes of the block, at
// most p->bytes + PCAPNG_PACKET_BYTES. The caller provides that room.
uint8_t *pcapng_packet_begin(uint8_t *out, const struct pcapng_packet *p);
size_t pcapng_packet_end(uint8_t *out, const struct pcapng_packet *p);

struct pcapng_statistics {
    uint64_t ns, begin_ns, end_ns;
    uint32_t interface;
    uint64_t received, accepted, dropped;  // before the filter; by the filter; dropped without room
};
size_t pcapng_statistics_put(uint8_t *out, size_t room, const struct pcapng_statistics *s);

struct pcapng_block {
    uint32_t type;
    const uint8_t *body;
    uint32_t body_bytes;
};

// pcapng_block_get: finds the block at in[0..n). Returns its bytes; 0: more input is needed; -1:
// not a block: its length is no multiple of 4, over PCAPNG_BLOCK_BYTES_MAX, or differs at its end.
int64_t pcapng_block_get(const uint8_t *in, size_t n, struct pcapng_block *b);

// pcapng_packet_get, pcapng_statistics_get: False: the block is of another type or too short.
bool pcapng_packet_get(const struct pcapng_block *b, struct pcapng_packet *p, const uint8_t **data);
bool pcapng_statistics_get(const struct pcapng_block *b, struct pcapng_statistics *s);

// pcapng_interface_get: the name of the interface, truncated to room - 1 characters.
bool pcapng_interface_get(const struct pcapng_block *b, char *name, size_t room);
