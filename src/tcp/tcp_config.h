// SPDX-License-Identifier: BSD-3-Clause
// tcp_config.h: limits of TCP and its configuration.
#pragma once
#include "base/base.h"

enum {
    TCP_ACCEPT_WAIT_US = 50000,  // see accept_wait_us
    TCP_LISTENS_MAX = 8,         // ports of one service
    TCP_OUT_MAX = 320,           // segments sent in a turn: a reply to each one received, and more
    TCP_OUT_BLOCK_MAX = 32,      // segments of one connection in a turn
    TCP_EXPIRE_MAX = 256,        // timers handled in a turn
    // Dirty blocks processed in a turn, whether they send or not: as many as its segments and
    // timers can make dirty.
    TCP_VISITS_MAX = TCP_OUT_MAX + TCP_EXPIRE_MAX,
    TCP_DUPACKS = 3,           // RFC 5681 3.2
    TCP_ORPHAN_RETRIES = 8,    // R2 of orphans (Linux's tcp_orphan_retries)
    TCP_MSS_DEFAULT = 536,     // RFC 9293 3.7.1: if the peer announces none, IPv4
    TCP_MSS_DEFAULT6 = 1220,   // and over IPv6
    TCP_MSS_MIN = 64,          // lower bound of the peer's MSS (RFC 6691 has none)
    TCP_PMTU_MIN = 552,        // bytes of a packet: lower bound of the path MTU (Linux's min_pmtu)
    TCP_WINDOW_MAX = 1 << 30,  // RFC 7323 2.3
    TCP_PAWS_MS = 24 * 24 * 3600 * 1000,  // RFC 7323 5.5
    // Every block is swept once in 2^23 intervals of 64 ms: 6.2 days, for 2^32 ms are 49.7.
    TCP_SWEEP_MS = 64,
    TCP_SWEEP_STEPS = 1 << 23,
    TCP_SWEEP_MAX = 64,  // blocks at a time
};

// Explicit congestion notification: never; if the peer asks for it; always requested.
enum tcp_ecn { TCP_ECN_OFF, TCP_ECN_ACCEPT, TCP_ECN_ON };

// Congestion control algorithms.
enum tcp_congestion {
    TCP_CUBIC,    // RFC 9438
    TCP_NEWRENO,  // RFC 5681
};

// When a SYN is answered with a cookie (RFC 4987 3.6) instead of a record: never; if no record is
// free; always.
enum tcp_cookies { TCP_COOKIES_OFF, TCP_COOKIES_AUTO, TCP_COOKIES_ALWAYS };

struct tcp_config {
    uint32_t rto_min_ms, rto_max_ms, rto_initial_ms;
    uint32_t syn_retries, synack_retries;
    uint32_t retries1, retries;  // R1, R2 (RFC 9293 3.8.3)
    uint32_t time_wait_ms, delayed_ack_ms, fin_wait2_ms;
    uint32_t rst_per_s;       // of one worker
    uint32_t invalid_ack_ms;  // minimum time between two answers, tcp_claim_answer()
    uint32_t initial_window;  // segments
    uint32_t pacing_rtt_ms;   // the shortest RTT with pacing; 0: no pacing
    uint32_t prefix_share_ppm, service_share_ppm;  // tcp/tcp_share.h; 0: no limit
    uint32_t accept_wait_us;  // SYNs are dropped while both tcp.behind_us and full_us are larger;
                              // 0: TCP_ACCEPT_WAIT_US, if tcp.queue_full; UINT32_MAX: never
    uint8_t window_scale;
    uint8_t ecn;          // enum tcp_ecn
    uint8_t syn_cookies;  // enum tcp_cookies
    bool ack_merge, quick_ack, timestamps, sack;
    bool black_hole_detection;
    bool rfc1337;   // a RST does not end TIME-WAIT
    bool large;     // send full segments of a connection as one large one (SEG_WHOLE_MAX)
    uint16_t mss;   // announced over IPv4: MTU less 40
    uint16_t mss6;  // announced over IPv6: MTU less 60
};

// tcp_config_default: the values of [tcp] in config/default.conf, but without shares and
// accept_wait: a program that measures opens as many connections from one address as there are, as
// fast as it can.
struct tcp_config tcp_config_default(void);
