// SPDX-License-Identifier: BSD-3-Clause
// prof_kinds.h: all kinds: /debug/pprof/NAME, prof/NAME in the tree. One row each: X(NAME), whose
// prof_kind_NAME is defined in src/prof/kind_NAME.c or a file that several share.
#pragma once
#include "prof/prof_kind.h"

#define PROF_KIND_TABLE(X)                                                                         \
    X(profile)                                                                                     \
    X(flight)                                                                                      \
    X(trace)                                                                                       \
    X(heap)                                                                                        \
    X(allocs)                                                                                      \
    X(goroutine)                                                                                   \
    X(block)                                                                                       \
    X(mutex)                                                                                       \
    X(threadcreate)                                                                                \
    X(stages)

#define PROF_KIND_DECLARE(name) extern const struct prof_kind prof_kind_##name;
PROF_KIND_TABLE(PROF_KIND_DECLARE)
#undef PROF_KIND_DECLARE

// prof_kinds: the table, in its order.
extern const struct prof_kind *const prof_kinds[];
extern const unsigned prof_n_kinds;
