// SPDX-License-Identifier: BSD-3-Clause
#include "mem/buf.h"

size_t buf_footprint(uint32_t data_count, uint32_t ref_count)
{
    size_t count = (size_t)data_count + ref_count;
    return ALIGN_UP(count * sizeof(struct buf), CACHE_LINE) +
           ALIGN_UP(count * sizeof(uint32_t), CACHE_LINE) + (size_t)data_count * BUF_STRIDE;
}

void buf_place(struct buf_pool *p, void *mem, uint32_t data_count, uint32_t ref_count)
{
    const uint32_t count = data_count + ref_count;
    uint8_t *at = mem;
    *p = (struct buf_pool){.bufs = mem, .data_count = data_count, .count = count};
    at += ALIGN_UP((size_t)count * sizeof(struct buf), CACHE_LINE);
    p->free_data = (uint32_t *)at;
    p->free_refs = p->free_data + data_count;
    at += ALIGN_UP((size_t)count * sizeof(uint32_t), CACHE_LINE);
    p->room = at;
}

void buf_init(struct buf_pool *p, void *mem, uint32_t data_count, uint32_t ref_count)
{
    CHECK((uintptr_t)mem % CACHE_LINE == 0);
    const uint32_t count = data_count + ref_count;
    buf_place(p, mem, data_count, ref_count);
    for (uint32_t i = 0; i < data_count; i++)
        p->free_data[i] = data_count - 1 - i;
    for (uint32_t i = 0; i < ref_count; i++)
        p->free_refs[i] = count - 1 - i;
    p->n_free_data = data_count;
    p->n_free_refs = ref_count;
    p->low_water = data_count;
}

void buf_put_chain(struct buf_pool *p, uint32_t head)
{
    while (head != BUF_NONE) {
        CHECK(head < p->count);
        uint32_t next = p->bufs[head].next;
        buf_put(p, head);
        head = next;
    }
}
