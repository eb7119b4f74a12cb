// SPDX-License-Identifier: BSD-3-Clause
// tcp_adopt_refuse.h: for tcp_adopt.c: what becomes of a connection that is not adopted.
#pragma once
#include "tcp/tcp_adopt.h"

// tcp_adopt_forget: makes the block one that never had a connection, except for its generation, so
// that handles of the earlier one stay stale.
void tcp_adopt_forget(struct block *b);

// tcp_adopt_reset_soon: the worker sends the RST of a refused connection in its first turns.
void tcp_adopt_reset_soon(struct tcp *t, uint32_t ix);
