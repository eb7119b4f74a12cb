// SPDX-License-Identifier: BSD-3-Clause
// prof_symbol.h: the names of functions, as a run: looking them up is too slow for the control
// thread. Not in the table of kinds, because it is no profile.
#pragma once
#include "prof/prof_kind.h"

enum { PROF_SYMBOLS_MAX = 4096 };  // addresses of one request

// prof_kind_symbol: the query's filter has addresses, 0x and hex digits, separated by +. The result
// is that of Go's /debug/pprof/symbol: `num_symbols: 1`, and `ADDRESS NAME` for each that has a
// name. What is no number has none. More than PROF_SYMBOLS_MAX: -EINVAL.
extern const struct prof_kind prof_kind_symbol;
