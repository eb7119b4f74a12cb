// SPDX-License-Identifier: BSD-3-Clause
// datagram.h: UDP datagrams of applications out of host form, with what of the IP header a sender
// may choose; and what an ICMP error is to the socket that sent one. Pure.
#pragma once
#include "wire/build6.h"

// wire_datagram: len bytes at data, from src_port to dst_port. They fit the frame behind the
// headers.
struct wire_datagram {
    uint16_t src_port, dst_port;
    uint8_t ttl, tos;  // hop limit, traffic class
    bool df;           // IPv4: routers may not cut it. Else id names what belongs together
    uint16_t id;       // (RFC 6864 4.3), and with df is 0
    const uint8_t *data;
    uint32_t len;
    // Not NULL: a message of ICMP instead, which begins with these ICMP_BYTES; src_port is its
    // identifier, the checksum is filled in.
    const uint8_t *icmp;
};

// wire_build_datagram4, wire_build_datagram6: the whole frame, to the MAC in the low 48 bits of
// dst_word. With l4_offload the checksum field holds the folded pseudo header sum for the port to
// go on from, else the checksum, which is never 0: that would be none (RFC 768, RFC 8200 8.1).
// Returns the frame's bytes: UDP4_DATA_OFF or UDP6_DATA_OFF and the payload.
uint32_t wire_build_datagram4(uint8_t *frame, const struct wire_from *from, uint64_t dst_word,
                              uint32_t dst_raw, const struct wire_datagram *d, bool l4_offload);
uint32_t wire_build_datagram6(uint8_t *frame, const struct wire_from6 *from, uint64_t dst_word,
                              const struct ip_addr *dst, const struct wire_datagram *d,
                              bool l4_offload);

// wire_icmp4_errno, wire_icmp6_errno: what an ICMP error of type and code is to a datagram socket:
// Linux's tables, icmp_err_convert and icmpv6_err_convert; EMSGSIZE for one that did not fit. 0: no
// error of a datagram. *hard: one that a connected socket hears of (the others may pass).
int wire_icmp4_errno(uint8_t type, uint8_t code, bool *hard);
int wire_icmp6_errno(uint8_t type, uint8_t code, bool *hard);
