// SPDX-License-Identifier: BSD-3-Clause
// tcp_service.h: what the connections of a service share.
#pragma once
#include "tcp/tcp_config.h"

// A service that is not open answers new connections with RST, as if nobody listened; its
// connections continue. While it drains, half-open connections may complete; if it is closed, they
// are removed.
enum tcp_service_state { TCP_SERVICE_OPEN, TCP_SERVICE_DRAINING, TCP_SERVICE_CLOSED };

// tcp_service: written before the workers start, later by the worker itself by an order
// (worker/order.h).
struct tcp_service {
    uint16_t ports[TCP_LISTENS_MAX];  // listens on these; n_ports 0: not listening
    uint8_t n_ports;
    uint16_t local_ix;  // on this local address; UINT16_MAX: on all
    bool nodelay;
    uint8_t state;       // enum tcp_service_state
    uint8_t congestion;  // enum tcp_congestion
    bool pulls;  // its application reads by calls: data waits, and half-closed connections stay
    uint32_t rcv_limit;                 // limit of unconsumed bytes
    uint32_t snd_limit;                 // limit of copied bytes not acknowledged
    uint32_t rcv_initial, snd_initial;  // initial limits; 0: the same as the limits
    uint32_t keepalive_ms;              // 0: off
    uint32_t keepalive_interval_ms, keepalive_probes;
    uint32_t user_timeout_ms;  // 0: off
    uint32_t connections_max;
    uint32_t connections;  // now
    uint32_t source_max;   // limit of connections of one source; 0: none
    // RFC 7413 5.1: limit of blocks in SYN-RECEIVED by Fast Open (0: off), and their number. A
    // reset one stays counted for 60 to 120 s: in this interval of 60 s, which began at reset_ms,
    // and in the one before.
    uint32_t fast_open, fast_open_now;
    uint32_t fast_open_reset[2], fast_open_reset_ms;
};

enum { TCP_SERVICES_MAX = 32, TCP_LOCALS_MAX = 128, TCP_GROWN_MAX = 7, TCP_NEW_FLOWS_WORDS = 32 };
