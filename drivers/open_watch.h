// SPDX-License-Identifier: BSD-3-Clause
// open_watch.h: a limit for the time in which DPDK's driver opens a device. Some drivers wait
// without end for a device that does not answer (net_virtio for its control queue, where the IOMMU
// keeps the device from the memory), with the thread that would be told to stop.
#pragma once
#include "base/base.h"

struct open_watch;

// open_watch_begin: from now on `what` (kept until the end) has limit_ms; after that the process
// says so, removes DPDK's files and ends with status 1; the next start, or c10m clean, removes the
// rest, as after a kill. NULL: no thread could be had, and
// nothing is watched. Control thread.
struct open_watch *open_watch_begin(uint32_t limit_ms, const char *what);

// open_watch_end: the device is open, or refused. NULL: does nothing.
void open_watch_end(struct open_watch *w);
