// SPDX-License-Identifier: BSD-3-Clause
// tcp_closing_fast.h: the fast version for the closing segments of a connection, in order.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_closing_fast: processes s for block ix as tcp_segment_full() would, if it is an in-order
// closing segment. Sets *v, of which events and drop are 0 before. False: it is not one, and
// nothing was changed.
bool tcp_closing_fast(struct tcp *t, uint32_t ix, const struct seg_in *s, struct tcp_verdict *v);
