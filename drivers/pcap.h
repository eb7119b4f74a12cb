// SPDX-License-Identifier: BSD-3-Clause
// pcap.h: a port that replays one capture and writes another (DPDK's net_pcap). Every frame of the
// first file arrives once, as fast as the worker asks; what the stack sends goes to the second.
// Bursts are file reads and writes.
#pragma once
#include "pkt/port.h"

// pcap_open: params->device is the capture to replay, params->capture the one to write, which is
// replaced; either may be empty, not both. One queue. Control thread. NULL: err says why.
struct port *pcap_open(const struct port_params *params, struct err *err);

// pcap_check: refuses what pcap_open would refuse, and takes no resources. 0, or -1 with the
// reason.
int pcap_check(const struct port_params *params, struct err *err);
