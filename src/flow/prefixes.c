// SPDX-License-Identifier: BSD-3-Clause
#include "flow/prefixes.h"

static_assert(2 * PREFIX_CELL_BITS <= 32, "one hash of 32 bits has the places in both rows");
static_assert(PREFIX_V4_BITS == 24 && PREFIX_V6_BITS % 8 == 0, "prefix_cut() cuts whole bytes");

struct prefixes *prefixes_init(void *mem, struct siphash_key secret)
{
    struct prefixes *p = mem;
    memset(p, 0, sizeof(*p));
    p->key = addr_hash_key_from(secret);
    return p;
}

uint32_t prefixes_count(const struct prefixes *p, const struct ip_addr *who)
{
    const uint32_t h = prefix_hash(p, who);
    return MIN(p->cell[0][h % PREFIX_CELLS], p->cell[1][(h >> PREFIX_CELL_BITS) % PREFIX_CELLS]);
}
