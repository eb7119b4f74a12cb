// SPDX-License-Identifier: BSD-3-Clause
// trace_stages.h: when the stages of a turn ended, in the two records that follow its TRACE_turn. A
// time is cycles since the begin of the turn, in 16 bits, shifted to the right by as much as the
// last of them needs: it is at most 1/32,768 of the turn too early, and exact in a turn of less
// than 65,536 cycles. The last stage ends with the turn, in `when` of its TRACE_stage.
//
//     TRACE_stages  when: stages 0 to 3, mid: 4, id: 5 and 6, small: the shift
//     TRACE_stage   id: 7 and 8, small: STAGE_housekeeping
#pragma once
#include "stat/trace_ring.h"

static_assert(STAGE_housekeeping == 9, "the ends of nine stages fill the two records");

static inline uint64_t trace_end_after(const uint64_t *marks, enum stage s, unsigned shift)
{
    return (uint16_t)((marks[s + 1] - marks[0]) >> shift);
}

// trace_pack_stages: marks[0]: begin of the turn, marks[s + 1]: end of stage s.
static inline void trace_pack_stages(const uint64_t *m, struct trace_record *stages,
                                     struct trace_record *end)
{
    const uint64_t last = m[STAGE_housekeeping] - m[0];
    const unsigned shift = last <= UINT16_MAX ? 0 : 48 - (unsigned)__builtin_clzll(last);
    stages->kind = TRACE_stages;
    stages->small = (uint8_t)shift;
    stages->when = trace_end_after(m, 0, shift) | trace_end_after(m, 1, shift) << 16 |
                   trace_end_after(m, 2, shift) << 32 | trace_end_after(m, 3, shift) << 48;
    stages->mid = (uint16_t)trace_end_after(m, 4, shift);
    stages->id = (uint32_t)(trace_end_after(m, 5, shift) | trace_end_after(m, 6, shift) << 16);
    end->small = STAGE_housekeeping;
    end->id = (uint32_t)(trace_end_after(m, 7, shift) | trace_end_after(m, 8, shift) << 16);
}

// trace_unpack_stage: how many cycles after the begin of the turn stage s < STAGE_housekeeping
// ended. Any records are allowed.
static inline uint64_t trace_unpack_stage(const struct trace_record *stages,
                                          const struct trace_record *end, unsigned s)
{
    const uint64_t at[] = {
        stages->when,  stages->when >> 16, stages->when >> 32, stages->when >> 48,
        stages->mid,   stages->id,         stages->id >> 16,   end->id,
        end->id >> 16,
    };
    return (at[s] & UINT16_MAX) << MIN(stages->small, 48u);
}
