// SPDX-License-Identifier: BSD-3-Clause
// dump_line.h: a frame as one line of text: what c10m dump shows on a terminal.
#pragma once
#include "base/text.h"

// dump_line: appends what the frame's first n bytes say, without a newline: protocol, addresses and
// ports, TCP's flags, sequence, acknowledgment, window, and bytes of data. A frame that is cut off,
// or lies about its lengths, is told as far as it goes.
void dump_line(struct text *out, const uint8_t *frame, uint32_t n);
