// ethdev_view.h: what the tree shows of every DPDK device. Control thread only.
#pragma once
#include "drivers/ethdev.h"

extern const struct port_view ethdev_view;
