// SPDX-License-Identifier: BSD-3-Clause
// havlak_result.h: from the headers of all blocks to struct loops_found, for both versions.
#pragma once
#include "havlak.h"

enum havlak_kind { HAVLAK_NO_LOOP, HAVLAK_SELF, HAVLAK_REDUCIBLE, HAVLAK_IRREDUCIBLE };

// HAVLAK_UNREACHED: the number of a block to which no path leads, and the header of one in no loop.
enum { HAVLAK_UNREACHED = 0xffff };

// havlak_result_add: block number `number` heads a loop of this kind (or none) and lies in the loop
// that `header` heads. Blocks come in the order of their numbers; depth[] has an entry for each.
void havlak_result_add(struct loops_found *found, uint16_t *depth, uint32_t number, uint32_t header,
                       enum havlak_kind kind);
