// SPDX-License-Identifier: BSD-3-Clause
// recorder_order.h: the orders of the flight recorder.
#pragma once
#include "base/err.h"
#include "stat/counters.h"

// recorder_when: seconds 0: off. stall_us 0: not at a stall. reason DROP_NONE: not at a drop.
struct recorder_when {
    unsigned seconds, stall_us;
    enum drop_reason reason;
};

// recorder_when_parse: as recorder_order() says. The words of the line are changed. Returns 0, or
// with *err -EINVAL or -ERANGE.
int recorder_when_parse(char *line, struct recorder_when *out, struct err *err);
