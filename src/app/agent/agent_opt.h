// SPDX-License-Identifier: BSD-3-Clause
// agent_opt.h: functions shared by the files of the socket options.
#pragma once
#include "app/agent/agent.h"

// set_special: sets an option that has no row. *apply is set if a connection has to get the new
// value. Returns 0 or -errno.
int set_special(struct agent *a, struct call *c, int value, bool *apply);
int set_congestion(struct call *c);

// get_special: getsockopt() for an option that has no row; ends the call.
void get_special(struct agent *a, struct call *c);

// get_info: getsockopt() for TCP_INFO, TCP_MAXSEG and IP_MTU, whose values the worker of the
// connection has; ends the call.
void get_info(struct agent *a, struct call *c);

// option_return, option_return_int: return the value, truncated to the client's buffer; end the
// call.
void option_return(struct agent *a, struct call *c, const void *value, uint32_t bytes);
void option_return_int(struct agent *a, struct call *c, int value);
