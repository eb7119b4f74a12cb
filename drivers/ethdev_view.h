// SPDX-License-Identifier: BSD-3-Clause
// ethdev_view.h: the state of a DPDK device, for the tree. Control thread only, because only one
// thread at a time may read DPDK's counters.
#pragma once
#include "drivers/ethdev.h"

extern const struct port_view ethdev_view;
