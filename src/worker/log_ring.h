// SPDX-License-Identifier: BSD-3-Clause
// log_ring.h: what lies in a worker's ring of log records (c10m_log): SPSC, filled by the worker,
// emptied by the control thread (server/server_log.h). A record is this head in one unit, and the
// record's bytes in whole units behind it. A worker never waits: what finds no room is its caller's
// to count.
#pragma once
#include "base/base.h"
#include "c10m/app.h"

enum {
    LOG_UNIT_BYTES = 16,  // of an element of the ring
    LOG_RECORD_UNITS_MAX = (C10M_LOG_BYTES_MAX + LOG_UNIT_BYTES - 1) / LOG_UNIT_BYTES,
};

struct log_head {
    uint32_t bytes;
    uint32_t service;
    uint64_t unused;
};
static_assert(sizeof(struct log_head) == LOG_UNIT_BYTES, "the head is one unit");

static inline unsigned log_units(uint32_t bytes)
{
    return (bytes + LOG_UNIT_BYTES - 1) / LOG_UNIT_BYTES;
}
