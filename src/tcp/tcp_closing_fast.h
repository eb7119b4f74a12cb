// SPDX-License-Identifier: BSD-3-Clause
// tcp_closing_fast.h: the closing segments of a connection in order.
#pragma once
#include "tcp/tcp_internal.h"

// tcp_closing_fast: s, for block ix, is such a one: everything of it is done, as tcp_segment_full()
// would. *v: what it came to; events and drop are 0 before. False: it is another, and nothing was
// done.
bool tcp_closing_fast(struct tcp *t, uint32_t ix, const struct seg_in *s, struct tcp_verdict *v);
