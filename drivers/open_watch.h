// SPDX-License-Identifier: BSD-3-Clause
// open_watch.h: a time limit for DPDK's driver to open a device. Some drivers wait without end for
// a device that does not answer. Example: net_virtio waits for its control queue if the IOMMU does
// not let the device access memory. The control thread would wait with it and could not be told to
// stop.
#pragma once
#include "base/base.h"

struct open_watch;

// open_watch_begin: starts a limit of limit_ms for the opening of the device `what`. When the limit
// is exceeded, the process prints a message, removes DPDK's files and exits with status 1. The next
// start, or `c10m clean`, removes the rest, as after a kill. `what` must stay valid until
// open_watch_end(). Returns NULL, and watches nothing, if no thread could be created. Control
// thread.
struct open_watch *open_watch_begin(uint32_t limit_ms, const char *what);

// open_watch_end: ends the limit, because the device is open or was refused. NULL: does nothing.
void open_watch_end(struct open_watch *w);
