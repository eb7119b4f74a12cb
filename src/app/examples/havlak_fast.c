// SPDX-License-Identifier: BSD-3-Clause
// Numbers instead of blocks, arrays instead of maps, memory that is reused. The letters of the
// paper's steps stand beside them.
#include <string.h>

#include "havlak_result.h"

// loose: a predecessor that the search adds to a header (step d), in a list of its own.
struct loose {
    uint16_t from, next;
};

enum { LOOSE_MAX = 0xffff, NONE = 0xffff };  // the last index is NONE - 1

struct havlak_work {
    uint16_t number[FLOW_BLOCKS_MAX];  // of a block, in the order of a depth-first search
    uint16_t block[FLOW_BLOCKS_MAX];   // of a number
    uint16_t last[FLOW_BLOCKS_MAX];    // the last descendant
    uint16_t header[FLOW_BLOCKS_MAX], set[FLOW_BLOCKS_MAX], depth[FLOW_BLOCKS_MAX];
    uint8_t kind[FLOW_BLOCKS_MAX];
    uint16_t seen[FLOW_BLOCKS_MAX];  // by which header + 1 it was put into `pool`
    uint16_t pool[FLOW_BLOCKS_MAX];  // the blocks of the loop that is being found
    uint32_t n_pool, n;
    uint16_t path[FLOW_BLOCKS_MAX];  // of the search
    uint32_t edge[FLOW_BLOCKS_MAX];  // the next one to follow, of each block
    struct loose loose[LOOSE_MAX];
    uint16_t first_loose[FLOW_BLOCKS_MAX];
    uint16_t loose_seen[FLOW_BLOCKS_MAX];  // as `seen`
    uint32_t n_loose, lost;
};

size_t havlak_work_bytes(void)
{
    return sizeof(struct havlak_work);
}

static void visit(struct havlak_work *w, const struct flow_graph *g, uint32_t b)
{
    w->number[b] = (uint16_t)w->n;
    w->block[w->n++] = (uint16_t)b;
    w->edge[b] = g->out_at[b];
}

// a: depth-first search with a path of its own in place of the stack.
static void search(struct havlak_work *w, const struct flow_graph *g)
{
    uint32_t depth = 1;
    w->path[0] = 0;
    visit(w, g, 0);
    while (depth != 0) {
        const uint16_t b = w->path[depth - 1];
        if (w->edge[b] == g->out_at[b + 1]) {
            w->last[w->number[b]] = (uint16_t)(w->n - 1);
            depth--;
            continue;
        }
        const uint16_t to = g->out[w->edge[b]++];
        if (w->number[to] == HAVLAK_UNREACHED) {
            visit(w, g, to);
            w->path[depth++] = to;
        }
    }
}

static bool is_ancestor(const struct havlak_work *w, uint32_t a, uint32_t b)
{
    return a <= b && b <= w->last[a];
}

// The header of the outermost loop found so far that b lies in; shortens the way to it.
static uint16_t find(struct havlak_work *w, uint16_t b)
{
    while (w->set[b] != b) {
        w->set[b] = w->set[w->set[b]];
        b = w->set[b];
    }
    return b;
}

static void add_to_pool(struct havlak_work *w, uint32_t header, uint16_t b)
{
    if (w->seen[b] == header + 1)
        return;
    w->seen[b] = (uint16_t)(header + 1);
    w->pool[w->n_pool++] = b;
}

// b: the sources of the edges that lead back to `header`.
static void take_back_edges(struct havlak_work *w, const struct flow_graph *g, uint32_t header)
{
    const uint32_t b = w->block[header];
    w->n_pool = 0;
    for (uint32_t e = g->in_at[b]; e < g->in_at[b + 1]; e++) {
        const uint16_t from = w->number[g->in[e]];
        if (from == header)
            w->kind[header] = HAVLAK_SELF;
        else if (from != HAVLAK_UNREACHED && is_ancestor(w, header, from))
            add_to_pool(w, header, find(w, from));
    }
}

static void add_loose(struct havlak_work *w, uint32_t header, uint16_t from)
{
    if (w->loose_seen[from] == header + 1)
        return;
    if (w->n_loose == LOOSE_MAX) {
        w->lost++;
        return;
    }
    w->loose_seen[from] = (uint16_t)(header + 1);
    w->loose[w->n_loose] = (struct loose){from, w->first_loose[header]};
    w->first_loose[header] = (uint16_t)w->n_loose++;
}

// c, d: `from` leads to a block of the loop: it belongs to the loop, or enters it from outside.
static void follow(struct havlak_work *w, uint32_t header, uint16_t from)
{
    const uint16_t set = find(w, from);
    if (!is_ancestor(w, header, set)) {
        w->kind[header] = HAVLAK_IRREDUCIBLE;
        add_loose(w, header, set);
    } else if (set != header) {
        add_to_pool(w, header, set);
    }
}

static void follow_all(struct havlak_work *w, const struct flow_graph *g, uint32_t header,
                       uint16_t x)
{
    const uint32_t b = w->block[x];
    for (uint32_t e = g->in_at[b]; e < g->in_at[b + 1]; e++) {
        const uint16_t from = w->number[g->in[e]];
        if (from != HAVLAK_UNREACHED && !is_ancestor(w, x, from))
            follow(w, header, from);
    }
    for (uint16_t i = w->first_loose[x]; i != NONE; i = w->loose[i].next)
        follow(w, header, w->loose[i].from);
}

static void find_loop(struct havlak_work *w, const struct flow_graph *g, uint32_t header)
{
    take_back_edges(w, g, header);
    if (w->n_pool != 0)
        w->kind[header] = HAVLAK_REDUCIBLE;
    for (uint32_t i = 0; i < w->n_pool; i++)  // the pool grows meanwhile
        follow_all(w, g, header, w->pool[i]);
    for (uint32_t i = 0; i < w->n_pool; i++)  // e
        w->header[w->pool[i]] = w->set[w->pool[i]] = (uint16_t)header;
}

static void begin(struct havlak_work *w, const struct flow_graph *g)
{
    w->n = w->n_loose = w->lost = 0;
    for (uint32_t i = 0; i < g->n_blocks; i++) {
        w->number[i] = HAVLAK_UNREACHED;
        w->header[i] = HAVLAK_UNREACHED;
        w->set[i] = (uint16_t)i;
        w->kind[i] = HAVLAK_NO_LOOP;
        w->seen[i] = w->loose_seen[i] = 0;
        w->first_loose[i] = NONE;
    }
}

void havlak_fast(const struct flow_graph *g, struct havlak_work *w, struct loops_found *found)
{
    *found = (struct loops_found){0};
    if (g->n_blocks == 0)
        return;
    begin(w, g);
    search(w, g);
    for (uint32_t i = w->n; i-- != 0;)
        find_loop(w, g, i);
    for (uint32_t i = 0; i < w->n; i++)
        havlak_result_add(found, w->depth, i, w->header[i], w->kind[i]);
    found->lost = w->lost;
}
