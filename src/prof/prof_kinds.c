// SPDX-License-Identifier: BSD-3-Clause
#include "prof/prof_kinds.h"

#define PROF_KIND_POINTER(name) &prof_kind_##name,
const struct prof_kind *const prof_kinds[] = {PROF_KIND_TABLE(PROF_KIND_POINTER) NULL};
const unsigned prof_n_kinds = ARRAY_LEN(prof_kinds) - 1;
