// SPDX-License-Identifier: BSD-3-Clause
// agent_opt.h: what the files of the socket options share.
#pragma once
#include "app/agent/agent.h"

// set_special: an option that is more than a number in a range; *apply: a connection is told of it.
int set_special(struct agent *a, struct call *c, int value, bool *apply);
int set_congestion(struct call *c);

// get_special: the same; returns the call.
void get_special(struct agent *a, struct call *c);

// get_info: TCP_INFO, TCP_MAXSEG, IP_MTU: what the connection's worker knows.
void get_info(struct agent *a, struct call *c);

// option_return, option_return_int: the call's value, as much of it as there is room for.
void option_return(struct agent *a, struct call *c, const void *value, uint32_t bytes);
void option_return_int(struct agent *a, struct call *c, int value);
