// SPDX-License-Identifier: BSD-3-Clause
// havlak.h: the loops of a control-flow graph, and their nesting, after Paul Havlak, "Nesting of
// Reducible and Irreducible Loops" (TOPLAS 19, 1997). Twice: havlak_slow() as it is written first,
// with a map from block to number, sets in lists, and an allocation for each entry; havlak_fast()
// with arrays over the numbers, in memory that is reused. Both find the same loops.
#pragma once
#include <stddef.h>

#include "flow_graph.h"

// loops_found: irreducible: loops with several entries. depth: of the innermost loop; 0: no loop.
// digest: a number that differs if the header of any block does. lost: entries into irreducible
// loops for which havlak_fast() had no memory; unless it is 0, outer loops may lack blocks.
struct loops_found {
    uint32_t blocks, loops, irreducible, depth, lost;
    uint64_t digest;
};

// havlak_slow: returns false if malloc() fails. Stack: about 100 bytes for each block of the
// longest path. Any thread.
bool havlak_slow(const struct flow_graph *g, struct loops_found *found);

// havlak_work: the memory of havlak_fast() for graphs of FLOW_BLOCKS_MAX blocks; one thread at a
// time. Need not be initialized.
struct havlak_work;
size_t havlak_work_bytes(void);

void havlak_fast(const struct flow_graph *g, struct havlak_work *work, struct loops_found *found);
