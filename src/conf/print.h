// SPDX-License-Identifier: BSD-3-Clause
// print.h: decides which keys of a section are printed.
#pragma once
#include "conf/key_table.h"

// key_printed: whether the driver or application of the section has the key, and the key has a
// value or its default has one.
bool key_printed(const struct key *k, const struct conf *c, unsigned at);
