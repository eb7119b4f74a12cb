// SPDX-License-Identifier: BSD-3-Clause
// ethdev_rss.h: how a device distributes packets over its queues (RSS). The device gets our key,
// and a redirection table that maps each hash to the queue of its worker (base/toeplitz.h). Key and
// table are read back. If they differ from what was written, the port has no PORT_RSS, and software
// hands packets to their workers.
#pragma once
#include <rte_ethdev.h>

#include "drivers/ethdev.h"

// ethdev_rss_set_key: puts the key of e into rss. Its length is what the device reports, or that of
// the specification if the device reports none.
void ethdev_rss_set_key(const struct ethdev *e, const struct rte_eth_dev_info *info,
                        struct rte_eth_rss_conf *rss);

// ethdev_rss_start: writes key and table to the started device, if e->spread is not 0, and sets
// PORT_RSS, rss_entries and rss_kinds of the port.
void ethdev_rss_start(struct ethdev *e);

// ethdev_rss_check: the operation rss_check of struct port_view.
void ethdev_rss_check(struct port *p, struct port_rss_check *out);
