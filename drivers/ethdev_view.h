// SPDX-License-Identifier: BSD-3-Clause
// ethdev_view.h: what the tree shows of every DPDK device. Control thread only, as DPDK's counters
// may be read by one thread at a time.
#pragma once
#include "drivers/ethdev.h"

extern const struct port_view ethdev_view;
