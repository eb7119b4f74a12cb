// SPDX-License-Identifier: BSD-3-Clause
// The state table of src/tcp, taken in so that its one writer can be watched: the linker finds
// these functions here and leaves the library's alone.
#define tcp_set_state tcp_set_state_unwatched
#include "tcp/tcp_state.c"
#undef tcp_set_state
void tcp_set_state(struct block *b, enum tcp_step step);
#include "pkt_exec.h"

bool pkt_watching;
uint64_t pkt_steps[TCP_STATE_COUNT][STEP_COUNT];

const char *const pkt_step_names[STEP_COUNT] = {
    [STEP_ACTIVE_OPEN] = "ACTIVE_OPEN",
    [STEP_PASSIVE_DONE] = "PASSIVE_DONE",
    [STEP_FAST_OPEN] = "FAST_OPEN",
    [STEP_SYN_ACK] = "SYN_ACK",
    [STEP_SYN] = "SYN",
    [STEP_ACK_OF_SYN] = "ACK_OF_SYN",
    [STEP_CLOSE] = "CLOSE",
    [STEP_PEER_FIN] = "PEER_FIN",
    [STEP_ACK_OF_FIN] = "ACK_OF_FIN",
    [STEP_END] = "END",
    [STEP_RELEASE] = "RELEASE",
};

void tcp_set_state(struct block *b, enum tcp_step step)
{
    if (pkt_watching)
        pkt_steps[b->state][step]++;
    tcp_set_state_unwatched(b, step);
}
