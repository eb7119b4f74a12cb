// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_rss.h"

#include <string.h>

enum { RETA_MAX = RTE_ETH_RSS_RETA_SIZE_512, GROUP = RTE_ETH_RETA_GROUP_SIZE };

struct table {
    struct rte_eth_rss_reta_entry64 groups[RETA_MAX / GROUP];
};

static unsigned key_bytes(const struct rte_eth_dev_info *info)
{
    return info->hash_key_size != 0 ? info->hash_key_size : TOEPLITZ_KEY_BYTES;
}

void ethdev_rss_set_key(const struct ethdev *e, const struct rte_eth_dev_info *info,
                        struct rte_eth_rss_conf *rss)
{
    if (key_bytes(info) > TOEPLITZ_KEY_BYTES_MAX)
        return;
    rss->rss_key = (uint8_t *)(uintptr_t)e->rss_key;
    rss->rss_key_len = (uint8_t)key_bytes(info);
}

// has_key: has the device our key, and does it hash TCP by addresses and ports? *types: what it
// hashes. Some (net_igc) answer only if the length is theirs.
static bool has_key(const struct ethdev *e, const struct rte_eth_dev_info *info, uint64_t *types)
{
    uint8_t key[TOEPLITZ_KEY_BYTES_MAX] = {0};
    struct rte_eth_rss_conf rss = {.rss_key = key, .rss_key_len = (uint8_t)key_bytes(info)};
    if (key_bytes(info) < TOEPLITZ_KEY_BYTES || key_bytes(info) > sizeof(key) ||
        rte_eth_dev_rss_hash_conf_get(e->id, &rss) != 0)
        return false;
    *types = rss.rss_hf;
    return (rss.rss_hf & RTE_ETH_RSS_NONFRAG_IPV4_TCP) != 0 &&
           memcmp(key, e->rss_key, TOEPLITZ_KEY_BYTES) == 0;
}

static bool write_key(const struct ethdev *e, const struct rte_eth_dev_info *info)
{
    struct rte_eth_rss_conf rss = {.rss_hf = e->spread};
    ethdev_rss_set_key(e, info, &rss);
    return rss.rss_key != NULL && rte_eth_dev_rss_hash_update(e->id, &rss) == 0;
}

static void table_all(struct table *t, unsigned entries)
{
    memset(t, 0, sizeof(*t));
    for (unsigned i = 0; i < entries / GROUP; i++)
        t->groups[i].mask = UINT64_MAX;
}

// The table that sends each hash to the queue of its home.
static bool write_table(const struct ethdev *e, unsigned entries)
{
    struct table t;
    table_all(&t, entries);
    for (unsigned i = 0; i < entries; i++)
        t.groups[i / GROUP].reta[i % GROUP] = (uint16_t)toeplitz_home(i, entries, e->port.queues);
    return rte_eth_dev_rss_reta_update(e->id, t.groups, (uint16_t)entries) == 0;
}

// table_wrong: entries that are not ours; -1: the device does not tell.
static int table_wrong(const struct ethdev *e, unsigned entries)
{
    struct table t;
    int wrong = 0;
    table_all(&t, entries);
    if (rte_eth_dev_rss_reta_query(e->id, t.groups, (uint16_t)entries) != 0)
        return -1;
    for (unsigned i = 0; i < entries; i++)
        wrong += t.groups[i / GROUP].reta[i % GROUP] != toeplitz_home(i, entries, e->port.queues);
    return wrong;
}

static bool has_size(unsigned entries)
{
    return entries >= GROUP && entries <= RETA_MAX && (entries & (entries - 1)) == 0;
}

static uint16_t kinds_of(uint64_t types)
{
    static const struct {
        uint64_t types;
        enum port_rss_kind kind;
    } rows[] = {
        {RTE_ETH_RSS_NONFRAG_IPV4_TCP, PORT_RSS_IP4_TCP},
        {RTE_ETH_RSS_NONFRAG_IPV4_UDP, PORT_RSS_IP4_UDP},
        {RTE_ETH_RSS_NONFRAG_IPV6_TCP, PORT_RSS_IP6_TCP},
        {RTE_ETH_RSS_NONFRAG_IPV6_UDP, PORT_RSS_IP6_UDP},
    };
    uint16_t kinds = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if ((types & rows[i].types) != 0)
            kinds |= (uint16_t)(1u << rows[i].kind);
    return kinds;
}

// Some devices take a key only when they run.
void ethdev_rss_start(struct ethdev *e)
{
    struct rte_eth_dev_info info;
    uint64_t types = 0;
    if (e->spread == 0 || rte_eth_dev_info_get(e->id, &info) != 0 || !has_size(info.reta_size))
        return;
    if (!has_key(e, &info, &types) && !(write_key(e, &info) && has_key(e, &info, &types)))
        return;
    if (!write_table(e, info.reta_size) || table_wrong(e, info.reta_size) > 0)
        return;
    e->port.caps |= PORT_RSS;
    e->port.rss_entries = info.reta_size;
    e->rss_types = types & e->spread;
    e->port.rss_kinds = kinds_of(e->rss_types);
}

// Only what is wrong is written: on some devices (mlx5) that interrupts the traffic.
void ethdev_rss_check(struct port *p, struct port_rss_check *out)
{
    const struct ethdev *e = p->priv;
    struct rte_eth_dev_info info;
    uint64_t types;
    memset(out, 0, sizeof(*out));
    if ((p->caps & PORT_RSS) == 0 || rte_eth_dev_info_get(e->id, &info) != 0)
        return;
    const int wrong = table_wrong(e, p->rss_entries);
    out->readable = wrong >= 0;
    out->key_wrong = !has_key(e, &info, &types) || (types & e->rss_types) != e->rss_types;
    out->entries_wrong = (uint16_t)MAX(wrong, 0);
    if (!out->key_wrong && wrong <= 0)
        return;
    out->mended =
        (!out->key_wrong || (write_key(e, &info) && has_key(e, &info, &types))) &&
        (wrong == 0 || (write_table(e, p->rss_entries) && table_wrong(e, p->rss_entries) <= 0));
}
