// SPDX-License-Identifier: BSD-3-Clause
// dump_line.h: formats a frame as one line of text, for c10m dump on a terminal.
#pragma once
#include "base/text.h"

// dump_line: appends a line without newline from the frame's first n bytes: protocol, addresses and
// ports, TCP flags, sequence and acknowledgment numbers, window, and bytes of data. If the frame is
// truncated or has a wrong length, only the valid part is used.
void dump_line(struct text *out, const uint8_t *frame, uint32_t n);
