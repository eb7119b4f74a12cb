// SPDX-License-Identifier: BSD-3-Clause
#include "bench/micro_tcp.h"

#include <stdlib.h>

static void *zeroed(struct micro_tcp *m, size_t bytes)
{
    CHECK(m->n_maps < ARRAY_LEN(m->map));
    struct bench_map *map = &m->map[m->n_maps++];
    CHECK(bench_map(map, bytes));
    return map->at;
}

static struct index_pool *pool(struct micro_tcp *m)
{
    return index_pool_init(zeroed(m, index_pool_footprint(MICRO_TCP_BLOCKS)), MICRO_TCP_BLOCKS);
}

static void place_all(struct micro_tcp *m, uint32_t bufs, struct siphash_key secret)
{
    struct tcp *t = &m->tcp;
    const uint32_t n = MICRO_TCP_BLOCKS;
    t->table = calloc(1, sizeof(*t->table));
    CHECK(t->table != NULL);
    flow_init(t->table, zeroed(m, flow_footprint(n)), n, secret);
    t->blocks = zeroed(m, n * sizeof(struct block));
    t->block_pool = pool(m);
    t->wheel = wheel_init(zeroed(m, wheel_footprint(n * 4)), n * 4, 0);
    t->xmit_runs = zeroed(m, 4096);
    t->rounds = zeroed(m, n * sizeof(*t->rounds));
    t->exts = zeroed(m, n * sizeof(struct ext));
    t->ext_pool = pool(m);
    flight_pool_init(&t->flights, zeroed(m, flight_footprint(n)), n);
    buf_init(&t->bufs, zeroed(m, buf_footprint(bufs, 1)), bufs, 1);
}

void micro_tcp_init(struct micro_tcp *m, uint32_t bufs, uint32_t rcv_limit, uint32_t snd_limit)
{
    struct tcp *t = &m->tcp;
    const struct siphash_key secret = {1, 2};
    const struct keys keys = keys_from(secret);
    place_all(m, bufs, secret);
    tcp_set_keys(t, &keys);
    t->stats = &m->stats;
    t->dirty_head = t->dirty_tail = BLOCK_NONE;
    t->out = m->out;
    t->out_room = TCP_OUT_MAX;
    t->sacks_in = (const struct seq_range(*)[SEG_SACK_MAX])m->sacks_in;
    t->sacks_out = m->sacks_out;
    t->places = m->places;
    t->cfg = tcp_config_default();
    t->now.ms = 1000;
    t->now.us = 1000 * 1000;
    t->n_services = 1;
    t->services[0] = (struct tcp_service){.local_ix = UINT16_MAX,
                                          .rcv_limit = rcv_limit,
                                          .snd_limit = snd_limit,
                                          .connections_max = MICRO_TCP_BLOCKS};
    tcp_set_limits(t);
}

struct block *micro_tcp_open(struct micro_tcp *m)
{
    struct tcp *t = &m->tcp;
    const struct flow_key key = {ip_from_v4(0x0a000001), 0, 0, 40000, 7};
    m->block = tcp_block_new(t, &key, 0, FLOW_NONE);
    CHECK(m->block != BLOCK_NONE);
    struct block *b = &t->blocks[m->block];
    b->mss = MICRO_TCP_MSS;
    b->agreed = BA_SACK;
    tcp_set_state(b, STEP_PASSIVE_DONE);
    t->stats->c.established_now++;
    return b;
}

void micro_tcp_close(struct micro_tcp *m)
{
    tcp_set_state(&m->tcp.blocks[m->block], STEP_END);
    tcp_free(&m->tcp, m->block);
    index_pool_turn_end(m->tcp.block_pool);
    m->tcp.stats->c.established_now--;
}
