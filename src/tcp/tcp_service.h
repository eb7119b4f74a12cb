// SPDX-License-Identifier: BSD-3-Clause
// tcp_service.h: what the connections of a service share.
#pragma once
#include "tcp/tcp_config.h"

// Who opens a connection to a service that is not open gets a RST, as where nobody listens; those
// that are there go on. Half-open ones are let in by one that drains, and forgotten by one that is
// closed: nobody comes in any more.
enum tcp_service_state { TCP_SERVICE_OPEN, TCP_SERVICE_DRAINING, TCP_SERVICE_CLOSED };

// tcp_service: what a service's connections share. Written before the workers start; later by the
// worker itself, as it is ordered (worker/order.h).
struct tcp_service {
    uint16_t ports[TCP_LISTENS_MAX];  // listens on these; n_ports 0: not listening
    uint8_t n_ports;
    uint16_t local_ix;  // on this local address; UINT16_MAX: on all
    bool nodelay;
    uint8_t state;       // enum tcp_service_state
    uint8_t congestion;  // enum tcp_congestion
    bool pulls;          // its application reads by itself: data waits, and a half-closed one lasts
    uint32_t rcv_limit;  // bytes unconsumed, at most
    uint32_t snd_limit;  // bytes copied and unacknowledged, at most
    uint32_t rcv_initial, snd_initial;  // as long as the path does not take more; 0: the same
    uint32_t keepalive_ms;              // 0: off
    uint32_t keepalive_interval_ms, keepalive_probes;
    uint32_t user_timeout_ms;  // 0: off
    uint32_t connections_max;
    uint32_t connections;  // now
    uint32_t source_max;   // connections that one address may have; 0: no limit
    // RFC 7413 5.1: blocks in SYN-RECEIVED by Fast Open, at most (0: off), and now. Who was reset
    // counts on for 60 to 120 s: by the turn of 60 s, which began at reset_ms, and the one before.
    uint32_t fast_open, fast_open_now;
    uint32_t fast_open_reset[2], fast_open_reset_ms;
};

enum { TCP_SERVICES_MAX = 32, TCP_LOCALS_MAX = 128, TCP_GROWN_MAX = 7, TCP_NEW_FLOWS_WORDS = 32 };
