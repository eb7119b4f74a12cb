// SPDX-License-Identifier: BSD-3-Clause
// memif_wire.h: the memif protocol, version 2.0: messages on a unix socket (SOCK_SEQPACKET), and
// structures in memory that both sides map. All numbers are in host byte order.
// Source: the specification in libmemif, https://s3-docs.fd.io/vpp/24.02/interfacing/libmemif/.
#pragma once
#include "base/base.h"

enum {
    MEMIF_COOKIE = 0x3E31F20,
    MEMIF_VERSION = 2 << 8,  // major, minor
    MEMIF_NAME_BYTES = 32,
    MEMIF_REASON_BYTES = 96,
    MEMIF_LOG2_SLOTS_MAX = 14,
    MEMIF_MODE_ETHERNET = 0,
    MEMIF_RING_TO_SERVER = 1,  // flag of ADD_RING; if clear, the ring leads to the client
    MEMIF_RING_POLLED = 1,     // flag of a ring: its receiver wants no interrupt
    MEMIF_DESC_NEXT = 1,       // flag of a descriptor: the frame continues in the next one
};

enum memif_kind {
    MEMIF_ACK = 1,
    MEMIF_HELLO,  // sent by the server
    MEMIF_INIT,   // sent by the client, as the next three
    MEMIF_ADD_REGION,
    MEMIF_ADD_RING,
    MEMIF_CONNECT,
    MEMIF_CONNECTED,  // sent by the server
    MEMIF_DISCONNECT,
};

#define MEMIF_PACKED __attribute__((packed))

struct memif_msg {
    uint16_t kind;
    union {
        struct {
            char name[MEMIF_NAME_BYTES];
            uint16_t version_min, version_max;
            uint16_t region_max, ring_to_client_max, ring_to_server_max;  // highest index
            uint8_t log2_slots_max;
        } MEMIF_PACKED hello;
        struct {
            uint16_t version;
            uint32_t id;
            uint8_t mode;
            char secret[24];
            char name[MEMIF_NAME_BYTES];
        } MEMIF_PACKED init;
        struct {
            uint16_t index;
            uint64_t bytes;
        } MEMIF_PACKED region;  // the message carries its file
        struct {
            uint16_t flags, index, region;
            uint32_t offset;
            uint8_t log2_slots;
            uint16_t private_bytes;
        } MEMIF_PACKED ring;          // the message carries the eventfd that wakes its receiver
        char name[MEMIF_NAME_BYTES];  // CONNECT and CONNECTED: name of the interface
        struct {
            uint32_t code;
            char reason[MEMIF_REASON_BYTES];
        } MEMIF_PACKED disconnect;
        uint8_t all[126];
    };
} MEMIF_PACKED;

static_assert(sizeof(struct memif_msg) == 128, "the size of every message");

struct memif_desc {
    uint16_t flags, region;
    uint32_t length;  // bytes of the frame; in an empty buffer: size of the buffer
    uint32_t offset;  // in the region
    uint32_t metadata;
};

static_assert(sizeof(struct memif_desc) == 16, "two words of 64 bits, which memif_rings.c loads");

// memif_ring: a ring in shared memory. The client supplies the buffers of both rings and writes
// `head`; the server writes `tail`. So on the ring to the server the sender writes `head`, and on
// the ring to the client the receiver does. Both indices wrap at 2^16.
struct memif_ring {
    uint32_t cookie;
    uint16_t flags;
    uint16_t head;
    uint16_t tail CACHE_ALIGNED;
    struct memif_desc desc[] CACHE_ALIGNED;
};

static_assert(sizeof(struct memif_ring) == 128, "descriptors begin in the third line");
