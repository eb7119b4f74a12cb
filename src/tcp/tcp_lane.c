// SPDX-License-Identifier: BSD-3-Clause
#include "tcp/tcp_lane.h"

#include "tcp/tcp.h"

void tcp_lanes_init(struct tcp *t, const uint8_t *of_local, uint32_t count)
{
    struct tcp_lanes *l = &t->lanes;
    CHECK(count <= TCP_LANES_MAX);
    *l = (struct tcp_lanes){.of_local = of_local, .count = count};
    for (uint32_t i = 0; i < count; i++)
        l->at[i].head = l->at[i].tail = BLOCK_NONE;
}

void tcp_lanes_mss(struct tcp *t, const uint16_t *mss, const uint16_t *mss6)
{
    struct tcp_lanes *l = &t->lanes;
    t->cfg.mss = t->cfg.mss6 = 0;
    l->sized = false;
    for (uint32_t i = 0; i < l->count; i++) {
        l->mss[i] = mss[i];
        l->mss6[i] = mss6[i];
        l->sized |= mss[i] != mss[0] || mss6[i] != mss6[0];
        t->cfg.mss = MAX(t->cfg.mss, mss[i]);
        t->cfg.mss6 = MAX(t->cfg.mss6, mss6[i]);
    }
}

void tcp_lanes_begin(struct tcp *t, const uint32_t *room)
{
    struct tcp_lanes *l = &t->lanes;
    bool separate = l->waiting != 0;
    for (uint32_t i = 0; i < l->count; i++) {
        l->at[i].room = room[i];
        separate |= room[i] < TCP_OUT_MAX;
    }
    l->separate = separate;
    l->counted = 0;
    t->out_room = TCP_OUT_MAX;
}

static inline struct tcp_lane *lane_of(struct tcp *t, const struct flow_key *key)
{
    return &t->lanes.at[t->lanes.of_local[key->local_ix]];
}

uint32_t tcp_lane_room(struct tcp *t, uint32_t lane)
{
    struct tcp_lanes *l = &t->lanes;
    for (; l->counted < t->n_out; l->counted++) {
        const struct seg_out *o = &t->out[l->counted];
        struct tcp_lane *of = lane_of(t, &o->key);
        of->room -= MIN(of->room, seg_parts(o));
    }
    return l->at[lane].room;
}

void tcp_lane_take(struct tcp *t, uint32_t lane)
{
    if (!t->lanes.separate) {
        t->out_room -= MIN(t->out_room, 1u);
        return;
    }
    const uint32_t room = tcp_lane_room(t, lane);
    t->lanes.at[lane].room = room - MIN(room, 1u);
}

static void append(struct tcp *t, struct tcp_lane *lane, uint32_t ix)
{
    t->blocks[ix].dirty_next = BLOCK_NONE;
    if (lane->tail == BLOCK_NONE)
        lane->head = ix;
    else
        t->blocks[lane->tail].dirty_next = ix;
    lane->tail = ix;
    lane->n++;
    t->lanes.waiting++;
}

static uint32_t pop(struct tcp *t, struct tcp_lane *lane)
{
    const uint32_t ix = lane->head;
    lane->head = t->blocks[ix].dirty_next;
    if (lane->head == BLOCK_NONE)
        lane->tail = BLOCK_NONE;
    lane->n--;
    t->lanes.waiting--;
    return ix;
}

// sort_block: moves a block of the dirty list to its lane. A free block leaves the list.
static void sort_block(struct tcp *t, uint32_t ix)
{
    struct block *b = &t->blocks[ix];
    if (b->state == TCP_FREE) {
        t->n_dirty--;
        tcp_output(t, ix);
        return;
    }
    append(t, lane_of(t, &b->key), ix);
}

void tcp_lanes_sort(struct tcp *t)
{
    for (unsigned n = 0; n < TCP_LANES_SORT_MAX && t->dirty_head != BLOCK_NONE; n++) {
        const uint32_t ix = t->dirty_head;
        t->dirty_head = t->blocks[ix].dirty_next;
        if (t->dirty_head == BLOCK_NONE)
            t->dirty_tail = BLOCK_NONE;
        sort_block(t, ix);
    }
}

static void output(struct tcp *t, uint32_t ix)
{
    t->n_dirty--;
    tcp_touch(t, ix);
    if (tcp_output(t, ix))
        tcp_dirty(t, ix);
    tcp_touch(t, BLOCK_NONE);
}

// left: how many segments the turn can still send. A large segment has reduced out_room by the
// number of its parts less one.
static inline uint32_t left(const struct tcp *t)
{
    return t->out_room - t->n_out;
}

// drain: outputs blocks of `lane` while at most `most` segments are sent. The number of blocks is
// bounded as well.
static void drain(struct tcp *t, uint32_t lane, uint32_t most)
{
    struct tcp_lane *l = &t->lanes.at[lane];
    const uint32_t begun = left(t);
    for (unsigned n = 0; n < TCP_OUT_MAX && l->n != 0; n++) {
        const uint32_t done = begun - left(t);
        if (done >= most || left(t) == 0 || tcp_lane_room(t, lane) == 0)
            return;
        output(t, pop(t, l));
    }
}

// full: the turn ends while connections wait for `lane`. If free blocks are among them, looks at
// some blocks to return the free ones.
static void full(struct tcp *t, struct tcp_lane *lane)
{
    t->stats->c.tx_waits++;
    for (unsigned n = 0; n < TCP_LANES_FREE_MAX && lane->n != 0 && t->lanes.held != 0; n++) {
        const uint32_t ix = pop(t, lane);
        if (t->blocks[ix].state == TCP_FREE)
            output(t, ix);
        else
            append(t, lane, ix);
    }
}

void tcp_lanes_drain(struct tcp *t)
{
    struct tcp_lanes *l = &t->lanes;
    uint32_t able = 0;
    tcp_lanes_sort(t);
    for (uint32_t i = 0; i < l->count; i++)
        able += l->at[i].n != 0 && tcp_lane_room(t, i) != 0;
    const uint32_t part = able != 0 ? left(t) / able : 0;
    for (uint32_t i = 0; i < 2 * l->count && able != 0; i++)
        drain(t, (l->next + i) % l->count, i < l->count ? part : TCP_OUT_MAX);
    for (uint32_t i = 0; i < l->count; i++)
        if (l->at[i].n != 0 && tcp_lane_room(t, i) == 0)
            full(t, &l->at[i]);
    l->next = (l->next + 1) % l->count;
}

bool tcp_lanes_hold(struct tcp *t, struct block *b)
{
    if (t->lanes.waiting == 0 || (b->flags & BF_DIRTY) == 0)
        return false;
    b->flags |= BF_HELD;
    t->lanes.held++;
    return true;
}

void tcp_lanes_release(struct tcp *t, uint32_t ix)
{
    t->lanes.held--;
    t->blocks[ix].flags &= (uint16_t)~BF_HELD;
    index_pool_put_deferred(t->block_pool, ix);
}
