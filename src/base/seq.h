// SPDX-License-Identifier: BSD-3-Clause
// seq.h: ranges of TCP sequence numbers.
#pragma once
#include "base/base.h"

// seq_range: sequence numbers from start to end, end excluded, as a SACK block (RFC 2018 3). Empty:
// start == end.
struct seq_range {
    uint32_t start, end;
};

static_assert(sizeof(struct seq_range) == 8, "two words: four of them are half a line");
