// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_state.h"

#include "mem/block.h"

// Each entry is the next state plus one. 0 is a hole: the step is not possible in that state.
#define TO(state) ((uint8_t)((state) + 1))

static const uint8_t next_state[TCP_STATE_COUNT][STEP_COUNT] = {
    [TCP_FREE] = {[STEP_ACTIVE_OPEN] = TO(TCP_SYN_SENT),
                  [STEP_PASSIVE_DONE] = TO(TCP_ESTABLISHED),
                  [STEP_FAST_OPEN] = TO(TCP_SYN_RECEIVED)},
    [TCP_SYN_SENT] = {[STEP_SYN_ACK] = TO(TCP_ESTABLISHED),
                      [STEP_SYN] = TO(TCP_SYN_RECEIVED),
                      [STEP_END] = TO(TCP_CLOSED)},
    [TCP_SYN_RECEIVED] = {[STEP_ACK_OF_SYN] = TO(TCP_ESTABLISHED), [STEP_END] = TO(TCP_CLOSED)},
    [TCP_ESTABLISHED] = {[STEP_CLOSE] = TO(TCP_FIN_WAIT_1),
                         [STEP_PEER_FIN] = TO(TCP_CLOSE_WAIT),
                         [STEP_END] = TO(TCP_CLOSED)},
    [TCP_FIN_WAIT_1] = {[STEP_PEER_FIN] = TO(TCP_CLOSING),
                        [STEP_ACK_OF_FIN] = TO(TCP_FIN_WAIT_2),
                        [STEP_END] = TO(TCP_CLOSED)},
    [TCP_FIN_WAIT_2] = {[STEP_PEER_FIN] = TO(TCP_TIME_WAIT), [STEP_END] = TO(TCP_CLOSED)},
    [TCP_CLOSING] = {[STEP_ACK_OF_FIN] = TO(TCP_TIME_WAIT), [STEP_END] = TO(TCP_CLOSED)},
    [TCP_CLOSE_WAIT] = {[STEP_CLOSE] = TO(TCP_LAST_ACK), [STEP_END] = TO(TCP_CLOSED)},
    [TCP_LAST_ACK] = {[STEP_ACK_OF_FIN] = TO(TCP_CLOSED), [STEP_END] = TO(TCP_CLOSED)},
    [TCP_TIME_WAIT] = {[STEP_END] = TO(TCP_CLOSED), [STEP_RELEASE] = TO(TCP_FREE)},
    [TCP_CLOSED] = {[STEP_RELEASE] = TO(TCP_FREE)},
};

int tcp_state_next(enum tcp_state state, enum tcp_step step)
{
    CHECK(state < TCP_STATE_COUNT && step < STEP_COUNT);
    return (int)next_state[state][step] - 1;
}

void tcp_set_state(struct block *b, enum tcp_step step)
{
    int next = tcp_state_next(b->state, step);
    CHECK(next >= 0);
    __atomic_thread_fence(__ATOMIC_RELEASE);  // for tcp_view_block(); no instruction on x86
    b->state = (uint8_t)next;
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

const char *tcp_state_name(enum tcp_state state)
{
    static const char *const names[TCP_STATE_COUNT] = {
        [TCP_FREE] = "FREE",
        [TCP_ESTABLISHED] = "ESTABLISHED",
        [TCP_SYN_SENT] = "SYN_SENT",
        [TCP_SYN_RECEIVED] = "SYN_RECEIVED",
        [TCP_FIN_WAIT_1] = "FIN_WAIT_1",
        [TCP_FIN_WAIT_2] = "FIN_WAIT_2",
        [TCP_TIME_WAIT] = "TIME_WAIT",
        [TCP_CLOSED] = "CLOSED",
        [TCP_CLOSE_WAIT] = "CLOSE_WAIT",
        [TCP_LAST_ACK] = "LAST_ACK",
        [TCP_CLOSING] = "CLOSING",
    };
    return state < TCP_STATE_COUNT && names[state] != NULL ? names[state] : "?";
}
