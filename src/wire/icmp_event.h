// SPDX-License-Identifier: BSD-3-Clause
// icmp_event.h: an ICMP error about a segment of ours, in host form: net hands it to TCP.
#pragma once
#include "base/addr.h"

enum icmp_kind {
    ICMP_SOFT,     // may pass: RFC 1122 4.2.3.9
    ICMP_HARD,     // nobody there speaks with us; RFC 5927 6.1: what is open believes it not
    ICMP_TOO_BIG,  // the packet did not fit a link
};

// icmp_event: nothing in it is proven but that an ICMP message said so (RFC 5927: TCP checks seq
// against what is in flight before it believes it).
struct icmp_event {
    struct flow_key key;
    uint32_t seq;   // of the quoted segment
    uint16_t mtu;   // with ICMP_TOO_BIG, at most; 0: the router did not say (RFC 1191 5)
    uint8_t kind;   // enum icmp_kind
    uint8_t error;  // as Linux's errno has it; 0: none
};
