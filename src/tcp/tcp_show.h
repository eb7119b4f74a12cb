// SPDX-License-Identifier: BSD-3-Clause
// tcp_show.h: connections as text: Linux's /proc/net/tcp and /proc/net/tcp6 (net/ipv4/tcp_ipv4.c,
// net/ipv6/tcp_ipv6.c of Linux 6.18), and net/tcp_info with more columns. Functions on copies
// (tcp_view.h), without printf, because a table may have ten million lines.
//
// In net/tcp times are in hundredths of a second; cwnd and ssthresh in segments, -1: no loss yet;
// `tr` 1: retransmission, 2: keepalive, FIN-WAIT-2 or the application's timer, 3: TIME-WAIT, 4:
// persist; `timeout` counts keepalive probes without answer; the inode is 0; the pointer is a
// number made of worker, kind of record and place.
#pragma once
#include "tcp/tcp.h"

enum {
    TCP_SHOW_BYTES_MAX = 512,  // of any line, with its newline
    TCP_SHOW4_BYTES = 150,     // of each line of net/tcp, padded with blanks as on Linux
};

extern const char tcp_show_head4[], tcp_show_head6[], tcp_show_info_head[];

// tcp_shown: the values of one line: a connection, listener or record.
struct tcp_shown {
    struct ip_addr local, remote;
    uint16_t local_port, remote_port;
    uint8_t state;  // Linux's number; TCP_LISTENS: a listener
    uint8_t timer;  // `tr`
    uint8_t backoff, retries, probes, service;
    bool brief;  // a record: its line ends after the pointer
    uint32_t worker;
    uint32_t when_ms;                // until the timer fires
    uint32_t unacked, unsent, rcvq;  // bytes
    uint32_t cwnd, ssthresh;         // bytes; ssthresh TCP_WINDOW_MAX: no loss yet
    uint32_t srtt_us, rttvar_us, rto_ms, ato_ms;
    uint32_t snd_wnd, rcv_wnd;
    uint16_t mss;
    uint16_t opts;  // enum tcp_show_opt
    uint64_t id;
};

enum { TCP_LISTENS = 10 };  // Linux's number of LISTEN

enum tcp_show_opt {
    SHOW_TS = 1 << 0,
    SHOW_SACK = 1 << 1,
    SHOW_WSCALE = 1 << 2,
    SHOW_ECN = 1 << 3,
    SHOW_NODELAY = 1 << 4,
    SHOW_RECOVERY = 1 << 5,  // has an extension record: out of order, or in recovery
};

// tcp_show_block, tcp_show_syn, tcp_show_time_wait: fill *s from a copy, at the worker's time
// now_ms, except local and worker, which the caller sets. ix: the place of the original.
void tcp_show_block(struct tcp_shown *s, const struct tcp *t, const struct block *b, uint32_t ix,
                    uint32_t now_ms);
void tcp_show_syn(struct tcp_shown *s, const struct tcp *t, const struct syn_record *r, uint32_t ix,
                  uint32_t now_ms);
void tcp_show_time_wait(struct tcp_shown *s, const struct tcp *t, const struct time_wait6 *w6,
                        uint32_t ix, uint32_t now_ms);

// tcp_show_line4, tcp_show_line6: write line number sl of net/tcp and net/tcp6. tcp_show_info:
// writes a line of net/tcp_info. Less than TCP_SHOW_BYTES_MAX bytes, not terminated; return the
// bytes.
size_t tcp_show_line4(char *out, const struct tcp_shown *s, uint32_t sl);
size_t tcp_show_line6(char *out, const struct tcp_shown *s, uint32_t sl);
size_t tcp_show_info(char *out, const struct tcp_shown *s);
