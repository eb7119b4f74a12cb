// icmp_event.h: an ICMP error about a segment of ours, in host form: net hands it to TCP.
#pragma once
#include "base/addr.h"

// icmp_event: nothing in it is proven but that an ICMP message said so (RFC 5927: TCP checks seq
// against what is in flight before it believes it).
struct icmp_event {
    struct flow_key key;
    uint32_t seq;  // of the quoted segment
    uint16_t mtu;  // with type 3, code 4; 0: the router did not say (RFC 1191 5)
    uint8_t type, code;
};
