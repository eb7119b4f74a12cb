// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/unwind.h"

#include "pprof/cfi.h"

enum { WORD = 8 };

// read_word: a word of the stack, which may lie between the variables that the address sanitizer
// guards.
__attribute__((no_sanitize("address"))) static bool read_word(const struct unwind_memory *m,
                                                              uint64_t at, uint64_t *out)
{
    if (at % WORD != 0 || at < m->stack_low || at > m->stack_high - WORD)
        return false;
    *out = *(const uint64_t *)at;
    return true;
}

// by_pointer: the row of a function that has set its frame pointer.
static const struct cfi_row by_pointer = {
    .base = CFI_FP, .offset = 2 * WORD, .fp_saved = true, .fp_offset = -2 * WORD};

// step: from a function to its caller. False: there is none. `at`: in the function's code.
static bool step(const struct unwind_memory *m, uint64_t at, struct unwind_registers *r)
{
    struct cfi_row row;
    const struct loaded_file *f = loaded_at(m->files, m->n_files, at);
    if (f == NULL || !cfi_row_at(f, at, &row))
        row = by_pointer;
    const uint64_t sp = (row.base == CFI_FP ? r->fp : r->sp) + (uint64_t)row.offset;
    if (row.outermost || sp <= r->sp || !read_word(m, sp - WORD, &r->ip) ||
        (row.fp_saved && !read_word(m, sp + (uint64_t)row.fp_offset, &r->fp)))
        return false;
    r->sp = sp;
    return loaded_at(m->files, m->n_files, r->ip - 1) != NULL;
}

unsigned unwind(const struct unwind_memory *m, struct unwind_registers r, uint64_t *addresses,
                unsigned max)
{
    unsigned n = 0;
    addresses[n++] = r.ip;
    if (r.sp < m->stack_low || r.sp >= m->stack_high)
        return n;
    for (uint64_t at = r.ip; n < max && step(m, at, &r);)
        addresses[n++] = at = r.ip - 1;
    return n;
}
