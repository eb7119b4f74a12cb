// SPDX-License-Identifier: BSD-3-Clause
// load_sink.h: a service that takes what comes, compares it with the pattern of load_pattern.h, and
// closes when the peer does: the far end of `stream --direction up`.
#pragma once
#include "c10m/app.h"

extern const struct c10m_app load_sink;

// load_sink_bytes: taken so far by all connections; load_sink_wrong: pieces of them that were
// something else. Any thread.
uint64_t load_sink_bytes(void);
uint64_t load_sink_wrong(void);
