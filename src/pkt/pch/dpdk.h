// SPDX-License-Identifier: BSD-3-Clause
// dpdk.h: DPDK's headers, which take longer to compile than our own. The build option b_pch
// compiles them once for each library (scripts/quickstart). No file includes this header.
#include <rte_cycles.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_ring.h>
