// SPDX-License-Identifier: BSD-3-Clause
#include "flow_graph.h"

#include <string.h>

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool flow_graph_edge(struct flow_graph *g, uint32_t from, uint32_t to)
{
    const uint32_t last = max_u32(from, to);
    if (last >= FLOW_BLOCKS_MAX || g->n_edges == FLOW_EDGES_MAX)
        return false;
    g->n_blocks = max_u32(g->n_blocks, last + 1);
    g->edges[g->n_edges].from = (uint16_t)from;
    g->edges[g->n_edges++].to = (uint16_t)to;
    return true;
}

// at[b]: how many edges have an end before b. Counting sort, first half.
static void add_up(uint32_t *at, uint32_t n_blocks)
{
    for (uint32_t b = 0; b < n_blocks; b++)
        at[b + 1] += at[b];
}

void flow_graph_close(struct flow_graph *g)
{
    static _Thread_local uint32_t out_next[FLOW_BLOCKS_MAX], in_next[FLOW_BLOCKS_MAX];
    memset(g->out_at, 0, sizeof(g->out_at));
    memset(g->in_at, 0, sizeof(g->in_at));
    for (uint32_t e = 0; e < g->n_edges; e++) {
        g->out_at[g->edges[e].from + 1]++;
        g->in_at[g->edges[e].to + 1]++;
    }
    add_up(g->out_at, g->n_blocks);
    add_up(g->in_at, g->n_blocks);
    memcpy(out_next, g->out_at, sizeof(out_next));
    memcpy(in_next, g->in_at, sizeof(in_next));
    for (uint32_t e = 0; e < g->n_edges; e++) {
        const uint16_t from = g->edges[e].from, to = g->edges[e].to;
        g->out[out_next[from]++] = to;
        g->in[in_next[to]++] = from;
    }
}

// ---- the made-up program: each part begins at a block and returns the block where it ends

// draft: a graph being built; `full` once something did not fit.
struct draft {
    struct flow_graph *g;
    bool full;
};

static void edge(struct draft *d, uint32_t from, uint32_t to)
{
    d->full |= !flow_graph_edge(d->g, from, to);
}

static uint32_t straight(struct draft *d, uint32_t b)
{
    edge(d, b, b + 1);
    return b + 1;
}

static uint32_t diamond(struct draft *d, uint32_t b)
{
    edge(d, b, b + 1);
    edge(d, b, b + 2);
    edge(d, b + 1, b + 3);
    edge(d, b + 2, b + 3);
    return b + 3;
}

// Two loops with an `if` each, in a loop.
static uint32_t base_loop(struct draft *d, uint32_t b)
{
    const uint32_t header = straight(d, b), first = diamond(d, header);
    const uint32_t middle = straight(d, first), second = diamond(d, middle);
    edge(d, second, middle);
    edge(d, first, header);
    const uint32_t footer = straight(d, second);
    edge(d, footer, b);
    return straight(d, footer);
}

static uint32_t outer_loop(struct draft *d, uint32_t top, unsigned loops)
{
    uint32_t b = straight(d, top);
    for (unsigned i = 0; i < loops; i++)
        b = base_loop(d, b);
    edge(d, b, top);
    return straight(d, b);
}

static uint32_t tree(struct draft *d, uint32_t b)
{
    enum { OUTER = 4, INNER = 10 };
    for (unsigned i = 0; i < OUTER; i++)
        b = outer_loop(d, b, INNER);
    edge(d, b, 1);
    return b;
}

bool flow_graph_program(struct flow_graph *g, unsigned trees)
{
    struct draft d = {.g = g};
    uint32_t b = straight(&d, straight(&d, 0));
    const uint32_t root = b;
    for (unsigned i = 0; i < trees; i++) {
        edge(&d, root, b + 1);
        b = tree(&d, b + 1);
    }
    flow_graph_close(g);
    return !d.full;
}
