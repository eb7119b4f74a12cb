// SPDX-License-Identifier: BSD-3-Clause
// print.h: which keys a section shows.
#pragma once
#include "conf/key_table.h"

// key_printed: the key has a value, or none where the default has one, and belongs to the driver or
// application of its section.
bool key_printed(const struct key *k, const struct conf *c, unsigned at);
