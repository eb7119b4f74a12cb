// SPDX-License-Identifier: BSD-3-Clause
// tcp_state.c as it is, with every step counted: linked in place of the library's.
#define tcp_set_state stack_set_state
#include "tcp/tcp_state.c"
#undef tcp_set_state
#include "sim.h"

void tcp_set_state(struct block *b, enum tcp_step step);
void tcp_set_state(struct block *b, enum tcp_step step)
{
    CHECK(b->state < TCP_STATE_COUNT && step < STEP_COUNT);
    sim_cover.step[b->state][step]++;
    stack_set_state(b, step);
}
