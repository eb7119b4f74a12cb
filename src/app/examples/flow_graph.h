// SPDX-License-Identifier: BSD-3-Clause
// flow_graph.h: control-flow graphs of programs: blocks, numbered from 0 (the entry), and edges
// between them. A graph does not change after flow_graph_close(); then any thread may read it.
#pragma once
#include <stdbool.h>
#include <stdint.h>

enum {
    FLOW_BLOCKS_MAX = 4096,
    FLOW_EDGES_MAX = 2 * FLOW_BLOCKS_MAX,  // a block ends with at most one branch
};

struct flow_graph {
    uint32_t n_blocks, n_edges;
    struct {
        uint16_t from, to;
    } edges[FLOW_EDGES_MAX];
    // Successors of block b: out[out_at[b]] to out[out_at[b + 1] - 1]; predecessors likewise.
    uint32_t out_at[FLOW_BLOCKS_MAX + 1], in_at[FLOW_BLOCKS_MAX + 1];
    uint16_t out[FLOW_EDGES_MAX], in[FLOW_EDGES_MAX];
};

// flow_graph_edge: adds an edge, and the blocks up to its ends, to a graph that is all zero at the
// beginning. Returns false if there would be too many edges or blocks.
bool flow_graph_edge(struct flow_graph *g, uint32_t from, uint32_t to);

// flow_graph_close: sorts the edges into `out` and `in`.
void flow_graph_close(struct flow_graph *g);

// flow_graph_program: the graph of a made-up program of `trees` times loops in loops in a loop, as
// in the benchmark of Hundt, "Loop Recognition in C++/Java/Go/Scala" (2011): about 480 blocks for
// each tree. Returns false if there are too many blocks.
bool flow_graph_program(struct flow_graph *g, unsigned trees);
