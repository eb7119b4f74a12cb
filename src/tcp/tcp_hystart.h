// SPDX-License-Identifier: BSD-3-Clause
// tcp_hystart.h: HyStart++ (RFC 9406): the first slow start ends when the round trip grows, before
// the queue of the bottleneck is full and a whole window is lost.
//
//   slow start --- the least RTT of a round is more than that of the one before, by an eighth -->
//   conservative slow start, a quarter as fast --- 5 rounds --> congestion avoidance
//        |
//        +--- the RTT is less than at its begin: it was jitter --> slow start
//
// It changes no window: its caller does, by what it says.
#pragma once
#include "mem/block.h"

enum hystart_says {
    HYSTART_GROW,   // the window grows by what was acknowledged
    HYSTART_SLOW,   // by a quarter of that
    HYSTART_LEAVE,  // slow start is over
};

// hystart_begin: the next acknowledgment begins a round that ends at snd_nxt.
void hystart_begin(struct hystart *h, uint32_t snd_nxt);

// hystart_acked: everything below una was acknowledged. rtt_us: the RTT measured by that; 0: none.
// *css: whether it is in conservative slow start; updated.
enum hystart_says hystart_acked(struct hystart *h, bool *css, uint32_t una, uint32_t snd_nxt,
                                uint32_t rtt_us);
