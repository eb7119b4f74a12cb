// SPDX-License-Identifier: BSD-3-Clause
// icmp_event.h: an ICMP error about a segment that we sent, in host form. src/net passes it to
// src/tcp.
#pragma once
#include "base/addr.h"

enum icmp_kind {
    ICMP_SOFT,     // may be temporary: RFC 1122 4.2.3.9
    ICMP_HARD,     // ends an open that is not established; others ignore it (RFC 5927 6.1)
    ICMP_TOO_BIG,  // the packet exceeded the MTU of a link
};

// icmp_event: unverified: anybody can send an ICMP message. TCP compares seq with what is in flight
// before it acts (RFC 5927).
struct icmp_event {
    struct flow_key key;
    uint32_t seq;     // of the quoted segment
    uint16_t pkt_ix;  // of the message in its burst
    uint16_t mtu;     // with ICMP_TOO_BIG: the reported MTU; 0: none (RFC 1191 5)
    uint8_t kind;     // enum icmp_kind
    uint8_t error;    // errno; 0: none
};
