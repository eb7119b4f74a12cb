// SPDX-License-Identifier: BSD-3-Clause
// micro_tcp.h: TCP without a server, in 4 KiB pages, with one established connection, for
// benchmarks of single segments.
#pragma once
#include "bench/map.h"
#include "tcp/tcp.h"

enum { MICRO_TCP_BLOCKS = 64, MICRO_TCP_MSS = 1460 };

struct micro_tcp {
    struct tcp tcp;
    struct core_stats stats;
    struct seg_out out[TCP_OUT_MAX];
    struct seq_range sacks_in[BURST_MAX][SEG_SACK_MAX], sacks_out[TCP_OUT_MAX][SEG_SACK_MAX];
    struct tcp_place places[TCP_SEEK_PLACES];
    struct bench_map map[10];
    unsigned n_maps;
    uint32_t block;  // number of the connection's block
};

// micro_tcp_init: initializes *m, which must be zero. bufs: number of data buffers. rcv_limit,
// snd_limit: bytes, for the only service. The memory is freed at the end of the process.
void micro_tcp_init(struct micro_tcp *m, uint32_t bufs, uint32_t rcv_limit, uint32_t snd_limit);

// micro_tcp_open: creates the connection in ESTABLISHED with SACK. The caller sets sequence numbers
// and windows. micro_tcp_close: removes it.
struct block *micro_tcp_open(struct micro_tcp *m);
void micro_tcp_close(struct micro_tcp *m);
