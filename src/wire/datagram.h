// SPDX-License-Identifier: BSD-3-Clause
// datagram.h: builds the UDP datagrams and ICMP messages of applications, with the IP header fields
// that a sender may choose; and maps ICMP errors to errno for datagram sockets.
#pragma once
#include "wire/build6.h"

// wire_datagram: len bytes at data, from src_port to dst_port. They fit the frame after the
// headers.
struct wire_datagram {
    uint16_t src_port, dst_port;
    uint8_t ttl, tos;  // hop limit, traffic class
    bool df;           // IPv4: DF. If it is clear, id is the identification
    uint16_t id;       // (RFC 6864 4.3), else 0
    const uint8_t *data;
    uint32_t len;
    // Not NULL: an ICMP message with these first ICMP_BYTES bytes. src_port is its identifier; the
    // checksum is computed.
    const uint8_t *icmp;
};

// wire_build_datagram4, wire_build_datagram6: build the frame. dst_word: destination MAC in the low
// 48 bits. With l4_offload the checksum field holds the folded sum of the pseudo header, which the
// port completes; else the checksum, which is never 0, as that means none (RFC 768, RFC 8200 8.1).
// Return the bytes of the frame: UDP4_DATA_OFF or UDP6_DATA_OFF plus the payload.
uint32_t wire_build_datagram4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                              uint32_t dst_raw, const struct wire_datagram *d, bool l4_offload);
uint32_t wire_build_datagram6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                              const struct ip_addr *dst, const struct wire_datagram *d,
                              bool l4_offload);

// wire_icmp4_errno, wire_icmp6_errno: the errno that an ICMP error means to a datagram socket, as
// Linux's icmp_err_convert and icmpv6_err_convert; EMSGSIZE for a packet that was too big; 0: the
// socket gets no error. *hard: a connected socket is told; the others may be temporary.
int wire_icmp4_errno(uint8_t type, uint8_t code, bool *hard);
int wire_icmp6_errno(uint8_t type, uint8_t code, bool *hard);
