// SPDX-License-Identifier: BSD-3-Clause
// go_unit.h: units of Go's benchmark format, from the names of the members that the benchmarks
// print as JSON.
#pragma once
#include "base/base.h"

enum { GO_UNIT_MAX = 96 };

// go_unit: the unit of a number called `key` in an object called `parent` (NULL: none):
//     cycles_per_packet -> cycles/packet        client_us, p99 -> client-p99-us
//     server_mpps -> server-packets/s, *factor 1e6     ns -> ns/op
// *factor: by which the number is to be multiplied. Returns false if the name is too long.
bool go_unit(const char *parent, const char *key, char out[GO_UNIT_MAX], double *factor);

// go_unit_more_is_better: for amounts in a time: benchstat and scripts/bench-compare assume the
// opposite of other units.
bool go_unit_more_is_better(const char *unit);
