// SPDX-License-Identifier: BSD-3-Clause
// hand.h: which connections a worker had in hand when its process ended, read from its memory by
// the next process.
//
//   stage          in hand
//   tcp_input,     all connections of the burst: TCP may have accepted bytes that the application
//   app            has not received
//   any            tcp.touched, the connection of the present event, timer or output, and the
//                  connections that its callbacks have used; tcp.pruned, one that gives up
//                  out-of-order data for others
//
// Segments that were built but not passed to the port are lost; TCP sends them again.
#pragma once
#include "worker/worker.h"

enum { HAND_MAX = 2 * BURST_MAX + C10M_OTHERS_MAX + 3 };

// hand_list: the blocks that w had in hand, each perhaps several times; returns how many, at most
// HAND_MAX. w is the memory of a dead process: every index is checked.
unsigned hand_list(const struct worker *w, uint32_t blocks, uint32_t out[HAND_MAX]);
