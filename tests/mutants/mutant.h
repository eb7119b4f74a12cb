// SPDX-License-Identifier: BSD-3-Clause
// mutant.h: put before each source of a build for scripts/mutants, whose conditions are written as
// mutant_is() by scripts/mutants_rewrite.py. Includes nothing: a file may still define what headers
// ask.
#pragma once

enum { MUTANT_NEGATE = 1, MUTANT_BOUND = 2, MUTANT_TRUE = 4, MUTANT_FALSE = 8, MUTANT_KINDS = 4 };

// mutant_chosen: the one mutant that is on; 0: none. mutant_span: MUTANT_KINDS, or the largest
// number while it is recorded which mutants a test would notice. Set before main(), read by all
// threads.
extern unsigned mutant_chosen, mutant_span;

// mutant_apply: mutant_is() of a condition that has the chosen mutant, or of any while recording.
_Bool mutant_apply(unsigned first, unsigned kinds, _Bool plain, _Bool other);

// mutant_is: the value of a condition that is `plain` in the code and `other` by a moved boundary.
// Its mutants are numbered from `first`, in the order of `kinds`.
static inline _Bool mutant_is(unsigned first, unsigned kinds, _Bool plain, _Bool other)
{
    if (__builtin_expect(mutant_chosen - first >= mutant_span, 1))
        return plain;
    return mutant_apply(first, kinds, plain, other);
}
