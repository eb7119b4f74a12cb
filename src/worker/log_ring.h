// SPDX-License-Identifier: BSD-3-Clause
// log_ring.h: the format of a worker's ring of log records (c10m_log): SPSC, filled by the worker,
// emptied by the control thread (server/server_log.h). A record is a head in one unit, then its
// bytes in whole units. The worker never waits; the caller counts a record that finds no room.
#pragma once
#include "base/base.h"
#include "c10m/app.h"

enum {
    LOG_UNIT_BYTES = 16,  // of a ring element
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
