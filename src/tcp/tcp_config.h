// SPDX-License-Identifier: BSD-3-Clause
// tcp_config.h: the limits of TCP, and what the configuration sets.
#pragma once
#include "base/base.h"

enum {
    TCP_LISTENS_MAX = 8,     // ports of one service
    TCP_OUT_MAX = 320,       // segments a turn may send: one reply per received one, and the budget
    TCP_OUT_BLOCK_MAX = 32,  // segments of one connection a turn, so that others have theirs
    TCP_EXPIRE_MAX = 256,    // timers handled in a turn
    // Dirty blocks looked at in a turn, whether they send or not: those that its own segments and
    // timers can make dirty.
    TCP_VISITS_MAX = TCP_OUT_MAX + TCP_EXPIRE_MAX,
    TCP_DUPACKS = 3,          // RFC 5681 3.2
    TCP_ORPHAN_RETRIES = 8,   // R2 of what the application has closed (Linux's tcp_orphan_retries)
    TCP_MSS_DEFAULT = 536,    // RFC 9293 3.7.1: of a peer that announces none, over IPv4
    TCP_MSS_DEFAULT6 = 1220,  // and over IPv6
    TCP_MSS_MIN = 64,    // a smaller one from a peer is taken as this (RFC 6691 gives no floor)
    TCP_PMTU_MIN = 552,  // bytes of a packet: ICMP does not bring it lower (Linux's min_pmtu)
    TCP_WINDOW_MAX = 1 << 30,             // RFC 7323 2.3
    TCP_PAWS_MS = 24 * 24 * 3600 * 1000,  // RFC 7323 5.5
    // Every block is swept once in 2^23 intervals of 64 ms: 6.2 days, for 2^32 ms are 49.7.
    TCP_SWEEP_MS = 64,
    TCP_SWEEP_STEPS = 1 << 23,
    TCP_SWEEP_MAX = 64,  // blocks at a time
};

// Explicit congestion notification: never, when the peer asks for it, always asked for.
enum tcp_ecn { TCP_ECN_OFF, TCP_ECN_ACCEPT, TCP_ECN_ON };

// How cwnd grows and shrinks.
enum tcp_congestion {
    TCP_CUBIC,    // RFC 9438
    TCP_NEWRENO,  // RFC 5681
};

// When a SYN is answered by a cookie (RFC 4987 3.6) in place of a record: never, when there is no
// room for a record, always.
enum tcp_cookies { TCP_COOKIES_OFF, TCP_COOKIES_AUTO, TCP_COOKIES_ALWAYS };

struct tcp_config {
    uint32_t rto_min_ms, rto_max_ms, rto_initial_ms;
    uint32_t syn_retries, synack_retries;
    uint32_t retries1, retries;  // R1, R2 (RFC 9293 3.8.3)
    uint32_t time_wait_ms, delayed_ack_ms, fin_wait2_ms;
    uint32_t rst_per_s;       // of one worker
    uint32_t invalid_ack_ms;  // least time between two answers of tcp_claim_answer()
    uint32_t initial_window;  // segments
    uint32_t pacing_rtt_ms;   // the shortest round trip that is paced; 0: none is
    uint8_t window_scale;
    uint8_t ecn;          // enum tcp_ecn
    uint8_t syn_cookies;  // enum tcp_cookies
    bool ack_merge, quick_ack, timestamps, sack;
    bool black_hole_detection;
    bool rfc1337;   // a RST does not end TIME-WAIT
    bool large;     // full segments of one connection leave as one large (SEG_WHOLE_MAX)
    uint16_t mss;   // what we announce over IPv4: MTU less 40
    uint16_t mss6;  // and over IPv6: MTU less 60
};

// tcp_config_default: the values of config/default.conf's [tcp].
struct tcp_config tcp_config_default(void);
