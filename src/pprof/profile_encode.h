// SPDX-License-Identifier: BSD-3-Clause
// profile_encode.h: writes a profile for `go tool pprof`, or as text.
#pragma once
#include "base/text.h"
#include "pprof/profile.h"
#include "pprof/symbols.h"

// profile_encode: appends the profile as gzip of profile.proto to out. symbols names the code of
// frames that have an address; NULL: they stay addresses. Returns 0, or out->error (limit or
// memory).
int profile_encode(const struct profile *p, struct symbols *symbols, struct text *out);

// profile_text: appends the profile as text, as Go's `debug=1`: the head `TITLE profile: total N`
// (the sum of value `by`), then for each sample, largest first, its values, `@`, its addresses, its
// labels, and a line for each frame. Returns 0 or out->error.
int profile_text(const struct profile *p, const char *title, unsigned by, struct symbols *symbols,
                 struct text *out);
