// SPDX-License-Identifier: BSD-3-Clause
// What a NIC knows of packets: headers, checksums, the RSS hash, and how a large segment is cut.
// Written for the models alone, so that it does not share an error with what it tests.
#pragma once

#include <stdbool.h>
#include <stdint.h>

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
// frame_send: hands the frames to send(); their number. NULL or why the descriptors are wrong.
const char *frame_send(struct frame_tx *tx, void (*send)(const uint8_t *frame, uint32_t len));
