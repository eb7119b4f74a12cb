// SPDX-License-Identifier: BSD-3-Clause
// hand.h: which connections a worker had in hand when its process ended, read from its memory by
// the next process.
//
//   stage          in hand
//   tcp_input,     all of the burst: TCP may have taken bytes that the application was not given
//   app
//   any            tcp.touched: what one event, timer or output works on, and the connections that
//                  its callbacks reached
//
// What a worker has sent and not handed to the port is lost as a packet is, and sent again.
#pragma once
#include "worker/worker.h"

enum { HAND_MAX = 2 * BURST_MAX + C10M_OTHERS_MAX + 2 };

// hand_list: the blocks that w had in hand, each perhaps several times; returns how many, at most
// HAND_MAX. w is the memory of a dead process: every index is checked.
unsigned hand_list(const struct worker *w, uint32_t blocks, uint32_t out[HAND_MAX]);
