// SPDX-License-Identifier: BSD-3-Clause
// ethdev_rss.h: how a device spreads packets over its queues: our key, and a table that sends each
// hash to the queue of its home (base/toeplitz.h). What was written is read back: a device that
// answers otherwise has no PORT_RSS, and software hands packets to their workers.
#pragma once
#include <rte_ethdev.h>

#include "drivers/ethdev.h"

// ethdev_rss_set_key: puts e's key into rss, of the length that the device reports; one that
// reports none takes a key of the length in the specification.
void ethdev_rss_set_key(const struct ethdev *e, const struct rte_eth_dev_info *info,
                        struct rte_eth_rss_conf *rss);

// ethdev_rss_start: of a started device whose e->spread asks for RSS: key and table; sets PORT_RSS,
// rss_entries and rss_kinds of its port.
void ethdev_rss_start(struct ethdev *e);

// ethdev_rss_check: rss_check of struct port_view.
void ethdev_rss_check(struct port *p, struct port_rss_check *out);
