// SPDX-License-Identifier: BSD-3-Clause
// As first written: a map from blocks to numbers, sets in lists, an allocation for each entry, and
// a recursive search. The letters of the paper's steps stand beside them.
#include <stdlib.h>
#include <string.h>

#include "havlak_result.h"

// ---- a map from block to number

struct entry {
    uint32_t block, number;
    struct entry *next;
};

enum { MAP_BUCKETS = 64 };

struct map {
    struct entry *buckets[MAP_BUCKETS];
};

static bool map_put(struct map *m, uint32_t block, uint32_t number)
{
    struct entry *e = malloc(sizeof(*e));
    if (e == NULL)
        return false;
    *e = (struct entry){block, number, m->buckets[block % MAP_BUCKETS]};
    m->buckets[block % MAP_BUCKETS] = e;
    return true;
}

static uint32_t map_get(const struct map *m, uint32_t block)
{
    for (const struct entry *e = m->buckets[block % MAP_BUCKETS]; e != NULL; e = e->next)
        if (e->block == block)
            return e->number;
    return HAVLAK_UNREACHED;
}

static void map_free(struct map *m)
{
    for (unsigned i = 0; i < MAP_BUCKETS; i++)
        for (struct entry *e = m->buckets[i], *next; e != NULL; e = next) {
            next = e->next;
            free(e);
        }
}

// ---- a set of numbers, as a list; its last member is added last

struct member {
    uint32_t number;
    struct member *next;
};

struct set {
    struct member *first, **end;
};

static bool set_has(const struct set *s, uint32_t number)
{
    for (const struct member *m = s->first; m != NULL; m = m->next)
        if (m->number == number)
            return true;
    return false;
}

static bool set_add(struct set *s, uint32_t number)
{
    if (set_has(s, number))
        return true;
    struct member *m = malloc(sizeof(*m));
    if (m == NULL)
        return false;
    *m = (struct member){.number = number};
    *(s->first == NULL ? &s->first : s->end) = m;
    s->end = &m->next;
    return true;
}

static void set_free(struct set *s)
{
    for (struct member *m = s->first, *next; m != NULL; m = next) {
        next = m->next;
        free(m);
    }
    s->first = NULL;
}

// ---- one analysis

struct node {
    uint32_t block, last, header, set;
    enum havlak_kind kind;
    struct set back, other;  // predecessors below it in the search, and the others
};

struct analysis {
    const struct flow_graph *g;
    struct map numbers;
    struct node *nodes;
    uint32_t n;
};

// a: returns false without memory.
static bool search(struct analysis *a, uint32_t block)
{
    const uint32_t me = a->n++;
    a->nodes[me] = (struct node){.block = block, .header = HAVLAK_UNREACHED, .set = me};
    if (!map_put(&a->numbers, block, me))
        return false;
    for (uint32_t e = a->g->out_at[block]; e < a->g->out_at[block + 1]; e++)
        if (map_get(&a->numbers, a->g->out[e]) == HAVLAK_UNREACHED && !search(a, a->g->out[e]))
            return false;
    a->nodes[me].last = a->n - 1;
    return true;
}

static bool is_ancestor(const struct analysis *a, uint32_t w, uint32_t v)
{
    return w <= v && v <= a->nodes[w].last;
}

static uint32_t find(const struct analysis *a, uint32_t x)
{
    return a->nodes[x].set == x ? x : find(a, a->nodes[x].set);
}

// b: sorts the predecessors of a node.
static bool sort_predecessors(struct analysis *a, uint32_t w)
{
    struct node *node = &a->nodes[w];
    bool ok = true;
    for (uint32_t e = a->g->in_at[node->block]; e < a->g->in_at[node->block + 1]; e++) {
        const uint32_t v = map_get(&a->numbers, a->g->in[e]);
        if (v != HAVLAK_UNREACHED)
            ok &= set_add(is_ancestor(a, w, v) ? &node->back : &node->other, v);
    }
    return ok;
}

static bool take_back_edges(const struct analysis *a, uint32_t w, struct set *pool)
{
    struct node *node = &a->nodes[w];
    bool ok = true;
    for (const struct member *m = node->back.first; m != NULL; m = m->next) {
        if (m->number == w)
            node->kind = HAVLAK_SELF;
        else
            ok &= set_add(pool, find(a, m->number));
    }
    if (pool->first != NULL)
        node->kind = HAVLAK_REDUCIBLE;
    return ok;
}

// c, d: the predecessors of a member of the loop belong to the loop, or enter it from outside.
static bool follow(const struct analysis *a, uint32_t w, const struct node *x, struct set *pool)
{
    struct node *node = &a->nodes[w];
    bool ok = true;
    for (const struct member *m = x->other.first; m != NULL; m = m->next) {
        const uint32_t set = find(a, m->number);
        if (!is_ancestor(a, w, set)) {
            node->kind = HAVLAK_IRREDUCIBLE;
            ok &= set_add(&node->other, set);
        } else if (set != w) {
            ok &= set_add(pool, set);
        }
    }
    return ok;
}

static bool find_loop(struct analysis *a, uint32_t w)
{
    struct set pool = {0};
    bool ok = take_back_edges(a, w, &pool);
    for (const struct member *m = pool.first; m != NULL; m = m->next)  // the pool grows meanwhile
        ok &= follow(a, w, &a->nodes[m->number], &pool);
    for (const struct member *m = pool.first; m != NULL; m = m->next)  // e
        a->nodes[m->number].header = a->nodes[m->number].set = w;
    set_free(&pool);
    return ok;
}

static bool analyze(struct analysis *a)
{
    bool ok = search(a, 0);
    for (uint32_t w = 0; ok && w < a->n; w++)
        ok = sort_predecessors(a, w);
    for (uint32_t w = a->n; ok && w-- != 0;)
        ok = find_loop(a, w);
    return ok;
}

static bool report(const struct analysis *a, struct loops_found *found)
{
    uint16_t *depth = malloc(a->n * sizeof(depth[0]));
    if (depth == NULL)
        return false;
    for (uint32_t w = 0; w < a->n; w++)
        havlak_result_add(found, depth, w, a->nodes[w].header, a->nodes[w].kind);
    free(depth);
    return true;
}

static void analysis_free(struct analysis *a)
{
    map_free(&a->numbers);
    for (uint32_t w = 0; w < a->n; w++) {
        set_free(&a->nodes[w].back);
        set_free(&a->nodes[w].other);
    }
    free(a->nodes);
}

bool havlak_slow(const struct flow_graph *g, struct loops_found *found)
{
    struct analysis a = {.g = g};
    *found = (struct loops_found){0};
    if (g->n_blocks == 0)
        return true;
    a.nodes = malloc(g->n_blocks * sizeof(a.nodes[0]));
    if (a.nodes == NULL)
        return false;
    const bool ok = analyze(&a) && report(&a, found);
    analysis_free(&a);
    return ok;
}
