// SPDX-License-Identifier: BSD-3-Clause
// tcp_check.h: what holds of one TCP after every turn, whoever plays its peers: the simulator, the
// fuzzer of whole connections, packet scripts and the tests of pairs ask the same.
#pragma once
#include "tcp/tcp.h"

enum { TCP_CHECK_BYTES = 256 };

// tcp_check_shadow: numbers of a block as they were when it was looked at last. All zero: not yet.
struct tcp_check_shadow {
    uint16_t generation;
    bool live;
    uint32_t snd_una, snd_max, rcv_nxt, rcv_adv;
};

// tcp_check_block: is block ix in order: sequence numbers, none of them gone back since *shadow,
// which is brought up to date; window, scoreboard, record, timers? False: `what` says what is not.
bool tcp_check_block(const struct tcp *t, uint32_t ix, struct tcp_check_shadow *shadow,
                     char what[TCP_CHECK_BYTES]);

// tcp_check_pools: do the blocks [0, count), the pools, the table, services and gauges agree about
// who holds what, and are the queues in order? False: `what` says where not.
bool tcp_check_pools(const struct tcp *t, uint32_t count, char what[TCP_CHECK_BYTES]);

// tcp_check_wheel: has the wheel one entry of each kind at most of the blocks [0, count) and of
// each half-open record, where its owner takes it to be, and none but the first chunk of a slot
// that is not full? False: `what` says where not.
bool tcp_check_wheel(const struct tcp *t, uint32_t count, char what[TCP_CHECK_BYTES]);

// tcp_check_leaks: NULL, or the name of what a TCP without connections still holds.
const char *tcp_check_leaks(const struct tcp *t);

// tcp_check_prefixes: the same of connections that are counted with their prefixes. Apart, because
// it takes longer.
const char *tcp_check_prefixes(const struct tcp *t);
