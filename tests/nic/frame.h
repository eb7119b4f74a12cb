// SPDX-License-Identifier: BSD-3-Clause
// What a NIC knows of packets: headers, checksums, the RSS hash, and how a large segment is cut.
// Written for the models alone, so that it does not share an error with what it tests.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct frame {
    bool vlan, v4, v6, fragment, tcp, udp;
    bool more;        // IPv4 options or IPv6 extension headers
    unsigned l3, l4;  // offsets
    bool ip_ok;       // header checksum of IPv4
    bool l4_checked, l4_ok;
    bool udp_zero;  // a datagram without a checksum
};

void frame_parse(const uint8_t *data, uint32_t len, struct frame *out);

enum { FRAME_HASH_L3 = 1, FRAME_HASH_L4 = 2 };
// frame_hash: Toeplitz of the addresses, with FRAME_HASH_L4 of the ports as well.
uint32_t frame_hash(const uint8_t *data, const struct frame *f, int what, const uint8_t *key);

// A packet to be sent as descriptors tell it: nothing here is read from the packet itself.
struct frame_tx {
    uint8_t *data;
    uint32_t len;
    unsigned l2, l3, l4;  // bytes of each header
    unsigned mss;         // 0: one frame
    bool v4, tcp;         // for the cut and for the place of the checksum
    bool ip_sum, l4_sum;
    uint16_t first, middle, last;  // masks of the TCP flags
};

// frame_work: the packets of a queue for which the chip did this work.
struct frame_work {
    uint64_t segmented, ip_sums, l4_sums;
};

// frame_send: computes the checksums, cuts a large segment, passes each frame to send(), and counts
// the work in *done. Descriptors that are wrong are reported by nic_wrong(), and nothing is sent.
void frame_send(struct frame_tx *tx, struct frame_work *done,
                void (*send)(const uint8_t *frame, uint32_t len));

// frame_work_print: the lines for queue q in the state of a chip.
void frame_work_print(FILE *out, unsigned q, const struct frame_work *done);

// frame_wire_bytes: the bytes of a frame on the wire, with its padding and its checksum.
uint32_t frame_wire_bytes(uint32_t len);
