// SPDX-License-Identifier: BSD-3-Clause
// load_sink.h: the service for `stream --direction up`: compares received bytes with the pattern of
// load_pattern.h, and closes after the peer.
#pragma once
#include "c10m/app.h"

extern const struct c10m_app load_sink;

// load_sink_bytes: bytes received so far on all connections. load_sink_wrong: received pieces that
// differed from the pattern. Any thread.
uint64_t load_sink_bytes(void);
uint64_t load_sink_wrong(void);
