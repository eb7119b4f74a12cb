// SPDX-License-Identifier: BSD-3-Clause
#include "drivers/ethdev_replug.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "drivers/ethdev.h"
#include "drivers/free_packets.h"
#include "drivers/port_table.h"
#include "drivers/vdev.h"

// ---- what a worker does meanwhile

// Waits as long as the control thread asks it to.
static uint16_t rx_away(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct ethdev_away *a = &((struct ethdev *)p->priv)->away;
    const uint32_t pause = shared_u32_load_acquire(&a->pause);  // pairs with pause_begin()
    (void)pkts;
    (void)n;
    if (pause == 0)
        return 0;
    shared_u32_store_release(&a->paused[q], pause);  // pairs with all_wait(): its pool is as it is
    while (shared_u32_load_acquire(&a->pause) == pause)  // pairs with pause_end()
        sched_yield();
    return 0;
}

static uint16_t tx_away(struct port *p, uint16_t q, struct pkt **pkts, uint16_t n)
{
    struct ethdev_away *a = &((struct ethdev *)p->priv)->away;
    pkt_free_bulk(pkts, n);
    __atomic_store_n(&a->tx_no_device[q], a->tx_no_device[q] + n, __ATOMIC_RELAXED);
    return n;
}

// ---- the pause

static uint64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static bool all_wait(const struct ethdev *e, uint32_t pause)
{
    for (unsigned q = 0; q < e->port.queues; q++)
        if (shared_u32_load_acquire(&e->away.paused[q]) != pause)  // pairs with rx_away()
            return false;
    return true;
}

// pause_end: gives back first what this thread's caches hold of the workers' pools.
static void pause_end(struct ethdev *e)
{
    for (unsigned q = 0; q < e->port.queues; q++)
        pkt_pool_uncache(e->away.pools[q]);
    shared_u32_store_release(&e->away.pause, 0);  // pairs with rx_away()
}

// pause_begin: false: a worker did not come, and none waits.
static bool pause_begin(struct ethdev *e)
{
    const uint64_t end = now_ms() + ETHDEV_PAUSE_MS;
    if (++e->away.pauses == 0)
        e->away.pauses = 1;
    shared_u32_store_release(&e->away.pause, e->away.pauses);  // pairs with rx_away()
    while (!all_wait(e, e->away.pauses)) {
        if (now_ms() >= end) {
            shared_u32_store_release(&e->away.pause, 0);
            return false;
        }
        usleep(20);
    }
    return true;
}

// ---- the port meanwhile

static void close_away(struct port *p)
{
    struct ethdev *e = p->priv;
    if (!e->away.closed) {
        e->away.with->close(p);
        return;
    }
    kernel_side_free(e->kernel);
    free(e);
}

static void link_away(struct port *p, struct port_link *out)
{
    const struct ethdev *e = p->priv;
    const bool there = e->kernel != NULL && kernel_side_is_there(e->kernel);
    *out = (struct port_link){.reason = there ? PORT_LINK_REPLACED : PORT_LINK_GONE};
}

static const struct port_view view_away = {.link = link_away};

static void publish(struct port *p, const struct port_ops *ops)
{
    __atomic_store_n(&p->ops, ops, __ATOMIC_RELEASE);
}

// ---- the device

// move: all that is of the device; who keeps its kernel_side decides the caller.
static void move(struct ethdev *to, const struct ethdev *from)
{
    to->id = from->id;
    to->clear_flags = from->clear_flags;
    to->keep_flags = from->keep_flags;
    to->left_flags = from->left_flags;
    to->nic = from->nic;
    to->rings = from->rings;
    to->failed_open_keeps_packets = from->failed_open_keeps_packets;
    to->slot = from->slot;
    to->seen = from->seen;
    to->spread = from->spread;
    to->rss_types = from->rss_types;
    memcpy(to->rss_key, from->rss_key, sizeof(to->rss_key));
}

// close_device: by a port of its own, which the driver's close frees. The interface's name is
// still asked for (link_away).
static void close_device(struct ethdev *e)
{
    struct ethdev *last = calloc(1, sizeof(*last));
    CHECK(last != NULL);
    ethdev_device_stats(e, &e->away.base);
    last->port = e->port;
    last->port.ops = e->away.with;
    last->port.priv = last;
    move(last, e);
    e->away.closed = true;
    e->away.with->close(&last->port);
}

bool ethdev_leave(struct port *p)
{
    struct ethdev *e = p->priv;
    if (p->ops == &e->away.ops)
        return false;
    e->away.with = p->ops;
    e->away.ops = (struct port_ops){.driver = p->ops->driver,
                                    .rx_burst = rx_away,
                                    .tx_burst = tx_away,
                                    .stats = ethdev_stats,
                                    .close = close_away,
                                    .view = &view_away,
                                    .replug = p->ops->replug};
    publish(p, &e->away.ops);
    return true;
}

static bool detach(struct port *p)
{
    struct ethdev *e = p->priv;
    if (e->away.closed)
        return true;
    ethdev_leave(p);
    if (!pause_begin(e))
        return false;
    close_device(e);
    pause_end(e);
    return true;
}

// fits: whether what workers were told of the port at their start is true of the new one as well.
static int fits(const struct ethdev *e, const struct ethdev *fresh, struct err *err)
{
    const struct port *old = &e->port, *now = &fresh->port;
    if (now->queues != old->queues)
        return err_set(err, "port %s: the device has %u queues now, %u before: a restart is needed",
                       old->name, now->queues, old->queues);
    if ((old->caps & ~now->caps) != 0 || now->mtu != old->mtu ||
        now->rss_entries != old->rss_entries || now->chain_max < old->chain_max)
        return err_set(err,
                       "port %s: the device has not the offloads or the MTU of the one before: a "
                       "restart is needed",
                       old->name);
    return 0;
}

// keep_mac: an interface that was made anew has another one, and neighbors know the first.
static int keep_mac(const struct ethdev *e, struct ethdev *fresh, struct err *err)
{
    const struct port_params p = {.name = e->port.name, .has_mac = true, .mac = e->port.mac};
    return memcmp(&e->port.mac, &fresh->port.mac, sizeof(e->port.mac)) == 0
               ? 0
               : vdev_own_mac(&fresh->port, &p, err);
}

static void adopt(struct ethdev *e, struct ethdev *fresh)
{
    move(e, fresh);
    kernel_side_free(e->kernel);
    e->kernel = fresh->kernel;
    e->away.closed = false;
    free(fresh);
    publish(&e->port, e->away.with);
}

// open_again: if it fails, what the driver has taken comes back to the pools. To note the free
// packets touches all of them.
static struct port *open_again(const struct ethdev *e, const struct port_params *params,
                               struct err *err)
{
    if (!e->failed_open_keeps_packets)
        return port_open(params, err);
    struct free_packets *before[PORT_QUEUES_MAX];
    for (unsigned q = 0; q < e->port.queues; q++)
        before[q] = free_packets_note(e->away.pools[q]);
    struct port *p = port_open(params, err);
    for (unsigned q = 0; q < e->port.queues; q++)
        if (p != NULL)
            free_packets_forget(before[q]);
        else
            free_packets_restore(before[q]);
    return p;
}

static int reopen(struct ethdev *e, const struct port_params *params, struct err *err)
{
    struct port *p = open_again(e, params, err);
    if (p == NULL)
        return -1;
    struct ethdev *fresh = p->priv;
    if (fits(e, fresh, err) == 0 && keep_mac(e, fresh, err) == 0) {
        adopt(e, fresh);
        return 0;
    }
    p->ops->close(p);
    return -1;
}

static int attach(struct port *p, const struct port_params *params, struct err *err)
{
    struct ethdev *e = p->priv;
    if (port_check(params, err) != 0)
        return -1;
    if (!pause_begin(e))
        return err_set(err, "port %s: a worker is in a long turn", p->name);
    const int rc = reopen(e, params, err);
    pause_end(e);
    return rc;
}

const struct port_replug ethdev_replug = {.detach = detach, .attach = attach};
