// SPDX-License-Identifier: BSD-3-Clause
#include "pprof/cfi.h"

#include "pprof/cfi_unit.h"

enum { STATES_MAX = 8 };  // remembered at a time

enum {  // instructions; the first three have an operand in the lower six bits
    ADVANCE_LOC = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
    NOP = 0x00,
    ADVANCE_LOC1 = 0x02,
    ADVANCE_LOC2 = 0x03,
    ADVANCE_LOC4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    EXPRESSION = 0x10,
    GNU_ARGS_SIZE = 0x2e,
};

// state: a row that is being made; base and frame pointer may have rules that are not supported.
struct state {
    struct cfi_row row;
    bool base_unknown, fp_unknown;
};

static void set_base(struct state *s, uint64_t reg)
{
    s->row.base = reg == CFI_RBP ? CFI_FP : CFI_SP;
    s->base_unknown = reg != CFI_RBP && reg != CFI_RSP;
}

// set_saved: register `reg` of the caller lies at the caller's stack pointer + offset.
static void set_saved(struct state *s, uint64_t reg, int64_t offset)
{
    if (reg == CFI_RBP) {
        s->row.fp_saved = true;
        s->row.fp_offset = offset;
        s->fp_unknown = false;
    }
}

// set_kept: back to the rule that all functions begin with.
static void set_kept(struct state *s, uint64_t reg, const struct state *initial)
{
    if (reg == CFI_RBP) {
        s->row.fp_saved = initial->row.fp_saved;
        s->row.fp_offset = initial->row.fp_offset;
        s->fp_unknown = initial->fp_unknown;
    }
}

// set_unknown: a rule that is not supported, or that there is no value.
static void set_unknown(struct state *s, uint64_t reg)
{
    s->row.outermost |= reg == CFI_RETURN;
    s->fp_unknown |= reg == CFI_RBP;
}

// advance: how far an instruction moves the address; false: it is another one.
static bool advance(struct cursor *c, uint8_t op, uint64_t *by)
{
    if ((op & 0xc0) == ADVANCE_LOC)
        *by = op & 0x3f;
    else if (op >= ADVANCE_LOC1 && op <= ADVANCE_LOC4)
        *by = cursor_fixed(c, 1u << (op - ADVANCE_LOC1));
    else
        return false;
    return true;
}

// rule: one instruction that changes a rule. False: it is not supported.
static bool rule(struct cursor *c, const struct cfi_unit *u, uint8_t op, struct state *s,
                 const struct state *initial)
{
    const uint8_t primary = op & 0xc0, low = op & 0x3f;
    if (primary == OFFSET) {
        set_saved(s, low, (int64_t)cursor_uleb(c) * u->data_align);
        return true;
    }
    if (primary == RESTORE) {
        set_kept(s, low, initial);
        return true;
    }
    const uint64_t reg = op == NOP ? 0 : cursor_uleb(c);  // or the only operand
    switch (op) {
    case NOP:
    case GNU_ARGS_SIZE:
        return true;
    case OFFSET_EXTENDED:
        set_saved(s, reg, (int64_t)cursor_uleb(c) * u->data_align);
        return true;
    case RESTORE_EXTENDED:
        set_kept(s, reg, initial);
        return true;
    case SAME_VALUE:
        if (reg == CFI_RBP)
            s->row.fp_saved = false;
        return true;
    case UNDEFINED:
        set_unknown(s, reg);
        return true;
    case EXPRESSION:
        set_unknown(s, reg);
        cursor_skip(c, cursor_uleb(c));
        return true;
    case DEF_CFA:
        set_base(s, reg);
        s->row.offset = (int64_t)cursor_uleb(c);
        return true;
    case DEF_CFA_REGISTER:
        set_base(s, reg);
        return true;
    case DEF_CFA_OFFSET:
        s->row.offset = (int64_t)reg;
        return true;
    default:
        return false;
    }
}

// execute: runs instructions until they are beyond the address.
static bool execute(struct cursor c, const struct cfi_unit *u, uint64_t address, struct state *s)
{
    const struct state initial = *s;
    struct state kept[STATES_MAX];
    unsigned n_kept = 0;
    uint64_t at = u->start, by;
    while (c.at < c.limit && !c.bad) {
        const uint8_t op = (uint8_t)cursor_fixed(&c, 1);
        if (advance(&c, op, &by)) {
            at += by * u->code_align;
            if (at > address)
                return true;
        } else if (op == REMEMBER_STATE && n_kept < STATES_MAX) {
            kept[n_kept++] = *s;
        } else if (op == RESTORE_STATE && n_kept != 0) {
            *s = kept[--n_kept];
        } else if (!rule(&c, u, op, s, &initial)) {
            return false;
        }
    }
    return !c.bad;
}

bool cfi_row_at(const struct loaded_file *f, uint64_t address, struct cfi_row *out)
{
    struct cfi_unit u;
    struct state s = {.base_unknown = true};
    if (f->frames == NULL || !cfi_unit_at(f, address, &u) || !execute(u.common, &u, u.start, &s) ||
        !execute(u.own, &u, address, &s) || s.base_unknown || s.fp_unknown)
        return false;
    *out = s.row;
    return true;
}
